"""What the render process is made of: records, stage and materials without traces, and why Blender
does not load."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from generator.base.errors import UserError
from generator.dataset.records import SCENES
from generator.placement.scenes import place_scene
from generator.render.blender.system import load_fault
from generator.render.process import Worker
from generator.render.settings import read_quality
from generator.scene.planned import Planned
from generator.scene.scene import Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary
from tests.generator.render.drafts import draft_setup

FAMILY = read_vocabulary("clevr")


def planned(n: int) -> Planned:
    """A scene of so many objects."""
    values = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}
    objects = tuple((name, values) for name in list(FAMILY.objects)[:n])
    return Planned("7", "c", objects, tuple(range(n)), next(iter(FAMILY.environments)))


def rendered(folder: str, min_pixels: float, more: dict[str, Any]) -> dict[str, Any]:
    """The record of a scene of two objects, or why there is none; `more` is for the setup."""
    from generator.render.blender import worker

    rules = FAMILY.placement.model_copy(update={"min_pixels": min_pixels})
    family = FAMILY.model_copy(update={"placement": rules})
    worker._PLACEMENTS = 3
    setup = {**draft_setup(family, Path(folder), 48, 36, ("boxes",)), "cores": [0], **more}
    try:
        return worker.Renderer(setup).render(planned(2))
    except UserError as error:
        return {"failed": error.message}


def test_a_record_is_a_row_of_scenes_with_its_files(in_blender: Any, tmp_path: Path) -> None:
    record = in_blender(rendered, str(tmp_path), 1, {})
    assert record.keys() - {"files"} <= set(SCENES.names)
    assert sorted(record["files"]) == ["boxes/7.json", "images/7.png"]
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["7.png"]
    columns = {field.name for field in SCENES.field("objects").type.value_type}
    assert all(entry.keys() == columns for entry in record["objects"])


def test_another_version_of_blender_is_refused(in_blender: Any, tmp_path: Path) -> None:
    message = in_blender(rendered, str(tmp_path), 1, {"blender": "4.4.0"})["failed"]
    assert "would differ from those of 4.4.0" in message


def test_a_scene_that_cannot_be_placed_says_what_to_lessen(in_blender: Any, tmp_path: Path) -> None:
    assert in_blender(rendered, str(tmp_path), 10**6, {}) == {
        "failed": (
            "no placement in 3 shows every object; lessen [placement] min_pixels or min_visible."
        )
    }


def scene_of(n: int) -> Scene:
    return place_scene(planned(n), FAMILY, 0, 0, 320, 240)


def posed(counts: list[int]) -> dict[str, Any]:
    import bpy

    from generator.render.blender.stage import Stage

    stage = Stage(FAMILY, read_quality("draft"), width=64, height=48, threads=1)
    for n in counts:
        stage.pose(scene_of(n))
    bpy.context.view_layer.update()
    visible = [
        obj for obj in bpy.data.objects if obj.name.startswith("object") and not obj.hide_render
    ]
    camera = bpy.context.scene.camera
    return {
        "places": [[round(x, 4) for x in obj.location] for obj in visible],
        "camera": [round(x, 4) for x in camera.location],
        "meshes": [obj.data.name for obj in visible],
        "kinds": sorted(stage.meshes),
    }


def test_a_scene_is_posed_whole_and_nothing_of_an_earlier_one_is_left(in_blender: Any) -> None:
    pose, scene = in_blender(posed, [2, 1]), scene_of(1)
    assert pose["places"] == [[round(x, 4) for x in obj.position] for obj in scene.objects]
    assert pose["camera"] == [round(x, 4) for x in scene.camera.position]
    assert pose["kinds"] == sorted(FAMILY.objects)
    assert pose == in_blender(posed, [1])


ORIGINAL = read_vocabulary("clevr-original")


def painted(*values: dict[str, str]) -> dict[str, Any]:
    """The inputs of one material after it was set for each object in turn."""
    from generator.render.blender.materials import material_inputs, new_material, set_inputs

    material = new_material("test")
    for attributes in values:
        set_inputs(
            material,
            material_inputs(SceneObject("cube", attributes, (0.0, 0.0, 0.0), 0.0), ORIGINAL),
        )
    inputs = {}
    for node in sorted(material.node_tree.nodes, key=lambda node: node.name):
        for socket in node.inputs:
            value = getattr(socket, "default_value", None)
            if value is not None and not isinstance(value, str):
                inputs[f"{node.name}/{socket.identifier}"] = (
                    list(value) if hasattr(value, "__len__") else value
                )
    return inputs


def test_a_material_is_that_of_its_last_object(in_blender: Any) -> None:
    first, last = ({kind: ORIGINAL.values(kind)[i] for kind in ORIGINAL.attributes} for i in (0, 1))
    for one, other in ((first, last), (last, first)):
        alone, after = in_blender(painted, one), in_blender(painted, other, one)
        same = alone.keys() & after.keys()
        assert same
        if alone.keys() == after.keys():
            assert after == alone
    assert in_blender(painted, first) != in_blender(painted, last)


def test_why_blender_does_not_load() -> None:
    assert "pip install 'jackalope[render]'" in load_fault(
        ModuleNotFoundError("No module named 'bpy'", name="bpy")
    )
    for error in (ImportError("libfoo.so: bad", name="bpy"), ImportError("libfoo.so: bad")):
        assert load_fault(error) == "Blender cannot load: libfoo.so: bad"
    for lack in (
        MemoryError(),
        ImportError("libosl.so: failed to map segment from shared object", name="bpy"),
    ):
        assert load_fault(lack).startswith(
            "There is not enough memory to load Blender: end other programs"
        )


def test_blender_in_too_little_memory_says_so() -> None:
    code = """
from generator.render.blender.system import load_fault
try:
    import bpy
except (ImportError, MemoryError) as error:
    print(load_fault(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)),
    )
    assert done.stdout.startswith("There is not enough memory to load Blender"), done.stderr


def test_the_environment_changes_no_pixel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OCIO names a colour configuration, with which Blender would not even start here; the others
    change how Cycles computes."""
    images = []
    for name in ("without", "with"):
        worker = Worker(draft_setup(FAMILY, tmp_path / name, 32, 24, ()), [0], timeout=300.0)
        answer = worker.render(planned(2))
        worker.close()
        assert "scene" in answer, answer
        images.append((tmp_path / name / "images/7.png").read_bytes())
        monkeypatch.setenv("OCIO", "ocio://cg-config-v1.0.0_aces-v1.3_ocio-v2.1")
        monkeypatch.setenv("CYCLES_CPU_NO_AVX2", "1")
        monkeypatch.setenv("CYCLES_CPU_NO_SSE42", "1")
    assert images[0] == images[1]
