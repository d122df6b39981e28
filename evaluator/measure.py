"""From the scores of a run to results: every protocol's outcomes and summary. Needs no model."""

import csv
import io
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from evaluator.protocols import binary, retrieval
from evaluator.protocols.outcomes import Outcomes, summarise
from evaluator.scoring import NOT_A_NUMBER, TRUNCATED, collect_needs
from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json, write_text
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.schema import SCORES

SPLIT_ORDER = ("val", "seen", "partial", "unseen")


@dataclass(frozen=True)
class Measured:
    """A protocol's outcomes, item by item, and their summary."""

    outcomes: Outcomes
    summary: dict[str, Any]


@dataclass(frozen=True)
class _Question:
    item: dict[str, Any]
    true: list[str]
    false: list[str]
    scene_id: str


def measure(folder: Path) -> dict[str, Any]:
    """Write results.json and tables/*.csv of the run in `folder`; returns the results.

    Raises UserError when the folder is no run, or when the dataset changed since the scores were made.
    """
    measured = measure_protocols(folder)
    record = read_json(folder / "run.json")
    results = {
        "model": record["model"], "benchmark": record["benchmark_name"], "certificate": record["certificate"],
        "protocols": {name: m.summary for name, m in measured.items()},
    }  # fmt: skip
    write_json(folder / "results.json", results)
    (folder / "tables").mkdir(exist_ok=True)
    write_text(folder / "tables" / "summary.csv", _csv(_summary_rows(results)))
    write_text(
        folder / "tables" / "items.csv",
        _csv([row for name, m in measured.items() for row in _item_rows(name, m.outcomes)]),
    )
    return results


def measure_protocols(folder: Path) -> dict[str, Measured]:
    """Outcomes and summary of every protocol of a run."""
    if not (folder / "run.json").exists():
        raise UserError(f"{folder} is no finished run; give a folder written by `score run`.")
    record = read_json(folder / "run.json")
    if not (folder / "scores.parquet").exists():
        raise UserError(f"{folder} has lost its scores.parquet; run `score run` again.")
    dataset = Dataset.open(record["dataset"])
    benchmark = dataset.benchmark(record["benchmark_name"])
    if (benchmark.digest, dataset.world.digest) != (record["benchmark"], record["world"]):
        raise UserError(
            f"The dataset {record['dataset']} changed since {folder} was scored; run `score run` again with another --out."
        )
    return {name: PROTOCOLS[name](folder, benchmark, record["indistinct_texts"]) for name in record["protocols"]}


def _measure_binary(folder: Path, benchmark: Benchmark, indistinct: dict[str, str]) -> Measured:
    table = pq.read_table(folder / "scores.parquet", schema=SCORES)
    columns = [table[name].to_pylist() for name in ("image_id", "text_id", "score", "unscored")]
    score_of = {(image, text): (score, reason or "") for image, text, score, reason in zip(*columns, strict=True)}
    questions = _questions(benchmark, "binary")
    texts = np.array([[q.true[0], q.false[0]] for q in questions])
    found = [[score_of[q.scene_id, text] for text in (q.true[0], q.false[0])] for q in questions]
    scores = np.array([[np.nan if score is None else score for score, _ in pair] for pair in found], dtype=np.float32)
    unscored = np.array([next((reason for _, reason in pair if reason), "") for pair in found])
    outcomes = binary.binary_outcomes(*_columns(questions), scores, texts, unscored)
    return Measured(outcomes, summarise(outcomes, binary.METRIC, binary.CHANCE))


def _measure_retrieval(folder: Path, benchmark: Benchmark, indistinct: dict[str, str]) -> Measured:
    questions = _questions(benchmark, "retrieval")
    parts, chances = [], []
    for pool, (images, members) in collect_needs(benchmark, ["retrieval"]).pools.items():
        chosen = [q for q in questions if q.item["pool_id"] == pool]
        matrix = np.load(folder / "pools" / f"{pool}.npy")
        row_of, column_of = ({name: i for i, name in enumerate(names)} for names in (images, members))
        scores = matrix[[row_of[q.scene_id] for q in chosen]]
        truth = np.zeros(scores.shape, dtype=bool)
        for i, q in enumerate(chosen):
            truth[i, [column_of[text] for text in q.true]] = True
        unscored = _pool_reasons(chosen, scores, members, indistinct)
        parts.append(
            retrieval.retrieval_outcomes(*_columns(chosen), np.nan_to_num(scores), truth, np.array(members), unscored)
        )
        chances.append(retrieval.chance(truth))
    outcomes = Outcomes(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Outcomes.__dataclass_fields__)
    )
    chance = float(np.average(chances, weights=[len(part.item_id) for part in parts]))
    return Measured(outcomes, summarise(outcomes, retrieval.METRIC, chance))


PROTOCOLS: dict[str, Callable[[Path, Benchmark, dict[str, str]], Measured]] = {
    "binary": _measure_binary,
    "retrieval": _measure_retrieval,
}


def _questions(benchmark: Benchmark, protocol: str) -> list[_Question]:
    """The items of a protocol with their candidates, evaluation splits in their order."""
    candidates: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    columns = [benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "truth")]
    for item_id, scene_id, text_id, truth in zip(*columns, strict=True):
        candidates[item_id].append((scene_id, text_id, truth))
    items = sorted(
        benchmark.items_of(protocol).to_pylist(), key=lambda item: (SPLIT_ORDER.index(item["split"]), item["item_id"])
    )
    return [
        _Question(
            item,
            [text for _, text, truth in candidates[item["item_id"]] if truth],
            [text for _, text, truth in candidates[item["item_id"]] if not truth],
            candidates[item["item_id"]][0][0],
        )
        for item in items
    ]


def _columns(questions: list[_Question]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """item_id, scene_id, split and cluster of each question."""
    names = [[q.item["item_id"], q.scene_id, q.item["split"], q.item["cluster_id"]] for q in questions]
    item_id, scene_id, split, cluster = np.array(names).reshape(-1, 4).T
    return item_id, scene_id, split, cluster


def _pool_reasons(
    questions: list[_Question], scores: np.ndarray, members: list[str], indistinct: dict[str, str]
) -> np.ndarray:
    read_as: dict[str, set[str]] = defaultdict(set)
    for text in members:
        read_as[indistinct.get(text, text)].add(text)
    reasons = []
    for q, row in zip(questions, scores, strict=True):
        blurred = any(read_as[indistinct.get(text, text)] - set(q.true) for text in q.true)
        reasons.append(TRUNCATED if blurred else "" if np.isfinite(row).all() else NOT_A_NUMBER)
    return np.array(reasons)


def _summary_rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"protocol": name, "metric": summary["metric"], "split": split, **values, "chance": summary["chance"]}
        for name, summary in results["protocols"].items()
        for split, values in summary["splits"].items()
    ]


def _item_rows(protocol: str, outcomes: Outcomes) -> list[dict[str, Any]]:
    names = (
        "item_id",
        "scene_id",
        "split",
        "cluster",
        "correct",
        "tie",
        "true",
        "false",
        "true_text",
        "false_text",
        "unscored",
    )
    columns = [getattr(outcomes, name).tolist() for name in names]
    return [{"protocol": protocol, **dict(zip(names, row, strict=True))} for row in zip(*columns, strict=True)]


def _csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    if rows:
        writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return buffer.getvalue()
