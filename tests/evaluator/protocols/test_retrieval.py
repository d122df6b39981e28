"""R@1 in a pool against plain Python, with ties, texts that read alike and scores that are no number; and a sample
of it."""

import statistics
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED
from evaluator.protocols.pools import Pool, item_pools, sampled_columns, true_texts
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from generator.base.parquet import write_table
from generator.dataset.reader import Benchmark
from generator.dataset.records import SCORES
from tests.evaluator.protocols.plain import tie, wins
from tests.evaluator.synthetic import Row, find, planted, write_record

SPLITS = ("val", "seen", "partial", "unseen")


@pytest.fixture
def pool(benchmark: Benchmark) -> Pool:
    return item_pools(benchmark, ["retrieval"])[0]


@pytest.fixture
def matrix(pool: Pool, benchmark: Benchmark) -> np.ndarray:
    """Random scores; the true texts of some images win, of some tie, and one image has a score that is no number."""
    rng, true = np.random.default_rng(0), true_texts(benchmark)
    scores = planted(rng, len(pool.images) * len(pool.texts)).reshape(len(pool.images), -1)
    for row, image in enumerate(pool.images):
        columns = [pool.texts.index(text) for text in sorted(true[image])]
        scores[row, columns[0]] = (500, scores[row].max(), 0)[row % 3]
    scores[4, 7] = np.nan
    return scores


def write(drawn: Path, folder: Path, pool: Pool, matrix: np.ndarray, **more: object) -> Path:
    """A run of retrieval alone, whose pool has these scores."""
    (folder / "pools").mkdir(parents=True)
    np.save(folder / "pools" / f"{pool.name}.npy", matrix)
    write_table(folder / "scores.parquet", SCORES.empty_table(), SCORES)
    write_record(folder, drawn, protocols=["retrieval"], **more)
    return folder


def expected(true: list[float], false: list[float]) -> tuple[bool, bool]:
    """Whether the best true text wins, and whether it only ties."""
    best = max(true)
    return all(wins(best, s) for s in false), not any(wins(s, best) for s in false) and any(tie(best, s) for s in false)


def test_the_best_true_text_must_beat_every_false_one(
    drawn: Path, tmp_path: Path, benchmark: Benchmark, pool: Pool, matrix: np.ndarray
) -> None:
    results = measure(write(drawn, tmp_path / "run", pool, matrix))
    true = true_texts(benchmark)
    found: dict[str, list[tuple[bool, bool]]] = {split: [] for split in SPLITS}
    split_of = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    for image, row in zip(pool.images, matrix.tolist(), strict=True):
        if not np.isnan(row).any():
            of = {
                truth: [s for s, t in zip(row, pool.texts, strict=True) if (t in true[image]) == truth]
                for truth in (True, False)
            }
            found[split_of[image]].append(expected(of[True], of[False]))
    for split, values in found.items():
        row = find(results, "retrieval", split, metric="R@1")
        assert (row["metric"], row["items"]) == ("R@1", len(values))
        assert row["value"] == pytest.approx(statistics.fmean(right for right, _ in values), abs=2e-6)
        assert row["ties"] == sum(tied for _, tied in values)
        assert row["chance"] == pytest.approx(2 / len(pool.texts), abs=1e-6)
    assert sum(row["unscored"] or 0 for row in results["rows"]) == 1


def test_items_say_why_they_are_unscored(
    drawn: Path, tmp_path: Path, benchmark: Benchmark, pool: Pool, matrix: np.ndarray
) -> None:
    true = true_texts(benchmark)
    image = next(image for image in pool.images if true[image].isdisjoint(true[pool.images[4]]))
    blurred = sorted(true[image])[0]
    other = next(text for text in pool.texts if text not in set().union(*true.values()))
    folder = write(drawn, tmp_path / "run", pool, matrix, indistinct_texts={other: blurred})
    items = measure_protocols(open_run(folder))["retrieval"].items
    reason = dict(zip(items.scene_id, items.unscored, strict=True))
    assert (reason[image], reason[pool.images[4]]) == (TRUNCATED, NOT_A_NUMBER)
    assert "" in reason.values()


def test_the_best_three_texts_of_a_pool_are_told(
    drawn: Path, tmp_path: Path, benchmark: Benchmark, pool: Pool, matrix: np.ndarray
) -> None:
    import pandas as pd

    true = true_texts(benchmark)
    folder = write(drawn, tmp_path / "run", pool, matrix)
    measure(folder)
    table = pd.read_csv(folder / "tables" / "top.csv", dtype={"scene_id": str, "text_id": str})
    assert len(table) == 3 * (len(pool.images) - 1)  # one image has a score that is no number
    for image, rows in table.groupby("scene_id"):
        scores = dict(zip(pool.texts, matrix[pool.images.index(str(image))], strict=True))
        best = sorted(scores, key=lambda text: (-scores[text], text in true[str(image)]))[:3]
        assert [(scores[t], t in true[str(image)]) for t in best] == list(
            zip(rows["score"], rows["truth"], strict=True)
        )
        assert [scores[text] for text in rows["text_id"]] == rows["score"].tolist()


def test_a_sampled_pool_has_another_name_and_only_the_sample_counts(
    drawn: Path, tmp_path: Path, benchmark: Benchmark, pool: Pool, matrix: np.ndarray
) -> None:
    true, matrix = true_texts(benchmark), np.nan_to_num(matrix)
    folder = write(drawn, tmp_path / "run", pool, matrix[:0], sampled_pools={pool.name: 9})
    chosen = [sampled_columns(pool, image, true[image], 9) for image in pool.images]
    rows: list[Row] = [
        {
            "image_id": image,
            "text_id": pool.texts[c],
            "channel": "cosine",
            "score": float(matrix[i, c]),
            "unscored": None,
        }
        for i, (image, columns) in enumerate(zip(pool.images, chosen, strict=True))
        for c in columns
    ]
    write_table(folder / "scores.parquet", pa.Table.from_pylist(rows, schema=SCORES), SCORES)
    items = measure_protocols(open_run(folder))["retrieval"]
    right = dict(zip(items.items.scene_id, items.outcomes[0].value, strict=True))
    for i, image in enumerate(pool.images):
        of = {
            truth: [float(matrix[i, c]) for c in chosen[i] if (pool.texts[c] in true[image]) == truth]
            for truth in (True, False)
        }
        assert right[image] == expected(of[True], of[False])[0]
    assert items.outcomes[0].metric == "R@1, sampled pool"
    assert items.outcomes[0].chance == pytest.approx([2 / 11] * len(pool.images))
