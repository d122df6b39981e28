"""Scenes of one object, or of three and more: even, varied, and in their split."""

from collections import Counter
from collections.abc import Sequence

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import Arrangement, SplitPlan
from generator.holdout.request import draw_holdouts
from generator.plan.many_objects import ManyObjectScenes
from generator.plan.two_objects import TwoObjectScenes
from generator.vocabulary.schema import read_vocabulary
from tests.generator.plan.spreads import spreads

VOCABULARY = read_vocabulary("clevr")
PLAN = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, 0))
NUMBERS = [3, 4, 5, 6, 7, 8, 9, 10] * 50


def drawn(plan: SplitPlan, split: str, numbers: Sequence[int]) -> list[Arrangement]:
    """Arrangements of a split."""
    conflicts = TwoObjectScenes(plan).conflicts
    return list(ManyObjectScenes(plan, conflicts).draw(split, numbers, Stream("x", split)))


@pytest.mark.parametrize("split", ["train", "val", "seen", "unseen"])
@pytest.mark.parametrize("block_seed", [1, 2])
def test_many_objects_are_even_for_any_block(split: str, block_seed: int) -> None:
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, block_seed))
    assert max(spreads(drawn(plan, split, NUMBERS))) <= 1


@pytest.mark.parametrize(
    ("asked", "design", "split"),
    [
        (("relation:pair=2x3",), "bindsplit", "seen"),
        (("k4",), "coverage", "seen"),
        (("k4",), "coverage", "unseen"),
        (("3x3", "atoms=1x2"), "systematicity", "unseen_atoms"),
    ],
)
def test_names_that_are_held_out_alike_are_even_in_scenes_that_are_put_together(
    asked: tuple[str, ...], design: str, split: str
) -> None:
    holdout = draw_holdouts(asked, design, VOCABULARY, 0)[0]
    arrangements = drawn(SplitPlan(VOCABULARY, holdout), split, [3, 4, 5, 6] * 100)
    names = (VOCABULARY.values("color"), list(VOCABULARY.objects))
    for role, like in ((0, holdout.value_like), (1, holdout.object_like)):
        for place in (None, *range(6)):
            seen = Counter(a[i][role] for a in arrangements for i in range(len(a)) if place in (None, i))
            for one in names[role]:
                counts = [seen[name] for name in names[role] if like(name) == like(one)]
                assert max(counts) - min(counts) <= 1


def test_scenes_are_varied_where_the_block_leaves_most_values_one_object() -> None:
    """Of clevr-original's three shapes two are in the block, so that values and shapes cannot all be equally frequent."""
    vocabulary = read_vocabulary("clevr-original")
    found = drawn(SplitPlan(vocabulary, draw_block("3x2", vocabulary, 0)), "train", [8] * 100)
    assert sum(len({value for value, _ in arrangement}) for arrangement in found) / len(found) > 4.5
    assert sum(len({thing for _, thing in arrangement}) for arrangement in found) / len(found) > 2.5


def test_partial_scenes_have_every_number_of_held_out_bindings() -> None:
    shares = Counter(len(PLAN.place(a).held_out) for a in drawn(PLAN, "partial", [5] * 400))
    assert set(shares) == {1, 2, 3, 4}
    assert min(shares.values()) > 70


def test_objects_of_conflicting_categories_stand_in_no_scene_without_held_out_relations() -> None:
    categories = list(VOCABULARY.objects)
    conflicts = {(categories[0], categories[1]), (categories[1], categories[0])}
    for arrangement in ManyObjectScenes(PLAN, conflicts).draw("train", [3] * 100, Stream("x")):
        assert not {categories[0], categories[1]} <= {thing for _, thing in arrangement}


def test_scenes_of_one_object_train() -> None:
    found = drawn(PLAN, "train", [1] * 200)
    assert {PLAN.place(arrangement).split for arrangement in found} == {"train"}
    assert max(spreads(found)) <= 1


def test_a_split_without_a_scene_is_refused() -> None:
    """One object is in the block or beside it, never between."""
    with pytest.raises(UserError, match="leaves no scene of 3 objects for the split unseen_atoms"):
        drawn(PLAN, "unseen_atoms", [3])
