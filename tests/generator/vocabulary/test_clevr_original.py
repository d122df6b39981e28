"""The family clevr-original is CLEVR: by its numbers, and by rendering CLEVR's own scenes again."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from generator.assets.sets import BUILTIN, mesh_height
from generator.assets.shapes import unit_mesh
from generator.base.errors import UserError
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_scenes
from generator.scene.relations import along, ground_directions
from generator.vocabulary.schema import read_vocabulary
from tests.generator.fidelity import REFERENCE, likeness, likeness_of, records, reference, structure
from tests.paths import CHECKOUT

CLEVR = read_vocabulary("clevr-original")
FEW, QUICK = ["chart_metal", "scene_3"], 48
FINE = 256  # samples; with fewer the denoiser smears the smallest and most hidden objects

needs_reference = pytest.mark.skipif(
    not REFERENCE.is_dir(),
    reason="needs CLEVR's reference images in ../shared, which are not part of the project",
)


def test_values_of_clevr_original_are_those_that_clevr_published() -> None:
    """scenes/clevr-original.toml has the other numbers; these come from the family that it
    extends."""
    assert list(CLEVR.objects) == ["cube", "sphere", "cylinder"]
    assert set(CLEVR.attributes["material"]) == {"rubber", "metal"}
    assert CLEVR.camera.position == (7.4811, -6.5076, 5.3437)
    assert (CLEVR.camera.sensor, CLEVR.camera.jitter) == (32, 0.5)
    rules = CLEVR.placement
    assert (rules.gap, rules.clearance, rules.min_pixels) == (0.25, 0.4, 200)
    assert {relation.margin for relation in CLEVR.relations.values()} == {0.2}


@pytest.mark.parametrize("shape", ["sphere", "cylinder", "cube"])
def test_a_size_is_half_of_what_an_object_measures_along_every_axis(shape: str) -> None:
    mesh = CLEVR.meshes[shape]
    vertices = np.array(unit_mesh(mesh).vertices)
    assert np.allclose(vertices.min(axis=0), (-1, -1, 0), atol=0.002)
    assert np.allclose(vertices.max(axis=0), (1, 1, 2), atol=0.002)
    assert mesh_height(mesh, BUILTIN) == pytest.approx(2, abs=0.002)


@pytest.mark.full
@pytest.mark.parametrize("n", [3, 8, 10])
def test_many_objects_are_placed_by_clevrs_rules(n: int) -> None:
    plan = SplitPlan(CLEVR, draw_block("3x2", CLEVR, 0))
    counts = {"train": 12, "val": 4, "seen": 4, "partial": 4}
    with pytest.raises(
        UserError, match="two objects whose categories occur once"
    ):  # of two held-out shapes
        plan_scenes(CLEVR, plan, {**counts, "unseen": 4}, 0, (n, n))
    planned = [p for p in plan_scenes(CLEVR, plan, counts, 0, (n, n)) if len(p.objects) == n]
    assert planned
    for planned_scene in planned[:3]:
        scene = place_scene(planned_scene, CLEVR, 0, 0, 320, 240)
        directions = ground_directions(scene.camera)
        farther_along = {
            name: [along(direction, obj.position) for obj in scene.objects]
            for name, direction in directions.items()
        }
        radii = [
            CLEVR.attributes["size"][obj.attributes["size"]].scale or 0 for obj in scene.objects
        ]
        corners = [CLEVR.reach(obj.category, obj.attributes) for obj in scene.objects]
        for i, one in enumerate(scene.objects):
            assert max(abs(one.position[0]), abs(one.position[1])) <= 3
            for j, other in enumerate(scene.objects[:i]):
                assert math.dist(one.position, other.position) - radii[i] - radii[j] >= 0.25
                assert math.dist(one.position, other.position) > corners[i] + corners[j]
                assert abs(round(farther_along["front"][i] - farther_along["front"][j], 6)) >= 0.4
                assert round(farther_along["right"][i] - farther_along["right"][j], 6) >= 0.4


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(tmp_path_factory.mktemp("few"), FEW, QUICK)


def render(out: Path, names: list[str], samples: int) -> Path:
    """CLEVR's scenes of these names, rendered anew into `out`."""
    command = [
        sys.executable,
        "-m",
        "tests.generator.reference_renders",
        str(out),
        str(samples),
        *names,
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert done.returncode == 0, done.stderr
    return out


def check(folder: Path, name: str) -> None:
    ours = np.load(folder / f"{name}.npz")
    likenesses = likeness(ours["image"], ours["mask"], ours["without"], reference(name))
    assert len(likenesses) == len(records()[name]["objects"])
    for likeness_of_object, obj in zip(likenesses, records()[name]["objects"], strict=True):
        assert likeness_of_object.good, (likeness_of_object, obj)
    assert structure(ours["image"], reference(name)).mean() >= 0.97


@needs_reference
@pytest.mark.parametrize("name", FEW)
@pytest.mark.full
def test_scenes_of_clevr_look_the_same(rendered: Path, name: str) -> None:
    check(rendered, name)


@needs_reference
@pytest.mark.full
def test_all_scenes_of_clevr_look_the_same(tmp_path: Path) -> None:
    render(tmp_path, list(records()), FINE)
    for name in records():
        check(tmp_path, name)


@needs_reference
@pytest.mark.full
@pytest.mark.parametrize("name", FEW)
def test_other_colours_sizes_and_missing_objects_are_detected(rendered: Path, name: str) -> None:
    """For another size the reference is a twentieth larger about the middle of the object."""
    ours, theirs = np.load(rendered / f"{name}.npz"), reference(name)
    image, mask, without = ours["image"], ours["mask"], ours["without"]
    gray = np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    for i, (behind, obj) in enumerate(zip(without, records()[name]["objects"], strict=True)):
        for recolored in (gray, image[..., [1, 2, 0]]):
            likenesses = likeness_of(i, recolored, mask, without, theirs)
            assert obj["color"] == "gray" or (not likenesses.good and likenesses.color > 3), obj
        removed = np.where((mask == i + 1)[..., None], behind, image)
        assert not likeness_of(i, removed, mask, without, theirs).good
        middle = np.array(ndimage.center_of_mass(mask == i + 1))
        zoom, offset = np.diag([1 / 1.05, 1 / 1.05, 1]), np.append(middle - middle / 1.05, 0)
        larger = ndimage.affine_transform(theirs, zoom, offset, order=1, mode="nearest")
        assert likeness_of(i, image, mask, without, larger).outline < 0.97
