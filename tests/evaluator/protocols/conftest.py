"""A dataset with thousands of items of every protocol, a run over it, and its results."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evaluator.runs.measure import measure
from generator.dataset.reader import Dataset
from tests.evaluator.protocols.plain import PlainItem
from tests.evaluator.synthetic import Builder, Row, add_pair, one_of_each, planted, write_run

TIMES = 400
CAPTION_AND_FOIL: list[tuple[str, bool, str | None]] = [("c", True, None), ("n", False, None)]
"""A caption and its foil, for Builder.add."""


def run_of(
    builder: Builder,
    tmp_path: Path,
    score: Callable[[int], np.ndarray] = lambda n: np.arange(n, dtype=float),
    **more: Any,
) -> Path:
    """A run of what the builder has; by default the later of two texts wins."""
    return write_run(builder.write(tmp_path / "dataset"), tmp_path / "run", score, **more)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = one_of_each(Builder(0, 240), TIMES)
    for i in range(TIMES):
        add_pair(builder, ("swap", "relation")[i % 2])
    return builder.write(tmp_path_factory.mktemp("all") / "dataset")


@pytest.fixture(scope="session")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with many ties, scores that are not numbers or not there, and texts that are read as
    another."""
    rng = np.random.default_rng(1)
    n = Dataset.open(root).benchmark("all").candidates.num_rows
    broken, absent, read = rng.choice(n, 200), rng.choice(n, 100), rng.choice(n - 3, 400)
    indistinct = {f"t{i + 1:07d}": f"t{i:07d}" for i in read.tolist()}
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(root, folder, lambda size: planted(rng, size), broken, absent, indistinct)


@pytest.fixture(scope="session")
def results(folder: Path) -> Row:
    return measure(folder)


@pytest.fixture(scope="session")
def plain_items(root: Path, folder: Path) -> list[PlainItem]:
    benchmark = Dataset.open(root).benchmark("all")
    score = {
        (r["image_id"], r["text_id"]): r["score"]
        for r in pq.read_table(folder / "scores.parquet").to_pylist()
    }
    read = json.loads((folder / "run.json").read_text())["indistinct_texts"]
    texts = {row["text_id"]: row for row in benchmark.texts.to_pylist()}
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in benchmark.candidates.to_pylist():
        rows[row["item_id"]].append(row)
    return [
        PlainItem(
            item,
            rows[item["item_id"]],
            score,
            read,
            texts[next(r["text_id"] for r in rows[item["item_id"]] if r["slot"] in ("c", "0"))],
        )
        for item in benchmark.items.to_pylist()
    ]
