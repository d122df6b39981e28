"""Rectangles about objects, which get the most samples."""

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generator.dataset.outputs import Box
from generator.render.sample_budget import SamplePass, join_boxes, sample_passes
from generator.render.settings import Quality

ONE_MORE = 6000  # samples that one more render costs
SIZES = st.tuples(st.integers(8, 900), st.integers(8, 900))


@st.composite
def images(draw: st.DrawFn) -> tuple[list[Box], int, int]:
    width, height = draw(SIZES)

    def box() -> Box:
        left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
        return left, top, draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height))

    return [box() for _ in range(draw(st.integers(1, 10)))], width, height


def area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def around(a: Box, b: Box) -> Box:
    """The least box around two."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


@given(images(), st.integers(1, 16))
def test_every_object_lies_in_a_rectangle_and_no_others_would_cost_less(
    image: tuple[list[Box], int, int], more: int
) -> None:
    """Each with a margin; the whole image, or any two rectangles as one, cost as much or more."""
    boxes, width, height = image
    parts, margin = (
        join_boxes(boxes, width=width, height=height, more=more),
        max(width, height) // 480,
    )
    for left, top, right, bottom in boxes:
        grown = (
            max(left - margin, 0),
            max(top - margin, 0),
            min(right + margin, width),
            min(bottom + margin, height),
        )
        assert any(around(part, grown) == part for part in parts)
    assert all(0 <= p[0] < p[2] <= width and 0 <= p[1] < p[3] <= height for p in parts)
    samples = more * sum(map(area, parts)) + ONE_MORE * len(parts)
    assert parts == [(0, 0, width, height)] or samples < more * width * height
    for a, b in combinations(parts, 2):
        assert more * area(around(a, b)) >= more * (area(a) + area(b)) + ONE_MORE


FEW = Quality(samples=64, noise=0.1, floor=2, matt=4, denoise="fast", bounces=2)
SMALL: Any = {"width": 320, "height": 240, "quality": FEW}
METAL, MATT = (20, 100, 60, 140), (250, 110, 290, 150)


def test_metal_takes_more_samples_than_a_matt_object_and_both_more_than_the_floor() -> None:
    assert sample_passes([METAL, MATT], [True, False], **SMALL, around=2) == [
        SamplePass([MATT], 4, 0.0, 2),
        SamplePass([METAL], 64, 0.1, 2),
        SamplePass([(0, 0, 320, 240)], 2),
    ]


@pytest.mark.parametrize("around", [0, 64])
def test_without_fewer_samples_anywhere_the_image_is_one(around: int) -> None:
    assert sample_passes([METAL, MATT], [True, False], **SMALL, around=around) == [
        SamplePass([(0, 0, 320, 240)], 64, 0.1)
    ]
    assert sample_passes([], [], **SMALL, around=2) == [SamplePass([(0, 0, 320, 240)], 64, 0.1)]


IMPORTS = """
import json, sys
import bpy, OpenEXR
import numpy as np
from generator.render.blender import versions
from generator.render.blender.canvas import Canvas
from generator.render.blender.stage import Stage
from generator.render.settings import Quality
from generator.scene.planned import Planned
from generator.placement.scenes import place_scene
from generator.vocabulary.schema import read_vocabulary
out, boxes, sizes = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
"""
PARTS = """
family = read_vocabulary("clevr")
cube = ("cube", {"color": "red", "material": "rubber", "size": "large"})
planned = Planned("0", "", (cube,), (0,), "studio", (None,), (0,))
for width, height in sizes:
    for name, settings in {"whole": {}, "parts": {"floor": 1}, "rough": {"samples": 1}}.items():
        quality = Quality(**{**dict(samples=32, denoise="", bounces=1), **settings})
        stage = Stage(family, quality, width=width, height=height, threads=2)
        stage.pose(place_scene(planned, family, 0, 0, width, height))
        pixel_boxes = [tuple(round(part * side) for part, side in zip(box, (width, height) * 2)) for box in boxes]
        stage.render(out + "/draft.png", pixel_boxes).save(f"{out}/{name}-{width}.png")
standard = Quality(samples=64, noise=0.1, floor=2, matt=4, denoise="fast", bounces=2)
ball = ("sphere", {"color": "red", "material": "metal", "size": "large"})
shiny = Planned("1", "", (ball,), (0,), "studio", (None,), (0,))
for name, order in {"one": (0, 1), "two": (1, 0)}.items():
    for width, height, box in ((48, 36, (4, 4, 44, 34)), (160, 120, (60, 40, 100, 80))):
        stage = Stage(family, standard, width=width, height=height, threads=2)
        for turn in order:
            stage.pose(place_scene((planned, shiny)[turn], family, 0, 0, width, height))
            stage.render(out + "/draft.png", [box]).save(f"{out}/order-{width}-{name}-{turn}.png")
stage.pose(place_scene(planned, family, 0, 0, 160, 120))
stage.render(out + "/draft.png", [(20, 70, 50, 95)]).save(out + "/bare.png")
taken, render_border = {0: [], 1: []}, stage._render_border
for turn in taken:
    cycles = bpy.context.scene.cycles
    stage._render_border = lambda *part: (taken[turn].append((cycles.samples, cycles.sample_offset)), render_border(*part))
    stage.pose(place_scene((planned, shiny)[turn], family, 0, 0, 160, 120))
    stage.render(out + "/draft.png", [(20, 70, 50, 95)])
with open(out + "/samples.json", "w") as file:
    json.dump(taken, file)
canvas = Canvas(bpy.context.scene, size=(12, 6), denoise="")
ones = np.ones((2, 3), np.float32)
albedo = {versions.DIFFUSE_COLOR: 0.5, versions.GLOSSY_COLOR: 0.25, versions.ENVIRONMENT: 0.25}
passes = {"Combined.R": ones / 4, "Combined.G": ones / 2, "Combined.B": ones,
    **{f"{part}.{channel}": share * ones for channel in "RGB" for part, share in albedo.items()},
    "Normal.X": -ones, "Normal.Y": 0 * ones, "Normal.Z": ones / 2,
    "Debug Sample Count.X": np.float32([[0.25, 0.25, 1], [0.25, 0.25, 0.25]])}
OpenEXR.File({}, {"View Layer." + name: pixels for name, pixels in passes.items()}).write(out + "/passes.exr")
canvas.add_part(out + "/passes.exr", (5, 2, 8, 4), least=16, around=4)
np.savez(out + "/laid.npz", **canvas._layers)
"""
LANDSCAPE = """
pug = read_vocabulary("pug").painted_with("color")
where = next(name for name, place in pug.environments.items() if place.ground is not None)
animal = Planned("0", "", ((next(iter(pug.objects)), {"color": "red", "coat": "matt"}),), (0,), where)
for name, settings in {"whole": {}, "floor": {"floor": 1}, "landscape": {"landscape": 1}}.items():
    stage = Stage(pug, Quality(**{**dict(samples=8, denoise="", bounces=1), **settings}), width=160, height=120, threads=2)
    stage.pose(place_scene(animal, pug, 0, 0, 160, 120))
    stage.render(out + "/draft.png", [(60, 40, 100, 80)]).save(f"{out}/pug-{name}.png")
"""
RELATIVE = [[0.37, 0.33, 0.62, 0.67], [0.83, 0.05, 0.93, 0.21]]
RENDERED = [(161, 123), (200, 151)]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(PARTS, tmp_path_factory.mktemp("parts"))


def render(code: str, folder: Path) -> Path:
    arguments = [
        sys.executable,
        "-c",
        IMPORTS + code,
        str(folder),
        json.dumps(RELATIVE),
        json.dumps(RENDERED),
    ]
    subprocess.run(arguments, check=True, capture_output=True)
    return folder


def pixels(folder: Path, *names: str) -> list[np.ndarray]:
    """The images of these names."""
    return [np.asarray(Image.open(folder / f"{name}.png")).astype(int) for name in names]


@pytest.mark.full
def test_a_landscape_takes_no_fewer_samples_where_only_a_floor_may(tmp_path: Path) -> None:
    render(LANDSCAPE, tmp_path)
    whole, floor, landscape = pixels(tmp_path, "pug-whole", "pug-floor", "pug-landscape")
    assert np.array_equal(floor, whole)
    assert ((landscape - whole)[:30] ** 2).mean() > 0


@pytest.mark.parametrize("width", [48, 160])
@pytest.mark.parametrize("scene", [0, 1])
def test_earlier_renders_leave_no_trace_in_an_image(rendered: Path, width: int, scene: int) -> None:
    one, two = pixels(rendered, f"order-{width}-one-{scene}", f"order-{width}-two-{scene}")
    assert np.array_equal(one, two)


def test_no_seam_shows_on_the_bare_floor(rendered: Path) -> None:
    """About a rectangle at (20, 70, 50, 95), and at the edge of the image."""
    (image,) = pixels(rendered, "bare")
    for near in (image[68:97, 18:52], image[:12]):
        assert max(np.abs(np.diff(near, axis=axis)).max() for axis in (0, 1)) < 8


def test_metal_takes_more_samples_than_a_matt_object(rendered: Path) -> None:
    taken = json.loads((rendered / "samples.json").read_text())
    assert taken == {"0": [[4, 2], [2, 0]], "1": [[64, 2], [2, 0]]}


def test_pixels_weigh_by_the_samples_they_took(rendered: Path) -> None:
    laid = np.load(rendered / "laid.npz")
    assert np.allclose(
        laid["Image"][2:4, 5:8, 3], [[16 / 20, 16 / 20, 64 / 68], [16 / 20, 16 / 20, 16 / 20]]
    )
    assert np.allclose(laid["Image"][2, 7], [0.25 * 64 / 68, 0.5 * 64 / 68, 64 / 68, 64 / 68])
    assert np.allclose(laid["Normal"][3, 5], [-0.8, 0.0, 0.4, 0.8])
    assert laid["Image"][..., 3].astype(bool).sum() == 6


def test_a_render_in_parts_is_the_whole_one_within_and_the_rough_one_around(rendered: Path) -> None:
    for width, height in RENDERED:
        whole, image, rough = pixels(rendered, f"whole-{width}", f"parts-{width}", f"rough-{width}")
        boxes = np.rint(np.array(RELATIVE) * ((width, height) * 2)).astype(int)
        within = np.zeros((height, width), bool)
        for left, top, right, bottom in join_boxes(
            boxes.tolist(), width=width, height=height, more=31
        ):
            within[top:bottom, left:right] = True
        assert 0 < within.mean() < 0.5
        assert np.abs(image - whole)[within].max() <= 1, "of 255, rounded twice"
        noise, expected = (((pixels - whole)[~within] ** 2).mean() for pixels in (image, rough))
        assert expected / 2 < noise < expected * 2
