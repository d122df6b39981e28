"""A contact sheet: images of every split with their captions."""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset, World
from generator.holdout.class_lists import ClassRule
from generator.holdout.membership import SPLITS, UNSEEN_ATOMS

_CELL, _GAP, _LINE, _HEAD = 280, 12, 20, 34
_INK, _FAINT, _PAPER = (20, 20, 20), (110, 110, 110), (255, 255, 255)


def draw_preview(root: Path, benchmark: str | None, splits: tuple[str, ...], number: int, seed: int, out: Path) -> Path:
    """Draw `number` images of each split, chosen by seed, with a true caption and the foil beneath; returns `out`.

    Raises UserError when there is no such dataset, benchmark or split.
    """
    dataset = Dataset.open(root)
    chosen = dataset.benchmark(benchmark)
    numbers = chosen.manifest["scenes"]
    known = dict.fromkeys((*SPLITS, UNSEEN_ATOMS, *ClassRule.splits, *numbers))
    there = [split for split in known if numbers.get(split)]
    for split in splits:
        if split not in there:
            raise UserError(f"{chosen.name} has no scene of a split '{split}'; {did_you_mean(split, there)}")
    rows = [(split, _examples(chosen, split, number, seed)) for split in splits or there]
    sheet = _draw(dataset.world, rows, chosen.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out)
    return out


def _examples(benchmark: Benchmark, split: str, number: int, seed: int) -> list[tuple[str, str, str]]:
    """(scene_id, true caption, foil) of some scenes; the foil is empty where the scene has none."""
    pairs = zip(benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True)
    scenes = Stream("preview", seed, split).sample([scene for scene, of in pairs if of == split], number)
    wanted = set(scenes)
    texts: dict[str, dict[str, str]] = {scene: {"c": "", "n": ""} for scene in scenes}
    columns = (benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "slot"))
    rows = [row for row in zip(*columns, strict=True) if row[0] in wanted]
    held = benchmark.holdout or {}
    if held.get("triples") and not held.get("bindings"):
        relations = dict(zip(*(benchmark.texts[name].to_pylist() for name in ("text_id", "n_relations")), strict=True))
        rows.sort(key=lambda row: not relations[row[1]])  # what is held out comes first
    for scene, text_id, slot in rows:
        if slot in texts[scene]:
            texts[scene][slot] = texts[scene][slot] or benchmark.text_of[text_id]
    return [(scene, texts[scene]["c"], texts[scene]["n"]) for scene in scenes]


def _draw(world: World, rows: list[tuple[str, list[tuple[str, str, str]]]], title: str) -> Image.Image:
    font, bold = ImageFont.load_default(14), ImageFont.load_default(20)
    columns = max(1, *(len(examples) for _, examples in rows))
    sample = world.image(next(scene for _, examples in rows for scene, _, _ in examples))
    height = round(_CELL * sample.height / sample.width)
    block = _HEAD + height + 2 * _LINE + _GAP
    sheet = Image.new("RGB", (_GAP + columns * (_CELL + _GAP), _GAP + len(rows) * block), _PAPER)
    pen = ImageDraw.Draw(sheet)
    for i, (split, examples) in enumerate(rows):
        top = _GAP + i * block
        pen.text((_GAP, top), f"{split}  ({title})" if i == 0 else split, _INK, bold)
        for j, (scene, caption, foil) in enumerate(examples):
            left = _GAP + j * (_CELL + _GAP)
            image = world.image(scene)
            sheet.paste(image.resize((_CELL, height), Image.Resampling.LANCZOS), (left, top + _HEAD))
            for k, (line, ink) in enumerate(((caption, _INK), (f"not: {foil}" if foil else "", _FAINT))):
                pen.text((left, top + _HEAD + height + 2 + k * _LINE), _fitted(line, font, pen), ink, font)
    return sheet


def _fitted(line: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, pen: ImageDraw.ImageDraw) -> str:
    while pen.textlength(line, font) > _CELL:
        line = line.removesuffix("…")[:-1] + "…"
    return line
