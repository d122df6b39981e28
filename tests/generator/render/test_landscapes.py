"""The family pug: landscapes that leave no trace in one another, colours that read as themselves,
animals seen from the side.
"""

import math
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from skimage.color import deltaE_ciede2000, rgb2lab, xyz2lab
from skimage.color.colorconv import xyz_from_rgb

from generator.dataset.outputs import decode
from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
from generator.scene.scene import Lamp
from generator.vocabulary.materials import Pattern
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from tests.generator.render.digests import files
from tests.generator.render.drafts import render_drafts

PUG = read_vocabulary("pug")
PLAIN = PUG.painted_with("color")
TEXTURED = PUG.painted_with("texture")
WORLDS, COLORS, ANIMALS = list(PUG.environments), PUG.values("color"), list(PUG.objects)


def planned(
    name: str, world: str, *animals: tuple[str, str], vocabulary: Vocabulary = PLAIN
) -> Planned:
    """A scene of (animal, paint)."""
    objects = tuple(
        (animal, {vocabulary.tested: paint, "coat": "matt"}) for animal, paint in animals
    )
    return Planned(name, "", objects, tuple(range(len(animals))), world)


@pytest.mark.full
@pytest.mark.parametrize(
    ("vocabulary", "paints"),
    [(PLAIN, COLORS), (TEXTURED, PUG.values("texture"))],
)
def test_no_scene_shows_in_a_later_one(
    tmp_path: Path, vocabulary: Vocabulary, paints: list[str]
) -> None:
    scenes = [
        planned(
            f"{i}",
            WORLDS[i],
            ("fox", paints[i]),
            ("elephant", paints[i - 1]),
            vocabulary=vocabulary,
        )
        for i in range(3)
    ]
    render_drafts(scenes, tmp_path / "one", vocabulary, 48)
    render_drafts(scenes[::-1], tmp_path / "two", vocabulary, 48)
    one = files(tmp_path / "one")
    assert len(set(one.values())) == 3
    assert files(tmp_path / "two") == one


@pytest.mark.full
def test_each_direction_shows_other_scenery_behind_the_same_objects(tmp_path: Path) -> None:
    scene = planned("0", "desert", ("fox", "red"), ("elephant", "blue"))
    images, masks = [], []
    for yaw in (0.0, 180.0):
        folder = tmp_path / f"{yaw}"
        render_drafts([scene._replace(yaw=yaw)], folder, PLAIN, 48, ("masks",))
        images.append(np.asarray(Image.open(folder / "images" / "0.png")).astype(int))
        masks.append(decode("masks", (folder / "masks" / "0.png").read_bytes()))
    assert (masks[0] == masks[1]).all()
    behind = masks[0][: len(masks[0]) // 2] == 0
    off = np.abs(images[0] - images[1]).max(-1)[: len(behind)]
    assert (off[behind] > 16).mean() > 0.15
    assert np.median(np.abs(images[0] - images[1])[masks[0] > 0]) <= 4


PAIRS = list(product(WORLDS, COLORS, (0.0, 60.0, 120.0)))
SOME = [(WORLDS[i], COLORS[i], 60.0 * (i % 3)) for i in range(0, 8, 2)]


def color_read(image: Path, mask: Path) -> str:
    """The colour of the family that the brighter half of an object's pixels is nearest to, as under
    neutral light."""
    neutral = (
        np.array([PLAIN.attributes["color"][color].inputs()["linear"] for color in COLORS]) / 255
    )
    names = xyz2lab(neutral @ xyz_from_rgb.T)
    # at the edge pixels show the ground as well
    inside = ndimage.binary_erosion(decode("masks", mask.read_bytes()) == 1)
    pixels = rgb2lab(np.asarray(Image.open(image)))[inside]
    lit = np.median(pixels[pixels[:, 0] >= np.median(pixels[:, 0])], axis=0)
    return COLORS[int(deltaE_ciede2000(lit[None], names).argmin())]


@pytest.mark.parametrize("pairs", [SOME, pytest.param(PAIRS, marks=pytest.mark.full)])
def test_every_color_reads_as_itself_in_every_world(
    tmp_path: Path, pairs: list[tuple[str, str, float]]
) -> None:
    scenes = [
        planned(f"{i}", world, (ANIMALS[i % 12], color))._replace(yaw=yaw)
        for i, (world, color, yaw) in enumerate(pairs)
    ]
    render_drafts(scenes, tmp_path, PLAIN, 128, ("masks",))
    for i, (world, color, yaw) in enumerate(pairs):
        read = color_read(tmp_path / "images" / f"{i}.png", tmp_path / "masks" / f"{i}.png")
        assert read == color, (world, yaw)


def test_the_sun_stands_elsewhere_in_two_of_three_directions() -> None:
    def lamps(place: str, yaw: float) -> dict[str, Lamp]:
        return place_scene(
            planned("0", place, ("fox", "red"))._replace(yaw=yaw), PLAIN, 0, 0, 64, 64
        ).lamps

    suns = {yaw: lamps("desert", yaw)["sun"] for yaw in (0.0, 60.0, 120.0, 180.0)}
    heights = {yaw: sun.position[2] / np.linalg.norm(sun.position[:2]) for yaw, sun in suns.items()}
    assert suns[180.0] == suns[0.0]
    assert max(heights[60.0], heights[120.0]) < 0.8 * heights[0.0]
    assert suns[60.0].position[0] < suns[0.0].position[0] < suns[120.0].position[0]
    assert all(
        sun.color[2] < suns[0.0].color[2] for yaw, sun in suns.items() if yaw in (60.0, 120.0)
    )
    assert lamps("spaceship", 0.0) == lamps("spaceship", 60.0)


@pytest.mark.full
def test_textures_without_colors_are_in_the_object_s_own(tmp_path: Path) -> None:
    patterns = "".join(
        f'{name} = {{ texture = {{ pattern = "{name}", scale = 0.2 }} }}\n'
        for name in get_args(Pattern)
    )
    text = PLAIN.toml().replace(
        "[attributes.coat.", f"[attributes.pattern]\n{patterns}\n[attributes.coat.", 1
    )
    vocabulary = parse_vocabulary(text, "mine.toml")
    paint = {"color": "red", "coat": "matt"}
    scenes = [
        Planned(name, "", (("elephant", {**paint, "pattern": name}),), (0,), "meadow")
        for name in get_args(Pattern)
    ]
    render_drafts(scenes, tmp_path, vocabulary, 96, ("masks",))
    assert len(set(files(tmp_path / "images").values())) == len(scenes)
    for name in get_args(Pattern):
        assert (
            color_read(tmp_path / "images" / f"{name}.png", tmp_path / "masks" / f"{name}.png")
            == "red"
        ), name


def test_animals_show_a_side_and_face_left_as_often_as_right() -> None:
    turns = []
    for i in range(200):
        scene = place_scene(
            planned(f"{i}", WORLDS[i % 8], ("fox", "red"), ("lion", "blue")), PLAIN, 0, 0, 224, 224
        )
        for obj in scene.objects:
            x, y = (a - b for a, b in zip(scene.camera.position[:2], obj.position[:2], strict=True))
            turns.append(math.remainder(obj.heading - math.atan2(y, x), 2 * math.pi))
    assert all(math.radians(65) - 1e-6 <= abs(turn) <= math.radians(115) + 1e-6 for turn in turns)
    assert 160 <= sum(turn > 0 for turn in turns) <= 240
