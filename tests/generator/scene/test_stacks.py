"""Objects that rest on others, in Blender: tops are flat, feet touch them, and nothing runs into
anything."""

import tomllib
from typing import Any

import pytest
import tomli_w

from generator.base.errors import UserError
from generator.judge.geometry import Terms
from generator.placement.scenes import place_scene
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.render.settings import read_quality
from generator.scene.layouts import Layout, can_carry, can_hold, max_offset
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from tests.conftest import refuse


def with_object(name: str, **keys: object) -> str:
    """The family with other keys of an object; its cylinders and crescents are larger than
    others."""
    tables = tomllib.loads(vocabulary_text("clevr-relations"))
    for large in ("cylinder", "crescent"):
        tables["objects"][large]["size"] = 1.2
    tables["objects"][name].update(keys)
    return tomli_w.dumps(tables)


TEXT = with_object("cube")
VOCABULARY = parse_vocabulary(TEXT, "x")
LAYOUT = Layout((0, 1), (None, 0), (0, 0))
STACKS = [
    (a, b) for a in VOCABULARY.objects for b in VOCABULARY.objects if can_carry(VOCABULARY, a, b)
]


def checked(texts: list[str], scenes: list[str]) -> list[Any]:
    """What is wrong with the tops of families; of each scene, the top of its first object and the
    foot of the other."""
    import bpy

    from generator.base.errors import UserError
    from generator.render.blender.rays import RayMesh, check_flat_tops
    from generator.render.blender.stage import Stage

    stage = Stage(VOCABULARY, read_quality("draft"), width=32, height=32, threads=1)
    meshes = {name: RayMesh(mesh) for name, mesh in stage.meshes.items()}
    faults, touching = [], []
    for text in texts:
        try:
            check_flat_tops(parse_vocabulary(text, "x"), meshes)
            faults.append("")
        except UserError as error:
            faults.append(error.message)
    for scene in scenes:
        stage.pose(Scene.from_json(scene))
        bpy.context.view_layer.update()
        both = bpy.data.objects["object0"], bpy.data.objects["object1"]
        lower, upper = ([o.matrix_world @ v.co for v in o.data.vertices] for o in both)
        touching.append((max(v.z for v in lower), min(v.z for v in upper)))
    return [faults, touching]


def stack(lower: str, upper: str, sizes: tuple[str, str]) -> Planned:
    objects = tuple(
        (name, {"color": "red", "material": "rubber", "size": size})
        for name, size in zip((lower, upper), sizes, strict=True)
    )
    return Planned(
        "000000", "", objects, LAYOUT.depth_order, "studio", LAYOUT.rests_on, LAYOUT.clumps
    )


def test_what_rests_touches_the_top_and_neither_enters_the_other(in_blender: Any) -> None:
    sizes = [(one, other) for one in ("large", "small") for other in ("large", "small")]
    planned = [stack(*pair, sizes[n % 4]) for n, pair in enumerate(STACKS)]
    scenes = [
        place_scene(scene_plan, VOCABULARY, n, 0, 96, 96) for n, scene_plan in enumerate(planned)
    ]
    wrong = [
        with_object("cylinder", top={"height": 1.71, "radius": 0.93}),
        with_object("cylinder", top={"height": 1.7, "radius": 0.99}),
        with_object("cone", top={"height": 2.0, "radius": 0.5}),
        with_object("torus", foot=0.5),
    ]
    faults, touching = in_blender(checked, [TEXT, *wrong], [scene.to_json() for scene in scenes])
    expected = (
        "",
        "objects.cylinder.top: ",
        "objects.cylinder.top: ",
        "objects.cone.top: ",
        "objects.torus.foot = ",
    )
    assert all(fault.startswith(start) for fault, start in zip(faults, expected, strict=True))
    assert faults[0] == ""
    for scene, (top, foot) in zip(scenes, touching, strict=True):
        # tops are the highest part of what carries: a plane lies between the two, and both touch it
        assert foot == pytest.approx(top, abs=1e-3)
        assert scene.objects[1].position[2] == pytest.approx(top, abs=1e-4)


@pytest.mark.full
def test_a_family_whose_tops_are_not_flat_is_refused_by_gen_render(tmp_path) -> None:
    (tmp_path / "mine.toml").write_text(
        with_object("cylinder", top={"height": 1.7, "radius": 0.99}), encoding="utf-8"
    )
    scenes = [
        "--scenes",
        "train=4,val=1,seen=1,partial=1,unseen=1",
        "--resolution",
        "32x32",
        "--quality",
        "draft",
    ]
    message = "objects.cylinder.top: height = 1.7 and radius = 0.99"
    refuse(message, "gen render --family mine.toml --out out", *scenes, cwd=tmp_path)


def test_every_stack_finds_a_place() -> None:
    """The planner may ask for any of them in an image of any shape."""
    counts = {"train": 4, "val": 1, "seen": 1, "partial": 1, "unseen": 1}
    assert prepare(
        WorldOptions(
            family="clevr-relations",
            holdout="3x3",
            scenes=counts,
            resolution="96x96",
            objects=(2, 4),
        )
    ).planned
    for pair in STACKS:
        for size in ((320, 240), (96, 96), (240, 320)):
            scene = place_scene(stack(*pair, ("small", "large")), VOCABULARY, 0, 0, *size)
            assert scene_graph(scene, VOCABULARY).edges[1, 0, "on"]["holds"] is True


def test_objects_of_other_sizes_carry_and_rest_as_large_as_they_are() -> None:
    sized = parse_vocabulary(with_object("cube", size=1.4), "x")
    attributes = {"color": "red", "material": "rubber", "size": "small"}
    assert sized.scale("cube", attributes) == pytest.approx(1.4 * sized.scale("sphere", attributes))
    assert sized.scale("cube", attributes) == pytest.approx(
        1.4 * VOCABULARY.scale("cube", attributes)
    )
    assert max_offset(VOCABULARY) == max_offset(
        read_vocabulary("clevr-relations")
    )  # the least top decides
    assert max(VOCABULARY.radii) == pytest.approx(1.2 * max(VOCABULARY.scales))
    assert max_offset(parse_vocabulary(with_object("cube", size=0.42), "x")) < max_offset(
        VOCABULARY
    )
    with pytest.raises(UserError, match=r"the top of .cube. has a radius of 0\.0723 m"):
        parse_vocabulary(with_object("cube", size=0.3), "x")
    wide = VOCABULARY.objects["crescent"].model_copy(update={"size": 4})
    assert can_carry(VOCABULARY, "cube", "crescent")
    assert not can_carry(
        VOCABULARY.model_copy(update={"objects": {**VOCABULARY.objects, "crescent": wide}}),
        "cube",
        "crescent",
    )
    terms = Terms.from_toml(sized.toml())
    for lower, upper in STACKS:
        if not can_carry(sized, lower, upper):
            continue
        scene = place_scene(stack(lower, upper, ("small", "large")), sized, 0, 0, 96, 96)
        under = scene.objects[0]
        assert terms.top(under.category, under.attributes) == pytest.approx(
            sized.top(under.category, attributes)
        )
        assert scene.objects[1].position[2] == pytest.approx(
            terms.top(under.category, under.attributes)[0], abs=1e-6
        )
        assert scene_graph(scene, sized).edges[1, 0, "on"]["holds"] is True


def test_only_a_relation_of_stacks_asks_who_can_carry_whom() -> None:
    for name, relation in VOCABULARY.relations.items():
        assert can_hold(relation, "cone", "cube", VOCABULARY) is (name != "beneath")
        assert can_hold(relation, "cube", "cone", VOCABULARY) is (name != "on")
