"""Swatches of a family: renders of each value of each attribute kind on one object, and of each object."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw, ImageFont

from generator.dataset.errors import UserError
from generator.plan.record import Planned
from generator.render.device import Backend
from generator.render.farm.local import render_scenes
from generator.render.quality import read_quality
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_SIDE, _GAP, _LINE, _HEAD, _COLUMNS = 128, 10, 20, 30, 12
_INK, _PAPER = (20, 20, 20), (255, 255, 255)
_ROOM = 1.45  # half the width of a swatch, radii of the largest object


@dataclass(frozen=True)
class _Row:
    """A heading and the swatches beneath it, each a label and a scene."""

    heading: str
    swatches: list[tuple[str, Scene]]


def draw_swatches(family: str, out: Path, workers: int) -> Path:
    """Render the swatches of a family into the PNG file `out`; returns `out`.

    Camera and lamps are the family's, without jitter. The tested kind is shown in every environment, all others in the
    first. Raises UserError when there is no such family, or when Blender cannot render it.
    """
    whole = parse_vocabulary(vocabulary_text(family), family)
    sheets = []
    for i, kind in enumerate(whole.paints or (whole.tested,)):
        vocabulary = whole.painted_with(kind)
        rows = list(_rows(vocabulary, vocabulary.tested, everything=i == 0))
        images = _rendered([scene for row in rows for _, scene in row.swatches], vocabulary, workers)
        sheets += [(row, list(islice(images, len(row.swatches)))) for row in rows]
    out.parent.mkdir(parents=True, exist_ok=True)
    _sheet(sheets, whole.name).save(out)
    return out


def _rows(vocabulary: Vocabulary, tested: str, everything: bool) -> Iterator[_Row]:
    """The rows of a family: those of the tested kind, and with `everything` those of other kinds and of the objects."""
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    model = "sphere" if "sphere" in vocabulary.objects else next(iter(vocabulary.objects))
    first, *others = vocabulary.environments
    for kind in vocabulary.attributes:
        for place in [first, *others] if kind == tested else [first] if everything else []:
            heading = f"{kind}, {vocabulary.environments[place].phrase}" if kind == tested and others else kind
            swatches = [
                (value, _scene(vocabulary, model, {**usual, kind: value}, place)) for value in vocabulary.values(kind)
            ]
            yield _Row(heading, swatches)
    if everything:
        objects = [(name, _scene(vocabulary, name, usual, first)) for name in vocabulary.objects]
        yield _Row(vocabulary.category, objects)


def _scene(vocabulary: Vocabulary, name: str, attributes: dict[str, str], environment: str) -> Scene:
    """An object at the origin at the middle of its headings, in a view that the largest object fills."""
    spec, size = vocabulary.camera, max(vocabulary.scales)
    position = spec.position
    target = (0.0, 0.0, 0.85 * size)
    away = math.dist(position, target)
    camera = Camera(position, target, spec.sensor * away / (2 * _ROOM * size), spec.sensor)
    lamps = {
        name: Lamp(lamp.type, lamp.energy, lamp.size, lamp.color, lamp.position)
        for name, lamp in {**vocabulary.lamps, **vocabulary.environments[environment].lamps}.items()
    }
    heading = vocabulary.facing(name, position)
    return Scene((SceneObject(name, attributes, (0.0, 0.0, 0.0), heading),), camera, lamps, environment)


def _rendered(scenes: Sequence[Scene], vocabulary: Vocabulary, workers: int) -> Iterator[Image.Image]:
    """The images of scenes, rendered by the same worker processes as a world."""
    blank = Planned("", "", (), (), "")
    jobs = [replace(blank, scene_id=f"{i:06d}", record=scene.to_json()) for i, scene in enumerate(scenes)]
    with TemporaryDirectory() as folder:
        setup = {
            "vocabulary": vocabulary.toml(), "quality": read_quality("standard").model_dump(), "width": _SIDE, "height": _SIDE,
            "seed": 0, "folder": folder, "outputs": [], **vars(Backend()),
        }  # fmt: skip
        for answer in render_scenes(jobs, setup, min(workers, len(jobs))):
            if "failed" in answer:
                raise UserError(f"A swatch of '{vocabulary.name}' could not be rendered: {answer['failed']}")
        for job in jobs:
            with Image.open(Path(folder) / "images" / f"{job.scene_id}.png") as image:
                yield image.convert("RGB")


def _sheet(rows: list[tuple[_Row, list[Image.Image]]], title: str) -> Image.Image:
    font, bold = ImageFont.load_default(14), ImageFont.load_default(18)
    lines = [-(-len(row.swatches) // _COLUMNS) for row, _ in rows]
    width = _GAP + max(min(len(row.swatches), _COLUMNS) for row, _ in rows) * (_SIDE + _GAP)
    step = _SIDE + _LINE + _GAP
    sheet = Image.new("RGB", (width, _HEAD + sum(_HEAD + n * step for n in lines)), _PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((_GAP, 6), title, _INK, ImageFont.load_default(22))
    top = _HEAD
    for (row, images), n in zip(rows, lines, strict=True):
        pen.text((_GAP, top + 5), row.heading, _INK, bold)
        for i, ((label, _), image) in enumerate(zip(row.swatches, images, strict=True)):
            left, y = _GAP + i % _COLUMNS * (_SIDE + _GAP), top + _HEAD + i // _COLUMNS * step
            sheet.paste(image, (left, y))
            pen.text((left + _SIDE / 2, y + _SIDE + 1), label, _INK, font, anchor="ma")
        top += _HEAD + n * step
    return sheet
