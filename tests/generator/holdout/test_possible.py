"""Splits that cannot have a scene are told from counts, exactly as an enumeration of all scenes
finds them."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import is_symmetric
from generator.holdout.possible import balance_note, splits_that_stay_empty, splits_without_scenes
from generator.vocabulary.schema import read_vocabulary

VALUES, OBJECTS = ("red", "blue", "gray"), ("cube", "cone", "torus", "drum")
EVERY = [*product(VALUES, OBJECTS)]


def enumerated(holdout: Holdout, n: int) -> set[str]:
    """The splits with a scene of n objects that a caption can ask about, by trying every scene."""
    splits = set()
    for scene in product(EVERY, repeat=n):
        if n == 2 and (scene[0][0] == scene[1][0] or scene[0][1] == scene[1][1]):
            continue
        if not is_symmetric(scene, holdout):
            continue
        held_out = sum(binding in holdout.bindings for binding in scene)
        split = "seen" if held_out == 0 else "unseen" if held_out == n else "partial"
        if split not in splits and askable(scene, holdout, split):
            splits.add(split)
    return splits


def askable(scene: tuple[Binding, ...], holdout: Holdout, split: str) -> bool:
    categories = [category for _, category in scene]
    alone = [binding for binding in scene if categories.count(binding[1]) == 1]
    return any(
        one[0] != other[0]
        and (split != "partial" or (one in holdout.bindings) != (other in holdout.bindings))
        for one, other in combinations(alone, 2)
    )


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(EVERY), min_size=1, max_size=9), st.sampled_from([2, 2, 2, 3]))
def test_counts_say_what_an_enumeration_finds(held_out: set[Binding], n: int) -> None:
    holdout = Holdout("color", "shape", bindings=tuple(sorted(held_out)))
    empty = splits_without_scenes(holdout, VALUES, OBJECTS, n)
    assert {"seen", "partial", "unseen"} - {*empty} == enumerated(holdout, n)
    assert ("val" in empty) == ("seen" in empty)


@pytest.mark.parametrize(
    ("specs", "empty"),
    [
        (["gray:cube"], ["partial", "unseen"]),
        (["gray:cube", "blue:sphere"], ["partial", "unseen"]),
        (["gray:cube", "blue:cube"], ["unseen"]),
        (["gray:cube", "gray:sphere"], ["unseen"]),
        (["gray:cube", "gray:sphere", "blue:cube"], ["unseen"]),
        (["color=gray,blue shape=cube,sphere"], []),
        (["3x3"], []),
    ],
)
def test_asymmetric_splits_stand_in_for_an_empty_unseen(specs: list[str], empty: list[str]) -> None:
    holdout = draw_block(specs, read_vocabulary("clevr"), 0)
    assert splits_that_stay_empty(holdout) == empty
    assert holdout.asymmetric == bool(empty)
    assert (balance_note(holdout) is None) == (not empty)
