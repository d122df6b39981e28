"""The registry of protocols; and a protocol of one's own, here this file, which is measured, drawn
and tabulated."""

from pathlib import Path

import numpy as np
import pytest

from evaluator import protocols as registry
from evaluator.protocols.outcomes import recall
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores
from evaluator.report.figures import figures
from evaluator.report.files import latex_tables
from evaluator.runs.measure import measure
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.evaluator.conftest import succeed
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.synthetic import Builder, find


class Strict(Protocol):
    """Whether the truth beats every false text."""

    name = "strict"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        strict = recall(items, items.false, "strictly right")
        return ProtocolResults(items, [strict], tabulate(items, [strict], ["kind"]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(registry._REGISTRY, "_places", dict(registry._REGISTRY._places))
    registry.register("strict", "tests.evaluator.protocols.test_protocol:Strict")
    builder = Builder(0, 40)
    for kind in ("swap", "flip") * 40:
        builder.add("strict", kind, CAPTION_AND_FOIL)
    return run_of(builder, tmp_path, lambda n: np.tile([1.0, 0.0, 0.0, 1.0], n // 4))


def test_the_command_measures_and_prints_it(folder: Path) -> None:
    done = succeed("measure", folder)
    assert "strictly right" in done.stdout
    assert (folder / "tables" / "strict.tex").exists()
    results = read_json(folder / "results.json")
    assert results["unknown_protocols"] == {}
    for kind, right in (("swap", 1), ("flip", 0)):
        assert find(results, "strict", "unseen", kind=kind)["value"] == right


def test_it_is_drawn_and_tabulated(folder: Path) -> None:
    results = measure(folder)
    (by_split,) = [figure for figure in figures([results]) if figure.name == "split-strict"]
    assert set(by_split.panels) == {"swap", "flip"}
    text = latex_tables(results)["strict"]
    assert all(rf"strict & strictly right & {kind} & " in text for kind in ("swap", "flip"))


def test_every_protocol_is_registered_once_by_its_own_name() -> None:
    for name in registry.protocol_names():
        assert registry.find_protocol(name).name == name
    with pytest.raises(
        UserError, match="Unknown protocol 'integratio'; did you mean 'integration'"
    ):
        registry.find_protocol("integratio")
    with pytest.raises(ValueError, match="The protocol 'binary' is already registered"):
        registry.register("binary", "my_package.binary:Binary")
