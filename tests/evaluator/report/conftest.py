"""Runs of every protocol, and what papers' tables are made of."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.report.papers.given import Given, read_given
from evaluator.report.papers.paper import find_paper, make_paper
from evaluator.report.table import Cell, Table
from evaluator.runs.measure import measure
from generator.base.files import read_json
from tests.evaluator.synthetic import Builder, Row, add_pair, one_of_each, planted, write_run

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
    "speaks_of": "this vocabulary (8 values, 12 objects); bindings like these; this model",
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


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured run of every protocol but retrieval, with random scores."""
    builder = one_of_each(Builder(0, 240), 40)
    for _ in range(40):
        add_pair(builder)
    root = builder.write(tmp_path_factory.mktemp("papers") / "dataset")
    rng = np.random.default_rng(1)
    folder = write_run(
        root, tmp_path_factory.mktemp("papers-run") / "run", lambda n: planted(rng, n), [3]
    )
    measure(folder)
    return folder


@pytest.fixture(scope="session")
def results(measured: Path) -> Row:
    """The results of that run."""
    return read_json(measured / "results.json")


@pytest.fixture(scope="session")
def given(measured: Path) -> Given:
    """Two labels: one with the run, one without any."""
    return read_given([f"dual / scratch={measured}"], ["dual / labclip=no weights"])


def tables_of(paper: str, given: Given) -> dict[str, Table]:
    """The tables of a paper by number, without its figures, which take seconds."""
    made = make_paper(replace(find_paper(paper), figures=[]), given)
    return {name.removeprefix("table"): table for name, table in made.tables.items()}


def cell(table: Table, labels: Sequence[str], head: str, group: str = "") -> Cell:
    """The cell of the line with these first labels under a head."""
    (line,) = [line for line in table.lines if list(line.labels[: len(labels)]) == list(labels)]
    (found,) = [
        each
        for each, column in zip(line.cells, table.columns, strict=True)
        if (column.head, column.group) == (head, group)
    ]
    return found


def shows(cell: Cell, row: Row) -> bool:
    """Whether a cell has the numbers of a row of results."""
    return all(
        cell.numbers[name] == row[name]
        for name in ("value", "low", "high", "chance", "items", "clusters")
    )


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
