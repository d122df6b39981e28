"""Draws images for captions of a benchmark with diffusion models, and a sheet that shows all images
(Pearson et al. 2025, figure 5)."""

import hashlib
import io
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import torch
from matplotlib.figure import Figure
from PIL import Image

from evaluator.audits.prompts import Prompt, choose_prompts, load_models
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
from generator.dataset.records import TRAIN

logger = logging.getLogger(__name__)
RECORD, SHEET = "drawings.json", "sheet.png"
"""The files of the results and of the sheet."""
_LONGEST = 60
"""The most characters of a caption in the name of a file."""
_SIDE, _LETTERS = 2.2, 32
"""Side of an image on the sheet, in inches; letters of text per image width."""


@dataclass(frozen=True)
class DrawingRequest:
    """Options of `draw_captions`."""

    models: tuple[str, ...]
    """[NAME=]SPEC of each model."""
    splits: tuple[str, ...] = ()
    """The splits; empty for the default of `choose_prompts`."""
    captions: int = 2
    """The most captions of a split."""
    seed: int = 0
    """The seed of the captions and of the noise."""
    guidance: float = 7.0
    """The scale of classifier-free guidance (`draw_image`)."""
    steps: int = 50
    """The steps of the pipeline's scheduler."""


def draw_captions(
    request: DrawingRequest,
    world: World,
    benchmark: Benchmark,
    *,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> Path:
    """Draw images of captions.

    Writes a PNG of each caption and model, a PNG of the true image as the model sees it,
    drawings.json and sheet.png. Skips images that were already drawn with the same model and
    options.

    Args:
        request: The options.
        world: The world of the true images.
        benchmark: The benchmark of the captions.
        out: The folder to write.
        device: The device of the models; None: the first GPU, else the CPU.
        progress: Told of each image.

    Returns:
        The path of the sheet.

    Raises:
        UserError: A model draws no images.
    """
    prompts = choose_prompts(benchmark, request.splits, most=request.captions, seed=request.seed)
    captions: list[dict[str, Any]] = []
    for prompt in prompts:
        captions.append({**asdict(prompt), "seed": _seed(request, prompt), "images": {}})
    rows = _start_rows(prompts, world)
    models = {}
    heads = ["true image"]
    notes = [_how_drawn(request, benchmark.name)]
    # Models are checked for having been trained on the scenes of held-out combinations.
    held_out = [prompt.scene_id for prompt in prompts if prompt.split != TRAIN]
    loaded = load_models(request.models, world, benchmark, scenes=held_out, device=device)
    for name, model, model_record in loaded:
        _check_draws(model, model_record)
        _log_cuts(model, [prompt.text for prompt in prompts])
        folder = out / folder_name(name)
        folder.mkdir(parents=True, exist_ok=True)
        models[name] = model_record
        if mark_of(model_record):
            notes.append(f"{name}: {mark_of(model_record)}")
        heads += [f"{name} draws", f"{name} sees"]
        for number in progress.follow(range(len(prompts)), "drawing images", total=len(prompts)):
            stem = folder / f"{number:03d}"
            paths = _draw(model, request, world=world, prompt=prompts[number], stem=stem)
            captions[number]["images"][name] = _relative(paths, out)
            rows[number].images.extend(_read_images(paths))
    write_bytes(out / SHEET, draw_sheet(heads, rows, notes))
    inputs = {"benchmark": benchmark.digest, "world": world.digest, **asdict(request)}
    record = {"request": inputs, "name": benchmark.name, "models": models, "captions": captions}
    write_json(out / RECORD, record)
    return out / SHEET


def _start_rows(prompts: Sequence[Prompt], world: World) -> "list[SheetRow]":
    """A row of the sheet for each caption, with the true image."""
    rows = []
    for prompt in prompts:
        rows.append(SheetRow(f"{prompt.split}: {prompt.text}", [world.image(prompt.scene_id)]))
    return rows


def _how_drawn(request: DrawingRequest, benchmark: str) -> str:
    """The note below the sheet."""
    return (
        f"{benchmark}. Drawn with guidance {request.guidance:g} in {request.steps} steps, "
        f"seed {request.seed}. Sees: the true image as the classifier gets it, resized and through "
        f"the autoencoder, before noise is added."
    )


def _relative(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """{what: path} with paths as seen from a folder."""
    return {what: str(path.relative_to(folder)) for what, path in paths.items()}


def _read_images(paths: Mapping[str, Path]) -> list[Image.Image]:
    return [read_png(read_bytes(path, MOST_IN_SCENE)) for path in paths.values()]


def _draw(
    model: DiffusionClassifier,
    request: DrawingRequest,
    *,
    world: World,
    prompt: Prompt,
    stem: Path,
) -> dict[str, Path]:
    """Write PNGs of the image that a model draws for a prompt and of the true image as it sees it,
    unless they exist; returns their paths, which begin with `stem`."""
    seed = _seed(request, prompt)
    guidance, steps = request.guidance, request.steps
    # The name has all that the image depends on, so that no other image is taken for it.
    identity = [model.key, prompt.text, prompt.scene_id, world.digest, seed, guidance, steps]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]
    # The beginning of the caption is for people who look through the folder.
    text = folder_name(prompt.text)[:_LONGEST]
    drawing = stem.with_name(f"{stem.name}-{prompt.split}-{text}-{digest}.png")
    seen = drawing.with_name(f"{drawing.stem}-seen.png")
    if not drawing.exists():
        image = draw_image(model, prompt.text, seed=seed, guidance=guidance, steps=steps)
        write_bytes(drawing, _png(image))
    if not seen.exists():
        write_bytes(seen, _png(seen_image(model, world.image(prompt.scene_id))))
    return {"drawn": drawing, "seen": seen}


def _check_draws(model: Any, record: Mapping[str, Any]) -> None:
    """Raise UserError for a model that is not a diffusion model."""
    if not isinstance(model, DiffusionClassifier):
        raise UserError(
            f"'{record['model']}' draws no images; give a diffusion: model, or a "
            f"jackalope: diffusion model."
        )


def _log_cuts(model: DiffusionClassifier, texts: Sequence[str]) -> None:
    """Log how many texts are longer than the model reads."""
    longest = int(model.info["text_length"])
    counts = model.token_counts(list(texts))
    cut = [text for text, count in zip(texts, counts, strict=True) if count > longest]
    if cut:
        logger.info(
            f"The model reads {longest} tokens; it cuts {len(cut)} captions, such as '{cut[0]}'."
        )


def _seed(request: DrawingRequest, prompt: Prompt) -> int:
    """The seed of a caption's noise, equal for all models, so that only their weights differ."""
    return Stream(request.seed, "drawing", prompt.text).below(2**32)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@torch.inference_mode()
def draw_image(
    model: DiffusionClassifier, text: str, *, seed: int, guidance: float, steps: int
) -> Image.Image:
    """Draw a text with the model's own pipeline.

    Args:
        model: The model.
        text: The text.
        seed: The seed of the initial noise, which is drawn on the CPU so that models with latents
            of equal shape start from equal noise.
        guidance: The scale of classifier-free guidance (Ho & Salimans 2022).
        steps: The steps of the pipeline's scheduler.

    Returns:
        A square RGB image of the network's native size.
    """
    pipe, side = model.adapter.pipe, model.adapter.side
    pipe.set_progress_bar_config(disable=True)
    with quiet():
        result = pipe(
            prompt=text,
            height=side,
            width=side,
            guidance_scale=guidance,
            num_inference_steps=steps,
            generator=torch.Generator().manual_seed(seed),
        )
    image: Image.Image = result.images[0]
    return image


@torch.inference_mode()
def seen_image(model: DiffusionClassifier, image: Image.Image) -> Image.Image:
    """Show an image as the classifier sees it before noise is added.

    Args:
        model: The model.
        image: An RGB image.

    Returns:
        The image, resized or cropped by the model's preset, then encoded and decoded by its
        autoencoder.
    """
    return decode_latent(model.adapter.pipe, model.latent(image))


@dataclass(frozen=True)
class SheetRow:
    """A row of the sheet."""

    caption: str
    """The text above the row."""
    images: list[Image.Image]
    """The images in the order of the columns."""


def draw_sheet(heads: Sequence[str], rows: Sequence[SheetRow], notes: Sequence[str]) -> bytes:
    """Draw a sheet of images.

    Args:
        heads: The text below each image of a column.
        rows: The captions and their images.
        notes: Sentences at the bottom.

    Returns:
        A PNG.
    """
    height = 1.2 * _SIDE * (len(rows) + 0.3)
    figure = Figure(figsize=(_SIDE * len(heads), height), layout="constrained")
    # The notes at the bottom take the height of 0.3 rows.
    heights = [*[1.0] * len(rows), 0.3]
    parts = figure.subfigures(len(rows) + 1, squeeze=False, height_ratios=heights)
    *row_parts, last = parts[:, 0]
    for row, part in zip(rows, row_parts, strict=True):
        caption = fill(row.caption, _LETTERS * len(heads))
        part.suptitle(caption, x=0.01, ha="left", fontsize=9)
        row_axes = part.subplots(1, len(heads), squeeze=False)[0]
        for head, image, axes in zip(heads, row.images, row_axes, strict=True):
            axes.imshow(image)
            axes.set(xticks=[], yticks=[])
            axes.set_xlabel(fill(head, _LETTERS * 2 // 3), fontsize=7)
    text = "\n".join(fill(note, 40 * len(heads)) for note in notes)
    last.suptitle(text, x=0.01, ha="left", fontsize=7)
    file = io.BytesIO()
    # Without the name of the software, so that other versions of Matplotlib write the same bytes.
    figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return file.getvalue()
