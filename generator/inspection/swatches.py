"""Draws sheets of a family's single objects (each attribute value, each object, each texture on
each object), of a panorama with its angles, and of the meshes of an asset set from eight sides."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from generator.assets.sets import panorama_file
from generator.base.errors import UserError
from generator.inspection.sheets import Group, contact_sheet, save_sheet
from generator.render.farm import Farm, default_workers
from generator.render.settings import read_quality
from generator.scene.planned import Recorded
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from generator.vocabulary.tables import ObjectSpec

_SIDE = 128
"""Width and height of a swatch, pixels."""
_COLUMNS = 12
"""Swatches in a row."""
Row = tuple[str, list[tuple[str, Scene]]]
"""A heading and the swatches beneath it, each a label and a scene."""


def draw_swatches(family: str, out: Path, workers: int) -> Path:
    """Render the swatches of a family into a PNG file.

    Camera and lamps are the family's, without jitter. The tested kind is shown in every
    environment, the other kinds in the first.

    Args:
        family: Name of a family, or the path of a TOML file.
        out: The file to write.
        workers: Number of render processes.

    Returns:
        `out`.

    Raises:
        UserError: There is no such family, or Blender cannot render it.
    """
    vocabulary = parse_vocabulary(vocabulary_text(family), family)
    groups: list[Group] = []
    for n, kind in enumerate(vocabulary.paints or (vocabulary.tested,)):
        painted = vocabulary.painted_with(kind)
        # The kinds that all paints share are shown once.
        rows = list(_rows(painted, painted.tested, everything=n == 0))
        groups += _with_images(rows, painted, workers)
    return save_sheet(contact_sheet(groups, _SIDE, vocabulary.name), out)


_PANORAMA_WIDTH = 1440
"""Pixels: four for each degree."""
_ANGLES_HEIGHT = 24
"""Height of the strip of angles above the panorama, pixels."""
_DEGREES_APART = 15
"""Degrees between two angles that are written there."""
_MEDIAN_BRIGHTNESS = 0.4
"""Median of the panorama before the tone curve, which keeps windows from being white."""


def draw_panorama(name: str, out: Path) -> Path:
    """Draw a panorama with its angles into a PNG file.

    Angles are as in `sectors` (docs/worlds.md): degrees to the right of the left edge.

    Args:
        name: SET/NAME of the panorama.
        out: The file to write.

    Returns:
        `out`.

    Raises:
        UserError: The panorama is missing.
    """
    import OpenEXR  # installed with the extra render

    with OpenEXR.File(str(panorama_file(name))) as file:
        pixels = np.asarray(file.channels()["RGB"].pixels, np.float64)
    light = np.clip(pixels, 0, None)

    # Reinhard's tone curve x / (1 + x), then the gamma of a screen.
    exposed = light * _MEDIAN_BRIGHTNESS / max(float(np.median(light)), 1e-6)
    toned = (exposed / (1 + exposed)) ** (1 / 2.2)
    panorama = Image.fromarray((255 * toned).astype(np.uint8))

    size = (_PANORAMA_WIDTH, _PANORAMA_WIDTH // 2)
    sheet = Image.new("RGB", (size[0], size[1] + _ANGLES_HEIGHT), "white")
    sheet.paste(panorama.resize(size, Image.Resampling.BICUBIC), (0, _ANGLES_HEIGHT))
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(14)
    for angle in range(0, 360, _DEGREES_APART):
        pen.text((angle * size[0] / 360, 2), f"|{angle}", "black", font)
    return save_sheet(sheet, out)


_VIEWS = ("faces right", "", "faces away", "", "faces left", "", "faces you", "")


def draw_meshes(names: Sequence[str], assets: str, out: Path) -> Path:
    """Render meshes of an asset set from eight sides into a PNG file, a row per mesh.

    Args:
        names: The meshes.
        assets: Name of the set.
        out: The file to write.

    Returns:
        `out`.

    Raises:
        UserError: The set has no such mesh, or Blender cannot render it.
    """
    family = read_vocabulary("clevr")
    specs = {f"mesh {name}": ObjectSpec(mesh=f"{assets}/{name}", shows="side") for name in names}
    vocabulary = family.model_copy(update={"objects": {**family.objects, **specs}})
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    environment = next(iter(family.environments))
    rows: list[Row] = []
    for name, category in zip(names, specs, strict=True):
        scene = single_scene(vocabulary, category, attributes=usual, environment=environment)
        (scene_object,) = scene.objects
        swatches = []
        for n, label in enumerate(_VIEWS):
            heading = scene_object.heading + math.tau * n / len(_VIEWS)
            turned = replace(scene_object, heading=heading)
            swatches.append((label, replace(scene, objects=(turned,))))
        rows.append((name, swatches))
    groups = _with_images(rows, vocabulary, default_workers())
    return save_sheet(contact_sheet(groups, _SIDE, assets), out)


def _rows(vocabulary: Vocabulary, tested: str, everything: bool) -> Iterator[Row]:
    """The rows of a family: the tested kind and all textures; with `everything` also the other
    kinds and objects."""
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    model = "sphere" if "sphere" in vocabulary.objects else next(iter(vocabulary.objects))
    first, *others = vocabulary.environments
    for kind in vocabulary.attributes:
        environments = [first] if everything else []
        if kind == tested:
            # It must be legible in every environment.
            environments = [first, *others]
        for environment in environments:
            heading = kind
            if kind == tested and others:
                heading = f"{kind}, {vocabulary.environments[environment].phrase}"
            swatches = [
                (
                    value,
                    single_scene(
                        vocabulary,
                        model,
                        attributes={**usual, kind: value},
                        environment=environment,
                    ),
                )
                for value in vocabulary.values(kind)
            ]
            yield heading, swatches
        for value, spec in vocabulary.attributes[kind].items():
            if spec.texture is not None:
                chosen = {**usual, kind: value}
                swatches = [
                    (name, single_scene(vocabulary, name, attributes=chosen, environment=first))
                    for name in vocabulary.objects
                ]
                yield f"{kind} {value}", swatches
    if everything:
        objects = [
            (name, single_scene(vocabulary, name, attributes=usual, environment=first))
            for name in vocabulary.objects
        ]
        yield vocabulary.category, objects


def _with_images(rows: list[Row], vocabulary: Vocabulary, workers: int) -> list[Group]:
    """The rows with rendered images in place of scenes, wrapped after twelve."""
    scenes = [scene for _, swatches in rows for _, scene in swatches]
    images = rendered(scenes, vocabulary, workers, _SIDE)
    groups: list[Group] = []
    for heading, swatches in rows:
        # Not strict: `images` goes on with the next row.
        own = [(image, [label]) for (label, _), image in zip(swatches, images, strict=False)]
        for start in range(0, len(own), _COLUMNS):
            groups.append((heading, own[start : start + _COLUMNS]))
    return groups


_ROOM = 1.45
"""Half the width of a close view, in radii of the largest object."""


def single_scene(
    vocabulary: Vocabulary,
    name: str,
    *,
    attributes: Mapping[str, str],
    environment: str,
    close: bool = True,
    sector: int = 0,
) -> Scene:
    """A scene of one object at the origin, at the middle of its headings; camera and lamps without
    jitter.

    Args:
        vocabulary: The vocabulary of the family.
        name: The category of the object.
        attributes: Its values by kind.
        environment: Name of the environment.
        close: Zoom in until the largest object would fill the view; otherwise use the family's
            camera.
        sector: Index of the sector of a photographed place; the camera looks at its middle.
    """
    view = vocabulary.camera
    place = vocabulary.environments[environment]
    camera = Camera(view.position, view.target, view.lens, view.sensor)
    if close:
        radius = max(vocabulary.radii)
        target = (0.0, 0.0, 0.85 * radius)
        # A lens of focal length f shows a width of sensor x distance / f.
        distance = math.dist(view.position, target)
        width = 2 * _ROOM * radius
        lens = view.sensor * distance / width
        camera = Camera(view.position, target, lens, view.sensor)
    lamps = {}
    for lamp_name, lamp in {**vocabulary.lamps, **place.lamps}.items():
        lamps[lamp_name] = Lamp(lamp.type, lamp.energy, lamp.size, lamp.color, lamp.position)
    heading = vocabulary.facing(name, view.position)
    scene_object = SceneObject(name, dict(attributes), (0.0, 0.0, 0.0), heading)
    yaw = 0.0
    if place.photo:
        # The middle of the sector.
        yaw = sum(place.photo.sectors[sector]) / 2 % 360
    return Scene((scene_object,), camera, lamps, environment, yaw)


def rendered(
    scenes: Sequence[Scene],
    vocabulary: Vocabulary,
    workers: int,
    side: int = 128,
    quality: str = "standard",
) -> Iterator[Image.Image]:
    """Render scenes in the same worker processes as a world.

    Args:
        scenes: The scenes.
        vocabulary: Has their objects and environments.
        workers: Number of render processes.
        side: Width and height of the images, in pixels.
        quality: Name of a quality (docs/engines.md).

    Yields:
        Their images, in the order of the scenes.

    Raises:
        UserError: Blender cannot render a scene.
    """
    jobs = [Recorded(f"{i:06d}", scene.to_json()) for i, scene in enumerate(scenes)]
    with TemporaryDirectory() as folder:
        setup = {
            "vocabulary": vocabulary.toml(),
            "quality": read_quality(quality).model_dump(),
            "width": side,
            "height": side,
            "seed": 0,
            "folder": folder,
            "outputs": [],
            "device": "cpu",
        }
        for answer in Farm(workers).render(jobs, len(jobs), setup):
            if "failed" in answer:
                raise UserError(
                    f"An image of '{vocabulary.name}' could not be rendered: {answer['failed']}"
                )
        for job in jobs:
            with Image.open(Path(folder) / "images" / f"{job.scene_id}.png") as image:
                yield image.convert("RGB")
