"""Masks, depth, normals and boxes: what they say follows from the recorded poses, and is what
Blender itself renders."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlcroissant
import numpy as np
import pytest
from PIL import Image

from generator.base.errors import UserError
from generator.dataset.outputs import OUTPUTS, output_path, parse_outputs
from generator.dataset.reader import Dataset, World
from generator.scene.projection import axes, project, unproject
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import FEWEST, run_command, succeed

# the second family puts several objects before one another, where the horizon is in view
LOW = """
extends = "clevr-many"
placement.min_visible = 0.2
camera = { position = [0.0, -9.44, 1.6], lens = 28.0 }
"""


SOLID = ("cube", "sphere", "cylinder", "cone", "pyramid", "star", "heart", "cross", "hourglass")
"""Shapes whose middle is inside them."""
ALL = ("--with", "masks,depth,normals,boxes")


def render(out: Path, *more: str | Path) -> World:
    succeed("gen render --resolution 120x90 --quality draft --workers 1 --out", out, *FEWEST, *more)
    return Dataset.open(out).world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return render(tmp_path_factory.mktemp("outputs") / "dataset", *ALL)


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("low")
    (folder / "low.toml").write_text(LOW)
    return render(folder / "d", "--family", folder / "low.toml", "--objects", "4..5", *ALL)


@pytest.fixture(params=[pytest.param("world", marks=pytest.mark.full), "low"])
def any_world(request: pytest.FixtureRequest) -> World:
    return request.getfixturevalue(request.param)


def scenes(world: World) -> list[tuple[str, Scene, list[dict[str, Any]]]]:
    return [
        (r["scene_id"], Scene.from_json(r["scene"]), r["objects"]) for r in world.scenes.to_pylist()
    ]


def centres(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.mgrid[:height, :width]
    return columns + 0.5, rows + 0.5


def test_unprojected_pixels_lie_on_what_they_show_and_project_back(any_world: World) -> None:
    vocabulary = parse_vocabulary(any_world.vocabulary_text, "x")
    for scene_id, scene, _ in scenes(any_world):
        mask, depth = any_world.mask(scene_id), any_world.depth(scene_id).astype(float)
        columns, rows = centres(*mask.shape)
        seen = np.isfinite(depth)
        x, y, z = unproject(scene.camera, columns[seen], rows[seen], depth[seen], 120, 90)
        back = project(scene.camera, x, y, z, 120, 90)
        np.testing.assert_allclose(back, (columns[seen], rows[seen], depth[seen]), atol=1e-9)
        mask_values = mask[seen]
        np.testing.assert_allclose(z[mask_values == 0], 0, atol=2e-4)
        for i, obj in enumerate(scene.objects):
            radius = vocabulary.attributes["size"][obj.attributes["size"]].scale
            assert radius is not None
            mine = mask_values == i + 1
            aside = np.hypot(x[mine] - obj.position[0], y[mine] - obj.position[1])
            assert aside.max() <= radius + 1e-4
            assert z[mine].min() >= -1e-4
            assert z[mine].max() <= 2 * radius + 1e-4


def test_centres_and_boxes_lie_where_masks_say(any_world: World) -> None:
    overlapped = 0
    for scene_id, scene, recorded in scenes(any_world):
        mask = any_world.mask(scene_id)
        boxes = any_world.boxes(scene_id)
        assert set(np.unique(mask)) == {0, *range(1, len(scene.objects) + 1)}
        assert [entry.category for entry in boxes] == [obj.category for obj in scene.objects]
        for i, entry in enumerate(boxes):
            rows, columns = np.nonzero(mask == i + 1)
            assert entry.index == i
            assert entry.visible_pixels == len(rows)
            visible = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            assert entry.visible_box == visible
            assert list(entry.amodal_box) == recorded[i]["amodal_box"]
            left, top, right, bottom = entry.amodal_box
            assert left <= visible[0] < visible[2] <= right
            assert top <= visible[1] < visible[3] <= bottom
            if entry.visible_fraction == 1:
                assert all(abs(a - b) <= 1 for a, b in zip(visible, entry.amodal_box, strict=True))
            assert abs(entry.visible_fraction - recorded[i]["visible_fraction"]) < 0.12
            column, row = entry.center
            assert left <= column < right
            assert top <= row < bottom
            if entry.category in SOLID:
                there = mask[int(row), int(column)]
                assert there == i + 1 or (entry.visible_fraction < 1 and there > 0), (scene_id, i)
            overlapped += entry.visible_fraction < 1
    assert overlapped > 0 or any_world.manifest["request"]["family"] == "clevr"


BLENDER_PASSES = """
import sys
from pathlib import Path
import bpy, numpy as np, OpenEXR
from generator.render.blender.stage import Stage, set_samples
from generator.dataset.reader import Dataset
from generator.render.settings import Quality
from generator.scene.scene import Scene
from generator.assets.shapes import unit_mesh
from generator.vocabulary.schema import parse_vocabulary
root, out = sys.argv[1:]
world = Dataset.open(root).world
one = Quality(samples=1, denoise="", bounces=0, microseconds=1)
stage = Stage(parse_vocabulary(world.vocabulary_text, "x"), one, width=120, height=90, threads=1)
scene, layer = bpy.context.scene, bpy.context.view_layer
scene.cycles.pixel_filter_type, scene.cycles.filter_width = "BOX", 0.01
layer.use_pass_z = layer.use_pass_normal = layer.use_pass_object_index = True
for row in world.scenes.to_pylist():
    posed = Scene.from_json(row["scene"])
    stage.pose(posed)
    for i in range(len(posed.objects)):
        bpy.data.objects[f"object{i}"].pass_index = i + 1
    set_samples(scene, 1)
    stage._canvas.expect_parts()
    stage._render_border(out + "/passes.exr", (0, 0, 120, 90))
    with OpenEXR.File(out + "/passes.exr", separate_channels=True) as file:
        found = {name.partition(".")[2]: channel.pixels for name, channel in file.channels().items()}
    index = next(found[name] for name in ("IndexOB.X", "Object Index.X") if name in found)
    normal = np.stack([found[f"Normal.{axis}"] for axis in "XYZ"], axis=-1)
    np.savez(f"{out}/{row['scene_id']}.npz", index=index, depth=found["Depth.Z"], normal=normal)
"""


def test_outputs_match_the_passes_of_blender(any_world: World, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", BLENDER_PASSES, str(any_world.folder.parent), str(tmp_path)],
        check=True,
    )
    sky = 0
    for scene_id, scene, _ in scenes(any_world):
        rendered = np.load(tmp_path / f"{scene_id}.npz")
        mask, depth, normals = (
            any_world.mask(scene_id),
            any_world.depth(scene_id),
            any_world.normals(scene_id),
        )
        same = rendered["index"].round() == mask
        assert (~same).sum() <= 4, (
            scene_id
        )  # outlines that pass within a hundredth of a pixel's centre
        there = rendered["depth"]
        nothing = there > 1e6
        assert (nothing == ~np.isfinite(depth)).mean() > 0.999
        both = same & ~nothing & np.isfinite(depth)
        # a hundredth of a pixel of a surface seen at a grazing angle is a few millimetres
        difference = np.abs(there - depth)[both] / depth[both]
        assert np.median(difference) < 1e-4
        assert np.quantile(difference, 0.999) < 5e-3
        turn = np.array(axes(scene.camera.position, scene.camera.target))
        agreement = ((rendered["normal"] @ turn.T) * normals).sum(-1)[both]
        assert np.quantile(agreement, 0.01) > 0.999
        sky += int(nothing.sum())
    assert (sky > 0) == (any_world.manifest["request"]["family"] == "low")


@pytest.mark.full
def test_neither_workers_nor_quality_change_them(world: World, tmp_path: Path) -> None:
    rerendered = render(
        tmp_path / "again",
        "--with",
        "boxes,masks,depth,normals",
        "--quality",
        "standard",
        "--workers",
        "2",
    )
    files = [output_path(name, f"{n:06d}") for name in OUTPUTS for n in range(6)]
    assert {path: rerendered.sums[path] for path in files} == {
        path: world.sums[path] for path in files
    }
    assert rerendered.sums["images/000000.png"] != world.sums["images/000000.png"]


def test_the_files_can_be_read_without_this_package(low: World) -> None:
    with Image.open(low.folder / "masks/000000.png") as image:
        assert (image.mode, image.info) == ("L", {})
    assert np.load(low.folder / "depth/000000.npy").dtype == np.float32
    assert np.load(low.folder / "normals/000000.npy").shape == (90, 120, 3)
    assert [
        entry["index"] for entry in json.loads((low.folder / "boxes/000000.json").read_text())
    ] == list(range(len(low.scenes["objects"][0])))


def test_a_dataset_with_outputs_verifies_and_a_changed_one_does_not(low: World) -> None:
    root = low.folder.parent
    succeed("gen verify", root)
    path = low.folder / "depth/000003.npy"
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:-4] + b"\0\0\0\0")
        done = run_command("gen", "verify", root)
        assert (done.returncode, "depth/000003.npy has other bytes" in done.stderr) == (1, True)
        with pytest.raises(UserError, match=r"depth/000003.npy is damaged"):
            low.depth("000003")
    finally:
        path.write_bytes(whole)


def test_the_card_names_them(low: World) -> None:
    root = low.folder.parent
    assert (
        "| besides the images | masks, depth, normals, boxes |" in (root / "README.md").read_text()
    )
    described = mlcroissant.Dataset(str(root / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    sets = {node.id: node.includes for node in described.metadata.file_sets}
    assert sets["depth"] == ["world/depth/*.npy"]


def test_missing_outputs_are_refused_and_parsed_outputs_are_ordered(rendered: Path) -> None:
    with pytest.raises(UserError, match=r"has no depth; `gen render --from .* --with depth`"):
        Dataset.open(rendered).world.depth("000000")
    assert parse_outputs("boxes, depth,boxes") == ("depth", "boxes")
    assert parse_outputs(None) == ()
