"""Viewpoints and turn twins: what is planned and placed; the world itself never changes."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.base.errors import UserError
from generator.inspection.object_masks import object_masks
from generator.inspection.reproduction import Reproduction
from generator.judge.verify import verify_dataset
from generator.placement.scenes import place_scenes
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, parse_turns, prepare
from generator.plan.store import StoredPlan
from generator.scene.planned import Planned
from generator.scene.relations import along, ground_directions, scene_graph
from generator.vocabulary.schema import read_vocabulary
from tests.generator.turned_worlds import write_turned_world
from tests.generator.unrendered import write_texts

COUNTS = {"train": 40, "val": 5, "seen": 32, "partial": 32, "unseen": 32}


def world(family: str = "clevr", **options: Any) -> Prepared:
    return prepare(WorldOptions(family=family, holdout="2x2", scenes=COUNTS, **options))


def originals(plan: list[Planned]) -> list[Planned]:
    return [scene for scene in plan if scene.twin_of is None]


def test_azimuths_are_balanced_in_every_split_and_change_nothing_else() -> None:
    plan = world(viewpoints=4, pairs=False).planned
    for split, n in COUNTS.items():
        counts = Counter(scene.azimuth for scene in plan if scene.split == split)
        assert set(counts) == {0.0, 90.0, 180.0, 270.0}
        assert max(counts.values()) - min(counts.values()) <= 1
        assert counts.total() == n
    without = world(pairs=False).planned
    assert [scene._replace(azimuth=None) for scene in plan] == without


def test_azimuths_say_little_about_what_a_scene_shows() -> None:
    plan = world(viewpoints=2, pairs=False).planned
    for split in ("seen", "unseen"):
        counts: Counter[Any] = Counter()
        for scene in plan:
            if scene.split == split:
                counts.update((category, scene.azimuth) for category, _ in scene.objects)
        for category in {category for category, _ in counts}:
            assert abs(counts[category, 0.0] - counts[category, 180.0]) <= 1


def test_exchange_twins_have_the_azimuth_of_their_scene() -> None:
    plan = world(viewpoints=4).planned
    azimuth_of = {scene.scene_id: scene.azimuth for scene in plan}
    twins = [scene for scene in plan if scene.twin_of]
    assert twins
    assert all(scene.azimuth == azimuth_of[scene.twin_of or ""] for scene in twins)


def test_half_of_the_evaluation_scenes_are_turn_twins_of_the_scenes_before_them() -> None:
    plan = world(turns="90,180").planned
    assert Counter(scene.split for scene in plan) == COUNTS
    for first, twin in pairwise(plan):
        if twin.twin_of is not None:
            assert twin == first._replace(scene_id=twin.scene_id, twin_of=first.scene_id)
            assert twin.exchange is None
    turns = Counter(scene.turn for scene in plan if scene.split == "seen" and scene.twin_of)
    assert turns == {90.0: 8, 180.0: 8}
    assert all(scene.turn is None for scene in plan if scene.split == "train")
    assert sum(scene.twin_of is not None for scene in plan if scene.split == "val") == 2


@pytest.mark.parametrize(
    ("family", "turn"), [("clevr", 180), ("clevr", 90), ("things", 50), ("pug", 180), ("photo", 90)]
)
def test_a_turn_twin_is_the_same_world_and_keeps_the_rules(family: str, turn: float) -> None:
    prepared = world(family, viewpoints=4, turns=turn)
    vocabulary = prepared.vocabulary
    clearance = vocabulary.placement.clearance
    for planned in [scene for scene in originals(prepared.planned) if scene.turn][:12]:
        scene, twin = place_scenes(planned, vocabulary, 0, 0, 320, 240)
        assert (twin.objects, twin.lamps) == (scene.objects, scene.lamps)
        assert twin.environment == scene.environment
        assert twin.azimuth == pytest.approx(((planned.azimuth or 0) + turn) % 360)
        # The camera turns about what it looks at, at the same height.
        assert twin.camera.target == scene.camera.target
        assert twin.camera.position[2] == scene.camera.position[2]
        eye = [np.subtract(one.camera.position, one.camera.target)[:2] for one in (scene, twin)]
        angles = [math.degrees(math.atan2(y, x)) for x, y in eye]
        assert (angles[1] - angles[0]) % 360 == pytest.approx(turn, abs=1e-3)
        assert np.hypot(*eye[0]) == pytest.approx(np.hypot(*eye[1]), abs=1e-5)
        for view in (scene, twin):
            directions = ground_directions(view.camera)
            for axis in ("right", "behind"):
                one, other = (along(directions[axis], obj.position) for obj in view.objects)
                assert abs(one - other) >= clearance - 1e-5
            for mask in object_masks(view, vocabulary, (160, 120)):
                assert mask.visible.any()
                assert not mask.whole[[0, -1]].any()
                assert not mask.whole[:, [0, -1]].any()


def test_left_and_right_follow_the_camera_and_exchange_in_half_a_turn() -> None:
    prepared = world(viewpoints=4, turns=180)
    opposite = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
    for planned in [scene for scene in originals(prepared.planned) if scene.turn][:10]:
        scene, twin = place_scenes(planned, prepared.vocabulary, 0, 0, 320, 240)
        here = scene_graph(scene, prepared.vocabulary).edges(keys=True, data="holds")
        there = scene_graph(twin, prepared.vocabulary).edges(keys=True, data="holds")
        seen_here = {(i, name, j): holds for i, j, name, holds in here}
        seen_there = {(i, name, j): holds for i, j, name, holds in there}
        for (i, name, j), holds in seen_here.items():
            assert seen_there[i, opposite[name], j] == holds
        # Planned orders are those of the first camera, whatever its azimuth.
        assert seen_here[0, "left", 1]


def test_the_camera_stands_at_its_azimuth_and_the_lamps_stay() -> None:
    turned, plain = world(viewpoints=4, pairs=False), world(pairs=False)
    spec = plain.vocabulary.camera
    angles: Counter[float | None] = Counter()
    for planned, other in list(zip(turned.planned, plain.planned, strict=True))[:20]:
        (scene,) = place_scenes(planned, turned.vocabulary, 0, 0, 320, 240)
        (unturned,) = place_scenes(other, plain.vocabulary, 0, 0, 320, 240)
        for name, lamp in scene.lamps.items():
            assert math.dist(lamp.position, unturned.lamps[name].position) < 10
        x, y = np.subtract(scene.camera.position, scene.camera.target)[:2]
        family_angle = math.degrees(math.atan2(spec.position[1], spec.position[0]))
        off = (math.degrees(math.atan2(y, x)) - family_angle - (planned.azimuth or 0)) % 360
        assert min(off, 360 - off) < 10
        angles[planned.azimuth] += 1
    assert len(angles) == 4


def test_objects_with_a_front_have_any_heading_and_others_the_one_that_shows_them() -> None:
    prepared = world("things", viewpoints=4, pairs=False)
    toward: dict[bool, list[float]] = {True: [], False: []}
    for planned in prepared.planned:
        (scene,) = place_scenes(planned, prepared.vocabulary, 0, 0, 320, 240)
        for obj in scene.objects:
            x, y = np.subtract(scene.camera.position, obj.position)[:2]
            off = math.remainder(obj.heading - math.atan2(y, x), 2 * math.pi)
            spec = prepared.vocabulary.objects[obj.category]
            toward[spec.front is not None].append(off)
            if obj.category == "mug":
                assert abs(abs(math.degrees(off)) - 90) <= 60.1
    quarters = Counter(int(off // (math.pi / 2)) for off in toward[True])
    assert len(quarters) == 4
    assert min(quarters.values()) > len(toward[True]) / 8


# Half a turn is the same to both sides; a quarter tells left from right.
@pytest.mark.parametrize(("turn", "place"), [(180, "landing_pad"), (90, "garden")])
def test_a_photograph_stays_where_it_is(turn: float, place: str) -> None:
    prepared = world("photo", turns=turn)
    assert place in prepared.vocabulary.environments
    assert "room" not in prepared.vocabulary.environments
    sectors = read_vocabulary("photo").environments
    for planned in [scene for scene in originals(prepared.planned) if scene.turn][:10]:
        scene, twin = place_scenes(planned, prepared.vocabulary, 0, 0, 320, 240)
        assert twin.yaw == pytest.approx((scene.yaw - turn) % 360)
        for view in (scene, twin):
            of_place = sectors[view.environment].sectors
            assert any(
                low <= view.yaw + 360 * k <= high for low, high in of_place for k in (-1, 0, 1)
            )


def test_a_place_is_narrowed_to_the_directions_that_a_turn_keeps_in_its_sectors() -> None:
    place = read_vocabulary("photo").environments["landing_pad"]
    assert place.photo is not None
    for sectors, turn, expected in [
        (((0.0, 100.0),), 90.0, ((90.0, 100.0),)),
        (((0.0, 100.0),), 270.0, ((0.0, 10.0),)),
        (((0.0, 10.0), (170.0, 200.0)), 180.0, ((0.0, 10.0), (180.0, 190.0))),
        (((0.0, 100.0),), 180.0, None),
    ]:
        photo = place.photo.model_copy(update={"sectors": sectors})
        narrowed = place.model_copy(update={"photo": photo}).seen_after([turn])
        assert (narrowed and narrowed.sectors) == expected


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    from generator.plan.prepare import plan_world

    prepared = world(viewpoints=2, turns="180")
    assert list(plan_world(prepared, tmp_path / "turns")) == prepared.planned
    assert Prepared.from_request(StoredPlan(tmp_path / "turns").request).planned == prepared.planned
    plain = world()
    assert "viewpoints" not in plain.request
    plan_world(plain, tmp_path / "plain")
    assert "azimuth" not in plain.planned[0].to_row()


def test_a_world_of_turn_twins_is_clean_and_can_be_made_again(tmp_path: Path) -> None:
    prepared = write_turned_world(tmp_path, "clevr", holdout="2x2")
    write_texts(tmp_path, prepared)
    (certificate,) = verify_dataset(tmp_path, None, reproduce=Reproduction()).values()
    assert certificate["status"] == "clean", certificate["sentence"]
    assert certificate["reproduced"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"family": "pug", "environments": ("spaceship",), "turns": "180"}, "'spaceship'"),
        ({"family": "clevr-original", "viewpoints": 4}, "'studio' of the family 'clevr-original'"),
        ({"family": "photo", "environments": ("room",), "turns": "180"}, "'room'"),
        ({"turns": "360"}, "between 0 and 360"),
        ({"turns": "left"}, "got 'left'"),
        ({"turns": "90,90"}, "different degrees"),
        ({"turns": "90", "pairs": False}, "--no-pairs"),
        ({"turns": "90", "exchange": "values"}, "--exchange values and --turns"),
        ({"turns": "90", "scenes": "grid"}, "--turns has no effect"),
        (
            {"turns": "90", "design": "gzsl", "holdout": "classes", "scenes": 3000},
            "--turns has no effect",
        ),
        (
            {"turns": "90", "holdout": "relation:pair=2x3"},
            "without relations that the camera decides",
        ),
        (
            {"family": "pug-frames", "holdout": "own-left: lion, fox"},
            'name that object alone, such as "own-left: lion"',
        ),
        ({"viewpoints": 361}, "from 1 to 360, got 361"),
        ({"viewpoints": 0}, "from 1 to 360, got 0"),
    ],
)
def test_scenes_that_cannot_be_turned_are_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        prepare(WorldOptions(**{"holdout": "2x2", "scenes": COUNTS, **options}))


def test_a_world_is_named_by_its_viewpoints_and_turns() -> None:
    names = [
        world().folder_name,
        world(viewpoints=1).folder_name,
        world(viewpoints=4).folder_name,
        world(turns="90,180").folder_name,
        world(viewpoints=4, turns="90,180").folder_name,
    ]
    assert len(set(names)) == len(names)
    # One viewpoint is the default of a world with turns.
    assert world(viewpoints=1, turns="90,180").folder_name == names[3]


def test_turns_are_numbers_or_a_text() -> None:
    assert parse_turns(180) == parse_turns("180") == parse_turns([180.0]) == (180.0,)
