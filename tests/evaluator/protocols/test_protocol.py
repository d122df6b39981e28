"""A protocol of one's own: a file, here this one, and a line in the registry; it is measured, drawn and tabulated."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluator.protocols import registry
from evaluator.protocols.protocol import BY_SPLIT, Protocol, lazy
from evaluator.protocols.results import ProtocolResults, Results, recall, tabulate
from evaluator.protocols.scores import Scores
from evaluator.report.figures import figures
from evaluator.report.latex import latex_tables
from evaluator.report.tables.table import Cell, Column, Line, Table
from evaluator.runs.measure import measure
from tests.evaluator.conftest import score_command
from tests.evaluator.synthetic import Builder, find, write_run


class Strict(Protocol):
    """Whether the truth beats every false text."""

    name = "strict"
    figures = (BY_SPLIT, lazy("tests.evaluator.protocols.test_protocol:draw", colour="red"))
    tables = (
        lazy("evaluator.report.tables.of_protocol:pivot", lines=["split"], columns=["kind"]),
        lazy("tests.evaluator.protocols.test_protocol:tabulate_best"),
    )

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        strict = recall(items, items.false, "strictly right")
        return ProtocolResults(items, [strict], tabulate(items, [strict], ["kind"]))

    def caption(self, results: Results) -> str:
        return "Strictly."


def draw(results: list[Results], protocol: str, colour: str) -> list[str]:
    """A figure that only this protocol has."""
    return [f"<svg>{len(results)} {protocol} {colour}</svg>"]


def tabulate_best(results: Results, protocol: str) -> list[Table]:
    """A table that only this protocol has."""
    best = str(max(row["value"] for row in results["rows"]))
    return [Table(["protocol"], [Column("best")], [Line([protocol], [Cell(best)])])]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(registry._REGISTRY, "_places", dict(registry._REGISTRY._places))
    registry.register("strict", "tests.evaluator.protocols.test_protocol:Strict")
    builder = Builder(0, 40)
    for kind in ("swap", "flip") * 40:
        builder.add("strict", kind, [("c", True, None), ("n", False, None)])
    root = builder.write(tmp_path / "dataset")
    return write_run(root, tmp_path / "run", lambda n: np.tile([1.0, 0.0, 0.0, 1.0], n // 4))


def test_it_is_measured(folder: Path) -> None:
    results = measure(folder)
    assert results["unknown_protocols"] == {}
    for kind, right in (("swap", 1), ("flip", 0)):
        assert find(results, "strict", "unseen", kind=kind)["value"] == right
    assert json.loads((folder / "results.json").read_text()) == results


def test_it_is_drawn_and_tabulated(folder: Path) -> None:
    results = measure(folder)
    by_split, own = figures([results])
    assert "strictly right, %" in by_split
    assert own == "<svg>1 strict red</svg>"
    text = latex_tables(results)["strict"]
    assert r"split & swap & flip & items/clusters \\" in text or r"split & flip & swap & items/clusters \\" in text
    assert r"strict & 1.0 \\" in text
    assert "Strictly.}" in text


def test_the_command_measures_and_prints_it(folder: Path) -> None:
    done = score_command("measure", folder)
    assert done.exit_code == 0, done.output
    assert "strictly right" in done.stdout
    assert (folder / "tables" / "strict.tex").exists()


def test_what_is_drawn_is_imported_only_when_it_is_drawn() -> None:
    with pytest.raises(ModuleNotFoundError):
        lazy("no.such.module:function")([], "strict")
