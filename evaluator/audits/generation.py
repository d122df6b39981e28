"""Draws images for captions of a benchmark with diffusion models, and a sheet that shows all images
(Pearson et al. 2025, figure 5)."""

import hashlib
import io
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import torch
from matplotlib.figure import Figure
from PIL import Image

from evaluator.audits.prompts import Prompt, choose_prompts, models_shown
from evaluator.models.diffusion.scorer import DiffusionClassifier, decode_latent
from evaluator.models.hub import quiet
from evaluator.provenance.contamination import mark_of
from evaluator.runs.folder import folder_name
from generator.base.arrays import read_png
from generator.base.errors import UserError
from generator.base.files import write_bytes, write_json
from generator.base.limits import MOST_IN_SCENE, read_bytes
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)
RECORD, SHEET = "drawings.json", "sheet.png"
_LONGEST = 60
_SIDE, _LETTERS = 2.2, 32
"""Side of an image on the sheet, in inches; letters of text per image width."""


@dataclass(frozen=True)
class Drawing:
    """Options of `draw_captions`. splits: empty for the default of `choose_prompts`. captions: at
    most this many of each split. guidance, steps: see `draw_image`."""

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
    """Draw images of captions into the folder `out`; returns the path of the sheet.

    Each model is a spec, or NAME=SPEC to name it. Writes a PNG of each caption and model, a PNG of
    the true image as the model sees it, drawings.json and sheet.png. Skips images that were already
    drawn with the same model and options. Raises UserError for a model that draws no images.
    """
    prompts = choose_prompts(benchmark, asked.splits, asked.captions, asked.seed)
    captions = [
        {**asdict(prompt), "seed": _seed(asked, prompt), "images": {}} for prompt in prompts
    ]
    models: dict[str, Any] = {}
    rows = [
        SheetRow(f"{each.split}: {each.text}", [world.image(each.scene_id)]) for each in prompts
    ]
    heads = ["true image"]
    notes = [
        f"{benchmark.name}. Drawn with guidance {asked.guidance:g} in {asked.steps} steps, seed "
        f"{asked.seed}. Sees: the true image as the classifier gets it, resized and through the "
        f"autoencoder, before noise is added."
    ]
    held_out = [prompt.scene_id for prompt in prompts if prompt.split != "train"]
    for name, model, models[name] in models_shown(asked.models, world, benchmark, held_out, device):
        if not isinstance(model, DiffusionClassifier):
            raise UserError(
                f"'{models[name]['model']}' draws no images; give a diffusion: model, or a "
                f"jackalope: diffusion model."
            )
        _log_cuts(model, [prompt.text for prompt in prompts])
        (out / folder_name(name)).mkdir(parents=True, exist_ok=True)
        notes += [f"{name}: {said}" for said in [mark_of(models[name])] if said]
        heads += [f"{name} draws", f"{name} sees"]
        for number in progress.follow(range(len(prompts)), "drawing images", len(prompts)):
            paths = _draw(
                model, asked, world, prompts[number], out / folder_name(name) / f"{number:03d}"
            )
            captions[number]["images"][name] = {
                what: str(path.relative_to(out)) for what, path in paths.items()
            }
            rows[number].images.extend(
                read_png(read_bytes(path, MOST_IN_SCENE)) for path in paths.values()
            )
    write_bytes(out / SHEET, draw_sheet(heads, rows, notes))
    request = {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)}
    write_json(
        out / RECORD,
        {"request": request, "name": benchmark.name, "models": models, "captions": captions},
    )
    return out / SHEET


def _draw(
    model: DiffusionClassifier, asked: Drawing, world: World, prompt: Prompt, place: Path
) -> dict[str, Path]:
    """Write PNGs of the image that a model draws for a prompt and of the true image as it sees it,
    unless they exist; returns their paths."""
    seed = _seed(asked, prompt)
    about = json.dumps(
        [model.key, prompt.text, prompt.scene_id, world.digest, seed, asked.guidance, asked.steps]
    )
    digest = hashlib.sha256(about.encode()).hexdigest()[:12]
    drawn = place.with_name(
        f"{place.name}-{prompt.split}-{folder_name(prompt.text)[:_LONGEST]}-{digest}.png"
    )
    seen = drawn.with_name(f"{drawn.stem}-seen.png")
    if not drawn.exists():
        write_bytes(drawn, _png(draw_image(model, prompt.text, seed, asked.guidance, asked.steps)))
    if not seen.exists():
        write_bytes(seen, _png(seen_image(model, world.image(prompt.scene_id))))
    return {"drawn": drawn, "seen": seen}


def _log_cuts(model: DiffusionClassifier, texts: Sequence[str]) -> None:
    longest = int(model.info["text_length"])
    cut = [
        text for text, n in zip(texts, model.token_counts(list(texts)), strict=True) if n > longest
    ]
    if cut:
        logger.info(
            f"The model reads {longest} tokens; it cuts {len(cut)} captions, such as '{cut[0]}'."
        )


def _seed(asked: Drawing, prompt: Prompt) -> int:
    """The seed of a caption's noise, equal for all models, so that only their weights differ."""
    return Stream(asked.seed, "drawing", prompt.text).below(2**32)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@torch.inference_mode()
def draw_image(
    model: DiffusionClassifier, text: str, seed: int, guidance: float, steps: int
) -> Image.Image:
    """Draw a text with the model's own pipeline: a square RGB image of the network's native size.

    seed: of the initial noise, drawn on the CPU so that models with latents of equal shape start
        from equal noise.
    guidance: the scale of classifier-free guidance (Ho & Salimans 2022). steps: of the pipeline's
        scheduler.
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
    """An RGB image as the classifier sees it before noise is added: resized or cropped by its
    preset, then encoded and decoded by its autoencoder."""
    return decode_latent(model.adapter.pipe, model.latent(image))


@dataclass(frozen=True)
class SheetRow:
    """A caption, and its images in the order of the columns."""

    caption: str
    images: list[Image.Image]


def draw_sheet(heads: Sequence[str], rows: Sequence[SheetRow], notes: Sequence[str]) -> bytes:
    """A PNG: a caption above each row, the column's head below each image. notes: sentences at the
    bottom."""
    figure = Figure(
        figsize=(_SIDE * len(heads), 1.2 * _SIDE * (len(rows) + 0.3)), layout="constrained"
    )
    *parts, last = figure.subfigures(
        len(rows) + 1, squeeze=False, height_ratios=[*[1.0] * len(rows), 0.3]
    )[:, 0]
    for row, part in zip(rows, parts, strict=True):
        part.suptitle(fill(row.caption, _LETTERS * len(heads)), x=0.01, ha="left", fontsize=9)
        for head, image, axes in zip(
            heads, row.images, part.subplots(1, len(heads), squeeze=False)[0], strict=True
        ):
            axes.imshow(image)
            axes.set(xticks=[], yticks=[])
            axes.set_xlabel(fill(head, _LETTERS * 2 // 3), fontsize=7)
    last.suptitle(
        "\n".join(fill(note, 40 * len(heads)) for note in notes), x=0.01, ha="left", fontsize=7
    )
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return file.getvalue()
