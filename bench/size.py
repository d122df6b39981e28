"""The size of the project, and how dense its code reads."""

import subprocess
from pathlib import Path

from bench.density import LONG, density
from bench.figures import Figure

ROOT = Path(__file__).resolve().parents[1]
_LONGEST_LINE = 100
"""Characters, as ruff formats: two files stand side by side."""


def figures() -> list[Figure]:
    """The density of each package, then style counts, and the words of README and docs."""
    measured = []
    for package in ("generator", "evaluator", "tests", "bench"):
        paths = tracked(f"{package}/**.py")
        counts = density(path.read_text(encoding="utf-8") for path in paths)
        values = {
            "files of code": ("files", len(paths)),
            "lines of code": ("lines", counts.code_lines),
            "tokens a line of code": ("tokens", counts.tokens_per_line),
            "lines that are comments": ("%", 100 * counts.comment_share),
            "fields with a doc of their own": (
                "%",
                _percent(counts.documented_fields, counts.fields),
            ),
            "public docstrings with sections or an example": (
                "%",
                _percent(counts.sectioned_docstrings, counts.public_docstrings),
            ),
            "vague names": ("names", counts.vague_names),
            f"functions of over {LONG} lines": ("functions", counts.long_functions),
        }
        for name, (unit, value) in values.items():
            measured.append(Figure(f"{package}/: {name}", unit, (value,)))

    lines: list[str] = []
    for path in tracked("*.py"):
        lines += path.read_text(encoding="utf-8").splitlines()
    n_too_long = sum(len(line) > _LONGEST_LINE for line in lines)
    measured.append(Figure(f"lines of over {_LONGEST_LINE} characters", "lines", (n_too_long,)))
    # In two parts, so that this line is not counted.
    n_skipped = sum("fmt: " + "skip" in line for line in lines)
    measured.append(Figure("lines that the formatter skips", "lines", (n_skipped,)))
    pages = (ROOT / "README.md", *ROOT.glob("docs/*.md"))
    n_words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    return [*measured, Figure("README and docs", "words", (n_words,))]


def _percent(part: int, whole: int) -> float:
    return 100 * part / max(1, whole)


def tracked(pattern: str) -> list[Path]:
    """The files in git of a pattern."""
    listed = subprocess.run(
        ["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
