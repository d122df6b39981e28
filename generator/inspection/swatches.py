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
from generator.inspection.sheets import contact_sheet, save_sheet
from generator.render.farm import Farm, default_workers
from generator.render.settings import read_quality
from generator.scene.planned import Recorded
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from generator.vocabulary.tables import ObjectSpec

_SIDE, _COLUMNS = 128, 12
_Row = tuple[str, list[tuple[str, Scene]]]
"""A heading and the swatches beneath it, each a label and a scene."""


def draw_swatches(family: str, out: Path, workers: int) -> Path:
    """Render the swatches of a family into the PNG file `out`; returns `out`.

    Camera and lamps are the family's, without jitter. The tested kind is shown in every
    environment, the other kinds in the first. Raises UserError when there is no such family, or
    when Blender cannot render it.
    """
    whole = parse_vocabulary(vocabulary_text(family), family)
    sheets = []
    for i, kind in enumerate(whole.paints or (whole.tested,)):
        vocabulary = whole.painted_with(kind)
        rows = list(_rows(vocabulary, vocabulary.tested, everything=i == 0))
        sheets += _with_images(rows, vocabulary, workers)
    return save_sheet(contact_sheet(sheets, _SIDE, whole.name), out)


_WIDE, _MARGIN, _EVERY = 1440, 24, 15  # pixels, pixels, degrees
_BRIGHTNESS = 0.4  # of the median, before the tone curve that keeps windows from being white


def draw_panorama(name: str, out: Path) -> Path:
    """Draw the panorama SET/NAME with its angles into the PNG file `out`; returns `out`.

    Angles are as in `sectors` (docs/worlds.md): degrees to the right of the left edge. Raises
    UserError if the panorama is missing.
    """
    import OpenEXR  # installed with the extra render

    with OpenEXR.File(str(panorama_file(name))) as file:
        light = np.clip(np.asarray(file.channels()["RGB"].pixels, np.float64), 0, None)
    bright = light * _BRIGHTNESS / max(float(np.median(light)), 1e-6)
    shown = Image.fromarray((255 * (bright / (1 + bright)) ** (1 / 2.2)).astype(np.uint8))
    sheet = Image.new("RGB", (_WIDE, _WIDE // 2 + _MARGIN), "white")
    sheet.paste(shown.resize((_WIDE, _WIDE // 2), Image.Resampling.BICUBIC), (0, _MARGIN))
    pen = ImageDraw.Draw(sheet)
    for angle in range(0, 360, _EVERY):
        pen.text((angle * _WIDE / 360, 2), f"|{angle}", "black", ImageFont.load_default(14))
    return save_sheet(sheet, out)


_VIEWS = ("faces right", "", "faces away", "", "faces left", "", "faces you", "")


def draw_meshes(names: Sequence[str], assets: str, out: Path) -> Path:
    """Render meshes of an asset set from eight sides, a row per mesh, into the PNG file `out`;
    returns `out`.

    Raises UserError if the set has no such mesh, or if Blender cannot render it.
    """
    family = read_vocabulary("clevr")
    meshes = {f"mesh {name}": ObjectSpec(mesh=f"{assets}/{name}", shows="side") for name in names}
    vocabulary = family.model_copy(update={"objects": {**family.objects, **meshes}})
    usual, place = (
        {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes},
        next(iter(family.environments)),
    )
    rows = []
    for name, key in zip(names, meshes, strict=True):
        scene = single_scene(vocabulary, key, usual, place)
        (thing,) = scene.objects
        turns = [
            replace(thing, heading=thing.heading + math.tau * view / len(_VIEWS))
            for view in range(len(_VIEWS))
        ]
        views = [replace(scene, objects=(each,)) for each in turns]
        rows.append((name, list(zip(_VIEWS, views, strict=True))))
    return save_sheet(
        contact_sheet(_with_images(rows, vocabulary, default_workers()), _SIDE, assets), out
    )


def _rows(vocabulary: Vocabulary, tested: str, everything: bool) -> Iterator[_Row]:
    """The rows of a family: the tested kind and all textures; with `everything` also the other
    kinds and objects."""
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    model = "sphere" if "sphere" in vocabulary.objects else next(iter(vocabulary.objects))
    first, *others = vocabulary.environments
    for kind in vocabulary.attributes:
        for place in [first, *others] if kind == tested else [first] if everything else []:
            heading = (
                f"{kind}, {vocabulary.environments[place].phrase}"
                if kind == tested and others
                else kind
            )
            swatches = [
                (value, single_scene(vocabulary, model, {**usual, kind: value}, place))
                for value in vocabulary.values(kind)
            ]
            yield heading, swatches
        for value, spec in vocabulary.attributes[kind].items():
            if spec.texture is not None:
                chosen = {**usual, kind: value}
                swatches = [
                    (name, single_scene(vocabulary, name, chosen, first))
                    for name in vocabulary.objects
                ]
                yield f"{kind} {value}", swatches
    if everything:
        objects = [
            (name, single_scene(vocabulary, name, usual, first)) for name in vocabulary.objects
        ]
        yield vocabulary.category, objects


def _with_images(
    rows: list[_Row], vocabulary: Vocabulary, workers: int
) -> list[tuple[str, list[tuple[Image.Image, list[str]]]]]:
    """The rows with rendered images in place of scenes, wrapped after twelve."""
    images = rendered(
        [scene for _, swatches in rows for _, scene in swatches], vocabulary, workers, _SIDE
    )
    found = []
    for heading, swatches in rows:
        shown = [(image, [label]) for (label, _), image in zip(swatches, images, strict=False)]
        found += [(heading, shown[at : at + _COLUMNS]) for at in range(0, len(shown), _COLUMNS)]
    return found


_ROOM = 1.45  # half the width of a close view, in radii of the largest object


def single_scene(
    vocabulary: Vocabulary,
    name: str,
    attributes: Mapping[str, str],
    environment: str,
    close: bool = True,
    sector: int = 0,
) -> Scene:
    """A scene of one object at the origin, at the middle of its headings; camera and lamps without
    jitter.

    `close`: zoom in until the largest object would fill the view; otherwise use the family's
    camera. `sector`: index of
    the sector of a photographed place; the camera looks at its middle.
    """
    spec, size = vocabulary.camera, max(vocabulary.radii)
    camera = Camera(spec.position, spec.target, spec.lens, spec.sensor)
    if close:
        target = (0.0, 0.0, 0.85 * size)
        lens = spec.sensor * math.dist(spec.position, target) / (2 * _ROOM * size)
        camera = Camera(spec.position, target, lens, spec.sensor)
    lamps = {
        name: Lamp(lamp.type, lamp.energy, lamp.size, lamp.color, lamp.position)
        for name, lamp in {**vocabulary.lamps, **vocabulary.environments[environment].lamps}.items()
    }
    heading = vocabulary.facing(name, spec.position)
    photo = vocabulary.environments[environment].photo
    yaw = sum(photo.sectors[sector]) / 2 % 360 if photo else 0.0
    return Scene(
        (SceneObject(name, dict(attributes), (0.0, 0.0, 0.0), heading),),
        camera,
        lamps,
        environment,
        yaw,
    )


def rendered(
    scenes: Sequence[Scene],
    vocabulary: Vocabulary,
    workers: int,
    side: int = 128,
    quality: str = "standard",
) -> Iterator[Image.Image]:
    """Render scenes, `side` pixels wide and high, in the same worker processes as a world; yields
    their images.

    Raises UserError if Blender cannot render a scene.
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
