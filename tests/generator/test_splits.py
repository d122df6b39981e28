from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.errors import UserError
from generator.holdout import draw_block
from generator.splits import SPLITS, SplitPlan, arrangements, cluster_of, held_out_bindings, swapped
from generator.vocabulary import Vocabulary, read_vocabulary

VOCABULARY = read_vocabulary("clevr")


def smaller(values: int, objects: int) -> Vocabulary:
    """The first values and objects of the clevr family."""
    colors = dict(list(VOCABULARY.attributes["color"].items())[:values])
    return VOCABULARY.model_copy(
        update={
            "attributes": {**VOCABULARY.attributes, "color": colors},
            "objects": dict(list(VOCABULARY.objects.items())[:objects]),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_the_8x12_grid_with_a_3x3_block(seed: int) -> None:
    """Protocols, section 1: 6,042 seen (810 asymmetric), 1,314 partial (810 asymmetric), 36 unseen; groups 1,308 / 126 / 9 / 405."""
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, seed))
    scenes: Counter[tuple[int, bool]] = Counter()
    groups: dict[tuple[int, bool], set[str]] = {}
    for arrangement in arrangements(VOCABULARY, "color"):
        placing = plan.place(arrangement)
        key = (len(placing.held_out), placing.symmetric)
        scenes[key] += 1
        groups.setdefault(key, set()).add(cluster_of(arrangement))
    assert scenes == {(0, True): 5232, (0, False): 810, (1, True): 504, (1, False): 810, (2, True): 36}
    assert {key: len(names) for key, names in groups.items()} == {
        (0, True): 1308, (0, False): 405, (1, True): 126, (1, False): 405, (2, True): 9,
    }  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 8), st.integers(4, 12), st.data())
def test_no_split_leaks(values: int, objects: int, data: st.DataObject) -> None:
    vocabulary = smaller(values, objects)
    spec = f"{data.draw(st.integers(2, values - 2))}x{data.draw(st.integers(2, objects - 2))}"
    block = draw_block(spec, vocabulary, data.draw(st.integers(0, 99)))
    try:
        plan = SplitPlan(vocabulary, block)
    except UserError:
        return  # too few groups for all splits; test_too_few_groups_are_refused
    of_cluster: dict[str, set[str]] = {}
    for arrangement in arrangements(vocabulary, "color"):
        placing = plan.place(arrangement)
        held = sum(v in block.values and o in block.objects for v, o in arrangement)
        held_swap = sum(v in block.values and o in block.objects for v, o in swapped(arrangement))
        if placing.split is None:
            assert held == 1
            assert held_swap == 0
            continue
        of_cluster.setdefault(cluster_of(arrangement), set()).add(placing.split)
        assert held == {"train": 0, "val": 0, "seen": 0, "partial": 1, "unseen": 2}[placing.split]
        if placing.split != "train":
            assert held == held_swap
    assert all(len(splits) == 1 for splits in of_cluster.values())
    assert {split for splits in of_cluster.values() for split in splits} == set(SPLITS)


def test_arrangements_are_every_ordered_pair_once() -> None:
    seen = list(arrangements(smaller(3, 3), "color"))
    expected = {
        ((a, x), (b, y))
        for a, b in permutations(smaller(3, 3).values("color"), 2)
        for x, y in permutations(smaller(3, 3).objects, 2)
    }
    assert len(seen) == len(expected) == 36
    assert set(seen) == expected


def test_swap_and_cluster() -> None:
    arrangement = (("red", "cube"), ("blue", "sphere"))
    assert swapped(arrangement) == (("blue", "cube"), ("red", "sphere"))
    names = {cluster_of(a) for a in (arrangement, swapped(arrangement), arrangement[::-1], swapped(arrangement)[::-1])}
    assert len(names) == 1


def test_held_out_bindings_are_listed() -> None:
    block = draw_block("3x3", VOCABULARY, 0)
    arrangement = ((block.values[0], block.objects[0]), (block.values[1], block.objects[1]))
    assert held_out_bindings(arrangement, block) == list(arrangement)


def test_too_few_groups_are_refused() -> None:
    vocabulary = smaller(3, 3)
    with pytest.raises(UserError, match="too few for train, val, seen and partial"):
        SplitPlan(vocabulary, draw_block("2x2", vocabulary, 0))
