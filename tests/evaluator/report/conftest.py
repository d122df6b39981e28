"""Runs of every protocol, and what papers' tables are made of."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.evaluator.synthetic import Row

ROW: Row = {
    "model": "a model",
    "benchmark": "b",
    "protocol": "binary",
    "metric": "accuracy",
    "is_main": True,
    "error": None,
    "kind": None,
    "skill": None,
    "level": None,
    "n": None,
    "split": "seen",
    "minus": None,
    "is_gap": False,
    "unit": "share",
    "average": "micro (over items)",
    "value": 0.5,
    "sd": None,
    "low": 0.4,
    "high": 0.6,
    "low_fixed": None,
    "high_fixed": None,
    "low_wider": 0.35,
    "high_wider": 0.65,
    "population": "this vocabulary (8 values, 12 objects); bindings like these; this model",
    "items": 1200,
    "clusters": 30,
    "ties": 3,
    "unscored": 0,
    "chance": 0.5,
    "p": 0.0312,
    "ceiling": None,
}
GAP = {"minus": "unseen", "is_gap": True, "unit": "difference"}
"""What makes a row of `seen` a gap."""


COMPILER = next(
    (name for name in ("tectonic", "pdflatex", "lualatex", "xelatex") if shutil.which(name)), None
)


def compile_latex(body: str, folder: Path) -> None:
    """Compile tables with whatever LaTeX is installed; skips the test where there is none."""
    if COMPILER is None:
        pytest.skip("no LaTeX compiler is installed")
    head = "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
    (folder / "all.tex").write_text(f"{head}{body}\n\\end{{document}}\n", encoding="utf-8")
    more = [] if COMPILER == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [COMPILER, *more, "all.tex"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
