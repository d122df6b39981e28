"""Scores a million pairs with models that cost nothing, which leaves the evaluator's own time and
memory."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from bench.figures import Figure
from bench.scale import CANDIDATES, GIB, SPLITS, alone, names, processor_seconds
from evaluator.models.contracts import BatchSize, DualEncoder, Model, PairScorer
from evaluator.scoring.needs import collect_needs
from evaluator.scoring.score import score
from generator.dataset.reader import Dataset
from generator.dataset.writer import WorldWriter, write_benchmark

PAIRS, EACH = 1_000_000, 10_000
"""Pairs that are scored, and how many images and how many texts they are of."""


def figures() -> list[Figure]:
    """Time and memory of each kind of model, each in a process of its own."""
    # What is left is the memory of the pairs, not that of the packages.
    _, idle = alone(_imported)
    scored = {"dual encoder": alone(_scored_by_encoder), "pair scorer": alone(_scored_by_scorer)}
    rows = []
    for name, (scores, peak) in scored.items():
        what = f"scoring {PAIRS:,} pairs, {name} of constants"
        bytes_of_pair = (peak - idle) * GIB / PAIRS
        rows.append(Figure(what, "CPU s", (scores["score"],)))
        rows.append(Figure("its memory over that of the packages", "bytes/pair", (bytes_of_pair,)))
    return rows


class _Encoder(DualEncoder):
    """A DualEncoder of constants."""

    key = "constant-encoder"

    def __init__(self) -> None:
        self.info = {"device": "cpu"}

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        return _tokens(texts)

    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        return np.full((len(images), 8), 0.5, np.float32)

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.full((len(texts), 8), 0.25, np.float32)


class _Scorer(PairScorer):
    """A PairScorer of constants."""

    key = "constant-scorer"
    channels = ("match",)
    passes = 1
    reads_images = False

    def __init__(self) -> None:
        self.info = {"device": "cpu"}
        self.batch = BatchSize(128, "pair")

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        return _tokens(texts)

    def score_pairs(
        self,
        images: Sequence[Any],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        return np.full((len(pairs), 1), 0.5, np.float32)


def _tokens(texts: Sequence[str]) -> np.ndarray:
    return np.array([int(text.split()[-1]) for text in texts], np.int64)[:, None]


class _Blank:
    """Images that differ by name alone."""

    digest = "blank"

    def image(self, scene_id: str, /) -> Image.Image:
        return Image.new("RGB", (8, 8))

    def image_digest(self, scene_id: str, /) -> str:
        return hashlib.sha256(scene_id.encode()).hexdigest()


def write_pairs(root: Path, pairs: int, each: int) -> None:
    """Write a benchmark of distinct pairs of images and texts, in items of four candidates.

    Args:
        root: folder of the dataset.
        pairs: number of pairs.
        each: number of images, and of texts.
    """
    with WorldWriter(
        root, {"family": "none", "width": 8, "height": 8, "scenes": {}, "seed": 0, "block_seed": 0}
    ) as world:
        world.finish("")
    row = np.arange(pairs)
    item = row // CANDIDATES
    image = row * each // pairs
    tables = {
        "texts": pa.table(
            {"text_id": names("t", np.arange(each)), "text": names("words ", np.arange(each))}
        ),
        "items": pa.table(
            {
                "item_id": names("i", np.unique(item)),
                "protocol": pa.array(["binary"] * (item[-1] + 1)),
                "kind": pa.array(["swap"] * (item[-1] + 1)),
                "split": np.array(SPLITS)[image[::CANDIDATES] % 3],
                "cluster_id": names("k", image[::CANDIDATES]),
            }
        ),
        "candidates": pa.table(
            {
                "item_id": names("i", item),
                "scene_id": names("s", image),
                # Texts recur beside other images, as captions of real benchmarks do.
                "text_id": names("t", (row * 7 + image) % each),
                "slot": np.where(row % CANDIDATES == 0, "c", "n"),
                "truth": row % CANDIDATES == 0,
            }
        ),
    }
    write_benchmark(root, "all", tables, None, {})


def _scored(folder: Path, model: Model) -> dict[str, float]:
    # In another process, so that the memory of writing is not counted.
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        process.submit(write_pairs, folder, PAIRS, EACH).result()
    benchmark = Dataset.open(folder).benchmark("all")

    def run() -> None:
        score(
            model,
            _Blank(),
            benchmark=benchmark,
            needs=collect_needs(benchmark, ["binary"]),
            out=folder / "run",
            batch=1024,
            cache_folder=folder / "cache",
        )

    return {"score": processor_seconds(run)}


def _scored_by_encoder(folder: Path) -> dict[str, float]:
    return _scored(folder, _Encoder())


def _scored_by_scorer(folder: Path) -> dict[str, float]:
    return _scored(folder, _Scorer())


def _imported(folder: Path) -> dict[str, float]:
    """Memory of a process that has imported everything and scored a few pairs."""
    write_pairs(folder, 400, 100)
    benchmark = Dataset.open(folder).benchmark("all")
    score(
        _Scorer(),
        _Blank(),
        benchmark=benchmark,
        needs=collect_needs(benchmark, ["binary"]),
        out=folder / "run",
        batch=1024,
        cache_folder=folder / "cache",
    )
    return {}
