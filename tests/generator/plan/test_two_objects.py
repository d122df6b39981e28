"""Scenes of two objects: even values, objects and groups."""

from collections import Counter

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan, cluster_of
from generator.holdout.request import draw_holdouts
from generator.plan.two_objects import TwoObjectScenes
from generator.vocabulary.schema import read_vocabulary
from tests.generator.plan.spreads import spreads

VOCABULARY = read_vocabulary("clevr")


@pytest.mark.parametrize(
    "block_seed", [0, 1, pytest.param(3, marks=pytest.mark.full), pytest.param(5, marks=pytest.mark.full)]
)
@pytest.mark.parametrize(("split", "n"), [("val", 100), ("seen", 300)])
def test_the_default_numbers_of_scenes_are_even(block_seed: int, split: str, n: int) -> None:
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, block_seed))
    assert max(spreads(TwoObjectScenes(plan).draw(split, n, Stream("x")))) <= 1


@pytest.mark.parametrize("n", [1, 50, 181])
def test_groups_of_the_block_are_even(n: int) -> None:
    """Nine groups: two of three values with two of three objects."""
    drawn = TwoObjectScenes(SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, 0))).draw("unseen", n, Stream("x"))
    counts = Counter(map(cluster_of, drawn))
    assert counts.total() == n
    assert len(counts) == min(n, 9)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_same_stream_draws_the_same_scenes() -> None:
    scenes = TwoObjectScenes(SplitPlan(VOCABULARY, draw_block("2x3", VOCABULARY, 0)))
    assert scenes.draw("seen", 40, Stream("x")) == scenes.draw("seen", 40, Stream("x"))
    assert scenes.draw("seen", 40, Stream("x")) != scenes.draw("seen", 40, Stream("y"))


def test_categories_conflict_that_show_a_held_out_relation_in_every_layout() -> None:
    free = TwoObjectScenes(SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, 0)))
    assert free.conflicts == frozenset()
    holdout = draw_holdouts(("relation:pair=2x3",), "bindsplit", VOCABULARY, 0)[0]
    related = {(subject, thing) for subject, _, thing in holdout.triples}
    conflicts = TwoObjectScenes(SplitPlan(VOCABULARY, holdout)).conflicts
    assert conflicts <= related


def test_no_scenes_are_drawn_of_a_split_that_has_none() -> None:
    holdout = draw_block("3x3", VOCABULARY, 0)
    scenes = TwoObjectScenes(SplitPlan(VOCABULARY, holdout))
    assert scenes.draw("unseen_atoms", 0, Stream("x")) == []
    with pytest.raises(UserError, match="leaves no scene of 2 objects for the split unseen_atoms"):
        scenes.draw("unseen_atoms", 1, Stream("x"))
