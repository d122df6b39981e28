"""Rectangles about objects, which get the most samples."""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generator.focus import Box, fading, focus

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


@given(images(), st.integers(1, 16))
def test_every_object_lies_in_one_rectangle_with_a_margin(image: tuple[list[Box], int, int], around: int) -> None:
    boxes, width, height = image
    parts = focus(boxes, width, height, around)
    for left, top, right, bottom in boxes:
        wanted = (max(left - 3, 0), max(top - 3, 0), min(right + 3, width), min(bottom + 3, height))
        assert any(p[0] <= wanted[0] and p[1] <= wanted[1] and p[2] >= wanted[2] and p[3] >= wanted[3] for p in parts)
    assert all(0 <= p[0] < p[2] <= width and 0 <= p[1] < p[3] <= height for p in parts)


@given(images(), st.integers(1, 16))
def test_rectangles_never_cost_more_than_the_whole_image(image: tuple[list[Box], int, int], around: int) -> None:
    boxes, width, height = image
    parts = focus(boxes, width, height, around)
    spent = 16 * sum(map(area, parts)) + around * width * height
    assert parts == [(0, 0, width, height)] or spent < 16 * width * height


def test_far_objects_have_rectangles_of_their_own_and_near_ones_share() -> None:
    far = focus([(20, 100, 60, 140), (250, 110, 290, 150)], 320, 240, 2)
    assert sorted(far) == [(16, 96, 64, 144), (246, 106, 294, 154)]
    assert focus([(20, 100, 60, 140), (50, 110, 90, 150)], 320, 240, 2) == [(16, 96, 94, 154)]


def test_rectangles_fade_towards_their_edges_and_no_object_does() -> None:
    mask = np.asarray(fading(12, 9))
    assert mask.shape == (9, 12)
    assert (mask[3:-3, 3:-3] == 255).all()
    assert mask[4].tolist() == [64, 128, 191, *[255] * 6, 191, 128, 64]
    assert mask[:, 5].tolist() == [64, 128, 191, 255, 255, 255, 191, 128, 64]


def test_small_images_are_rendered_in_one_go() -> None:
    assert focus([(5, 8, 25, 30), (24, 16, 44, 42)], 48, 48, 2) == [(0, 0, 48, 48)]


PARTS = """
import json, sys
import numpy as np
from generator.blender.stage import Stage
from generator.quality import Quality
from generator.sampling import Planned, place_scene
from generator.vocabulary import read_vocabulary
out, boxes, sizes = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
family = read_vocabulary("clevr")
thing = ("cube", {"color": "red", "material": "rubber", "size": "large"})
planned = Planned("0", "", (thing,), (0,), "studio", (None,), (0,))
for width, height in sizes:
    for name, given in {"whole": {}, "parts": {"floor": 1}, "rough": {"samples": 1}}.items():
        quality = Quality(**{**dict(about="", samples=32, denoise="", bounces=1, microseconds=1), **given})
        stage = Stage(family, quality, width, height, 2)
        stage.pose(place_scene(planned, family, 0, 0, width, height))
        found = [tuple(round(part * side) for part, side in zip(box, (width, height) * 2)) for box in boxes]
        stage.render(out + "/draft.png", found).save(f"{out}/{name}-{width}.png")
standard = Quality(about="", samples=64, noise=0.1, floor=2, denoise="fast", bounces=2, microseconds=1)
for name, order in {"one": (0, 1), "two": (1, 0)}.items():
    stage = Stage(family, standard, 160, 120, 2)
    for turn in order:
        stage.pose(place_scene(planned, family, turn, 0, 160, 120))
        stage.render(out + "/draft.png", [(60, 40, 100, 80)]).save(f"{out}/order-{name}-{turn}.png")
stage.render(out + "/draft.png", [(20, 70, 50, 95)]).save(out + "/bare.png")
pug = read_vocabulary("pug").painted_with("color")
where = next(name for name, each in pug.environments.items() if each.ground is not None)
animal = Planned("0", "", ((next(iter(pug.objects)), {"color": "red", "coat": "matt"}),), (0,), where)
for name, given in {"whole": {}, "floor": {"floor": 1}, "landscape": {"landscape": 1}}.items():
    stage = Stage(pug, Quality(**{**dict(about="", samples=8, denoise="", bounces=1, microseconds=1), **given}), 160, 120, 2)
    stage.pose(place_scene(animal, pug, 0, 0, 160, 120))
    stage.render(out + "/draft.png", [(60, 40, 100, 80)]).save(f"{out}/pug-{name}.png")
"""
RELATIVE = [[0.37, 0.33, 0.62, 0.67], [0.83, 0.05, 0.93, 0.21]]
RENDERED = [(161, 123), (200, 151)]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    arguments = [sys.executable, "-c", PARTS, str(folder), json.dumps(RELATIVE), json.dumps(RENDERED)]
    subprocess.run(arguments, check=True, capture_output=True)
    return folder


def test_a_landscape_takes_no_fewer_samples_where_only_a_floor_may(rendered: Path) -> None:
    whole, floor, landscape = (
        np.asarray(Image.open(rendered / f"pug-{name}.png")).astype(int) for name in ("whole", "floor", "landscape")
    )
    assert np.array_equal(floor, whole)
    assert ((landscape - whole)[:30] ** 2).mean() > 0


@pytest.mark.parametrize("scene", [0, 1])
def test_what_was_rendered_before_leaves_no_trace(rendered: Path, scene: int) -> None:
    one, two = (np.asarray(Image.open(rendered / f"order-{name}-{scene}.png")) for name in ("one", "two"))
    assert np.array_equal(one, two)


def test_no_seam_shows_about_a_rectangle_on_the_bare_floor(rendered: Path) -> None:
    image = np.asarray(Image.open(rendered / "bare.png")).astype(int)
    ((left, top, right, bottom),) = focus([(20, 70, 50, 95)], 160, 120, 2)
    near = image[top - 2 : bottom + 2, left - 2 : right + 2]
    steps = max(np.abs(np.diff(near, axis=axis)).max() for axis in (0, 1))
    assert steps < 8, "of 255; without rim or fading it is 50"


def test_a_render_in_parts_is_the_whole_one_within_and_the_rough_one_around(rendered: Path) -> None:
    for width, height in RENDERED:
        whole, image, rough = (
            np.asarray(Image.open(rendered / f"{name}-{width}.png")).astype(int) for name in ("whole", "parts", "rough")
        )
        boxes = [
            (round(left * width), round(top * height), round(right * width), round(bottom * height))
            for left, top, right, bottom in RELATIVE
        ]
        object_part, _ = parts = focus(boxes, width, height, 1)
        around = np.ones((height, width), bool)
        within = ~around
        for left, top, right, bottom in parts:
            around[top:bottom, left:right], within[top + 4 : bottom - 4, left + 4 : right - 4] = False, True
        noise = {
            (name, place): ((each - whole)[mask] ** 2).mean()
            for name, each in (("image", image), ("rough", rough))
            for place, mask in (("around", around), ("within", within))
        }
        assert noise["image", "around"] > noise["rough", "around"] / 2, noise
        assert noise["image", "within"] < noise["rough", "within"] / 8, noise
        left, top, right, bottom = (edge + inward for edge, inward in zip(object_part, (4, 4, -4, -4), strict=True))
        found = image[top:bottom, left:right]
        errors = {
            (down, across): ((np.roll(whole, (down, across), (0, 1))[top:bottom, left:right] - found) ** 2).mean()
            for down, across in product((-1, 0, 1), repeat=2)
        }
        exact = errors.pop((0, 0))
        assert exact < min(errors.values()) / 4, (exact, errors)
