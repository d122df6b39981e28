"""What scenes of a split hold: only what the split allows, and all of it equally often."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.contents import Contents
from generator.dataset.errors import UserError
from generator.holdout import draw_block
from generator.splits import SPLITS, SplitPlan
from generator.streams import Stream
from generator.vocabulary import Vocabulary, read_vocabulary

VOCABULARY = read_vocabulary("clevr")
BLOCK = draw_block("3x3", VOCABULARY, 0)
PLAN = SplitPlan(VOCABULARY, BLOCK)
NUMBERS = [3, 4, 5, 6, 7, 8, 9, 10] * 50


def drawn(split: str, numbers: list[int]) -> Counter[tuple[str, str]]:
    """How often each binding is drawn."""
    return Counter(b for arrangement in Contents(PLAN).draw(split, numbers, Stream("x", split)) for b in arrangement)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SPLITS),
    st.lists(st.integers(2, 10), min_size=1, max_size=5),
    st.integers(0, 99),
    st.sampled_from(["2x2", "3x3", "7x2", "2x11", "5x8"]),
)
def test_arrangements_have_their_number_and_their_split(split: str, numbers: list[int], seed: int, spec: str) -> None:
    plan = SplitPlan(VOCABULARY, draw_block(spec, VOCABULARY, seed))
    arrangements = list(Contents(plan).draw(split, numbers, Stream("x", seed)))
    assert [len(arrangement) for arrangement in arrangements] == numbers
    assert {plan.place(arrangement).split for arrangement in arrangements} == {split}
    for arrangement in arrangements:
        if len(arrangement) == 2:
            assert all(len(set(parts)) == 2 for parts in zip(*arrangement, strict=True))


@pytest.mark.parametrize(("split", "bindings", "spread"), [("train", 87, 4), ("unseen", 9, 1)])
def test_bindings_of_training_and_unseen_scenes_are_balanced(split: str, bindings: int, spread: int) -> None:
    counts = drawn(split, NUMBERS)
    assert len(counts) == bindings
    assert max(counts.values()) - min(counts.values()) <= spread


def test_bindings_of_seen_scenes_are_balanced() -> None:
    counts = drawn("seen", NUMBERS)
    assert len(counts) == 87
    assert min(counts.values()) / max(counts.values()) > 0.75


def test_bindings_of_partial_scenes_are_balanced_held_out_and_not() -> None:
    counts = drawn("partial", NUMBERS)
    held = [n for binding, n in counts.items() if BLOCK.holds_out(*binding)]
    others = [n for binding, n in counts.items() if not BLOCK.holds_out(*binding)]
    assert (len(held), len(others)) == (9, 42)
    assert 0.45 < sum(held) / sum(counts.values()) < 0.55
    for some in (held, others):
        assert min(some) / max(some) > 0.75


def test_partial_scenes_have_every_number_of_held_out_bindings() -> None:
    shares = Counter(len(PLAN.place(a).held_out) for a in Contents(PLAN).draw("partial", [5] * 400, Stream("y")))
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
        list(Contents(plan).draw("seen", [2], Stream("x")))
