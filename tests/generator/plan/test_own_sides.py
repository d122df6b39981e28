"""Plans of worlds that hold out directions in objects' own frames, checked by the positions and
headings of their scenes, with geometry of the tests' own."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.holdout.request import design_of
from generator.plan.options import WorldOptions
from generator.plan.plan import count_splits
from generator.plan.prepare import Prepared, prepare
from generator.plan.store import StoredPlan
from generator.scene.planned import Planned
from tests.generator.turned_worlds import Ground, read_grounds, write_turned_world

COUNTS = {"train": 160, "val": 4, "seen": 24, "unseen": 48}
BOTH_COUNTS = {**COUNTS, "train": 500, "partial": 24}
OPPOSITE = {"left": "right", "right": "left", "front": "behind", "behind": "front"}


def plan_of(**options: Any) -> Prepared:
    defaults: dict[str, Any] = {
        "family": "pug-frames",
        "holdout": "relation:object=2x3",
        "scenes": COUNTS,
        "resolution": "64x48",
        "viewpoints": 4,
        "turns": "180",
    }
    return prepare(WorldOptions(**{**defaults, **options}))


def held_out_on(ground: Ground, own_frames: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
    """For each object with a held-out axis, the held-out directions in which the other stands."""
    directions_of = {}
    for category in own_frames.keys() & ground.places.keys():
        (other,) = ground.places.keys() - {category}
        directions = {f"own-{name}" for name in ground.directions(other, category, "object")}
        directions_of[category] = directions & {*own_frames[category]}
    return directions_of


@pytest.mark.parametrize(
    ("holdout", "counts", "options"),
    [
        ("relation:object=2x3", COUNTS, {}),
        ("relation:object=2x3", COUNTS, {"block_seed": 1, "turns": "90,270"}),
        ("relation:object=1x4", COUNTS, {"opposites": False}),
        ("own-front: lion", {**COUNTS, "unseen": 12}, {"turns": None}),
        (("3x3", "relation:object=2x3"), BOTH_COUNTS, {}),
    ],
)
def test_training_never_shows_a_held_out_side_and_unseen_always_does(
    tmp_path: Path, holdout: Any, counts: dict[str, int], options: dict[str, Any]
) -> None:
    prepared = write_turned_world(
        tmp_path / "world", holdout=holdout, scenes=counts, **{"turns": "180", **options}
    )
    own_frames = prepared.holdout.own_frames
    grounds = read_grounds(tmp_path / "world")
    n_scenes: Counter[tuple[str | None, bool]] = Counter()
    for scene in StoredPlan(tmp_path / "world"):
        held_out_sides = held_out_on(grounds[scene.scene_id], own_frames)
        n_scenes[scene.split, any(held_out_sides.values())] += 1
        if scene.split == "unseen":
            assert any(held_out_sides.values()), scene.scene_id
        elif scene.split != "partial":
            assert not any(held_out_sides.values()), (scene.scene_id, scene.split, held_out_sides)
        for side in scene.own_sides:
            subject, ground = scene.objects[side.subject][0], scene.objects[side.object][0]
            directions = grounds[scene.scene_id].directions(subject, ground, "object")
            direction = side.relation.removeprefix("own-")
            assert direction in directions
            assert len(directions) == 1 or not side.is_straight
    assert n_scenes["unseen", True] == counts["unseen"]


def test_a_turn_twin_shows_the_same_sides(tmp_path: Path) -> None:
    prepared = write_turned_world(
        tmp_path / "world", holdout="relation:object=2x3", scenes=COUNTS, turns="90,180"
    )
    grounds = read_grounds(tmp_path / "world")
    n_twins = 0
    for scene in prepared.planned:
        if scene.twin_of is None:
            continue
        n_twins += 1
        one, other = grounds[scene.twin_of], grounds[scene.scene_id]
        first, second = one.places
        for ends in ((first, second), (second, first)):
            assert one.directions(*ends, "object") == other.directions(*ends, "object")
    assert n_twins == (COUNTS["val"] + COUNTS["seen"] + COUNTS["unseen"]) // 2


def test_opposite_sides_are_equally_frequent() -> None:
    prepared = plan_of(scenes={**COUNTS, "train": 400, "unseen": 240})
    counts: Counter[tuple[Any, ...]] = Counter()
    scenes = [scene for scene in prepared.planned if scene.twin_of is None]
    for scene in scenes:
        for side in scene.own_sides:
            place = (side.object, scene.depth_order[side.object])
            counts[scene.split, side.is_straight, side.relation] += 1
            counts[scene.split, side.is_straight, side.relation, scene.objects[side.object][0]] += 1
            counts[scene.split, side.is_straight, side.relation, place] += 1
            counts[scene.split, side.is_straight, side.relation, scene.azimuth] += 1
    assert counts
    for (split, is_straight, relation, *spot), n in counts.items():
        if split not in ("train", "unseen") or is_straight != (split == "train"):
            continue
        opposite = f"own-{OPPOSITE[relation.removeprefix('own-')]}"
        assert abs(n - counts[split, is_straight, opposite, *spot]) <= 2


def test_an_unseen_side_is_as_oblique_as_that_of_any_other_object(tmp_path: Path) -> None:
    """Conditional on left or right, the angle to the other object is that of free headings."""
    prepared = write_turned_world(
        tmp_path / "world",
        holdout="relation:object=2x3",
        scenes={"train": 120, "val": 2, "seen": 2, "unseen": 240},
    )
    own_frames = prepared.holdout.own_frames
    held_out_axis = {name.removeprefix("own-") for name in next(iter(own_frames.values()))}
    angles: dict[bool, list[float]] = {True: [], False: []}
    for ground in read_grounds(tmp_path / "world").values():
        for category in ground.places:
            (other,) = ground.places.keys() - {category}
            if held_out_axis & ground.directions(other, category, "object"):
                step = (ground.places[other] - ground.places[category]) / ground.fronts[category]
                across = step.imag if "left" in held_out_axis else step.real
                angles[category in own_frames].append(float(np.arcsin(abs(across) / abs(step))))
    planned, free = (np.degrees(angles[key]) for key in (True, False))
    assert len(planned) > 100
    assert len(free) > 100
    assert abs(planned.mean() - free.mean()) < 6


def test_a_plan_is_read_back_with_its_sides(tmp_path: Path) -> None:
    prepared = write_turned_world(tmp_path / "world", holdout="relation:object=2x3", scenes=COUNTS)
    plan = list(StoredPlan(tmp_path / "world"))
    assert plan == prepared.planned
    assert any(scene.own_sides for scene in plan)
    assert all(Planned.from_row(scene.to_row()) == scene for scene in plan)
    request = StoredPlan(tmp_path / "world").request
    assert Prepared.from_request(request).planned == plan
    assert json.loads(json.dumps(request))["own_sides"] is True


def test_other_worlds_have_no_column_of_own_sides(tmp_path: Path) -> None:
    write_turned_world(tmp_path / "world", scenes={"train": 200, "val": 2, "seen": 4}, turns=None)
    world = Dataset.open(tmp_path / "world").world
    assert "own_sides" not in world.manifest["request"]
    plan = StoredPlan(tmp_path / "world")
    assert "own_sides" not in plan.request
    assert not any(scene.own_sides for scene in plan)


def test_the_plan_gives_scenes_of_every_split_by_the_rule() -> None:
    prepared = plan_of()
    rule = design_of(prepared.holdout).rule(prepared.vocabulary, prepared.holdout)
    counts = count_splits(prepared.planned, rule)
    assert {split: n for split, n in counts.items() if n} == COUNTS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"objects": 3}, "--objects 2"),
        ({"objects": "2..4"}, "with 4 objects in a scene"),
        ({"turns": None, "exchange": "places"}, "--exchange places"),
        ({"turns": None, "exchange": "both"}, "take --exchange values or --turns"),
    ],
)
def test_holdouts_that_own_sides_leave_no_room_for_are_refused(
    options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UserError) as refused:
        plan_of(**options)
    assert expected in str(refused.value)


def test_twins_without_turns_exchange_values() -> None:
    assert plan_of(turns=None).exchange == "values"
    assert plan_of().exchange is None
