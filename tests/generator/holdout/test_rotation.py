"""Rotations: the turns partition the bindings, and the pools of images do not depend on the
turn."""

from collections import Counter
from itertools import combinations, islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.holdout import Holdout
from generator.holdout.membership import arrangements
from generator.holdout.request import HoldoutRequest, design_of
from generator.holdout.rotation import RotationRule
from generator.vocabulary.schema import Vocabulary, read_vocabulary

CLEVR = read_vocabulary("clevr")
EVALUATION = {"seen", "partial", "unseen"}


def turns_of(option: str, vocabulary: Vocabulary = CLEVR, block_seed: int = 0) -> list[Holdout]:
    return HoldoutRequest(holdout=(option,), block_seeds=(block_seed,)).holdouts(vocabulary)


@given(st.integers(2, 4), st.integers(0, 50), st.sampled_from(["clevr", "pug", "things"]))
def test_every_binding_is_held_out_in_exactly_one_turn(
    turns: int, block_seed: int, family: str
) -> None:
    vocabulary = read_vocabulary(family)
    holdouts = turns_of(f"turns={turns}", vocabulary, block_seed)
    held_out = Counter(binding for holdout in holdouts for binding in holdout.bindings)
    every_binding = set(product(vocabulary.values(vocabulary.tested), vocabulary.objects))
    assert set(held_out) == every_binding
    assert set(held_out.values()) == {1}
    assert [holdout.turn for holdout in holdouts] == list(range(turns))


@given(st.integers(2, 4), st.integers(0, 50))
def test_groups_differ_by_at_most_one_name(turns: int, block_seed: int) -> None:
    for groups in (
        turns_of(f"turns={turns}", block_seed=block_seed)[0].value_groups,
        turns_of(f"turns={turns}", block_seed=block_seed)[0].object_groups,
    ):
        sizes = [len(group) for group in groups]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("turns", [2, 3, 4])
def test_no_turn_trains_on_what_another_evaluates(turns: int) -> None:
    rules = [RotationRule(CLEVR, holdout) for holdout in turns_of(f"turns={turns}")]
    n_unseen = 0
    for arrangement in arrangements(CLEVR, "color"):
        splits = [rule.place(arrangement).split for rule in rules]
        pools = {
            "evaluation" if split in EVALUATION else split for split in splits if split is not None
        }
        assert len(pools) <= 1, arrangement
        if "unseen" in splits:
            # What is unseen in one turn is seen in all others, so that difficulty cancels in the
            # gap.
            assert splits.count("unseen") == 1
            assert splits.count("seen") == turns - 1
            n_unseen += 1
    # Ordered pairs of different values of one group, with ordered pairs of objects of one group.
    holdout = rules[0].holdout
    value_pairs = sum(len(group) * (len(group) - 1) for group in holdout.value_groups)
    object_pairs = sum(len(group) * (len(group) - 1) for group in holdout.object_groups)
    if turns > 2:
        assert n_unseen == value_pairs * object_pairs
    else:  # with two turns some of them validate
        assert 0.8 < n_unseen / (value_pairs * object_pairs) < 1


@pytest.mark.parametrize("turns", [2, 3, 4])
def test_an_exchange_of_values_keeps_the_familiarity_of_evaluated_scenes(turns: int) -> None:
    for holdout in turns_of(f"turns={turns}"):
        rule = RotationRule(CLEVR, holdout)
        held_out = set(holdout.bindings)
        for arrangement in islice(arrangements(CLEVR, "color"), turns, None, 5):
            placing = rule.place(arrangement)
            if placing.split not in {"val", *EVALUATION}:
                continue
            (value, category), (other_value, other_category) = arrangement
            swapped = ((other_value, category), (value, other_category))
            assert sum(binding in held_out for binding in arrangement) == sum(
                binding in held_out for binding in swapped
            )
            assert rule.place(swapped).split == placing.split


@given(st.data())
def test_scenes_of_many_objects_have_one_pool_in_all_turns(data: st.DataObject) -> None:
    rules = [RotationRule(CLEVR, holdout) for holdout in turns_of("turns=4")]
    binding = st.tuples(st.sampled_from(CLEVR.values("color")), st.sampled_from([*CLEVR.objects]))
    arrangement = tuple(data.draw(st.lists(binding, min_size=2, max_size=6)))
    splits = [rule.place(arrangement).split for rule in rules]
    assert not ("train" in splits and {*splits} & {"val", *EVALUATION})
    for rule, split in zip(rules, splits, strict=True):
        n_held_out = sum(rule.holdout.holds_out(*binding) for binding in arrangement)
        if split in {"train", "val", "seen"}:
            assert n_held_out == 0
        if split == "unseen":
            assert n_held_out == len(arrangement)


def test_block_seed_deals_other_groups() -> None:
    dealt = {turns_of("turns=4", block_seed=seed)[0].value_groups for seed in range(5)}
    assert len(dealt) == 5


def test_a_rotation_needs_no_design_option_and_names_its_turns() -> None:
    for option in ("turns=3", "turns3", "material:shape=turns=3"):
        vocabulary = CLEVR
        if option.startswith("material"):
            with pytest.raises(UserError, match="needs at least 4 values"):
                turns_of(option, vocabulary)
            continue
        holdouts = turns_of(option, vocabulary)
        assert {holdout.design for holdout in holdouts} == {"rotation"}
        design = design_of(holdouts[0])
        assert [design.benchmark_name(holdout) for holdout in holdouts] == [
            "turn0",
            "turn1",
            "turn2",
        ]
    (first, *_) = turns_of("turns=2", block_seed=3)
    assert design_of(first).benchmark_name(first) == "turn0-b3"


def test_summary_names_the_sub_blocks_of_the_turn() -> None:
    holdout = turns_of("turns=4")[1]
    summary = design_of(holdout).summary(holdout)
    assert summary.startswith("turn 1 of 4: color ")
    for value, category in holdout.bindings:
        sub_block = next(part for part in summary.split("color ")[1].split("; ") if value in part)
        assert category in sub_block


def test_all_bindings_of_a_turn_lie_in_different_groups() -> None:
    for holdout in turns_of("turns=4"):
        for one, other in combinations(holdout.bindings, 2):
            same_values = any({one[0], other[0]} <= {*group} for group in holdout.value_groups)
            same_objects = any({one[1], other[1]} <= {*group} for group in holdout.object_groups)
            assert same_values == same_objects
