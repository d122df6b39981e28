"""Score a model on a benchmark: `score` runs a dual encoder or a pair scorer and writes the files
of scores."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

_TEXTS_AT_ONCE = 4096
"""Texts that are tokenized at once."""
_NAME_DIGITS = 32
"""Hex digits of a text's name: 128 bits, so that no two texts share one."""
_BATCH_ON_GPU = 512
"""Batch size of dual encoders on a GPU; halved when memory runs out."""


def score(
    model: Model,
    world: Images,
    *,
    benchmark: Benchmark,
    needs: Needs,
    out: Path,
    batch: int | None = None,
    cache_folder: Path | None = None,
    settings: Settings | None = None,
    process: Process | None = None,
) -> dict[str, str]:
    """Score a model, and write `out`/scores.parquet and `out`/pools/*.npy.

    A pool has float32 (images, texts) in the order of `needs`; for a dual encoder, the embeddings
    of images and of texts (evaluator.scoring.writing.pool_path).

    Args:
        model: The model.
        world: The images.
        benchmark: The texts.
        needs: The scores that are needed.
        out: The folder of the run.
        batch: The batch size; None for a default by the model and its device.
        cache_folder: Results of earlier runs, which are not computed again; None for the user's
            cache.
        settings: None for `settings_for(model, batch)`.
        process: None for a single process.

    Returns:
        `indistinct_texts`; {} in processes other than the main one.

    Raises:
        UserError: Memory runs out, or the model gives results of another shape.
    """
    process = process or Process()
    settings = settings or settings_for(model, batch)
    names = text_names(model, benchmark, needs)
    out.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Oracle):
        if process.is_main:
            score_oracle(model, benchmark, needs=needs, out=out)
    else:
        rest: dict[str, Any] = {
            "benchmark": benchmark,
            "needs": needs,
            "names": names.by_content,
            "out": out,
            "settings": settings,
            "process": process,
            "cache_folder": cache_folder,
        }
        if isinstance(model, PairScorer):
            score_pairs(model, world, **rest)
        else:
            score_dual(model, world, **rest)
    return indistinct_texts(names) if process.is_main else {}


def settings_for(
    model: Model,
    batch: int | None = None,
    *,
    precision: str = "auto",
    workers: int | None = None,
) -> Settings:
    """Settings for a model.

    Args:
        model: The model, which is on its device already.
        batch: The batch size; None for a default.
        precision: `auto`, `float32` or `bfloat16`.
        workers: Threads that load images; None for a default.

    Returns:
        The model's own device, the precision that `auto` means on it, and a batch for it.
    """
    try:
        device = torch.device(str(model.info.get("device")))
    except RuntimeError:
        # A model that does not compute on a torch device describes its own in words.
        device = torch.device("cpu")
    is_dual = not isinstance(model, PairScorer)
    if batch is None and is_dual:  # a pair scorer has its own batch size
        batch = _BATCH_ON_GPU if device.type == "cuda" else DEFAULT
    return Settings(device, chosen_precision(precision, device, is_dual), batch, workers)


@dataclass(frozen=True)
class TextNames:
    """Names of texts."""

    ids: pa.Array
    """The ids of the texts."""
    by_content: list[str]
    """A name of each text by its content and its tokens, for the cache."""
    by_tokens: list[str]
    """A name of each text by its tokens only: equal where the model sees no difference."""


def text_names(model: Model, benchmark: Benchmark, needs: Needs) -> TextNames:
    """Name all texts that are needed.

    The tokens are part of a text's name in the cache: models with the same weights and different
    tokenizers may have the same key, and must not share results.

    Args:
        model: The model that scores.
        benchmark: Has the texts.
        needs: What the items need.

    Returns:
        The names, by content and by tokens.
    """
    by_content: list[str] = []
    by_tokens: list[str] = []
    texts = words(benchmark, needs.texts)
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE].to_pylist()
        for text, row in zip(part, model.tokens(part), strict=True):
            tokens = f"{row.dtype} {row.shape} ".encode() + row.tobytes()
            by_tokens.append(_hash(tokens))
            by_content.append(_hash(text.encode() + b"\0" + tokens))
    return TextNames(needs.texts, by_content, by_tokens)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_NAME_DIGITS]


def indistinct_texts(names: TextNames) -> dict[str, str]:
    """Find texts whose tokens equal those of an earlier text, because of truncation.

    Returns:
        The id of the earlier text, by the text's id.
    """
    first_row: dict[str, int] = {}
    earlier: dict[str, str] = {}
    for row, tokens in enumerate(names.by_tokens):
        first = first_row.setdefault(tokens, row)
        if first != row:
            earlier[names.ids[row].as_py()] = names.ids[first].as_py()
    return earlier


def describe_cost(model: Model, needs: Needs) -> str:
    """Say what a model computes.

    Args:
        model: The model.
        needs: What the items need.

    Returns:
        A sentence with the number of forward passes if nothing is cached.
    """
    if isinstance(model, PairScorer):
        pairs = needs.count()
        # A family may know its cost better, such as the tokens that an endpoint counts.
        describe_own_cost = getattr(model, "describe_cost", None)
        if describe_own_cost:
            return str(describe_own_cost(pairs, len(needs.images)))
        passes = "1 forward pass" if model.passes == 1 else f"{model.passes} forward passes"
        return (
            f"{pairs:,} pairs of image and text to score, {passes} each "
            f"({pairs * model.passes:,} forward passes, fewer where cached)."
        )
    images = len(needs.images)
    texts = len(needs.texts)
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
