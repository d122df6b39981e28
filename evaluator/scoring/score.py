"""Score a model on a benchmark: `score` runs a dual encoder or a pair scorer and writes the files of scores."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import torch

from evaluator.models.contracts import DualEncoder, Model, is_pair_scorer
from evaluator.models.device import chosen_precision
from evaluator.scoring.batches import Settings
from evaluator.scoring.distributed import Process
from evaluator.scoring.dual import score_dual
from evaluator.scoring.needs import Needs
from evaluator.scoring.pairs import score_pairs
from generator.dataset.reader import Benchmark, World

_TOKENIZED = 4096


def score(
    model: Model, world: World, benchmark: Benchmark, needs: Needs, out: Path, batch: int | None = None,
    cache_folder: Path | None = None, settings: Settings | None = None, process: Process | None = None,
    on_batch_size: Callable[[int], None] = lambda batch: None,
) -> dict[str, str]:  # fmt: skip
    """Write `out`/scores.parquet and `out`/pools/*.npy (float32, images × texts, in the order of `needs`).

    Results of earlier runs are taken from the cache in `cache_folder` (None: the user's cache). `settings` None means
    those of `settings_for(model, batch)`; `process` None means that this process is alone. `on_batch_size` is called with
    the batch size once it is decided.
    Returns `indistinct_texts`, and nothing in processes other than the main one.
    """
    process = process or Process()
    settings = settings or settings_for(model, batch)
    indistinct = indistinct_texts(model, benchmark, needs) if process.is_main else {}
    out.mkdir(parents=True, exist_ok=True)
    if is_pair_scorer(model):
        score_pairs(model, world, benchmark, needs, out, settings, process, cache_folder, on_batch_size)
    else:
        score_dual(
            cast(DualEncoder, model), world, benchmark, needs, out, settings, process, cache_folder, on_batch_size
        )
    return indistinct


def settings_for(
    model: Model, batch: int | None = None, precision: str = "auto", workers: int | None = None
) -> Settings:
    """Settings for a model: its own device, and the precision that was asked for."""
    try:
        device = torch.device(str(model.info.get("device")))
    except RuntimeError:  # a model that does not compute on a torch device describes its own
        device = torch.device("cpu")
    return Settings(device, chosen_precision(precision, device, not is_pair_scorer(model)), batch, workers)


def indistinct_texts(model: Model, benchmark: Benchmark, needs: Needs) -> dict[str, str]:
    """Texts whose tokens equal those of an earlier text, because of truncation: {text_id: text_id of the earlier one}."""
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    texts = needs.texts
    for start in range(0, len(texts), _TOKENIZED):
        part = texts[start : start + _TOKENIZED]
        for text, row in zip(part, model.tokens([benchmark.text_of[t] for t in part]), strict=True):
            original = first.setdefault(row.tobytes(), text)
            if original != text:
                same[text] = original
    return same
