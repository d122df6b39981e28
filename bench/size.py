"""The size of the project: tokens and files of code, lines that are too long, words of
documentation."""

import subprocess
import tokenize
from pathlib import Path

from bench.figures import Figure

ROOT = Path(__file__).resolve().parents[1]
COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
LONGEST = 120


def figures() -> list[Figure]:
    """The tokens and files of code of each package; then style counts, and the words of README and
    docs."""
    measured = []
    for package in ("generator", "evaluator", "tests", "bench"):
        files = sorted((ROOT / package).rglob("*.py"))
        entries = [
            path
            for path in (ROOT / package).iterdir()
            if path.name not in ("__pycache__", "__init__.py")
        ]
        measured.append(
            Figure(
                f"{package}/: names, operators, numbers and strings",
                "tokens",
                (sum(map(tokens, files)),),
            )
        )
        measured.append(Figure(f"{package}/: files of code", "files", (len(files),)))
        if package in ("generator", "evaluator"):
            measured.append(Figure(f"{package}/: entries", "entries", (len(entries),)))
    lines: list[str] = []
    for path in tracked("*.py"):
        lines += path.read_text(encoding="utf-8").splitlines()
    too_long = sum(len(line) > LONGEST for line in lines)
    measured.append(Figure(f"lines of over {LONGEST} characters", "lines", (too_long,)))
    # In two parts, so that this line is not counted.
    skipped = sum("fmt: " + "skip" in line for line in lines)
    measured.append(Figure("lines that the formatter skips", "lines", (skipped,)))
    pages = (ROOT / "README.md", *ROOT.glob("docs/*.md"))
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    return [*measured, Figure("README and docs", "words", (words,))]


def tokens(path: Path) -> int:
    """The names, operators, numbers and strings of a file of Python; comments and line ends do not
    count."""
    with path.open("rb") as file:
        return sum(token.type in COUNTED for token in tokenize.tokenize(file.readline))


def tracked(pattern: str) -> list[Path]:
    """The files in git of a pattern."""
    listed = subprocess.run(
        ["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
