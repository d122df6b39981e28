"""Doses of exposure: which bindings get which dose, and which training scenes show them."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.doses import parse_doses, with_doses
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Arrangement, arrangements
from generator.holdout.request import HoldoutRequest
from generator.holdout.rotation import RotationRule
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")
SCENES: list[tuple[str, Arrangement]] = [
    (f"{number:06d}", arrangement)
    for number, arrangement in enumerate(arrangements(CLEVR, "color"))
]


def dosed_turns(doses: tuple[int, ...], turns: int = 4, block_seed: int = 0) -> list[Holdout]:
    request = HoldoutRequest(holdout=(f"turns={turns}",), block_seeds=(block_seed,))
    return [
        with_doses(holdout=holdout, doses=doses, vocabulary=CLEVR, scenes=SCENES)
        for holdout in request.holdouts(CLEVR)
    ]


@pytest.mark.parametrize("doses", [(0, 1), (0, 1, 10), (0, 1, 10, 30)])
def test_training_shows_each_binding_as_often_as_its_dose_says(doses: tuple[int, ...]) -> None:
    for holdout in dosed_turns(doses)[:2]:
        rule = RotationRule(CLEVR, holdout)
        times_shown: Counter[tuple[str, str]] = Counter()
        for scene_id, arrangement in SCENES:
            if rule.place(arrangement, scene_id=scene_id).split == "train":
                times_shown.update(
                    binding for binding in arrangement if holdout.holds_out(*binding)
                )
        expected = {binding: dose.times for dose in holdout.doses for binding in dose.bindings}
        assert times_shown == Counter(expected)
        assert {dose.times for dose in holdout.doses} | {0} == set(doses)


@given(st.integers(2, 4), st.integers(0, 20))
def test_every_sub_block_has_one_dose(turns: int, block_seed: int) -> None:
    doses = tuple(range(turns))
    for holdout in dosed_turns_without_scenes(doses, turns, block_seed):
        dose_of = {binding: dose.times for dose in holdout.doses for binding in dose.bindings}
        for i, values in enumerate(holdout.value_groups):
            objects = holdout.object_groups[(i + (holdout.turn or 0)) % turns]
            assert len({dose_of.get(binding, 0) for binding in product(values, objects)}) == 1


def dosed_turns_without_scenes(
    doses: tuple[int, ...], turns: int, block_seed: int
) -> list[Holdout]:
    """Turns whose doses are shown by any scene: enough copies of a scene for each binding."""
    holdouts = HoldoutRequest(holdout=(f"turns={turns}",), block_seeds=(block_seed,)).holdouts(
        CLEVR
    )
    return [
        with_doses(
            holdout=holdout,
            doses=doses,
            vocabulary=CLEVR,
            scenes=_enough_scenes(holdout, max(doses)),
        )
        for holdout in holdouts
    ]


def _enough_scenes(holdout: Holdout, times: int) -> list[tuple[str, Arrangement]]:
    rule = RotationRule(CLEVR, holdout)
    scenes: list[tuple[str, Arrangement]] = []
    for value, category in holdout.bindings:
        for other_value, other in product(CLEVR.values("color"), CLEVR.objects):
            arrangement = ((value, category), (other_value, other))
            fits = value != other_value and category != other and rule.pool(arrangement) == "train"
            if fits and not holdout.holds_out(other_value, other):
                scenes += [(f"{len(scenes) + n:06d}", arrangement) for n in range(times)]
                break
    return scenes


def test_scenes_of_a_dose_ask_in_a_split_of_their_own() -> None:
    holdout = dosed_turns((0, 1, 10))[1]
    rule = RotationRule(CLEVR, holdout)
    splits = Counter(rule.place(arrangement).split for _, arrangement in SCENES)
    assert splits["dose1"] > 0
    assert splits["dose10"] > 0
    assert splits["unseen"] > 0
    for _, arrangement in SCENES:
        split = rule.place(arrangement).split
        for dose in holdout.doses:
            touched = set(arrangement) & set(dose.bindings)
            assert (split == dose.split) == (
                touched == set(arrangement) and rule.pool(arrangement) == "evaluation"
            )


def test_an_object_group_has_every_dose_in_some_turn() -> None:
    doses_of_object: dict[str, set[int]] = {}
    for holdout in dosed_turns((0, 1, 5, 10)):
        dose_of = {binding: dose.times for dose in holdout.doses for binding in dose.bindings}
        for binding in holdout.bindings:
            doses_of_object.setdefault(binding[1], set()).add(dose_of.get(binding, 0))
    assert all(doses == {0, 1, 5, 10} for doses in doses_of_object.values())


@pytest.mark.parametrize("option", ["", "0", "1,2", "0,-1", "0,1,1", "0,a"])
def test_malformed_doses_are_refused(option: str) -> None:
    with pytest.raises(UserError):
        parse_doses(option)
