"""Draws sheets of a dataset's images: captioned examples of every split, and a grid of values ×
objects."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from generator.base.errors import UserError, did_you_mean
from generator.base.files import draft_of
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset, World
from generator.holdout.class_lists import ClassRule
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import SPLITS, UNSEEN_ATOMS
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_CELL, _GAP, _LINE, _HEAD = 280, 10, 20, 30
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_INK, _FAINT, _PAPER = (20, 20, 20), (110, 110, 110), (255, 255, 255)


def draw_preview(
    root: Path, benchmark: str | None, splits: tuple[str, ...], number: int, seed: int, out: Path
) -> Path:
    """Draw `number` images of each split, chosen by seed, with a true caption and the foil beneath;
    returns `out`.

    Raises UserError when there is no such dataset, benchmark or split.
    """
    dataset = Dataset.open(root)
    chosen = dataset.benchmark(benchmark)
    rows = [
        (
            split,
            [
                (dataset.world.image(scene), [caption, f"not: {foil}" if foil else ""])
                for scene, caption, foil in _examples(chosen, scenes)
            ],
        )
        for split, scenes in scenes_of(chosen, splits, number, seed).items()
    ]
    return save_sheet(contact_sheet(rows, _CELL, chosen.name), out)


def save_sheet(sheet: Image.Image, out: Path) -> Path:
    """Write a sheet atomically into the PNG file `out`; returns `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(out) as draft:
        sheet.save(draft, "PNG")
    return out


def scenes_of(
    benchmark: Benchmark, splits: tuple[str, ...], number: int | None, seed: int
) -> dict[str, list[str]]:
    """Scene ids by split: `number` per split, chosen by `seed`; None for all. Empty `splits` means
    every split.

    Raises UserError when the benchmark has no scene of a split.
    """
    pairs = zip(
        benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True
    )
    of = [(scene, split) for scene, split in pairs if split is not None]
    numbers = benchmark.manifest["scenes"]
    known = dict.fromkeys((*SPLITS, UNSEEN_ATOMS, *ClassRule.splits, *numbers))
    there = [split for split in known if numbers.get(split)]
    for split in splits:
        if split not in there:
            raise UserError(
                f"{benchmark.name} has no scene of a split '{split}'; {did_you_mean(split, there)}"
            )
    found = {split: [scene for scene, its in of if its == split] for split in splits or there}
    if number is None:
        return found
    return {
        split: Stream("preview", seed, split).sample(scenes, number)
        for split, scenes in found.items()
    }


def _examples(benchmark: Benchmark, scenes: Sequence[str]) -> list[tuple[str, str, str]]:
    """(scene_id, true caption, foil) of each scene; a missing text is empty."""
    wanted = set(scenes)
    texts: dict[str, dict[str, str]] = {scene: {"c": "", "n": ""} for scene in scenes}
    columns = (benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "slot"))
    rows = [row for row in zip(*columns, strict=True) if row[0] in wanted]
    held = benchmark.holdout or {}
    if held.get("triples") and not held.get("bindings"):
        relations = dict(
            zip(
                *(benchmark.texts[name].to_pylist() for name in ("text_id", "n_relations")),
                strict=True,
            )
        )
        rows.sort(
            key=lambda row: not relations[row[1]]
        )  # texts with relations first: triples are held out
    for scene, text_id, slot in rows:
        if slot in texts[scene]:
            texts[scene][slot] = texts[scene][slot] or benchmark.text_of[text_id]
    return [(scene, texts[scene]["c"], texts[scene]["n"]) for scene in scenes]


_Group = tuple[str, Sequence[tuple[Image.Image, Sequence[str]]]]
"""A heading, and images with the texts beneath each."""


def contact_sheet(rows: Sequence[_Group], width: int, title: str) -> Image.Image:
    """Draw groups of images, each with a heading; beneath each image are its texts, all but the
    first in faint ink.

    `width`: width of an image, pixels; smaller images are enlarged by an integer factor. All images
    have the same shape
    and number of texts. Groups share a row if there is room.
    """
    bold = ImageFont.load_default(20)
    sample, _ = rows[0][1][0]
    times = width // sample.width or width / sample.width
    shown = (round(times * sample.width), round(times * sample.height))
    columns = max(len(images) for _, images in rows)
    strips: list[list[_Group]] = []
    free = 0
    for i, (heading, images) in enumerate(rows):
        heading = f"{heading}  ({title})" if i == 0 else heading
        needed = max(len(images), math.ceil(bold.getlength(heading) / (shown[0] + _GAP)))
        if needed > free:
            strips.append([])
            free = columns
        strips[-1].append((heading, [*images, *[(_BLANK, [])] * (needed - len(images))]))
        free -= needed
    drawn = [_strip(groups, shown, _GAP + columns * (shown[0] + _GAP), bold) for groups in strips]
    sheet = Image.new("RGB", (drawn[0].width, _GAP + sum(strip.height for strip in drawn)), _PAPER)
    top = _GAP
    for strip in drawn:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet


_BLANK = Image.new("RGB", (1, 1), _PAPER)


def _strip(
    groups: Sequence[_Group], shown: tuple[int, int], width: int, bold: _Font
) -> Image.Image:
    """Draw a row of a contact sheet. `shown`: width and height of an image in it, pixels."""
    font = ImageFont.load_default(14)
    captions = [
        [[_wrapped(text, font, shown[0]) for text in texts] for _, texts in images]
        for _, images in groups
    ]
    deepest = [
        max(len(lines) for lines in each)
        for each in zip_longest(*chain.from_iterable(captions), fillvalue=())
    ]
    strip = Image.new("RGB", (width, _HEAD + shown[1] + sum(deepest) * _LINE + _GAP), _PAPER)
    pen, left = ImageDraw.Draw(strip), _GAP
    for (heading, images), texts in zip(groups, captions, strict=True):
        pen.text((left, 0), heading, _INK, bold)
        for (image, _), paragraphs in zip(images, texts, strict=True):
            smaller = image.width > shown[0]
            how = Image.Resampling.LANCZOS if smaller else Image.Resampling.NEAREST
            strip.paste(image.resize(shown, how), (left, _HEAD))
            top = _HEAD + shown[1] + 2
            for k, lines in enumerate(paragraphs):
                for at, line in enumerate(lines):
                    pen.text((left, top + at * _LINE), line, _FAINT if k else _INK, font)
                top += deepest[k] * _LINE
            left += shown[0] + _GAP
    return strip


def _wrapped(text: str, font: _Font, width: int) -> list[str]:
    """Break a text into lines of at most `width` pixels; a longer word is not broken."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line for line in lines if line]


def _fitted(line: str, font: _Font, width: int) -> str:
    while font.getlength(line) > width:
        line = line.removesuffix("…")[:-1] + "…"
    return line


_TILE, _TILE_GAP, _FRAME, _GRID_HEAD, _MARGIN = 112, 8, 4, 26, 0.12
_GRID_FAINT, _HELD_OUT = (205, 205, 205), (230, 90, 0)


@dataclass(frozen=True)
class Shown:
    """An object in an image: its box (left, top, right, bottom) and its visible area, pixels."""

    scene_id: str
    box: tuple[int, int, int, int]
    size: float


@dataclass(frozen=True)
class _GridTable:
    """One table of a grid."""

    title: str
    row_names: Sequence[str]
    column_names: Sequence[str]
    clearest: Mapping[tuple[str, str], Shown]
    """Where each combination (row, column) is seen best; a combination that no image shows is
    missing."""
    held_out: Collection[tuple[str, str]]
    """The combinations to frame."""


def draw_grid(root: Path, benchmark: str | None, out: Path) -> Path:
    """Draw every value of the held-out kind on every object into the PNG file `out`; returns `out`.

    Each combination is cut out of the image that shows it largest. Held-out combinations are
    framed; combinations that no image shows are hatched. If only relations are held out, the grid
    has a table for each of them: first object × second object. Raises UserError when there is no
    such dataset or benchmark.
    """
    dataset = Dataset.open(root)
    holdout = Holdout.from_dict(dataset.block(benchmark))
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    if holdout.triples and not holdout.bindings:
        tables = _relation_tables(dataset.world, holdout, vocabulary)
    else:
        tables = [_binding_table(dataset.world, holdout, vocabulary)]
    drawn = [_draw_table(dataset.world, table) for table in tables]
    sheet = Image.new(
        "RGB", (max(table.width for table in drawn), sum(table.height for table in drawn)), _PAPER
    )
    top = 0
    for table in drawn:
        sheet.paste(table, (0, top))
        top += table.height
    return save_sheet(sheet, out)


def _binding_table(world: World, holdout: Holdout, vocabulary: Vocabulary) -> _GridTable:
    values, objects = vocabulary.values(holdout.kind), list(vocabulary.objects)
    held_out = {
        (value, category)
        for value in values
        for category in objects
        if holdout.holds_out(value, category) or holdout.absent(value, category)
    }
    title = f"{holdout.kind} x {holdout.category}, framed: held out"
    return _GridTable(title, values, objects, clearest(world, holdout.kind), held_out)


def _relation_tables(world: World, holdout: Holdout, vocabulary: Vocabulary) -> list[_GridTable]:
    """A table for each held-out relation. It has the objects that any held-out triple names."""
    named = {category for first, _, second in holdout.triples for category in (first, second)}
    objects = [category for category in vocabulary.objects if category in named]
    tables = []
    for relation in dict.fromkeys(relation for _, relation, _ in holdout.triples):
        phrase = vocabulary.relations[relation].phrase
        held_out = {(first, second) for first, of, second in holdout.triples if of == relation}
        title = f"row {phrase} column, framed: held out"
        tables.append(
            _GridTable(title, objects, objects, clearest_pairs(world, relation), held_out)
        )
    return tables


def _draw_table(world: World, table: _GridTable) -> Image.Image:
    font, bold = ImageFont.load_default(14), ImageFont.load_default(20)
    side = max(round(font.getlength(name)) for name in table.row_names) + 2 * _TILE_GAP
    step = _TILE + _TILE_GAP
    top_of_tiles = 2 * _GRID_HEAD + _TILE_GAP
    width = max(
        side + len(table.column_names) * step, round(bold.getlength(table.title)) + 2 * _TILE_GAP
    )
    sheet = Image.new("RGB", (width, top_of_tiles + len(table.row_names) * step), _PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((_TILE_GAP, 4), table.title, _INK, bold)
    for j, column in enumerate(table.column_names):
        middle = side + j * step + _TILE / 2
        name = _fitted(column, font, _TILE)
        pen.text((middle, 2 * _GRID_HEAD), name, _INK, font, anchor="ms")
    for i, row in enumerate(table.row_names):
        top = top_of_tiles + i * step
        pen.text((side - _TILE_GAP, top + _TILE / 2), row, _INK, font, anchor="rm")
        for j, column in enumerate(table.column_names):
            left = side + j * step
            best = table.clearest.get((row, column))
            sheet.paste(cut_out(world, best) if best else _hatched(), (left, top))
            if (row, column) in table.held_out:
                right, bottom = left + _TILE + _FRAME - 1, top + _TILE + _FRAME - 1
                edge = (left - _FRAME, top - _FRAME, right, bottom)
                pen.rectangle(edge, outline=_HELD_OUT, width=_FRAME)
    return sheet


def clearest_pairs(world: World, relation: str) -> dict[tuple[str, str], Shown]:
    """For each pair of categories, the image where the first stands in the relation to the second
    and both are largest; the box is around both."""
    best: dict[tuple[str, str], Shown] = {}
    for batch in world.batches("scenes", ("scene_id", "status", "objects", "relations")):
        for row in batch.to_pylist():
            if row["status"] != "ok":
                continue
            for fact in row["relations"]:
                if fact["relation"] != relation:
                    continue
                first, second = row["objects"][fact["subject"]], row["objects"][fact["object"]]
                size = min(_visible_area(first), _visible_area(second))
                pair = (first["category"], second["category"])
                if pair not in best or size > best[pair].size:
                    boxes = (first["amodal_box"], second["amodal_box"])
                    left, top = (min(box[k] for box in boxes) for k in (0, 1))
                    right, bottom = (max(box[k] for box in boxes) for k in (2, 3))
                    best[pair] = Shown(row["scene_id"], (left, top, right, bottom), size)
    return best


def _visible_area(obj: Mapping[str, Any]) -> float:
    """Pixels of an object's box, times its visible share."""
    left, top, right, bottom = obj["amodal_box"]
    return float((right - left) * (bottom - top) * obj["visible_fraction"])


def clearest(world: World, kind: str) -> dict[Binding, Shown]:
    """For each combination, the object with the largest visible area; on ties, the object of the
    first scene."""
    best: dict[Binding, Shown] = {}
    for batch in world.batches("scenes", ("scene_id", "status", "objects")):
        for row in batch.to_pylist():
            for thing in row["objects"] if row["status"] == "ok" else ():
                binding = (dict(thing["attributes"])[kind], thing["category"])
                left, top, right, bottom = thing["amodal_box"]
                size = _visible_area(thing)
                if binding not in best or size > best[binding].size:
                    best[binding] = Shown(row["scene_id"], (left, top, right, bottom), size)
    return best


def cut_out(world: World, shown: Shown) -> Image.Image:
    """The square around an object, with a margin."""
    image = world.image(shown.scene_id)
    left, top, right, bottom = shown.box
    side = min(max(right - left, bottom - top) * (1 + 2 * _MARGIN), *image.size)
    x = min(max((left + right - side) / 2, 0), image.width - side)
    y = min(max((top + bottom - side) / 2, 0), image.height - side)
    return image.resize((_TILE, _TILE), Image.Resampling.LANCZOS, (x, y, x + side, y + side))


def _hatched() -> Image.Image:
    cell = Image.new("RGB", (_TILE, _TILE), _PAPER)
    pen = ImageDraw.Draw(cell)
    for x in range(-_TILE, _TILE, 12):
        pen.line((x, _TILE, x + _TILE, 0), _GRID_FAINT, 2)
    pen.rectangle((0, 0, _TILE - 1, _TILE - 1), outline=_GRID_FAINT)
    return cell
