"""Score a model on a benchmark: `score` runs a dual encoder or a pair scorer and writes the files
of scores."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import torch

from evaluator.models.contracts import Model, PairScorer
from evaluator.models.network import chosen_precision
from evaluator.models.oracle import Oracle
from evaluator.scoring.batches import DEFAULT, Settings
from evaluator.scoring.dual import score_dual
from evaluator.scoring.needs import SAMPLE, Needs, words
from evaluator.scoring.oracle import score_oracle
from evaluator.scoring.pairs import score_pairs
from evaluator.scoring.store import Process
from generator.dataset.reader import Benchmark, Images

_TOKENIZED, _DIGITS = 4096, 32
_ON_A_GPU = 512
"""Batch size of dual encoders on a GPU; halved when memory runs out."""


def score(
    model: Model,
    world: Images,
    benchmark: Benchmark,
    needs: Needs,
    out: Path,
    batch: int | None = None,
    cache_folder: Path | None = None,
    settings: Settings | None = None,
    process: Process | None = None,
) -> dict[str, str]:
    """Write `out`/scores.parquet and `out`/pools/*.npy: float32 (images, texts) in the order of
    `needs`; for a dual encoder, the embeddings of images and of texts
    (evaluator.scoring.writing.pool_path).

    Reuses results of earlier runs in `cache_folder` (None: the user's cache). settings: None for
    `settings_for(model, batch)`. process: None for a single process.
    Returns `indistinct_texts`; {} in processes other than the main one.
    """
    process = process or Process()
    settings = settings or settings_for(model, batch)
    names = text_names(model, benchmark, needs)
    out.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Oracle):
        if process.is_main:
            score_oracle(model, benchmark, needs, out)
    elif isinstance(model, PairScorer):
        score_pairs(
            model, world, benchmark, needs, names.text, out, settings, process, cache_folder
        )
    else:
        score_dual(model, world, benchmark, needs, names.text, out, settings, process, cache_folder)
    return indistinct_texts(names) if process.is_main else {}


def settings_for(
    model: Model, batch: int | None = None, precision: str = "auto", workers: int | None = None
) -> Settings:
    """Settings for a model: its own device, the precision that was asked for, and a batch for that
    device."""
    try:
        device = torch.device(str(model.info.get("device")))
    except RuntimeError:  # a model that does not compute on a torch device describes its own
        device = torch.device("cpu")
    dual = not isinstance(model, PairScorer)
    if batch is None and dual:  # a pair scorer has its own batch size
        batch = _ON_A_GPU if device.type == "cuda" else DEFAULT
    return Settings(device, chosen_precision(precision, device, dual), batch, workers)


@dataclass(frozen=True)
class TextNames:
    """Names of the texts in `ids`, in their order. text: by content and tokens, for the cache.
    tokens: by tokens only."""

    ids: pa.Array
    text: list[str]
    tokens: list[str]


def text_names(model: Model, benchmark: Benchmark, needs: Needs) -> TextNames:
    """Names of all texts that are needed.

    The tokens are part of a text's name in the cache: models with the same weights and different
    tokenizers may have the same key, and must not share results.
    """
    names = TextNames(needs.texts, [], [])
    texts = words(benchmark, needs.texts)
    for start in range(0, len(texts), _TOKENIZED):
        part = texts[start : start + _TOKENIZED].to_pylist()
        for text, row in zip(part, model.tokens(part), strict=True):
            read = f"{row.dtype} {row.shape} ".encode() + row.tobytes()
            names.tokens.append(hashlib.sha256(read).hexdigest()[:_DIGITS])
            names.text.append(hashlib.sha256(text.encode() + b"\0" + read).hexdigest()[:_DIGITS])
    return names


def indistinct_texts(names: TextNames) -> dict[str, str]:
    """Texts whose tokens equal those of an earlier text, because of truncation: {text_id: text_id
    of the earlier text}."""
    first: dict[str, int] = {}
    original = [first.setdefault(read, row) for row, read in enumerate(names.tokens)]
    return {
        names.ids[row].as_py(): names.ids[of].as_py()
        for row, of in enumerate(original)
        if of != row
    }


def describe_cost(model: Model, needs: Needs) -> str:
    """One sentence: what a model computes, and the number of forward passes if nothing is
    cached."""
    if isinstance(model, PairScorer):
        pairs = needs.count()
        if own := getattr(model, "describe_cost", None):
            return str(own(pairs, len(needs.images)))
        return (
            f"{pairs:,} pairs of image and text to score, {model.passes} forward "
            f"pass{'es' * (model.passes != 1)} "
            f"each ({pairs * model.passes:,} forward passes, fewer where cached)."
        )
    images, texts = len(needs.images), len(needs.texts)
    return (
        f"{images:,} images and {texts:,} texts to encode, each once ({images + texts:,} forward "
        f"passes, fewer where cached)."
    )


def describe_limits(needs: Needs) -> list[str]:
    """One sentence for each pool that is sampled and each raw retrieval that is left out because of
    its cost, with the option that scores it."""
    sampled = [
        f"The pool '{pool}' is sampled: the true texts and {SAMPLE} false texts per image, so R@1 "
        f"has another chance level; --full-pools scores all of it."
        for pool in needs.sampled
    ]
    return sampled + [
        f"Raw retrieval of '{protocol}' is left out, since it needs too many forward passes; "
        f"--full-pools scores it."
        for protocol in needs.left_out
    ]
