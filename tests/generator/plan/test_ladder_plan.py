"""Ladders: what is planned, that steps differ in one factor only, and what is refused."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.placement.scenes import place_scene
from generator.plan.ladder import LadderRequest, draw_supported_layout, magnitudes
from generator.plan.prepare import Prepared
from generator.scene.ladder import FACTORS
from generator.scene.planned import Planned
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary
from tests.generator.ladders import ladder_world


def placed(prepared: Prepared) -> dict[str, list[tuple[Planned, Scene]]]:
    """The planned and placed scenes of each ladder half, from the easiest step to the hardest."""
    halves = defaultdict(list)
    for planned in reversed(prepared.planned):
        scene = place_scene(planned, prepared.vocabulary, 0, 0, 64, 48)
        assert planned.ladder is not None
        key = f"{planned.twin_of or planned.scene_id} {planned.ladder.is_exchanged}"
        halves[key].append((planned, scene))
    return halves


@pytest.mark.parametrize("factor", FACTORS)
def test_a_plan_survives_its_file_and_its_request(factor: str) -> None:
    prepared = ladder_world(factor)
    plan = prepared.planned
    assert [Planned.from_row(json.loads(json.dumps(row.to_row()))) for row in plan] == plan
    request = json.loads(json.dumps(prepared.request))
    reread = Prepared.from_request(request)
    assert reread.planned == plan
    assert json.loads(json.dumps(reread.request)) == request


@pytest.mark.parametrize("factor", FACTORS)
def test_every_half_has_every_step_and_every_scene_its_exchange(factor: str) -> None:
    halves = placed(ladder_world(factor))
    assert len(halves) == 6
    n_steps = 1 if factor == "caption-length" else 4
    contents: Counter[tuple[str, ...]] = Counter()
    for scenes in halves.values():
        assert [planned.ladder.step for planned, _ in scenes if planned.ladder] == [*range(n_steps)]
        _, scene = scenes[0]
        assert scene.rung is not None
        first, second = (scene.objects[target] for target in scene.rung.targets)
        assert first.category != second.category
        one, other = (target.attributes["color"] for target in (first, second))
        assert one != other
        contents[first.category, second.category, one, other] += 1
    # Each pair of targets occurs with both assignments of its two values.
    for (first_category, second_category, one, other), n in contents.items():
        assert contents[first_category, second_category, other, one] == n


def _without(scene: Scene, **changes: object) -> Scene:
    return replace(scene, rung=None, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", ["contrast", "occlusion"])
def test_degraded_steps_show_the_same_scene(factor: str) -> None:
    for scenes in placed(ladder_world(factor)).values():
        assert len({_without(scene).to_json() for _, scene in scenes}) == 1
        amounts = [scene.rung.magnitude for _, scene in scenes if scene.rung]
        assert tuple(amounts) == magnitudes(factor, 4)


def test_objects_of_smaller_steps_have_half_the_area() -> None:
    for scenes in placed(ladder_world("size")).values():
        lenses = [scene.camera.lens for _, scene in scenes]
        for before, after in pairwise(lenses):
            assert (after / before) ** 2 == pytest.approx(0.5, abs=1e-3)
        at_one_lens = {
            _without(scene, camera=replace(scene.camera, lens=1.0)).to_json() for _, scene in scenes
        }
        assert len(at_one_lens) == 1


def test_distractors_are_added_one_by_one_and_share_nothing_with_the_targets() -> None:
    for scenes in placed(ladder_world("distractors")).values():
        assert [len(scene.objects) for _, scene in scenes] == [2, 3, 4, 5]
        for (_, before), (_, after) in pairwise(scenes):
            assert set(map(str, before.objects)) < set(map(str, after.objects))
            assert before.camera == after.camera
        _, hardest = scenes[-1]
        assert hardest.rung is not None
        targets = [hardest.objects[i] for i in hardest.rung.targets]
        others = [obj for obj in hardest.objects if obj not in targets]
        assert not {obj.category for obj in targets} & {obj.category for obj in others}
        colors = {obj.attributes["color"] for obj in targets}
        assert not colors & {obj.attributes["color"] for obj in others}


def test_distractors_begin_to_interfere_one_by_one() -> None:
    for scenes in placed(ladder_world("interference")).values():
        for planned, scene in scenes:
            assert planned.ladder is not None
            assert scene.rung is not None
            targets = [scene.objects[i] for i in scene.rung.targets]
            colors = {obj.attributes["color"] for obj in targets}
            others = [obj for obj in scene.objects if obj not in targets]
            shared = sum(obj.attributes["color"] in colors for obj in others)
            assert shared == planned.ladder.magnitude
            assert len(others) == 3
        poses = {
            str([(obj.category, obj.position) for obj in scene.objects]) for _, scene in scenes
        }
        assert len(poses) == 1


def test_no_object_stands_on_a_distractor_that_appears_later() -> None:
    vocabulary = read_vocabulary("clevr-relations")
    categories = ("cube", "sphere", "cylinder", "cone")
    appears_at = {0: 0, 1: 2, 2: 1, 3: 0}
    n_stacks = 0
    for seed in range(100):
        layout = draw_supported_layout(
            categories, appears_at, stream=Stream("test", seed), vocabulary=vocabulary
        )
        for upper, lower in enumerate(layout.rests_on):
            if lower is not None:
                n_stacks += 1
                assert appears_at[lower] <= appears_at[upper]
    assert n_stacks > 10


def test_two_halves_have_the_same_poses() -> None:
    for factor in ("distractors", "size"):
        prepared = ladder_world(factor)
        scenes = [
            place_scene(planned, prepared.vocabulary, 0, 0, 64, 48) for planned in prepared.planned
        ]
        for number in range(4):
            one, other = scenes[number], scenes[number + 4]
            assert [obj.position for obj in one.objects] == [obj.position for obj in other.objects]
            assert one.camera == other.camera


@pytest.mark.parametrize(
    ("factor", "options", "sentence"),
    [
        ("colour", {}, "Unknown factor 'colour'"),
        ("size", {"steps": 9}, "expected 2 to 8"),
        ("size", {"scenes": 5}, "Expected --scenes to be an even number"),
        ("distractors", {"family": "clevr-original"}, "needs 5 different objects"),
        ("distractors", {"family": "pug"}, "has room for 4 objects"),
    ],
)
def test_impossible_ladders_are_refused(factor: str, options: dict, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        ladder_world(factor, **options)
    assert sentence in error.value.message


def test_the_default_ladder_has_six_steps() -> None:
    assert LadderRequest("contrast").magnitudes == (1, 0.5, 0.25, 0.125, 0.0625, 0.03125)
    assert LadderRequest("occlusion").magnitudes == (0, 0.1667, 0.3333, 0.5, 0.6667, 0.8333)
