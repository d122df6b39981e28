"""What scenes of a split hold: only what the split allows, and all of it equally often."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SPLITS, Arrangement, SplitPlan
from generator.holdout.request import draw_holdouts
from generator.plan.split_scenes import SplitScenes
from generator.scene.layouts import facts
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.plan.spreads import spreads

VOCABULARY = read_vocabulary("clevr")
BLOCK = draw_block("3x3", VOCABULARY, 0)
PLAN = SplitPlan(VOCABULARY, BLOCK)
NUMBERS = [3, 4, 5, 6, 7, 8, 9, 10] * 50


def drawn(split: str, numbers: list[int]) -> list[Arrangement]:
    """Arrangements of a split of the 3x3 block."""
    return [content.arrangement for content in SplitScenes(PLAN).draw(split, numbers, Stream("x", split))]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SPLITS),
    st.lists(st.integers(2, 10), min_size=1, max_size=5),
    st.integers(0, 99),
    st.sampled_from(["2x2", "3x3", "7x2", "2x11", "5x8"]),
)
@pytest.mark.full
def test_arrangements_have_their_number_and_their_split(split: str, numbers: list[int], seed: int, spec: str) -> None:
    plan = SplitPlan(VOCABULARY, draw_block(spec, VOCABULARY, seed))
    arrangements = [content.arrangement for content in SplitScenes(plan).draw(split, numbers, Stream("x", seed))]
    assert [len(arrangement) for arrangement in arrangements] == numbers
    assert {plan.place(arrangement).split for arrangement in arrangements} == {split}
    for arrangement in arrangements:
        if len(arrangement) == 2:
            assert all(len(set(parts)) == 2 for parts in zip(*arrangement, strict=True))


@pytest.mark.parametrize("split", ["train", "seen", "unseen"])
@pytest.mark.parametrize("numbers", [[2] * 230, NUMBERS])
def test_values_and_objects_are_equally_frequent_in_all_and_at_every_place(split: str, numbers: list[int]) -> None:
    assert max(spreads(drawn(split, numbers))) <= 1


@pytest.mark.parametrize("numbers", [[2] * 230, NUMBERS])
def test_partial_scenes_are_even_on_either_side_of_the_block(numbers: list[int]) -> None:
    arrangements = drawn("partial", numbers)
    for sort, side in ((0, BLOCK.values), (1, BLOCK.objects)):
        counts = Counter(binding[sort] for arrangement in arrangements for binding in arrangement)
        for some in ([n for name, n in counts.items() if (name in side) is held] for held in (True, False)):
            assert max(some) - min(some) <= 1


def small(values: int, objects: int) -> Vocabulary:
    """The first values and objects of the clevr family."""
    colors = dict(list(VOCABULARY.attributes["color"].items())[:values])
    return VOCABULARY.model_copy(
        update={
            "attributes": {**VOCABULARY.attributes, "color": colors},
            "objects": dict(list(VOCABULARY.objects.items())[:objects]),
        }
    )


def test_a_split_without_a_scene_is_refused() -> None:
    vocabulary = small(3, 3)
    plan = SplitPlan(vocabulary, draw_block("2x2", vocabulary, 0))
    with pytest.raises(UserError, match="leaves no scene of 2 objects for the split seen"):
        list(SplitScenes(plan).draw("seen", [2], Stream("x")))


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("split", ["train", "seen", "unseen"])
def test_layouts_keep_scenes_in_their_split_where_relations_are_held_out(split: str, n: int) -> None:
    plan = SplitPlan(VOCABULARY, draw_holdouts(("relation:pair=2x3",), "bindsplit", VOCABULARY, 0)[0])
    for scene in SplitScenes(plan).draw(split, [n] * 20, Stream("x")):
        assert scene.split == split
        assert plan.place(scene.arrangement, facts(scene.layout, VOCABULARY)).split == split
