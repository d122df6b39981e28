"""Draws sheets of a dataset's images: captioned examples of every split, and a grid of values ×
objects."""

import math
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from generator.base.errors import UserError, did_you_mean
from generator.base.files import draft_of
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset
from generator.holdout.class_lists import ClassRule
from generator.holdout.membership import SPLITS, UNSEEN_ATOMS
from generator.inspection.combinations import (
    THUMBNAIL_SIDE,
    CombinationGrid,
    combination_grid,
    relation_grids,
)

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

# Of a contact sheet, pixels.
_IMAGE_WIDTH = 280
_GAP = 10
_LINE = 20
_HEADING = 30

# Colours of all sheets.
_INK = (20, 20, 20)
_FAINT = (110, 110, 110)
_PAPER = (255, 255, 255)


def draw_preview(
    root: Path,
    benchmark_name: str | None,
    *,
    splits: tuple[str, ...],
    number: int,
    seed: int,
    out: Path,
) -> Path:
    """Draw images of each split, each with a true caption and the foil beneath.

    Args:
        root: The folder of the dataset.
        benchmark_name: The benchmark; None for the only one, or the one made with the world.
        splits: The splits to draw; all if empty.
        number: How many images of each.
        seed: Chooses them.
        out: The PNG file.

    Returns:
        `out`.

    Raises:
        UserError: There is no such dataset, benchmark or split.
    """
    dataset = Dataset.open(root)
    benchmark = dataset.benchmark(benchmark_name)
    groups: list[Group] = []
    for split, scenes in scenes_of(benchmark, splits, number, seed).items():
        images = []
        for scene_id, caption, foil in _example_texts(benchmark, scenes):
            texts = [caption, f"not: {foil}" if foil else ""]
            images.append((dataset.world.image(scene_id), texts))
        groups.append((split, images))
    return save_sheet(contact_sheet(groups, _IMAGE_WIDTH, benchmark.name), out)


def save_sheet(sheet: Image.Image, out: Path) -> Path:
    """Write a sheet atomically into the PNG file `out`; returns `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(out) as draft:
        sheet.save(draft, "PNG")
    return out


def scenes_of(
    benchmark: Benchmark, splits: tuple[str, ...], number: int | None, seed: int
) -> dict[str, list[str]]:
    """Scene ids by split.

    Args:
        benchmark: The benchmark.
        splits: The splits; all that have scenes if empty.
        number: How many scenes of each split; None for all.
        seed: Chooses them.

    Raises:
        UserError: The benchmark has no scene of a split.
    """
    n_scenes = benchmark.manifest["scenes"]
    in_order = dict.fromkeys((*SPLITS, UNSEEN_ATOMS, *ClassRule.splits, *n_scenes))
    present = [split for split in in_order if n_scenes.get(split)]
    for split in splits:
        if split not in present:
            raise UserError(
                f"{benchmark.name} has no scene of a split '{split}'; "
                f"{did_you_mean(split, present)}"
            )
    scenes: dict[str, list[str]] = {split: [] for split in splits or present}
    scene_ids = benchmark.splits["scene_id"].to_pylist()
    splits_of_scenes = benchmark.splits["split"].to_pylist()
    for scene_id, split in zip(scene_ids, splits_of_scenes, strict=True):
        if split in scenes:
            scenes[split].append(scene_id)
    if number is not None:
        for split, own in scenes.items():
            scenes[split] = Stream("preview", seed, split).sample(own, number)
    return scenes


def _example_texts(benchmark: Benchmark, scenes: Sequence[str]) -> list[tuple[str, str, str]]:
    """(scene_id, true caption, foil) of each scene; a missing text is empty."""
    texts: dict[str, dict[str, str]] = {scene_id: {"c": "", "n": ""} for scene_id in scenes}
    columns = [benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "slot")]
    rows = [row for row in zip(*columns, strict=True) if row[0] in texts]
    holdout = benchmark.holdout or {}
    if holdout.get("triples") and not holdout.get("bindings"):
        # Only relations are held out, so texts with relations are the telling ones.
        text_ids = benchmark.texts["text_id"].to_pylist()
        numbers = benchmark.texts["n_relations"].to_pylist()
        n_relations = dict(zip(text_ids, numbers, strict=True))
        rows.sort(key=lambda row: not n_relations[row[1]])
    for scene_id, text_id, slot in rows:
        own = texts[scene_id]
        if slot in own and not own[slot]:
            own[slot] = benchmark.text_of[text_id]
    examples = []
    for scene_id in scenes:
        own = texts[scene_id]
        examples.append((scene_id, own["c"], own["n"]))
    return examples


CaptionedImage = tuple[Image.Image, Sequence[str]]
"""An image, and the texts beneath it."""
Group = tuple[str, Sequence[CaptionedImage]]
"""A heading, and captioned images."""

_BLANK = Image.new("RGB", (1, 1), _PAPER)


def contact_sheet(groups: Sequence[Group], width: int, title: str) -> Image.Image:
    """Draw groups of images, each with a heading; beneath each image are its texts, all but the
    first in faint ink. Groups share a row if there is room.

    Args:
        groups: The groups. All images have the same shape and number of texts.
        width: Width of an image, pixels; smaller images are enlarged by an integer factor, so that
            their pixels stay sharp.
        title: Stands beside the first heading.
    """
    bold = ImageFont.load_default(20)
    _, first_images = groups[0]
    first_image, _ = first_images[0]
    # Larger images are reduced, by any factor.
    factor = width // first_image.width or width / first_image.width
    size = (round(factor * first_image.width), round(factor * first_image.height))
    n_columns = max(len(images) for _, images in groups)
    column_width = size[0] + _GAP

    # A group takes the columns of its images, or of its heading if that is longer.
    rows: list[list[Group]] = []
    n_free = 0
    for number, (heading, images) in enumerate(groups):
        if number == 0:
            heading = f"{heading}  ({title})"
        n_of_heading = math.ceil(bold.getlength(heading) / column_width)
        n_needed = max(len(images), n_of_heading)
        if n_needed > n_free:
            rows.append([])
            n_free = n_columns
        n_blank = n_needed - len(images)
        blanks: list[CaptionedImage] = [(_BLANK, [])] * n_blank
        rows[-1].append((heading, [*images, *blanks]))
        n_free -= n_needed

    row_width = _GAP + n_columns * column_width
    strips = [_draw_row(row, size, width=row_width, bold=bold) for row in rows]
    return _stack(strips, margin=_GAP)


def _stack(strips: Sequence[Image.Image], margin: int = 0) -> Image.Image:
    """Strips below one another, from a margin at the top on."""
    width = max(strip.width for strip in strips)
    height = margin + sum(strip.height for strip in strips)
    sheet = Image.new("RGB", (width, height), _PAPER)
    top = margin
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet


def _draw_row(
    groups: Sequence[Group], size: tuple[int, int], *, width: int, bold: Font
) -> Image.Image:
    """Draw a row of a contact sheet.

    Args:
        groups: Its groups.
        size: Width and height of an image in it, pixels.
        width: Width of the row, pixels.
        bold: The font of headings.
    """
    font = ImageFont.load_default(14)
    image_width, image_height = size

    # By group, image and text: the lines of the text.
    wrapped = []
    for _, images in groups:
        lines_of_group = []
        for _, texts in images:
            lines_of_group.append([_wrap(text, font, image_width) for text in texts])
        wrapped.append(lines_of_group)
    # The n-th texts of all images begin at one height, below the longest of the texts before.
    n_lines = []
    for nth_texts in zip_longest(*chain.from_iterable(wrapped), fillvalue=()):
        n_lines.append(max(len(lines) for lines in nth_texts))
    height_of_texts = sum(n_lines) * _LINE
    height = _HEADING + image_height + height_of_texts + _GAP

    strip = Image.new("RGB", (width, height), _PAPER)
    pen = ImageDraw.Draw(strip)
    left = _GAP
    for (heading, images), lines_of_images in zip(groups, wrapped, strict=True):
        pen.text((left, 0), heading, _INK, bold)
        for (image, _), lines_of_texts in zip(images, lines_of_images, strict=True):
            # Enlarged pixels stay sharp.
            is_reduced = image.width > image_width
            filter_ = Image.Resampling.LANCZOS if is_reduced else Image.Resampling.NEAREST
            strip.paste(image.resize(size, filter_), (left, _HEADING))
            top = _HEADING + image_height + 2
            for n, lines in enumerate(lines_of_texts):
                ink = _INK if n == 0 else _FAINT
                for line_number, line in enumerate(lines):
                    pen.text((left, top + line_number * _LINE), line, ink, font)
                top += n_lines[n] * _LINE
            left += image_width + _GAP
    return strip


def _wrap(text: str, font: Font, width: int) -> list[str]:
    """Break a text into lines of at most `width` pixels; a longer word is not broken."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line for line in lines if line]


def _shorten(line: str, font: Font, width: int) -> str:
    """Cut a line to `width` pixels, with an ellipsis at its end."""
    while font.getlength(line) > width:
        line = line.removesuffix("…")[:-1] + "…"
    return line


# Of a grid, pixels.
_CELL_GAP = 8
_FRAME = 4
_GRID_HEADING = 26
_HATCHING = 12

_HATCHING_INK = (205, 205, 205)
_HELD_OUT_INK = (230, 90, 0)


def draw_grid(root: Path, benchmark_name: str | None, out: Path) -> Path:
    """Draw every value of the held-out kind on every object into the PNG file `out`; returns `out`.

    Each combination is cut out of the image that shows it largest. Held-out combinations are
    framed; combinations that no image shows are hatched. If only relations are held out, the
    sheet has a grid of first object × second object for each of them.

    Args:
        root: The folder of the dataset.
        benchmark_name: The benchmark; None for the holdout that all share.
        out: The PNG file.

    Raises:
        UserError: There is no such dataset or benchmark.
    """
    dataset = Dataset.open(root)
    holdout_data = dataset.block(benchmark_name)
    if holdout_data["triples"] and not holdout_data["bindings"]:
        grids = relation_grids(dataset.world, holdout_data)
    else:
        grids = [combination_grid(dataset.world, holdout_data)]
    tables = [_draw_grid_table(grid) for grid in grids]
    return save_sheet(_stack(tables), out)


def _draw_grid_table(grid: CombinationGrid) -> Image.Image:
    """A grid with its title, and the names of its rows and columns."""
    font, bold = ImageFont.load_default(14), ImageFont.load_default(20)
    longest_label = max(round(font.getlength(value)) for value in grid.rows)
    label_width = longest_label + 2 * _CELL_GAP
    step = THUMBNAIL_SIDE + _CELL_GAP
    # Below the title and the names of the columns.
    first_row = 2 * _GRID_HEADING + _CELL_GAP
    width = label_width + len(grid.categories) * step
    height = first_row + len(grid.rows) * step
    sheet = Image.new("RGB", (width, height), _PAPER)
    pen = ImageDraw.Draw(sheet)

    pen.text((_CELL_GAP, 4), f"{grid.title}, framed: held out", _INK, bold)
    for column, category in enumerate(grid.categories):
        middle = label_width + column * step + THUMBNAIL_SIDE / 2
        name = _shorten(category, font, THUMBNAIL_SIDE)
        pen.text((middle, 2 * _GRID_HEADING), name, _INK, font, anchor="ms")
    for row, (value, combinations) in enumerate(grid.rows.items()):
        top = first_row + row * step
        label_place = (label_width - _CELL_GAP, top + THUMBNAIL_SIDE / 2)
        pen.text(label_place, value, _INK, font, anchor="rm")
        for column, combination in enumerate(combinations):
            left = label_width + column * step
            sheet.paste(combination.thumbnail or _hatched_cell(), (left, top))
            if combination.is_held_out:
                right, bottom = left + THUMBNAIL_SIDE - 1, top + THUMBNAIL_SIDE - 1
                frame = (left - _FRAME, top - _FRAME, right + _FRAME, bottom + _FRAME)
                pen.rectangle(frame, outline=_HELD_OUT_INK, width=_FRAME)
    return sheet


def _hatched_cell() -> Image.Image:
    cell = Image.new("RGB", (THUMBNAIL_SIDE, THUMBNAIL_SIDE), _PAPER)
    pen = ImageDraw.Draw(cell)
    for x in range(-THUMBNAIL_SIDE, THUMBNAIL_SIDE, _HATCHING):
        pen.line((x, THUMBNAIL_SIDE, x + THUMBNAIL_SIDE, 0), _HATCHING_INK, 2)
    pen.rectangle((0, 0, THUMBNAIL_SIDE - 1, THUMBNAIL_SIDE - 1), outline=_HATCHING_INK)
    return cell
