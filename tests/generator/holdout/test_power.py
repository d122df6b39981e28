"""What a design is said to tell, against the evaluator's intervals and power of simulated models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.designs import SPREADS, Design, Study, measured
from generator.holdout.blocks import draw_block
from generator.holdout.designs import find_design
from generator.holdout.membership import SplitPlan
from generator.plan.power import (
    ACCURACIES,
    BLOCK_SEEDS,
    SplitSize,
    difference,
    expected,
    half_width,
    sentence,
    told_split,
)
from generator.vocabulary.schema import read_vocabulary


@pytest.mark.full
@pytest.mark.parametrize("blocks", [1, 5])
def test_the_width_is_about_that_of_the_evaluators_intervals(blocks: int) -> None:
    study = Study(Design("", 200 * blocks, "blocks", blocks, (3, 3)), SPREADS[0], 0.75)
    mean = measured(study, 20)["unseen, this vocabulary"][:, 1].mean()
    assert half_width(SplitSize("unseen", 200, 9, 9, 2, (3, 3)), 0.75, blocks) == pytest.approx(mean, rel=0.33)


def test_one_pair_of_bindings_tells_no_difference() -> None:
    assert difference(SplitSize("unseen", 300, 1, 2, 2, (2, 2)), 0.5) is None


@given(st.integers(5, 300), st.integers(6, 20), st.integers(6, 20), st.integers(1, 50), st.floats(0.02, 0.98))
def test_more_block_seeds_tell_more(clusters: int, values: int, objects: int, each: int, accuracy: float) -> None:
    size = SplitSize("unseen", clusters * each, clusters, values * objects, 2, (values, objects))
    widths = [half_width(size, accuracy, seeds) for seeds in (1, 5, 8, 16)]
    assert 0.5 > widths[0] > widths[1] > widths[2] > widths[3] > 0
    assert half_width(size, 1 - accuracy) == pytest.approx(widths[0])


def test_more_bindings_tell_more_than_more_images() -> None:
    width = half_width(SplitSize("unseen", 300, 9, 9, 2, (3, 3)), 0.75)
    images, bindings = SplitSize("unseen", 3000, 9, 9, 2, (3, 3)), SplitSize("unseen", 300, 36, 16, 2, (4, 4))
    assert half_width(bindings, 0.75) < 0.8 * width < half_width(images, 0.75) < 1.01 * width


def test_a_size_is_counted_from_groups_and_arrangements() -> None:
    a, b, c = ("red", "cube"), ("blue", "cube"), ("blue", "sphere")
    size = SplitSize.of("unseen", [("g", (a, c)), ("g", (a, c)), ("h", (a, b, c))])
    assert size == SplitSize("unseen", 3, 2, 3, 7 / 3, (2, 2))
    assert size.times(3) == SplitSize("unseen", 9, 6, 9, 7 / 3, (6, 6))
    assert SplitSize.of("unseen", []).scenes == 0


def test_every_accuracy_is_told_for_every_number_of_block_seeds() -> None:
    size = SplitSize("unseen", 300, 9, 9, 2, (3, 3))
    rows = expected(size)
    assert [(row.accuracy, row.block_seeds) for row in rows] == [(a, n) for a in ACCURACIES for n in BLOCK_SEEDS]
    assert [rows[0].half_width, rows[0].difference] == [half_width(size, 0.5), difference(size, 0.5)]
    assert rows[5].half_width == half_width(size, 0.75, 3)


def test_a_line_says_what_one_and_five_block_seeds_tell() -> None:
    assert sentence(SplitSize("unseen", 300, 9, 9, 2, (3, 3))) == (
        "9 groups of 9 bindings: an unseen accuracy of 75% will have an interval of about ±21 points; with 5 block "
        "seeds ±13."
    )
    assert sentence(SplitSize("ood_test", 300, 1, 4, 2, (2, 2))).startswith(
        "Too small: ±49 points for an ood_test accuracy of 75% (1 group of 4 bindings"
    )


def test_the_split_whose_accuracy_is_the_claim() -> None:
    vocabulary = read_vocabulary("clevr")
    assert told_split(SplitPlan(vocabulary, draw_block("3x3", vocabulary, 0))) == "unseen"
    for name, split in (("systematicity", "unseen"), ("coverage", "unseen"), ("gzsl", "ood_test")):
        design = find_design(name)
        holdout = design.draw(design.default_holdout(vocabulary), vocabulary, 0, True)[0]
        assert told_split(design.rule(vocabulary, holdout)) == split
