"""The sheet of what models draw: a row for each caption, by split; the true image, and what each model draws and sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from PIL import Image, ImageDraw, ImageFont

_HEIGHT, _GAP, _LINE, _SPLIT = 192, 14, 22, 38
_INK, _FAINT, _PAPER, _RULE = (20, 20, 20), (110, 110, 110), (255, 255, 255), (205, 205, 205)
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class SheetRow:
    """A caption of a split, and its images in the order of the columns."""

    split: str
    caption: str
    images: Sequence[Image.Image]


def draw_sheet(heads: Sequence[str], rows: Sequence[SheetRow], notes: Sequence[str]) -> Image.Image:
    """One RGB image. heads: of the columns. notes: sentences that stand below."""
    font, bold, small = ImageFont.load_default(15), ImageFont.load_default(20), ImageFont.load_default(13)
    widths = [max(_scaled(row.images[i]).width for row in rows) for i in range(len(heads))]
    lefts = [_GAP + sum(widths[:i]) + i * _GAP for i in range(len(heads))]
    width = lefts[-1] + widths[-1] + _GAP
    room = width - 2 * _GAP
    headed = [_wrapped(head, font, across) for head, across in zip(heads, widths, strict=True)]
    head_lines = max(map(len, headed))
    captions = [_wrapped(row.caption, font, room) for row in rows]
    below = [line for note in notes for line in _wrapped(note, small, room)]
    splits = len(list(groupby(row.split for row in rows)))
    height = _GAP + head_lines * _LINE + splits * _SPLIT + (len(below) + 1) * _LINE
    height += sum(len(lines) * _LINE + _HEIGHT + _GAP for lines in captions)
    sheet = Image.new("RGB", (width, height), _PAPER)
    pen = ImageDraw.Draw(sheet)
    for left, lines in zip(lefts, headed, strict=True):
        for i, line in enumerate(lines):
            pen.text((left, _GAP + i * _LINE), line, _INK, font)
    top = _GAP + head_lines * _LINE
    split = None
    for row, lines in zip(rows, captions, strict=True):
        if row.split != split:
            split = row.split
            pen.line((_GAP, top + 4, width - _GAP, top + 4), _RULE, 1)
            pen.text((_GAP, top + 8), split, _INK, bold)
            top += _SPLIT
        for line in lines:
            pen.text((_GAP, top), line, _INK, font)
            top += _LINE
        for left, image in zip(lefts, row.images, strict=True):
            sheet.paste(_scaled(image), (left, top))
        top += _HEIGHT + _GAP
    for i, line in enumerate(below):
        pen.text((_GAP, top + i * _LINE), line, _FAINT, small)
    return sheet


def _scaled(image: Image.Image) -> Image.Image:
    """The image at the height of a row. A smaller one shows its pixels, without halos."""
    filtered = Image.Resampling.BOX if image.height < _HEIGHT else Image.Resampling.LANCZOS
    return image.resize((max(1, round(image.width * _HEIGHT / image.height)), _HEIGHT), filtered)


def _wrapped(text: str, font: _Font, room: int) -> list[str]:
    """The lines of a text; of a word that is too long the end is kept, which tells folders apart."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(_fitted(word, font, room))
    return lines or [""]


def _fitted(word: str, font: _Font, room: int) -> str:
    while len(word) > 1 and font.getlength(word) > room:
        word = "…" + word.removeprefix("…")[1:]
    return word
