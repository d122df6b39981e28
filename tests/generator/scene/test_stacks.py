"""Objects that rest on others, in Blender: tops are flat, feet touch them, and nothing runs into anything."""

import json
import subprocess
import sys
import tomllib

import pytest
import tomli_w

from generator.placement.scenes import place_scene
from generator.plan.job import Job, prepare
from generator.scene.layouts import Layout, can_carry, can_hold
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary
from tests.conftest import run_command

TEXT = vocabulary_text("clevr-relations")
VOCABULARY = parse_vocabulary(TEXT, "x")
LAYOUT = Layout((0, 1), (None, 0), (0, 0))

IN_BLENDER = """
import json, sys
import bpy
from generator.render.blender.stage import Stage
from generator.render.blender.rays import check_flat_tops
from generator.render.blender.rays import RayMesh
from generator.base.errors import UserError
from generator.render.settings import read_quality
from generator.scene.scene import Scene
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary
given = json.load(sys.stdin)
vocabulary = parse_vocabulary(given["text"], "x")
stage = Stage(vocabulary, read_quality("draft"), 32, 32, 1)
meshes = {name: RayMesh(mesh) for name, mesh in stage.meshes.items()}
faults = []
for text in given["texts"]:
    try:
        check_flat_tops(parse_vocabulary(text, "x"), meshes)
        faults.append(None)
    except UserError as error:
        faults.append(error.message)
touching = []
for scene in given["scenes"]:
    stage.pose(Scene.from_json(scene))
    bpy.context.view_layer.update()
    both = bpy.data.objects["object0"], bpy.data.objects["object1"]
    lower, upper = ([o.matrix_world @ v.co for v in o.data.vertices] for o in both)
    touching.append((max(v.z for v in lower), min(v.z for v in upper)))
print("ANSWER" + json.dumps([faults, touching]))
"""


def with_object(name: str, **keys: object) -> str:
    """The family with other keys of an object."""
    tables = tomllib.loads(TEXT)
    tables["objects"][name].update(keys)
    return tomli_w.dumps(tables)


def in_blender(texts: list[str], scenes: list[str]) -> tuple[list[str | None], list[tuple[float, float]]]:
    given = json.dumps({"text": TEXT, "texts": texts, "scenes": scenes})
    done = subprocess.run([sys.executable, "-c", IN_BLENDER], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    faults, touching = json.loads(done.stdout.split("ANSWER")[1])
    return faults, touching


def stack(vocabulary: Vocabulary, lower: str, upper: str, sizes: tuple[str, str]) -> Planned:
    objects = tuple(
        (name, {"color": "red", "material": "rubber", "size": size})
        for name, size in zip((lower, upper), sizes, strict=True)
    )
    return Planned("000000", "", objects, LAYOUT.depth_order, "studio", LAYOUT.rests_on, LAYOUT.clumps)


def test_what_rests_touches_the_top_and_neither_enters_the_other() -> None:
    stacks = [(a, b) for a in VOCABULARY.objects for b in VOCABULARY.objects if can_carry(VOCABULARY, a, b)]
    sizes = [(one, other) for one in ("large", "small") for other in ("large", "small")]
    planned = [stack(VOCABULARY, *pair, sizes[n % 4]) for n, pair in enumerate(stacks)]
    scenes = [place_scene(each, VOCABULARY, n, 0, 96, 96) for n, each in enumerate(planned)]
    wrong = [
        with_object("cylinder", top={"height": 1.71, "radius": 0.93}),
        with_object("cylinder", top={"height": 1.7, "radius": 0.99}),
        with_object("cone", top={"height": 2.0, "radius": 0.5}),
        with_object("torus", foot=0.5),
    ]
    faults, touching = in_blender([TEXT, *wrong], [scene.to_json() for scene in scenes])
    assert faults[0] is None
    for fault, name in zip(faults[1:], ("cylinder.top", "cylinder.top", "cone.top", "torus.foot"), strict=True):
        assert fault is not None
        assert fault.startswith(f"objects.{name}")
    for scene, (top, foot) in zip(scenes, touching, strict=True):
        # tops are the highest part of what carries: a plane lies between the two, and both touch it
        assert foot == pytest.approx(top, abs=1e-3)
        assert scene.objects[1].position[2] == pytest.approx(top, abs=1e-4)


def test_a_family_whose_tops_are_not_flat_is_refused_by_gen_render(tmp_path) -> None:
    (tmp_path / "mine.toml").write_text(with_object("cylinder", top={"height": 1.7, "radius": 0.99}), encoding="utf-8")
    done = run_command(
        "gen",
        "render",
        "--family",
        tmp_path / "mine.toml",
        "--scenes",
        "train=2,val=1,seen=1,partial=1,unseen=1",
        "--resolution",
        "32x32",
        "--quality",
        "draft",
        "--out",
        tmp_path / "out",
    )
    assert done.returncode == 2
    assert "objects.cylinder.top: height = 1.7 and radius = 0.99" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_stack_finds_a_place() -> None:
    """The planner may ask for any of them in an image of any shape."""
    counts = {"train": 2, "val": 1, "seen": 1, "partial": 1, "unseen": 1}
    assert prepare(Job("clevr-relations", "3x3", counts, 96, 96, 0, 0, (2, 4))).planned
    for lower in VOCABULARY.objects:
        for upper in VOCABULARY.objects:
            if can_carry(VOCABULARY, lower, upper):
                for size in ((320, 240), (96, 96), (240, 320)):
                    scene = place_scene(stack(VOCABULARY, lower, upper, ("small", "large")), VOCABULARY, 0, 0, *size)
                    assert scene_graph(scene, VOCABULARY).edges[1, 0, "on"]["holds"] is True


def test_only_a_relation_of_stacks_asks_who_can_carry_whom() -> None:
    relations = VOCABULARY.relations
    assert can_hold(relations["on"], "cone", "cube", VOCABULARY)
    assert can_hold(relations["beneath"], "cube", "cone", VOCABULARY)
    assert not can_hold(relations["on"], "cube", "cone", VOCABULARY)
    assert not can_hold(relations["beneath"], "cone", "cube", VOCABULARY)
    assert all(
        can_hold(relations[name], "cube", "cone", VOCABULARY) for name in relations if name not in ("on", "beneath")
    )
