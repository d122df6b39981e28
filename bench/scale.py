"""Millions: a gallery of 20,000 images and 200,000 texts both ways, and a million items of four
candidates measured.

Imports nothing that scores models, whose packages take half a GiB (bench/pairs.py).
"""

import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.figures import Figure, seconds
from evaluator.metrics.ranking import COLUMNS, ROWS, CosineScores, ranks
from evaluator.runs.measure import measure
from generator.base.files import write_json
from generator.base.tables import write_table
from generator.dataset.reader import Dataset
from generator.dataset.records import SCORES
from generator.dataset.writer import WorldWriter, write_benchmark

ITEMS, CANDIDATES, SCENES = 1_000_000, 4, 100_000
IMAGES, TEXTS, WIDTH = 20_000, 200_000, 512
GIB = 2**30
SPLITS = ("seen", "partial", "unseen")


def names(letter: str, numbers: np.ndarray) -> pa.Array:
    """Names of eight digits."""
    return pc.binary_join_element_wise(
        letter, pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 8, "0"), ""
    )


def write_items(root: Path, items: int) -> Path:
    """Write a dataset and a run without a model, to be measured.

    Args:
        root: folder of the dataset.
        items: number of items; each has four candidates, and ten items share an image.

    Returns:
        The run's folder.
    """
    with WorldWriter(
        root, {"family": "none", "width": 8, "height": 8, "scenes": {}, "seed": 0, "block_seed": 0}
    ) as world:
        world.finish("")
    tables = make_tables(items)
    write_benchmark(root, "all", tables, None, {})
    folder = root / "run"
    folder.mkdir()
    write_table(folder / "scores.parquet", make_scores(tables["candidates"]), SCORES)
    _write_record(folder, root)
    return folder


def make_tables(items: int) -> dict[str, pa.Table]:
    """Tables of a benchmark with items of four candidates, of which the first is true."""
    number = np.arange(items)
    scene = number % max(1, items * SCENES // ITEMS)
    row = np.repeat(number, CANDIDATES)
    place = np.tile(np.arange(CANDIDATES), items)
    # Each item begins seven texts after the last, so texts recur in other items.
    text = names("t", (row * 7 + place * 3) % items)
    return {
        "texts": pa.table({"text_id": names("t", number), "text": names("words ", number)}),
        "items": pa.table(
            {
                "item_id": names("i", number),
                "protocol": pa.array(["binary"] * items),
                "kind": pa.array(["swap"] * items),
                "split": np.array(SPLITS)[scene % 3],
                "cluster_id": names("k", scene),
            }
        ),
        "candidates": pa.table(
            {
                "item_id": names("i", row),
                "scene_id": names("s", scene[row]),
                "text_id": text,
                "slot": np.where(place == 0, "c", "n"),
                "truth": place == 0,
            }
        ),
    }


def make_scores(candidates: pa.Table) -> pa.Table:
    """Scores of a model that prefers the true text by one standard deviation."""
    is_true = candidates["truth"].to_numpy()
    noise = np.random.default_rng(0).normal(size=len(candidates)).astype(np.float32) + is_true
    return pa.table(
        {
            "image_id": candidates["scene_id"],
            "text_id": candidates["text_id"],
            "channel": pa.array(["cosine"] * len(candidates)),
            "score": noise.astype(np.float32),
            "unscored": pa.nulls(len(candidates), pa.string()),
        },
        schema=SCORES,
    )


def _write_record(folder: Path, root: Path) -> None:
    """Write run.json, which says what the scores are of."""
    dataset = Dataset.open(root)
    write_json(
        folder / "run.json",
        {
            "model": "random",
            "benchmark": dataset.benchmark("all").digest,
            "world": dataset.world.digest,
            "dataset": str(root),
            "benchmark_name": "all",
            "protocols": ["binary"],
            "certificate": "not verified",
            "indistinct_texts": {},
            "info": {},
            "python": "",
            "versions": {},
        },
    )


def figures() -> list[Figure]:
    """Time and memory of both, each in a process of its own, and the gallery's time over that of
    NumPy's products alone."""
    gallery, memory = alone(_gallery)
    measured, most = alone(_measured)
    return [
        Figure(f"R@1, 5, 10 of {IMAGES:,} x {TEXTS:,}, both ways", "CPU s", (gallery["ranks"],)),
        Figure(
            "over its matrix products alone (bar: 1.3 or less)",
            "times",
            (gallery["ranks"] / gallery["products"],),
        ),
        Figure("its memory (bar: 2 or less)", "GiB", (memory,)),
        Figure(
            f"measuring {ITEMS:,} items of {CANDIDATES} candidates", "s", (measured["measure"],)
        ),
        Figure("its memory (bar: 2 or less)", "GiB", (most,)),
    ]


def alone(task: Callable[[Path], dict[str, float]]) -> tuple[dict[str, float], float]:
    """The result of a task on a folder, and the peak memory of its process in GiB."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, get_context("spawn")) as process,
    ):
        outcome = process.submit(task, Path(folder)).result()
        return outcome, process.submit(_peak).result()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


def _gallery(folder: Path) -> dict[str, float]:
    """Each image has ten true texts, whose embeddings lie near its own."""
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(IMAGES, WIDTH)).astype(np.float32)
    texts = np.lib.format.open_memmap(folder / "texts.npy", "w+", np.float32, (TEXTS, WIDTH))
    owner = np.arange(TEXTS) % IMAGES
    for start in range(0, TEXTS, IMAGES):
        noisy = embeddings + 4 * rng.normal(size=(IMAGES, WIDTH)).astype(np.float32)
        texts[start : start + IMAGES] = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    np.save(folder / "images.npy", embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True))
    # Mapped again below, so that they count as files and not as memory of this process.
    del texts, embeddings
    mapped = [np.load(folder / f"{side}.npy", mmap_mode="r") for side in ("images", "texts")]

    def products() -> None:
        for top in range(0, IMAGES, ROWS):
            for left in range(0, TEXTS, COLUMNS):
                mapped[0][top : top + ROWS] @ mapped[1][left : left + COLUMNS].T

    def ranked() -> None:
        for rank in ranks(CosineScores(*mapped), np.stack([owner, np.arange(TEXTS)], axis=1)):
            for k in (1, 5, 10):
                rank.recall(k).mean()

    return {"products": processor_seconds(products), "ranks": processor_seconds(ranked)}


def processor_seconds(action: Callable[[], object]) -> float:
    """Processor time, which varies less than wall time when the machine does other work."""
    start = time.process_time()
    action()
    return time.process_time() - start


def _measured(folder: Path) -> dict[str, float]:
    # In another process, so that the memory of writing is not counted.
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        run = process.submit(write_items, folder / "dataset", ITEMS).result()
    return {"measure": seconds(lambda: measure(run))}
