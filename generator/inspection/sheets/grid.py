"""The grid: every attribute value on every object, cut out of images of the world, held-out combinations framed."""

from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from generator.dataset.reader import Dataset, World
from generator.holdout.holdout import Binding, Holdout
from generator.vocabulary.schema import parse_vocabulary

_CELL, _GAP, _FRAME, _HEAD, _MARGIN = 112, 8, 4, 26, 0.12
_INK, _FAINT, _PAPER, _HELD_OUT = (20, 20, 20), (205, 205, 205), (255, 255, 255), (230, 90, 0)


@dataclass(frozen=True)
class _Shown:
    """An object in an image: its box (left, top, right, bottom) and its visible area, pixels."""

    scene_id: str
    box: tuple[int, int, int, int]
    size: float


def draw_grid(root: Path, benchmark: str | None, out: Path) -> Path:
    """Draw every value of the held-out kind on every object into the PNG file `out`; returns `out`.

    Each combination is cut out of the image that shows it largest. Combinations that the benchmark holds out are
    framed, those that no image shows are hatched. Raises UserError when there is no such dataset or benchmark.
    """
    dataset = Dataset.open(root)
    holdout = Holdout.from_dict(dataset.block(benchmark))
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    values, objects = vocabulary.values(holdout.kind), list(vocabulary.objects)
    shown = _best(dataset.world, holdout.kind)
    font, bold = ImageFont.load_default(14), ImageFont.load_default(20)
    side = max(round(font.getlength(value)) for value in values) + 2 * _GAP
    step = _CELL + _GAP
    sheet = Image.new("RGB", (side + len(objects) * step, 2 * _HEAD + _GAP + len(values) * step), _PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((_GAP, 4), f"{holdout.kind} x {holdout.category}, framed: held out", _INK, bold)
    for j, thing in enumerate(objects):
        pen.text((side + j * step + _CELL / 2, 2 * _HEAD), _fitted(thing, font), _INK, font, anchor="ms")
    for i, value in enumerate(values):
        top = 2 * _HEAD + _GAP + i * step
        pen.text((side - _GAP, top + _CELL / 2), value, _INK, font, anchor="rm")
        for j, thing in enumerate(objects):
            left = side + j * step
            found = shown.get((value, thing))
            sheet.paste(_cut(dataset.world, found) if found else _hatched(), (left, top))
            if holdout.holds_out(value, thing) or holdout.absent(value, thing):
                edge = (left - _FRAME, top - _FRAME, left + _CELL + _FRAME - 1, top + _CELL + _FRAME - 1)
                pen.rectangle(edge, outline=_HELD_OUT, width=_FRAME)
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out)
    return out


def _best(world: World, kind: str) -> dict[Binding, _Shown]:
    """For each combination the object with the largest visible area; of several the first scene's."""
    best: dict[Binding, _Shown] = {}
    for batch in world.batches("scenes", ("scene_id", "status", "objects")):
        for row in batch.to_pylist():
            for thing in row["objects"] if row["status"] == "ok" else ():
                binding = (dict(thing["attributes"])[kind], thing["category"])
                left, top, right, bottom = thing["amodal_box"]
                size = (right - left) * (bottom - top) * thing["visible_fraction_estimate"]
                if binding not in best or size > best[binding].size:
                    best[binding] = _Shown(row["scene_id"], (left, top, right, bottom), size)
    return best


def _cut(world: World, shown: _Shown) -> Image.Image:
    """The square around an object, with a margin."""
    image = world.image(shown.scene_id)
    left, top, right, bottom = shown.box
    side = min(max(right - left, bottom - top) * (1 + 2 * _MARGIN), *image.size)
    x = min(max((left + right - side) / 2, 0), image.width - side)
    y = min(max((top + bottom - side) / 2, 0), image.height - side)
    return image.resize((_CELL, _CELL), Image.Resampling.LANCZOS, (x, y, x + side, y + side))


def _hatched() -> Image.Image:
    cell = Image.new("RGB", (_CELL, _CELL), _PAPER)
    pen = ImageDraw.Draw(cell)
    for x in range(-_CELL, _CELL, 12):
        pen.line((x, _CELL, x + _CELL, 0), _FAINT, 2)
    pen.rectangle((0, 0, _CELL - 1, _CELL - 1), outline=_FAINT)
    return cell


def _fitted(name: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    while font.getlength(name) > _CELL:
        name = name.removesuffix("…")[:-1] + "…"
    return name
