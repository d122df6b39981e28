from collections import Counter
from itertools import combinations_with_replacement, islice, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Holdout
from generator.holdout.membership import SplitPlan, arrangements, cluster_of, is_symmetric
from generator.vocabulary.schema import Vocabulary, read_vocabulary

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
    """Protocols, section 1: 6,042 seen (810 asymmetric), 1,314 partial (810 asymmetric), 36 unseen;
    groups 1,308 / 126 / 9 / 405."""
    plan = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, seed))
    scenes: Counter[tuple[int, bool]] = Counter()
    groups: dict[tuple[int, bool], set[str]] = {}
    for arrangement in arrangements(VOCABULARY, "color"):
        placing = plan.place(arrangement)
        key = (len(placing.held_out), is_symmetric(arrangement, plan.holdout))
        scenes[key] += 1
        groups.setdefault(key, set()).add(cluster_of(arrangement))
    assert scenes == {
        (0, True): 5232,
        (0, False): 810,
        (1, True): 504,
        (1, False): 810,
        (2, True): 36,
    }
    assert {key: len(names) for key, names in groups.items()} == {
        (0, True): 1308,
        (0, False): 405,
        (1, True): 126,
        (1, False): 405,
        (2, True): 9,
    }


def drawn_block(data: st.DataObject) -> tuple[Vocabulary, Holdout]:
    values, objects = data.draw(st.integers(3, 8)), data.draw(st.integers(3, 12))
    spec = f"{data.draw(st.integers(2, values - 1))}x{data.draw(st.integers(2, objects - 1))}"
    vocabulary = smaller(values, objects)
    return vocabulary, draw_block(spec, vocabulary, data.draw(st.integers(0, 99)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_rule_of_splits_against_every_pairing(data: st.DataObject) -> None:
    """Symmetric means: all pairings of the values with the objects have as many held-out bindings,
    counted one by one."""
    vocabulary, block = drawn_block(data)
    plan = SplitPlan(vocabulary, block)
    bindings = st.tuples(
        st.sampled_from(vocabulary.values("color")), st.sampled_from(list(vocabulary.objects))
    )
    arrangement = tuple(data.draw(st.lists(bindings, min_size=1, max_size=6)))
    values, objects = zip(*arrangement, strict=True)
    pairings = [tuple(zip(order, objects, strict=True)) for order in permutations(values)]
    counts = {
        sum(v in block.values and o in block.objects for v, o in pairing) for pairing in pairings
    }
    placings = [plan.place(pairing) for pairing in pairings]
    assert {is_symmetric(pairing, block) for pairing in pairings} == {len(counts) == 1}
    if len(counts) == 1:
        (count,) = counts
        (split,) = {placing.split for placing in placings}
        familiar = {0: {"train", "val", "seen"}, len(arrangement): {"unseen"}}
        assert split in familiar.get(count, {"partial"})
    for placing in placings:
        if len(counts) > 1:
            assert placing.split == (None if placing.held_out else "train")
        assert placing.split not in ("train", "val", "seen") or not placing.held_out


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_group_lies_in_one_split_in_any_order(data: st.DataObject) -> None:
    vocabulary, block = drawn_block(data)
    plan = SplitPlan(vocabulary, block)
    bindings = st.tuples(
        st.sampled_from(vocabulary.values("color")), st.sampled_from(list(vocabulary.objects))
    )
    arrangement = data.draw(st.lists(bindings, min_size=1, max_size=10))
    shuffled = data.draw(st.permutations(arrangement))
    assert cluster_of(tuple(shuffled)) == cluster_of(tuple(arrangement))
    assert plan.place(tuple(shuffled)).split == plan.place(tuple(arrangement)).split


@pytest.mark.parametrize("n", [2, 3, 6])
def test_familiar_groups_are_shared_out_5_15_80(n: int) -> None:
    block = draw_block("3x3", VOCABULARY, 1)
    plan = SplitPlan(VOCABULARY, block)
    free = [value for value in VOCABULARY.values("color") if value not in block.values]
    groups = {}
    for values in combinations_with_replacement(free, n):
        for objects in islice(combinations_with_replacement(VOCABULARY.objects, n), 300):
            arrangement = tuple(zip(values, objects, strict=True))
            groups[cluster_of(arrangement)] = plan.place(arrangement).split
    shares = Counter(groups.values())
    for split, share in {"val": 0.05, "seen": 0.15, "train": 0.8}.items():
        spread = 4 * (share * (1 - share) / len(groups)) ** 0.5
        assert abs(shares[split] / len(groups) - share) < spread


def test_arrangements_are_every_ordered_pair_once() -> None:
    seen = list(arrangements(smaller(3, 3), "color"))
    expected = {
        ((a, x), (b, y))
        for a, b in permutations(smaller(3, 3).values("color"), 2)
        for x, y in permutations(smaller(3, 3).objects, 2)
    }
    assert len(seen) == len(expected) == 36
    assert set(seen) == expected


NAMES = st.sampled_from("abcd")
BINDINGS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=16)


@given(BINDINGS, st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4))
def test_symmetric_is_what_no_other_pairing_changes(
    held_out: list[tuple[str, str]], arrangement: list[tuple[str, str]]
) -> None:
    holdout = Holdout("color", "shape", bindings=tuple(held_out))
    values, objects = zip(*arrangement, strict=True)
    counts = {
        sum(binding in held_out for binding in zip(paired, objects, strict=True))
        for paired in permutations(values)
    }
    assert is_symmetric(arrangement, holdout) == (len(counts) == 1)
