"""R@1 in a pool against plain Python, with ties, texts that read alike and scores that are no
number; and a sample of it."""

import statistics
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED
from evaluator.protocols.pools import Pool, item_pools, sampled_columns, true_texts
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from generator.base.tables import write_table
from generator.dataset.reader import Benchmark
from generator.dataset.records import SCORES
from tests.evaluator.protocols.plain import tie, wins
from tests.evaluator.synthetic import SPLITS, find, planted, write_record


@pytest.fixture
def pool(benchmark: Benchmark) -> Pool:
    return item_pools(benchmark, ["retrieval"])[0]


@pytest.fixture
def true(benchmark: Benchmark) -> dict[str, set[str]]:
    return true_texts(benchmark)


@pytest.fixture
def matrix(pool: Pool, true: dict[str, set[str]]) -> np.ndarray:
    """Random scores; the true texts of some images win, of some tie, and one image has a score that
    is no number."""
    scores = planted(np.random.default_rng(0), len(pool.images) * len(pool.texts)).reshape(
        len(pool.images), -1
    )
    for row, image in enumerate(pool.images):
        scores[row, pool.texts.index(min(true[image]))] = (500, scores[row].max(), 0)[row % 3]
    scores[4, 7] = np.nan
    return scores


def write(drawn: Path, folder: Path, pool: Pool, matrix: np.ndarray, **more: object) -> Path:
    """A run of retrieval alone, whose pool has these scores."""
    (folder / "pools").mkdir(parents=True)
    np.save(folder / "pools" / f"{pool.name}.npy", matrix)
    write_table(folder / "scores.parquet", SCORES.empty_table(), SCORES)
    write_record(folder, drawn, protocols=["retrieval"], **more)
    return folder


@pytest.fixture
def folder(drawn: Path, tmp_path: Path, pool: Pool, matrix: np.ndarray) -> Path:
    return write(drawn, tmp_path / "run", pool, matrix)


def expected(texts: Iterable[str], scores: Iterable[float], true: set[str]) -> tuple[bool, bool]:
    """Whether the best true text wins, and whether it only ties."""
    of = dict(zip(texts, map(float, scores), strict=True))
    best, top = (
        max(of[text] for text in true),
        max(score for text, score in of.items() if text not in true),
    )
    return wins(best, top), tie(best, top)


def test_the_best_true_text_must_beat_every_false_one(
    folder: Path, benchmark: Benchmark, pool: Pool, true: dict[str, set[str]], matrix: np.ndarray
) -> None:
    results = measure(folder)
    outcomes: dict[str, list[tuple[bool, bool]]] = {split: [] for split in SPLITS}
    split_of = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    for image, row in zip(pool.images, matrix, strict=True):
        if not np.isnan(row).any():
            outcomes[split_of[image]].append(expected(pool.texts, row, true[image]))
    for split, values in outcomes.items():
        row = find(results, "retrieval", split, metric="R@1")
        assert row["items"] == len(values)
        assert row["value"] == pytest.approx(
            statistics.fmean(right for right, _ in values), abs=2e-6
        )
        assert row["ties"] == sum(tied for _, tied in values)
        assert row["chance"] == pytest.approx(2 / len(pool.texts), abs=1e-6)
    of_metric = [row for row in results["rows"] if row["metric"] == "R@1"]
    assert sum(row["unscored"] or 0 for row in of_metric) == 1


def test_other_ranks_are_counted_in_the_whole_pool(
    folder: Path, benchmark: Benchmark, pool: Pool, true: dict[str, set[str]], matrix: np.ndarray
) -> None:
    """Not among the few best texts that an item keeps."""
    ranks: dict[str, list[int]] = {split: [] for split in SPLITS}
    split_of = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    for image, row in zip(pool.images, matrix, strict=True):
        if np.isnan(row).any():
            continue
        score_of = dict(zip(pool.texts, map(float, row), strict=True))
        best = max(score_of[text] for text in true[image])
        false = [score for text, score in score_of.items() if text not in true[image]]
        ranks[split_of[image]].append(1 + sum(not wins(best, score) for score in false))
    assert max(max(of_split) for of_split in ranks.values()) > 10
    results = measure(folder)
    for split, of_split in ranks.items():
        for k in (5, 10):
            row = find(results, "retrieval", split, metric=f"R@{k}")
            share = statistics.fmean(rank <= k for rank in of_split)
            assert row["value"] == pytest.approx(share, abs=2e-6)
        row = find(results, "retrieval", split, metric="MRR")
        assert row["value"] == pytest.approx(statistics.fmean(1 / r for r in of_split), abs=2e-6)
        # Two of n texts are true: the mean of 1 / rank over all orders, as a sum over ranks.
        n = len(pool.texts)
        orders = n * (n - 1) / 2
        by_chance = sum((n - rank) / orders / rank for rank in range(1, n))
        assert row["chance"] == pytest.approx(by_chance, abs=1e-6)


def test_items_say_why_they_are_unscored(
    drawn: Path, tmp_path: Path, pool: Pool, true: dict[str, set[str]], matrix: np.ndarray
) -> None:
    image = next(image for image in pool.images if true[image].isdisjoint(true[pool.images[4]]))
    other = next(text for text in pool.texts if text not in set().union(*true.values()))
    folder = write(
        drawn, tmp_path / "run", pool, matrix, indistinct_texts={other: min(true[image])}
    )
    items = measure_protocols(open_run(folder))["retrieval"].items
    reason = dict(zip(items.scene_id, items.unscored, strict=True))
    assert (reason[image], reason[pool.images[4]]) == (TRUNCATED, NOT_A_NUMBER)
    assert "" in reason.values()


def test_results_name_the_best_three_texts_of_a_pool(
    folder: Path, pool: Pool, true: dict[str, set[str]], matrix: np.ndarray
) -> None:
    measure(folder)
    table = pd.read_csv(folder / "tables" / "top.csv", dtype={"scene_id": str, "text_id": str})
    assert len(table) == 3 * (len(pool.images) - 1)  # one image has a score that is not a number
    for image, rows in table.groupby("scene_id"):
        scores = dict(zip(pool.texts, matrix[pool.images.index(str(image))], strict=True))
        best = sorted(scores, key=lambda text: (-scores[text], text in true[str(image)]))[:3]
        assert (
            rows["score"].tolist()
            == [scores[text] for text in best]
            == [scores[text] for text in rows["text_id"]]
        )
        assert rows["truth"].tolist() == [text in true[str(image)] for text in best]


def test_a_sampled_pool_has_another_name_and_only_the_sample_counts(
    drawn: Path, tmp_path: Path, pool: Pool, true: dict[str, set[str]], matrix: np.ndarray
) -> None:
    matrix = np.nan_to_num(matrix)
    folder = write(drawn, tmp_path / "run", pool, matrix[:0], sampled_pools={pool.name: 9})
    chosen = [sampled_columns(pool, image, true=true[image], n=9) for image in pool.images]
    rows = [
        {
            "image_id": image,
            "text_id": pool.texts[column],
            "channel": "cosine",
            "score": float(matrix[i, column]),
        }
        for i, (image, columns) in enumerate(zip(pool.images, chosen, strict=True))
        for column in columns
    ]
    write_table(folder / "scores.parquet", pa.Table.from_pylist(rows, schema=SCORES), SCORES)
    results = measure_protocols(open_run(folder))["retrieval"]
    right = dict(zip(results.items.scene_id, results.outcomes[0].value, strict=True))
    for i, (image, columns) in enumerate(zip(pool.images, chosen, strict=True)):
        assert (
            right[image]
            == expected([pool.texts[c] for c in columns], matrix[i, columns], true[image])[0]
        )
    assert results.outcomes[0].metric == "R@1, sampled pool"
    assert results.outcomes[0].chance == pytest.approx([2 / 11] * len(pool.images))
