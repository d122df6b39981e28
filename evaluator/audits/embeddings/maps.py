"""Places captions and images of a benchmark by their embeddings, for each model, and draws them."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.embeddings.figure import draw_points
from evaluator.audits.embeddings.plane import embed_images, embed_texts, on_plane
from evaluator.audits.embeddings.points import Class, choose_classes, with_own_images
from evaluator.models.contracts import DualEncoder
from evaluator.models.named import name_and_spec
from evaluator.models.registry import load_model
from evaluator.provenance.contamination import training_of
from generator.base.errors import UserError
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)
RECORD = "embeddings.json"
TEXTS, IMAGES = "texts", "images"


@dataclass(frozen=True)
class Asked:
    """splits: see `choose_classes`. captions: at most so many. images: of each caption, at most. seed: of both, and of t-SNE."""

    models: tuple[str, ...]
    splits: tuple[str, ...] = ()
    captions: int = 24
    images: int = 5
    seed: int = 0


def draw_maps(
    asked: Asked, world: World, benchmark: Benchmark, out: Path, device: str | None = None, progress: Progress = SILENT
) -> list[Path]:  # fmt: skip
    """Write texts.svg, images.svg and embeddings.json into the folder `out`, and return the figures.

    A model is a spec, or NAME=SPEC for what it is called. Raises UserError for a model that is no dual encoder.
    """
    names = [name_and_spec(model) for model in asked.models]
    if len(dict(names)) < len(names):
        raise UserError(f"Expected models with names of their own, got {', '.join(asked.models)}; write NAME=MODEL.")
    classes = choose_classes(benchmark, asked.splits, asked.captions, asked.images, asked.seed)
    shown = with_own_images(classes, benchmark)
    of = {TEXTS: list(range(len(classes))), IMAGES: [i for i, each in enumerate(shown) for _ in each.scenes]}
    scenes = [scene for each in shown for scene in each.scenes]
    places: dict[str, dict[str, np.ndarray]] = {TEXTS: {}, IMAGES: {}}
    models: dict[str, Any] = {}
    for name, spec in progress.each(names, "embedding", len(names)):
        model = load_model(spec, device)
        if not isinstance(model, DualEncoder):
            raise UserError(f"'{spec}' does not embed images and texts apart; give a dual encoder, such as hf: or open_clip:.")  # fmt: skip
        models[name] = {
            "model": spec,
            **model.info,
            "training": training_of(model, world, benchmark, _held_out(shown)),
        }
        logger.info(f"{name}: {models[name]['training']['said']}")
        places[TEXTS][name] = on_plane(embed_texts(model, [each.caption for each in classes]), asked.seed)
        places[IMAGES][name] = on_plane(embed_images(model, world, scenes), asked.seed)
    out.mkdir(parents=True, exist_ok=True)
    figures = []
    for what, drawn in ((TEXTS, classes), (IMAGES, shown)):
        figures.append(out / f"{what}.svg")
        write_text(figures[-1], draw_points(drawn, of[what], places[what], what))
    write_json(out / RECORD, {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)}, "name": benchmark.name, "models": models,
        "texts": [asdict(each) for each in classes], "images": [{"scene_id": scene, "caption": shown[i].caption} for scene, i in zip(scenes, of[IMAGES], strict=True)],
        "places": {what: {name: each.round(4).tolist() for name, each in found.items()} for what, found in places.items()},
    })  # fmt: skip
    return figures


def _held_out(classes: Sequence[Class]) -> list[str]:
    """The scenes that are none of train."""
    return [scene for each in classes if each.split != "train" for scene in each.scenes]
