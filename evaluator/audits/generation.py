"""Draws images for captions of a benchmark with diffusion models, and one sheet of them all (Pearson et al. 2025,
figure 5)."""

import io
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from evaluator.audits.prompts import Prompt, choose_prompts
from evaluator.models.diffusion.latents import decode_latent
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.hub import quiet
from evaluator.models.registry import load_model, name_and_spec
from evaluator.provenance.contamination import mark_of, training_of
from evaluator.runs.folder import folder_name
from generator.base.errors import UserError
from generator.base.files import read_json, write_bytes, write_json
from generator.base.limits import MOST_IN_SCENE, read_bytes, read_png
from generator.base.paths import check_own_files
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)
RECORD, SHEET = "drawings.json", "sheet.png"
_ABOUT = "drawing"
"""The text chunk of a PNG that says how it was made."""
_DRAWN, _SEEN = "", "-seen"
_LONGEST = 60
_HEIGHT, _GAP, _LINE, _HEAD = 192, 14, 22, 38
_INK, _FAINT, _PAPER, _RULE = (20, 20, 20), (110, 110, 110), (255, 255, 255), (205, 205, 205)
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class Drawing:
    """What is asked for. splits: empty for the default of `choose_prompts`. captions: of each split. guidance,
    steps: see `draw_image`."""

    models: tuple[str, ...]
    splits: tuple[str, ...] = ()
    captions: int = 2
    seed: int = 0
    guidance: float = 7.0
    steps: int = 50


def draw_captions(
    asked: Drawing,
    world: World,
    benchmark: Benchmark,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> Path:
    """Draw into the folder `out` and return its sheet.

    A model is a spec, or NAME=SPEC for what it is called. The folder gets a PNG of each caption and model, one of what
    the model sees of the true image, drawings.json and sheet.png. Images that are there are not drawn again. Raises
    UserError for a model that draws no images, and where `out` holds anything else.
    """
    prompts = choose_prompts(benchmark, asked.splits, asked.captions, asked.seed)
    names = [name_and_spec(model) for model in asked.models]
    folders = [out / folder_name(name) for name, _ in names]
    if len(set(folders)) < len(folders):
        raise UserError(f"Expected models with names of their own, got {', '.join(asked.models)}; write NAME=MODEL.")
    request = {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)}
    _check_folder(out, request)
    record: dict[str, Any] = {
        "request": json.loads(json.dumps(request)),
        "name": benchmark.name,
        "models": {},
        "captions": [{**asdict(prompt), "seed": _seed(asked, prompt), "images": {}} for prompt in prompts],
    }
    write_json(out / RECORD, record)
    columns: list[list[Image.Image]] = [[world.image(prompt.scene_id) for prompt in prompts]]
    notes = [
        f"{benchmark.name}. Drawn with guidance {asked.guidance:g} in {asked.steps} steps, seed {asked.seed}. Sees: "
        f"the true image as the "
        "classifier gets it, resized and through the autoencoder, before noise is added."
    ]
    for (name, spec), folder in zip(names, folders, strict=True):
        model = load_model(spec, device)
        if not isinstance(model, DiffusionClassifier):
            raise UserError(f"'{spec}' draws no images; give a diffusion: model, or a jackalope: one of that kind.")
        training = training_of(model, world, benchmark, [p.scene_id for p in prompts if p.split != "train"])
        logger.info(f"{name}: {training['said']}")
        notes += [f"{name}: {said}" for said in [mark_of({"training": training})] if said]
        record["models"][name] = {"model": spec, **model.info, "training": training}
        columns += _of_model(model, asked, world, prompts, folder, progress)
        for number, entry in enumerate(record["captions"]):
            entry["images"][name] = {
                what: str(_path(folder, number, prompts[number], end).relative_to(out))
                for what, end in (("drawn", _DRAWN), ("seen", _SEEN))
            }
    heads = ["true image", *(f"{name} {does}" for name, _ in names for does in ("draws", "sees"))]
    rows = [
        SheetRow(prompt.split, prompt.text, images)
        for prompt, images in zip(prompts, zip(*columns, strict=True), strict=True)
    ]
    write_bytes(out / SHEET, _png(draw_sheet(heads, rows, notes)))
    write_json(out / RECORD, record)
    return out / SHEET


def _of_model(
    model: DiffusionClassifier,
    asked: Drawing,
    world: World,
    prompts: Sequence[Prompt],
    folder: Path,
    progress: Progress,
) -> list[list[Image.Image]]:
    """What a model draws for each prompt, and what it sees of each true image."""
    folder.mkdir(exist_ok=True)
    longest = int(model.info["text_length"])
    cut = [p.text for p, n in zip(prompts, model.token_counts([p.text for p in prompts]), strict=True) if n > longest]
    if cut:
        logger.info(f"The model reads {longest} tokens; it cuts {len(cut)} captions, such as '{cut[0]}'.")
    drawn, seen = [], []
    for number in progress.each(range(len(prompts)), "drawing images", len(prompts)):
        prompt = prompts[number]
        seed = _seed(asked, prompt)
        about = {
            "model": model.key,
            "caption": prompt.text,
            "seed": seed,
            "guidance": asked.guidance,
            "steps": asked.steps,
        }
        path = _path(folder, number, prompt, _DRAWN)
        image = _kept(path, about)
        if image is None:
            image = draw_image(model, prompt.text, seed, asked.guidance, asked.steps)
            write_bytes(path, _png(image, about))
        drawn.append(image)
        seen.append(seen_image(model, world.image(prompt.scene_id)))
        write_bytes(_path(folder, number, prompt, _SEEN), _png(seen[-1]))
    return [drawn, seen]


def _seed(asked: Drawing, prompt: Prompt) -> int:
    """The seed of a caption's noise: the same for all models, so that they differ in their weights alone."""
    return Stream(asked.seed, "drawing", prompt.text).below(2**32)


def _path(folder: Path, number: int, prompt: Prompt, end: str) -> Path:
    return folder / f"{number:03d}-{prompt.split}-{folder_name(prompt.text)[:_LONGEST]}{end}.png"


def _kept(path: Path, about: dict[str, Any]) -> Image.Image | None:
    """The image in a file, if it was drawn in this way; None where it was not, or where the file is damaged."""
    if not path.exists():
        return None
    data = read_bytes(path, MOST_IN_SCENE)
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            known = getattr(image, "text", {}).get(_ABOUT)
        return read_png(data) if known == json.dumps(about, sort_keys=True) else None
    except (OSError, SyntaxError, ValueError):
        return None


def _png(image: Image.Image, about: dict[str, Any] | None = None) -> bytes:
    info = PngImagePlugin.PngInfo()
    if about is not None:
        info.add_text(_ABOUT, json.dumps(about, sort_keys=True))
    file = io.BytesIO()
    image.save(file, "PNG", pnginfo=info)
    return file.getvalue()


def _check_folder(out: Path, request: dict[str, Any]) -> None:
    """Make the folder. Raises UserError where it holds other drawings, or something else."""
    out.mkdir(parents=True, exist_ok=True)
    check_own_files(out)
    if (out / RECORD).exists():
        if read_json(out / RECORD).get("request") != json.loads(json.dumps(request)):
            raise UserError(f"{out} holds drawings of another request; choose another --out.")
    elif any(out.iterdir()):
        raise UserError(f"{out} is not empty and holds no drawings; choose another --out.")


@torch.inference_mode()
def draw_image(model: DiffusionClassifier, text: str, seed: int, guidance: float, steps: int) -> Image.Image:
    """The image that the model's own pipeline makes of a text, RGB, of the square that its network was made for.

    seed: of the noise that it starts from, which is drawn on the CPU, so that models with equal latents start from the
    same. guidance: the scale of classifier-free guidance (Ho & Salimans 2022). steps: of the pipeline's scheduler.
    """
    pipe, side = model.adapter.pipe, model.adapter.side
    pipe.set_progress_bar_config(disable=True)
    with quiet():
        made: Image.Image = pipe(
            prompt=text,
            height=side,
            width=side,
            guidance_scale=guidance,
            num_inference_steps=steps,
            generator=torch.Generator().manual_seed(seed),
        ).images[0]
    return made


@torch.inference_mode()
def seen_image(model: DiffusionClassifier, image: Image.Image) -> Image.Image:
    """An RGB image as the classifier sees it before noise is added: resized or cropped by its preset, and what its
    autoencoder keeps."""
    return decode_latent(model.adapter.pipe, model.latent(image))


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
    height = _GAP + head_lines * _LINE + splits * _HEAD + (len(below) + 1) * _LINE
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
            top += _HEAD
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
