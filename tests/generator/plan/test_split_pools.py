"""Pools: their combinations fall in the split, and names become equally frequent when those of each pool are."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.holdout.request import draw_holdouts
from generator.plan.split_pools import SplitPools
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")
NAMES = (VOCABULARY.values("color"), list(VOCABULARY.objects))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["val", "seen", "partial", "unseen"]),
    st.integers(2, 6),
    st.sampled_from(["2x2", "3x3", "2x6"]),
    st.integers(0, 99),
)
def test_any_names_of_the_pools_belong_to_the_split(split: str, n: int, spec: str, seed: int) -> None:
    holdout, stream = draw_block(spec, VOCABULARY, seed), Stream("x", seed)
    plan = SplitPlan(VOCABULARY, holdout)
    for scene in SplitPools(holdout, NAMES).of(split, [n] * 5, stream):
        assert len(scene) == n
        arrangement = tuple(
            (values[stream.below(len(values))], objects[stream.below(len(objects))]) for values, objects in scene
        )
        placing = plan.place(arrangement)
        if split in ("val", "seen"):  # scenes with nothing held out train or evaluate by their group
            assert not placing.held_out
        else:
            assert placing.split == split


@pytest.mark.parametrize("split", ["train", "seen", "unseen"])
def test_pools_give_each_name_the_same_share(split: str) -> None:
    """Each name of a pool has an equal share of the places that have the pool; of 960 scenes the shares come out exact."""
    holdout = draw_block("2x3", VOCABULARY, 0)
    expected = (
        dict.fromkeys(holdout.values) if split == "unseen" else dict.fromkeys(NAMES[0]),
        dict.fromkeys(holdout.objects) if split == "unseen" else dict.fromkeys(NAMES[1]),
    )
    scenes = SplitPools(holdout, NAMES).of(split, [3] * 960, Stream("x"))
    for role in (0, 1):
        shares: Counter[str] = Counter()
        for scene in scenes:
            for pools in scene:
                for name in pools[role]:
                    shares[name] += Fraction(1, len(pools[role]))  # type: ignore[assignment]
        assert set(shares) == set(expected[role])
        assert max(shares.values()) - min(shares.values()) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("asked", "design", "split"),
    [
        (("3x3",), "bindsplit", "unseen_atoms"),
        (("7x11",), "bindsplit", "seen"),
        (("k4",), "coverage", "seen"),
        (("relation:pair=2x3",), "bindsplit", "seen"),
    ],
)
def test_there_are_no_pools_where_they_cannot_make_names_even(asked: tuple[str, ...], design: str, split: str) -> None:
    holdout = draw_holdouts(asked, design, VOCABULARY, 0)[0]
    assert SplitPools(holdout, NAMES).of(split, [3, 4], Stream("x")) == []


def test_absent_names_are_in_no_pool() -> None:
    holdout = draw_holdouts(("3x3", "atoms=1x2"), "systematicity", VOCABULARY, 0)[0]
    for split in ("train", "seen", "partial", "unseen"):
        for scene in SplitPools(holdout, NAMES).of(split, [3] * 20, Stream("x")):
            for pools in scene:
                assert not {*holdout.absent_values, *holdout.absent_objects} & {*pools[0], *pools[1]}
