"""Draws a sheet of meshes, each from eight sides."""

from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

_CAPTIONS = ("faces right", "", "faces away", "", "faces left", "", "faces you", "")
_LEFT, _TOP, _GAP, _LINE = 100, 8, 4, 20
_INK, _PAPER = (20, 20, 20), (255, 255, 255)


def draw_sheet(rows: Mapping[str, Sequence[Image.Image]]) -> Image.Image:
    """A sheet with a row for each mesh: its name, then its eight views (`generator.render.blender.turntable`).

    All views are square and of one size.
    """
    side = next(iter(rows.values()))[0].width
    font = ImageFont.load_default(13)
    sheet = Image.new("RGB", (_LEFT + len(_CAPTIONS) * (side + _GAP), _TOP + _LINE + len(rows) * (side + _GAP)), _PAPER)
    pen = ImageDraw.Draw(sheet)
    for column, caption in enumerate(_CAPTIONS):
        pen.text((_LEFT + column * (side + _GAP), _TOP), caption, _INK, font)
    for row, (name, views) in enumerate(rows.items()):
        top = _TOP + _LINE + row * (side + _GAP)
        pen.text((6, top + side // 2), name, _INK, font)
        for column, view in enumerate(views):
            sheet.paste(view, (_LEFT + column * (side + _GAP), top))
    return sheet
