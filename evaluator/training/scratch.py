"""Train a small dual encoder on a benchmark's train split alone, so that "unseen" is certain (protocols, section 9).

The model is an open_clip model and is saved as one, so that any program that reads open_clip's folders can use it.
"""

import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.exposure import RECORD, read_exposure
from evaluator.models.device import best_device, half_precision
from evaluator.training.checkpoint import Checkpoint
from evaluator.training.data import TrainingSet, default_kinds, read_training_texts, with_images
from generator.dataset.errors import UserError
from generator.dataset.files import write_json
from generator.dataset.lock import Lock
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)

# A ResNet with a fine grid under attention pooling, and a causal text transformer with learnt positions: the embedding
# can depend on the positions of objects and on the order of words.
SMALL: dict[str, Any] = {
    "embed_dim": 128,
    "vision_cfg": {"layers": [1, 1, 1, 1], "width": 32, "head_width": 32, "image_size": 64},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 128, "heads": 4, "layers": 2},
}


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters, and what to learn from.

    `texts`: kinds of training captions, joined by commas; None for `default_kinds`. `negatives`: kinds of negatives that
    stand in the softmax over texts (NegCLIP), joined by commas; empty for none. `positives`: whether positives are captions.
    """

    epochs: int = 25
    batch: int = 96
    rate: float = 1e-3
    decay: float = 0.05
    warmup: float = 0.05
    texts: str | None = None
    negatives: str = "swap,flip"
    positives: bool = False
    flip: bool = True
    shift: int = 4
    seed: int = 0


def train_scratch(
    world: World,
    benchmark: Benchmark,
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Train on the train split and write the model folder `out`; returns the record of the training.

    The loss is CLIP's symmetric contrastive loss. Each step draws a caption of each image, and one of its negatives stands
    among the texts (NegCLIP, Yuksekgonul et al. 2023). Texts that are true of an image are never counted against it. The
    model's context is as long as the longest text needs.

    The state after each epoch is kept beside `out`, so that a training that was stopped, or that a full disk ended, is
    continued by the same call. Raises UserError when there is no room for model and state, or when another process trains
    into `out`.
    """
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty; choose another --out.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with Lock(out.with_name(f".{out.name}.lock"), f"Another command is training into {out}; choose another --out."):
        return _train(world, benchmark, recipe, out, device, progress)


def _train(
    world: World, benchmark: Benchmark, recipe: Recipe, out: Path, device: str | None, progress: Progress
) -> dict[str, Any]:
    torch.manual_seed(recipe.seed)
    target = best_device(device)
    kinds = _listed(recipe.texts) if recipe.texts else default_kinds(benchmark)
    texts = read_training_texts(
        benchmark, kinds, _listed(recipe.negatives), recipe.positives, SMALL["text_cfg"]["context_length"]
    )
    config = {**SMALL, "text_cfg": {**SMALL["text_cfg"], "context_length": texts.tokens.shape[1]}}
    model = open_clip.CLIP(**config).to(target, memory_format=torch.channels_last)
    identity = {"recipe": asdict(recipe), "benchmark": benchmark.digest, "world": world.digest, "device": target.type}
    checkpoint = Checkpoint(out.with_name(f".{out.name}.training"), identity)
    checkpoint.check_space(model)
    data = with_images(texts, world, SMALL["vision_cfg"]["image_size"], progress)
    logger.info(
        f"Training {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters on {len(data.images):,} images ({target})."
    )
    shown = np.concatenate([data.captions.ravel(), data.negatives.ravel()])
    named = [data.texts[row] for row in np.unique(shown[shown >= 0])]
    exposure = read_exposure(world, benchmark, data.scenes, named)
    losses = _fit(model, data, recipe, target, progress, checkpoint)
    record = {"method": "scratch", "recipe": asdict(recipe), "losses": losses, "benchmark": benchmark.digest, "world": world.digest, "name": benchmark.name,
              "images": len(data.images), "exposure": exposure and exposure.to_dict()}  # fmt: skip
    _save(model, config, record, out)
    checkpoint.remove()
    return record


def _fit(
    model: open_clip.CLIP, data: TrainingSet, recipe: Recipe, device: torch.device, progress: Progress,
    checkpoint: Checkpoint,
) -> list[float]:  # fmt: skip
    rng = np.random.default_rng(recipe.seed)
    optimizer = torch.optim.AdamW(_groups(model, recipe.decay), lr=recipe.rate, betas=(0.9, 0.98), fused=True)
    steps = recipe.epochs * (len(data.images) // recipe.batch)
    if steps == 0:
        raise UserError(
            f"The train split has {len(data.images)} images, fewer than a batch of {recipe.batch}; render more."
        )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps, pct_start=recipe.warmup)
    losses = checkpoint.resume(model, optimizer, schedule, rng)
    if losses:
        logger.info(f"Continuing after {len(losses)} of {recipe.epochs} epochs.")
    with progress.track("training", steps, steps // recipe.epochs * len(losses)) as advance:
        for _ in range(len(losses), recipe.epochs):
            total, batches = 0.0, 0
            for rows in _batches(len(data.images), recipe.batch, rng):
                loss = _loss(model, data, rows, recipe, rng, device)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                model.logit_scale.data.clamp_(0, 4.6052)
                total, batches = total + loss.item(), batches + 1
                advance(note=f"loss {loss.item():.2f}")
            losses.append(round(total / batches, 4))
            checkpoint.keep(model, optimizer, schedule, rng, losses)
    return losses


def _loss(
    model: open_clip.CLIP,
    data: TrainingSet,
    rows: np.ndarray,
    recipe: Recipe,
    rng: np.random.Generator,
    device: torch.device,
) -> Tensor:
    positives, order = _drawn(data.captions[rows], rng)
    negatives, _ = _drawn(data.negatives[rows, order], rng)
    added = negatives[negatives >= 0]
    columns = np.concatenate([positives, added])
    with half_precision(device):
        images = model.encode_image(_augmented(data.images[rows], recipe, rng, device))
        texts = model.encode_text(data.tokens[columns].to(device))
    images, texts = F.normalize(images.float(), dim=-1), F.normalize(texts.float(), dim=-1)
    logits = model.logit_scale.exp() * images @ texts.T
    n = len(rows)
    true = (columns[None, :, None] == data.true[rows][:, None, :]).any(-1)
    true[np.arange(n), np.arange(n)] = False
    logits = logits.masked_fill(torch.from_numpy(true).to(device), -torch.inf)
    labels = torch.arange(n, device=device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits[:, :n].T, labels)) / 2


def _drawn(choices: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random one of each row's numbers, of those before the first -1, and its place; -1 of a row without any."""
    place = rng.integers(0, np.maximum((choices >= 0).sum(1), 1))
    return choices[np.arange(len(choices)), place], place


def _listed(kinds: str) -> tuple[str, ...]:
    return tuple(kind.strip() for kind in kinds.split(",") if kind.strip())


def _augmented(images: Tensor, recipe: Recipe, rng: np.random.Generator, device: torch.device) -> Tensor:
    """Bytes (n, 3, s, s) to normalised floats, randomly mirrored and shifted, which keeps every binding."""
    batch = images.to(device).float() / 255
    mean, std = (
        torch.tensor(v, device=device).view(1, 3, 1, 1)
        for v in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
    )
    batch = (batch - mean) / std
    if recipe.flip:
        mirrored = torch.from_numpy(rng.random(len(images)) < 0.5).to(device)
        batch = torch.where(mirrored.view(-1, 1, 1, 1), batch.flip(-1), batch)
    if recipe.shift:
        down, right = rng.integers(-recipe.shift, recipe.shift + 1, 2)
        batch = torch.roll(batch, (int(down), int(right)), (-2, -1))
    return batch.contiguous(memory_format=torch.channels_last)


def _batches(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    order = rng.permutation(n)
    for start in range(0, n - size + 1, size):
        yield order[start : start + size]


def _groups(model: open_clip.CLIP, decay: float) -> list[dict[str, Any]]:
    parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    plain = [p for name, p in parameters if p.ndim < 2 or "embedding" in name or "logit_scale" in name]
    return [
        {"params": [p for name, p in parameters if not any(p is q for q in plain)], "weight_decay": decay},
        {"params": plain, "weight_decay": 0.0},
    ]


def _save(model: open_clip.CLIP, config: dict[str, Any], record: dict[str, Any], out: Path) -> None:
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)  # what a kill left
    draft.mkdir(parents=True)
    preprocess = {
        "mean": open_clip.OPENAI_DATASET_MEAN,
        "std": open_clip.OPENAI_DATASET_STD,
        "interpolation": "bicubic",
        "resize_mode": "shortest",
    }
    try:
        weights = save({k: v.contiguous() for k, v in model.state_dict().items()})
        (draft / "open_clip_model.safetensors").write_bytes(weights)
        write_json(draft / "open_clip_config.json", {"model_cfg": config, "preprocess_cfg": preprocess})
        write_json(draft / RECORD, record)
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
