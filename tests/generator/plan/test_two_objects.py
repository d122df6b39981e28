"""What scenes of a split hold: only what the split allows, and all of it equally often."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SPLITS, Arrangement, SplitPlan
from generator.holdout.request import draw_holdouts
from generator.plan.split_scenes import SplitScenes
from generator.vocabulary.schema import Vocabulary, read_vocabulary

VOCABULARY = read_vocabulary("clevr")
BLOCK = draw_block("3x3", VOCABULARY, 0)
PLAN = SplitPlan(VOCABULARY, BLOCK)
NUMBERS = [3, 4, 5, 6, 7, 8, 9, 10] * 50


def drawn(split: str, numbers: list[int]) -> list[Arrangement]:
    """Arrangements of a split of the 3x3 block."""
    return [content.arrangement for content in SplitScenes(PLAN).draw(split, numbers, Stream("x", split))]


def spreads(arrangements: list[Arrangement]) -> list[int]:
    """By how much the most frequent value, and object, exceeds the least frequent one: at each place, then in all."""
    found = []
    for sort in (0, 1):
        everywhere = [binding[sort] for arrangement in arrangements for binding in arrangement]
        places = [
            [a[place][sort] for a in arrangements if len(a) > place] for place in range(max(map(len, arrangements)))
        ]
        for names in [everywhere, *places]:
            counts = Counter(names)
            missing = len({*everywhere}) - len(counts)
            found.append(max(counts.values()) - (0 if missing else min(counts.values())))
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SPLITS),
    st.lists(st.integers(2, 10), min_size=1, max_size=5),
    st.integers(0, 99),
    st.sampled_from(["2x2", "3x3", "7x2", "2x11", "5x8"]),
)
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


@pytest.mark.parametrize("split", ["train", "val", "seen", "unseen"])
@pytest.mark.parametrize("block_seed", [1, 2])
def test_many_objects_are_even_for_any_block(split: str, block_seed: int) -> None:
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, block_seed))
    contents = SplitScenes(plan).draw(split, NUMBERS, Stream("x"))
    assert max(spreads([content.arrangement for content in contents])) <= 1


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
    contents = SplitScenes(SplitPlan(VOCABULARY, holdout)).draw(split, [3, 4, 5, 6] * 100, Stream("x", split))
    arrangements = [content.arrangement for content in contents]
    names = (VOCABULARY.values("color"), list(VOCABULARY.objects))
    for sort, like in ((0, holdout.value_like), (1, holdout.object_like)):
        for place in (None, *range(6)):
            seen = Counter(a[i][sort] for a in arrangements for i in range(len(a)) if place in (None, i))
            for one in names[sort]:
                counts = [seen[name] for name in names[sort] if like(name) == like(one)]
                assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    "block_seed", [0, 1, pytest.param(3, marks=pytest.mark.full), pytest.param(5, marks=pytest.mark.full)]
)
@pytest.mark.parametrize(("split", "n"), [("val", 100), ("seen", 300)])
def test_the_default_numbers_of_scenes_are_even_too(block_seed: int, split: str, n: int) -> None:
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, block_seed))
    contents = SplitScenes(plan).draw(split, [2] * n, Stream("x"))
    assert max(spreads([content.arrangement for content in contents])) <= 1


@pytest.mark.parametrize("numbers", [[2] * 230, NUMBERS])
def test_partial_scenes_are_even_on_either_side_of_the_block(numbers: list[int]) -> None:
    arrangements = drawn("partial", numbers)
    for sort, side in ((0, BLOCK.values), (1, BLOCK.objects)):
        counts = Counter(binding[sort] for arrangement in arrangements for binding in arrangement)
        for some in ([n for name, n in counts.items() if (name in side) is held] for held in (True, False)):
            assert max(some) - min(some) <= 1


def test_scenes_are_varied_where_the_block_leaves_most_values_one_object() -> None:
    """Of clevr-original's three shapes two are in the block, so that values and shapes cannot all be equally frequent."""
    vocabulary = read_vocabulary("clevr-original")
    contents = SplitScenes(SplitPlan(vocabulary, draw_block("3x2", vocabulary, 0)))
    drawn = [content.arrangement for content in contents.draw("train", [8] * 100, Stream("x"))]
    assert sum(len({value for value, _ in arrangement}) for arrangement in drawn) / len(drawn) > 4.5
    assert sum(len({thing for _, thing in arrangement}) for arrangement in drawn) / len(drawn) > 2.5


def test_partial_scenes_have_every_number_of_held_out_bindings() -> None:
    shares = Counter(len(PLAN.place(a).held_out) for a in drawn("partial", [5] * 400))
    assert set(shares) == {1, 2, 3, 4}
    assert min(shares.values()) > 70


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
