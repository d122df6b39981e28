"""What a design is said to tell, against the evaluator's intervals and tests of simulated
models."""

from pathlib import Path

import numpy as np
import pytest

from bench.designs import SPREADS, Design, Study, simulate
from evaluator.statistics.difference import model_difference
from generator.base.clusters import Clusters
from generator.holdout.request import HoldoutRequest
from generator.plan import power
from generator.plan.evaluated import EvaluatedScenes
from generator.plan.power import EFFECTS, alternatives, expected, sentence
from generator.vocabulary.schema import read_vocabulary

USUAL = EFFECTS["usual"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setattr("generator.plan.power.user_cache_path", lambda _: tmp_path)
    return tmp_path


def designs(number: int) -> dict[str, EvaluatedScenes]:
    vocabulary = read_vocabulary("clevr")
    (block,) = HoldoutRequest(holdout=("3x3",)).holdouts(vocabulary)
    return {design.name: design for design in alternatives(block, vocabulary, number)}


def test_more_blocks_and_rotations_tell_more_and_images_hardly_do() -> None:
    few, many = designs(200), designs(1000)
    widths = [expected(design, 0.75, 1, USUAL).half_width for design in few.values()]
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]
    assert expected(many["one block of 3x3"], 0.75, 1, USUAL).half_width > 0.8 * widths[0]
    assert expected(few["rotation of 4 turns"], 0.75, 2, USUAL).half_width < 0.8 * widths[2]


def test_a_result_is_kept_and_read_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = designs(100)["one block of 3x3"]
    first = expected(design, 0.75, 1, USUAL)
    assert len(list((cache / "power").iterdir())) == 1
    monkeypatch.setattr(power, "half_width", lambda *_: pytest.fail("simulated again"))
    assert expected(design, 0.75, 1, USUAL) == first


def test_a_line_says_what_the_whole_design_tells() -> None:
    found = designs(100)
    assert sentence(found["one block of 3x3"]).endswith(
        "Too wide for a paper: use a rotation or more blocks."
    )
    of_rotation = sentence(found["rotation of 4 turns"])
    assert of_rotation.startswith(
        "scenes of 96 combinations: unseen accuracy of 75% over 4 turns together will have"
    )
    assert "with two trainings of each turn" in of_rotation


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "design"),
    [
        ("one block of 3x3", Design("", 400, "blocks", 1, (3, 3))),
        ("rotation of 4 turns", Design("", 400, "rotation", 4, (2, 3), 2)),
    ],
)
def test_the_width_is_that_of_the_evaluators_intervals(name: str, design: Design) -> None:
    width = expected(designs(400)[name], 0.75, design.trainings, USUAL).half_width
    evaluators = simulate(Study(design, SPREADS[0], 0.75), 30)["unseen, this vocabulary"][
        :, 1
    ].mean()
    assert width == pytest.approx(evaluators, rel=0.15)


@pytest.mark.full
def test_the_difference_of_a_rotation_is_shown_in_eighty_percent_of_cases() -> None:
    """With 150 draws, the standard error is 3 points; the difference itself adds as much."""
    design = designs(400)["rotation of 4 turns"]
    least = expected(design, 0.75, 1, USUAL).difference or pytest.fail("a difference is shown")
    prepared, rng = power.SimulatedDesign(design, 1), np.random.default_rng(7)
    blocks = np.array(design.blocks)
    clusters = Clusters.from_names(design.clusters, design.bindings, vocabulary=design.vocabulary)
    cuts = np.flatnonzero(np.diff(blocks)) + 1
    significant = 0
    for _ in range(150):
        sides = [prepared.outcomes(accuracy, USUAL, rng) for accuracy in (0.75, 0.75 - least)]
        first, second = (np.split(side, cuts) for side in sides)
        found = model_difference(
            [(a[None], b[None]) for a, b in zip(first, second, strict=True)], clusters
        )
        significant += found.p < 0.05 and found.value > 0
    assert 0.7 < significant / 150 < 0.9
