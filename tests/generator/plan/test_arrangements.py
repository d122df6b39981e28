"""What scenes of a split hold: only what the split allows, and all of it equally often."""

import re
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import FAMILIAR, SPLITS, Arrangement, SplitPlan, cluster_of
from generator.holdout.request import draw_holdouts
from generator.plan.arrangements import ArrangementSampler
from generator.plan.drafts import draft_scenes
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.layouts import certain_relations
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")
RULE = SplitPlan(CLEVR, draw_block("3x3", CLEVR, 0))
MANY = [3, 4, 5, 6, 7, 8, 9, 10] * 50


def drawn(rule: SplitPlan, split: str, numbers: list[int]) -> list[Arrangement]:
    """ArrangementSampler of a split."""
    return list(ArrangementSampler(rule).draw(split, numbers, Stream("x", split)))


def uneven(rule: SplitPlan, arrangements: list[Arrangement], alike: bool) -> list[int]:
    """By how much the most frequent value, and object, exceeds the least frequent one, in all and
    at each place.

    `alike`: only among names that are held out with the same.
    """
    holdout, most = rule.holdout, []
    names = (rule.vocabulary.values(holdout.kind), list(rule.vocabulary.objects))
    for role, like in ((0, holdout.value_like), (1, holdout.object_like)):
        for place in (None, *range(max(map(len, arrangements)))):
            seen = Counter(
                a[i][role] for a in arrangements for i in range(len(a)) if place in (None, i)
            )
            for one in names[role]:
                counts = [
                    seen[name] for name in names[role] if not alike or like(name) == like(one)
                ]
                most.append(max(counts) - min(counts))
    return most


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SPLITS),
    st.lists(st.integers(2, 10), min_size=1, max_size=5),
    st.integers(0, 99),
    st.sampled_from(["2x2", "3x3", "7x2", "2x11", "5x8"]),
)
@pytest.mark.full
def test_arrangements_have_their_number_and_their_split(
    split: str, numbers: list[int], seed: int, spec: str
) -> None:
    rule = SplitPlan(CLEVR, draw_block(spec, CLEVR, seed))
    if split == "unseen" and rule.holdout.objects[2:] == () and max(numbers) > 2:
        with pytest.raises(UserError, match="two objects whose categories occur once"):
            drawn(rule, split, numbers)
        return
    arrangements = drawn(rule, split, numbers)
    assert [len(arrangement) for arrangement in arrangements] == numbers
    assert {rule.place(arrangement).split for arrangement in arrangements} == {split}
    for arrangement in arrangements:
        if len(arrangement) == 2:
            assert all(len(set(parts)) == 2 for parts in zip(*arrangement, strict=True))
        if split != "train":
            assert has_fair_foil(rule.holdout, arrangement, split)


def has_fair_foil(holdout: Holdout, arrangement: Arrangement, split: str) -> bool:
    """Whether an exchange of two values makes another scene with as many held-out bindings.

    The caption of that scene is then a foil as familiar as the caption of this one. A caption can
    name both objects only if no other has their categories. In `partial` the question is about one
    held-out binding.
    """
    categories = [category for _, category in arrangement]
    for i, j in combinations(range(len(arrangement)), 2):
        if categories.count(categories[i]) > 1 or categories.count(categories[j]) > 1:
            continue
        values = [value for value, _ in arrangement]
        values[i], values[j] = values[j], values[i]
        foil = tuple(zip(values, categories, strict=True))
        n_held_out = sum(holdout.holds_out(*binding) for binding in arrangement)
        n_held_out_of_foil = sum(holdout.holds_out(*binding) for binding in foil)
        n_asked = sum(holdout.holds_out(*arrangement[place]) for place in (i, j))
        if foil == arrangement or n_held_out != n_held_out_of_foil:
            continue
        if split != "partial" or n_asked == 1:
            return True
    return False


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))]
)
@pytest.mark.parametrize(
    ("family", "scenes", "objects"),
    [
        ("clevr", 60, 2),
        ("clevr-many", 40, "4..6"),
        pytest.param("pug", 200, 2, marks=pytest.mark.full),
    ],
)
def test_training_shows_every_binding_of_familiar_scenes_and_evaluation_can_be_asked(
    family: str, scenes: int, objects: object, seed: int
) -> None:
    options: dict[str, Any] = {"scenes": scenes, "objects": objects, "seed": seed, "pairs": False}
    prepared = prepare(WorldOptions(family=family, holdout="3x3", **options))
    holdout, bindings_of_split = prepared.holdout, defaultdict[str | None, set[Binding]](set)
    for scene in prepared.planned:
        bindings_of_split[scene.split] |= {*scene.arrangement(holdout.kind)}
        if scene.split != "train":
            assert has_fair_foil(holdout, scene.arrangement(holdout.kind), str(scene.split))
    familiar = {
        binding
        for split in FAMILIAR
        for binding in bindings_of_split[split]
        if not holdout.holds_out(*binding)
    }
    assert familiar <= bindings_of_split["train"]
    assert len(familiar) > 15


@pytest.mark.full
def test_too_few_training_scenes_are_refused_with_a_larger_number_that_suffices() -> None:
    counts, refusals = "train={},val=2,seen=2,partial=2,unseen=2", 0
    for tried in range(1, 9):
        try:
            assert prepare(WorldOptions(holdout="3x3", scenes=counts.format(tried))).planned
        except UserError as error:
            numbers = re.search(
                r"^(\d+) training scenes cannot show the \d+ bindings .*train=(\d+)", str(error)
            )
            assert numbers
            assert int(numbers[1]) == tried < int(numbers[2])
            assert prepare(WorldOptions(holdout="3x3", scenes=counts.format(numbers[2]))).planned
            refusals += 1
    assert 3 <= refusals < 8
    assert ArrangementSampler(RULE).sufficient_count(frozenset(), [2] * 7) > 7


@pytest.mark.parametrize("block_seed", [0, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("split", ["train", "val", "seen", "partial", "unseen"])
@pytest.mark.parametrize("numbers", [[2] * 230, MANY, [2, 3, 4] * 80])
def test_names_are_equally_frequent_in_all_and_at_every_place(
    split: str, numbers: list[int], block_seed: int
) -> None:
    rule = SplitPlan(CLEVR, draw_block("3x3", CLEVR, block_seed))
    assert max(uneven(rule, drawn(rule, split, numbers), alike=split in ("partial", "unseen"))) <= 1


@pytest.mark.parametrize("n", [1, 3])
def test_scenes_of_one_object_train_and_are_even(n: int) -> None:
    arrangements = drawn(RULE, "train", list(range(1, n + 1)) * 200)
    assert {RULE.place(arrangement).split for arrangement in arrangements} == {"train"}
    assert max(uneven(RULE, arrangements, alike=False)) <= 1


@pytest.mark.parametrize(
    ("holdout_options", "design", "split"),
    [
        (("relation:pair=2x3",), "bindsplit", "seen"),
        (("k4",), "coverage", "unseen"),
        (("5x8",), "bindsplit", "train"),
        (("5x8",), "bindsplit", "seen"),
        pytest.param(("4x6",), "bindsplit", "seen", marks=pytest.mark.full),
        (("3x3", "atoms=1x2"), "systematicity", "unseen_atoms"),
    ],
)
def test_names_that_are_held_out_alike_are_even(
    holdout_options: tuple[str, ...], design: str, split: str
) -> None:
    rule = SplitPlan(
        CLEVR, draw_holdouts(holdout_options, design, vocabulary=CLEVR, block_seed=0)[0]
    )
    for numbers in ([3, 4, 5, 6] * 100, [2] * 300):
        assert max(uneven(rule, drawn(rule, split, numbers), alike=True)) <= 1


def test_a_block_too_wide_for_even_names_leaves_clusters_about_equally_frequent() -> None:
    """Even names of 4x6 need scenes that the clusters of `seen` lack; these once were up to 31 of
    one cluster."""
    rule = SplitPlan(CLEVR, draw_block("4x6", CLEVR, 0))
    counts = Counter(map(cluster_of, drawn(rule, "seen", [2] * 300)))
    assert (len(counts), counts.total()) == (98, 300)
    assert max(counts.values()) < 10


def test_scenes_are_varied_where_the_block_leaves_most_values_one_object() -> None:
    """Of clevr-original's three shapes two are in the block, so that values and shapes cannot all
    be equally frequent."""
    vocabulary = read_vocabulary("clevr-original")
    arrangements = drawn(
        SplitPlan(vocabulary, draw_block("3x2", vocabulary, 0)), "train", [8] * 100
    )
    assert (
        sum(len({value for value, _ in arrangement}) for arrangement in arrangements)
        / len(arrangements)
        > 4.5
    )
    assert (
        sum(len({category for _, category in arrangement}) for arrangement in arrangements)
        / len(arrangements)
        > 2.5
    )


def test_partial_scenes_have_every_number_of_held_out_bindings() -> None:
    shares = Counter(len(RULE.place(a).held_out) for a in drawn(RULE, "partial", [5] * 400))
    assert set(shares) == {1, 2, 3, 4}
    assert min(shares.values()) > 70


def test_the_same_stream_draws_the_same_scenes() -> None:
    arrangements = ArrangementSampler(RULE)
    first, same_key, other_key = (
        list(arrangements.draw("seen", [2, 4] * 20, Stream(key))) for key in "xxy"
    )
    assert first == same_key != other_key


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("split", ["train", "seen", "unseen"])
def test_layouts_keep_scenes_in_their_split_where_relations_are_held_out(
    split: str, n: int
) -> None:
    rule = SplitPlan(
        CLEVR, draw_holdouts(("relation:pair=2x3",), "bindsplit", vocabulary=CLEVR, block_seed=0)[0]
    )
    for scene in draft_scenes(rule, split, numbers_of_objects=[n] * 20, stream=Stream("x")):
        assert scene.split == split
        assert (
            rule.place(scene.arrangement(rule.holdout.kind), certain_relations(scene, CLEVR)).split
            == split
        )


@pytest.mark.parametrize("n", [2, 3])
def test_a_split_without_a_scene_is_refused_with_what_would_help(n: int) -> None:
    assert drawn(RULE, "unseen_atoms", []) == []
    with pytest.raises(
        UserError,
        match=f"no scene of {n} objects for the split unseen_atoms.*: try another --block-seed",
    ):
        drawn(RULE, "unseen_atoms", [n])
