"""Sheets of single objects: each value of each attribute kind of a family on one object, each object, and each texture
on each object; and the meshes of an asset set from eight sides."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from generator.inspection.single_objects import rendered, single_scene
from generator.render.farm import default_workers
from generator.scene.scene import Scene
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from generator.vocabulary.tables import ObjectSpec

_SIDE, _GAP, _LINE, _HEAD, _COLUMNS = 128, 10, 20, 30, 12
_INK, _PAPER = (20, 20, 20), (255, 255, 255)


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
        sheets += _with_images(rows, vocabulary, workers)
    _sheet(sheets, whole.name, out)
    return out


_VIEWS = ("faces right", "", "faces away", "", "faces left", "", "faces you", "")


def draw_meshes(names: Sequence[str], assets: str, out: Path) -> Path:
    """Render meshes of an asset set from eight sides, a row each, into the PNG file `out`; returns `out`.

    Raises UserError where the set has no such mesh, or when Blender cannot render it.
    """
    family = read_vocabulary("clevr")
    meshes = {f"mesh {name}": ObjectSpec(mesh=f"{assets}/{name}", shows="side") for name in names}
    vocabulary = family.model_copy(update={"objects": {**family.objects, **meshes}})
    usual, place = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}, next(iter(family.environments))
    rows = []
    for name, key in zip(names, meshes, strict=True):
        scene = single_scene(vocabulary, key, usual, place)
        (thing,) = scene.objects
        turns = [replace(thing, heading=thing.heading + math.tau * view / len(_VIEWS)) for view in range(len(_VIEWS))]
        views = [replace(scene, objects=(each,)) for each in turns]
        rows.append(_Row(name, list(zip(_VIEWS, views, strict=True))))
    _sheet(_with_images(rows, vocabulary, default_workers()), assets, out)
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
                (value, single_scene(vocabulary, model, {**usual, kind: value}, place))
                for value in vocabulary.values(kind)
            ]
            yield _Row(heading, swatches)
        for value, spec in vocabulary.attributes[kind].items():
            if spec.texture is not None:
                chosen = {**usual, kind: value}
                swatches = [(name, single_scene(vocabulary, name, chosen, first)) for name in vocabulary.objects]
                yield _Row(f"{kind} {value}", swatches)
    if everything:
        objects = [(name, single_scene(vocabulary, name, usual, first)) for name in vocabulary.objects]
        yield _Row(vocabulary.category, objects)


def _with_images(rows: list[_Row], vocabulary: Vocabulary, workers: int) -> list[tuple[_Row, list[Image.Image]]]:
    images = rendered([scene for row in rows for _, scene in row.swatches], vocabulary, workers, _SIDE)
    return [(row, list(islice(images, len(row.swatches)))) for row in rows]


def _sheet(rows: list[tuple[_Row, list[Image.Image]]], title: str, out: Path) -> None:
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
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out)
