"""Computing the scores that protocols need: each image, each text, each pair once, in batches, by one process or several."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, cast

import torch

from evaluator.models.device import chosen_precision
from evaluator.models.registry import DualEncoder, PairScorer
from evaluator.scoring.batches import Settings
from evaluator.scoring.distributed import Rank
from evaluator.scoring.dual import CHANNEL, score_dual
from evaluator.scoring.needs import Needs, collect_needs, within_limit
from evaluator.scoring.pairs import score_pairs
from generator.dataset.reader import Benchmark, World

__all__ = [
    "CHANNEL",
    "Needs",
    "collect_needs",
    "indistinct_texts",
    "is_pair_scorer",
    "score",
    "settings_for",
    "within_limit",
]
Model: TypeAlias = DualEncoder | PairScorer


def score(
    model: Model, world: World, benchmark: Benchmark, needs: Needs, out: Path, batch: int | None = None,
    cache_folder: Path | None = None, settings: Settings | None = None, rank: Rank | None = None,
    sized: Callable[[int], None] = lambda batch: None,
) -> dict[str, str]:  # fmt: skip
    """Write `out`/scores.parquet and `out`/pools/*.npy (float32, images × texts, in the order of `needs`).

    What was computed before is taken from the cache; final similarities are float32. Returns the texts that the model
    cannot tell from another (see `indistinct_texts`); which items that leaves unscored is for the measuring to say.
    `sized` is told the size of batches once it is decided.
    """
    rank = rank or Rank()
    settings = settings or settings_for(model, batch)
    indistinct = indistinct_texts(model, benchmark, needs) if rank.first else {}
    out.mkdir(parents=True, exist_ok=True)
    run = cast(Callable[..., None], score_pairs if is_pair_scorer(model) else score_dual)
    run(model, world, benchmark, needs, out, settings, rank, cache_folder, sized)
    return indistinct


def settings_for(
    model: Model, batch: int | None = None, precision: str = "auto", workers: int | None = None
) -> Settings:
    """How to compute with a model: on its device, in the precision that was asked for."""
    try:
        device = torch.device(str(model.info.get("device")))
    except RuntimeError:  # a model that computes otherwise says so in words of its own
        device = torch.device("cpu")
    return Settings(device, chosen_precision(precision, device, not is_pair_scorer(model)), batch, workers)


def is_pair_scorer(model: Model) -> bool:
    """Whether a model reads image and text together."""
    return hasattr(model, "score_pairs")


def indistinct_texts(model: Model, benchmark: Benchmark, needs: Needs) -> dict[str, str]:
    """For every text that the tokenizer turns into the same tokens as an earlier one (by truncation): that one's text_id."""
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    texts = needs.texts
    for start in range(0, len(texts), 4096):
        part = texts[start : start + 4096]
        for text, row in zip(part, model.tokens([benchmark.text_of[t] for t in part]), strict=True):
            original = first.setdefault(row.tobytes(), text)
            if original != text:
                same[text] = original
    return same
