"""Renders the pictures of frames of reference: `python docs/make_frames.py`. One scene from four
sides, and below each side its captions, green where they are true and red where they are false.

The scenes are fixed here. It takes some minutes on two cores.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Facts, decide
from generator.placement.scenes import place_scenes
from generator.render.farm import Farm
from generator.render.run import Rendering, worker_setup
from generator.scene.planned import Planned, Recorded
from generator.scene.scene import Scene
from generator.scene.turning import turned
from generator.vocabulary.schema import Vocabulary, read_vocabulary

OUT = Path(__file__).parent / "images" / "gallery"
SIDES = (0, 90, 180, 270)
"""The turns of the camera, degrees."""
WIDTH, HEIGHT, GAP = 360, 270, 8
"""Of an image, and between images, pixels."""
LINE, FONT_SIZE = 34, 13
"""The height of a caption of two lines, and of its letters, pixels."""
TRUE, FALSE = (20, 120, 50), (190, 30, 30)
"""The colors of captions."""


class World(NamedTuple):
    """A scene to show."""

    family: str
    """Its family."""
    objects: tuple[tuple[str, dict[str, str]], ...]
    """Category and values of its two objects; captions are about the first and the second."""
    environment: str
    """Its place."""
    number: str
    """Its scene_id, which seeds the placement."""
    zoom: float = 1.0
    """Factor on the focal length: landscapes leave much room around animals."""


WORLDS = (
    World(
        "pug-frames",
        (("fox", {"color": "red", "coat": "matt"}), ("lion", {"color": "yellow", "coat": "matt"})),
        "meadow",
        "17",
        1.5,
    ),
    World(
        "things-frames",
        (
            ("teddy bear", {"color": "brown", "size": "small", "material": "rubber"}),
            ("armchair", {"color": "blue", "size": "large", "material": "rubber"}),
        ),
        "studio",
        "9",
    ),
)
RELATIONS = ("left", "front", "own-left", "own-front")
"""The relations of the captions."""


def main() -> None:
    """Render and draw the pictures."""
    for world in WORLDS:
        vocabulary = read_vocabulary(world.family).painted_with("color")
        vocabulary = vocabulary.seen_from(4, (90.0, 180.0, 270.0))
        scenes = scenes_of(world, vocabulary)
        with tempfile.TemporaryDirectory() as folder:
            images = render_scenes(scenes, vocabulary, Path(folder))
        picture = draw_sides(images, [captions_of(scene, vocabulary) for scene in scenes])
        path = OUT / f"{world.family}.jpg"
        picture.save(path, quality=88, optimize=True)
        print(path)


def scenes_of(world: World, vocabulary: Vocabulary) -> list[Scene]:
    """Place a world once and turn its camera.

    Args:
        world: The world.
        vocabulary: Its family.

    Returns:
        The scene from each of SIDES.
    """
    planned = Planned(
        world.number, "", world.objects, (0, 1), world.environment, azimuth=0.0, turn=90.0
    )
    placed = place_scenes(planned, vocabulary, 0, 0, WIDTH, HEIGHT)[0]
    camera = placed.camera
    first = replace(placed, camera=replace(camera, lens=camera.lens * world.zoom))
    return [turned(first, degrees, vocabulary) if degrees else first for degrees in SIDES]


def render_scenes(
    scenes: Sequence[Scene], vocabulary: Vocabulary, folder: Path
) -> list[Image.Image]:
    """Render scenes.

    Args:
        scenes: The scenes.
        vocabulary: Their family.
        folder: An empty folder.

    Returns:
        Their images.
    """
    request = {"vocabulary": vocabulary.toml(), "seed": 0, "width": WIDTH, "height": HEIGHT}
    setup = worker_setup({**request, **Rendering("standard").request}, folder)
    jobs = [Recorded(str(i), scene.to_json(), "", None) for i, scene in enumerate(scenes)]
    for answer in Farm(1).render(jobs, len(jobs), setup):
        assert "scene" in answer, answer
    paths = [folder / "images" / f"{job.scene_id}.png" for job in jobs]
    return [Image.open(path).convert("RGB") for path in paths]


def captions_of(scene: Scene, vocabulary: Vocabulary) -> list[tuple[str, bool | None]]:
    """Write the captions of a scene.

    Args:
        scene: The scene, of two objects.
        vocabulary: Its family.

    Returns:
        The words of each caption, and whether it is true; None if it is undecided.
    """
    facts, grammar = Facts(scene, vocabulary), Grammar(vocabulary)
    mentions = tuple(Mention(obj.category) for obj in scene.objects)
    captions = []
    for relation in RELATIONS:
        form = Form(mentions, (Link(0, relation, 1),))
        captions.append((grammar.realise(form, "photo"), decide(form, facts)))
    return captions


def draw_sides(
    images: Sequence[Image.Image], captions: Sequence[Sequence[tuple[str, bool | None]]]
) -> Image.Image:
    """Arrange four images in two rows, each with its captions below.

    Args:
        images: The images, WIDTH x HEIGHT pixels.
        captions: Of each image; undecided captions are left out.

    Returns:
        The picture.
    """
    font = ImageFont.load_default(FONT_SIZE)
    block = HEIGHT + LINE * len(RELATIONS) + GAP
    picture = Image.new("RGB", (2 * WIDTH + GAP, 2 * block), (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    for number, image in enumerate(images):
        row, column = divmod(number, 2)
        left, top = column * (WIDTH + GAP), row * block
        picture.paste(image, (left, top))
        y = top + HEIGHT + 4
        for text, truth in captions[number]:
            if truth is None:
                continue
            words, frame = _in_two_lines(text.removeprefix("a photo of "))
            color = TRUE if truth else FALSE
            draw.text((left + 4, y), words, color, font)
            draw.text((left + 16, y + LINE // 2 - 2), frame, color, font)
            y += LINE
    return picture


def _in_two_lines(text: str) -> tuple[str, str]:
    """A caption, cut before the words that say its frame."""
    for words in (" as the camera", " from the"):
        before, cut, after = text.partition(words)
        if cut:
            return before, f"{cut.strip()}{after}"
    return text, ""


if __name__ == "__main__":
    main()
