"""Plans of rotations: each turn has what it trains on and what it asks about."""

from collections import Counter
from functools import cache

import pytest

from generator.holdout.request import design_of
from generator.plan.options import WorldOptions
from generator.plan.plan import count_splits
from generator.plan.prepare import Prepared, prepare

SCENES = "train=480,val=24,partial=48,unseen=96"


@cache
def planned(
    scenes: str = SCENES,
    family: str = "clevr",
    objects: tuple[int, int] = (2, 2),
    pairs: bool = False,
) -> Prepared:
    return prepare(
        WorldOptions(
            family=family,
            holdout="turns=4",
            scenes=scenes,
            resolution="320x240",
            objects=objects,
            pairs=pairs,
        )
    )


def splits_by_turn(prepared: Prepared) -> list[dict[str, int]]:
    design = design_of(prepared.holdout)
    rules = [design.rule(prepared.vocabulary, holdout) for holdout in prepared.holdouts]
    return [count_splits(prepared.planned, rule) for rule in rules]


def test_each_turn_gets_its_share_of_the_scenes() -> None:
    prepared = planned()
    assert len(prepared.planned) == 480 + 24 + 48 + 96
    for counts in splits_by_turn(prepared):
        assert counts["unseen"] == 96 // 4
        assert counts["val"] >= 24 // 4
        assert counts["partial"] >= 48 // 4
        # The images that are unseen in the other turns, at least.
        assert counts["seen"] >= 96 - 96 // 4
        assert counts["train"] > 480 / 2


@pytest.mark.parametrize(
    ("scenes", "family", "objects"),
    [
        (SCENES, "clevr", (2, 2)),
        pytest.param(
            "train=240,val=4,partial=8,unseen=12", "clevr-many", (3, 4), marks=pytest.mark.full
        ),
    ],
)
def test_training_of_each_turn_shows_every_binding_but_the_held_out_ones(
    scenes: str, family: str, objects: tuple[int, int]
) -> None:
    prepared = planned(scenes, family=family, objects=objects)
    design = design_of(prepared.holdout)
    n_bindings = len(prepared.vocabulary.values("color")) * len(prepared.vocabulary.objects)
    for holdout in prepared.holdouts:
        rule = design.rule(prepared.vocabulary, holdout)
        trained: Counter[tuple[str, str]] = Counter()
        for scene in prepared.planned:
            arrangement = scene.arrangement("color")
            if rule.place(arrangement).split == "train":
                trained.update(arrangement)
        assert not set(trained) & set(holdout.bindings)
        assert len(trained) == n_bindings - len(holdout.bindings)


def test_scenes_belong_to_no_single_turn() -> None:
    assert {(scene.part, scene.split) for scene in planned().planned} == {(0, None)}


def test_unseen_sub_blocks_values_and_objects_are_equally_frequent() -> None:
    prepared = planned("train=320,val=8,partial=8,unseen=480")
    holdout = prepared.holdouts[2]
    rule = design_of(holdout).rule(prepared.vocabulary, holdout)
    names: Counter[str] = Counter()
    for scene in prepared.planned:
        arrangement = scene.arrangement("color")
        if rule.place(arrangement).split == "unseen":
            names.update(name for binding in arrangement for name in binding)
    for role in (prepared.vocabulary.values("color"), list(prepared.vocabulary.objects)):
        counts = [names[name] for name in role]
        assert max(counts) - min(counts) <= 1


def test_twins_have_the_split_of_their_scene_in_every_turn() -> None:
    prepared = planned(pairs=True)
    scenes = {scene.scene_id: scene for scene in prepared.planned}
    design = design_of(prepared.holdout)
    twins = [scene for scene in prepared.planned if scene.twin_of]
    assert len(twins) == (24 + 48 + 96) // 2
    for holdout in prepared.holdouts:
        rule = design.rule(prepared.vocabulary, holdout)
        for twin in twins:
            own = scenes[twin.twin_of or ""].arrangement("color")
            exchange = twin.exchange
            assert exchange is not None
            values = [value for value, _ in own]
            categories = [category for _, category in own]
            first, second = exchange.first, exchange.second
            values[first], values[second] = values[second], values[first]
            if exchange.kind is None:  # places: both names of each object move
                categories[first], categories[second] = categories[second], categories[first]
            exchanged = tuple(zip(values, categories, strict=True))
            assert rule.place(exchanged).split == rule.place(own).split
