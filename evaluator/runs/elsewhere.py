"""Make a run from a file of scores or answers that other software wrote, and measure it."""

import logging
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.benchmarks.candidates import COLUMNS, benchmark_tables, one_row_a_candidate
from evaluator.benchmarks.registry import write_questions
from evaluator.benchmarks.tables import require, rows_of
from evaluator.protocols import protocol_names
from evaluator.protocols.records import Results, RunRecord
from evaluator.runs.folder import BEGUN_ITEMS, folder_name, split_run
from evaluator.runs.lock import LOCK_FILES, locked_run
from evaluator.runs.measure import check_level, check_tolerance, measure_locked
from evaluator.runs.parts import forget_splits
from evaluator.scoring.elsewhere import dataset_scores
from evaluator.scoring.words.files import write_answers
from evaluator.scoring.words.logs import Log, answered_in, read_log
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.base.errors import UserError
from generator.base.files import read_json, sha256, write_json
from generator.dataset.questions import CHOICE, YES_NO
from generator.dataset.reader import Benchmark, Dataset, found_certificate

logger = logging.getLogger(__name__)
_CHANNEL = "score"
Record = dict[str, Any]
"""Entries of run.json."""


@dataclass(frozen=True)
class Source:
    """A file of scores from elsewhere, with the options of `score measure --items`.

    items: the file. dataset: the dataset folder whose ids the file uses; None if the file has its
        own items. benchmark:
    a benchmark of the dataset, or a name for the file's own items. model: name of the model. Both
    names default to
    the file's. level: of intervals, 0.5..0.999, None for 0.95. splits: partitions of the file's own
    items
    (evaluator.runs.parts).
    """

    items: Path
    dataset: Path | None = None
    benchmark: str | None = None
    model: str | None = None
    out: Path | None = None
    probabilities: bool = False
    tolerance: float | None = None
    level: float | None = None
    splits: Path | None = None


def measure_items(source: Source) -> tuple[Path, Results]:
    """Write a run with the scores of a file and measure it; returns the run's folder and its
    results.

    Raises UserError for a file that cannot be read or measured, or a folder that holds something
    else.
    """
    level, tolerance = check_level(source.level), check_tolerance(source.tolerance)
    found: Any = read_log(source.items)
    log = found if isinstance(found, Log) else None
    table = pa.table({"id": list(found.answers)}) if log else found
    if log and source.probabilities:
        raise UserError(
            f"{source.items} is a log of {log.tool}, which has answers; leave --probabilities out."
        )
    if log and source.dataset is None:
        raise UserError(
            f"{source.items} is a log of {log.tool}; give the --dataset whose questions it answers."
        )
    model = source.model or source.items.stem
    info = {
        "scores": str(source.items.resolve()),
        "sha256": sha256(source.items),
        "rows": table.num_rows,
    }
    if source.probabilities:
        info["probabilities"] = "read as log-odds"
    common = {
        "model": model,
        "info": info,
        "indistinct_texts": {},
        "channels": [_CHANNEL],
        "channel": _CHANNEL,
        "sampled_pools": {},
        "level": level,
        "tie_tolerance": tolerance,
        "python": platform.python_version(),
        "versions": {"jackalope": version("jackalope")},
    }
    if source.dataset is None:
        name = folder_name(source.benchmark or source.items.stem)
        out = source.out or Path("runs") / name / folder_name(model)
        with locked_run(out):
            record = _own_items(source, table, name, out)
            return out, _finish(out, {**common, **record}, source.splits)
    dataset = Dataset.open(source.dataset)
    benchmark = dataset.benchmark(source.benchmark)
    out = source.out or Path(
        "runs"
    ) / f"{source.dataset.resolve().name}-{benchmark.name}" / folder_name(model)
    with locked_run(out):
        record = {
            "dataset": str(source.dataset.resolve()),
            "world": dataset.world.digest,
            "benchmark_name": benchmark.name,
            "benchmark": benchmark.digest,
            "certificate": found_certificate(benchmark, dataset.world),
            **(
                _answers(log, benchmark, out)
                if log
                else _items_of_dataset(source, table, benchmark, out)
            ),
        }
        return out, _finish(out, {**common, **record}, source.splits)


def _finish(out: Path, record: Record, splits: Path | None) -> Results:
    """Write run.json of a run whose scores are written, and measure it."""
    write_json(out / "run.json", record)
    (out / BEGUN_ITEMS).unlink()
    if splits is not None:
        split_run(out, splits)
    return measure_locked(out)


def _own_items(source: Source, table: Any, name: str, out: Path) -> Record:
    """Write the items and scores of a file that has its own items."""
    table = one_row_a_candidate(table, source.items)
    require(table, ["item", "protocol", "score"], source.items)
    tables = benchmark_tables(table, source.items, source.probabilities)
    if unread := [column for column in table.column_names if column not in COLUMNS]:
        logger.info(f"Columns of {source.items.name} that are not read: {', '.join(unread)}.")
    _clear(out)
    folder = write_questions(out, name, tables=tables.by_name())
    asked = set(tables.items["protocol"].to_pylist())
    scored = np.flatnonzero(~np.isnan(tables.scores))
    images, texts = (
        tables.candidates[name].combine_chunks().take(pa.array(scored))
        for name in ("scene_id", "text_id")
    )
    write_scores(out, images, texts, scores=tables.scores[scored][:, None], channels=[_CHANNEL])
    return {
        "dataset": None,
        "world": None,
        "benchmark_name": name,
        "benchmark": Benchmark(folder).digest,
        "certificate": "not verified",
        "protocols": [name for name in protocol_names() if name in asked],
    }


def _items_of_dataset(source: Source, table: Any, benchmark: Benchmark, out: Path) -> Record:
    """Write the scores of a file that names images and texts of a dataset."""
    protocols = [name for name in protocol_names() if benchmark.items_of(name).num_rows]
    found = dataset_scores(
        table,
        source.items,
        benchmark=benchmark,
        protocols=protocols,
        probabilities=source.probabilities,
    )
    _clear(out)
    write_scores(out, found.images, found.texts, scores=found.scores[:, None], channels=[_CHANNEL])
    for name, matrix in found.pools.items():
        write_matrix(pool_path(out, name), matrix)
    return {
        "protocols": found.protocols,
        "raw_retrieval": found.raw_retrieval,
        "left_out": found.left_out,
    }


def _answers(log: Log, benchmark: Benchmark, out: Path) -> Record:
    """Write the answers that a log has for the questions of a dataset."""
    answered, prompt = answered_in(log, benchmark)
    _clear(out)
    write_answers(out, answered)
    form = YES_NO if answered[0].question.form == YES_NO else CHOICE
    of_item = dict(rows_of(benchmark.items, "item_id", "protocol"))
    asked = {of_item[each.question.item] for each in answered}
    words = {
        "form": form,
        "prompt": asdict(prompt),
        "digest": f"of {log.tool}",
        "samples": log.samples,
    }
    return {
        "protocols": [name for name in protocol_names() if name in asked],
        "channels": [form],
        "channel": form,
        "image_channel": None,
        "words": {**words, "temperature": None, "max_tokens": None, "orders": None},
    }


def _clear(out: Path) -> None:
    """Create a run's folder, or clear it if it holds scores from elsewhere. Raises UserError if it
    holds anything else."""
    record = out / "run.json"
    ours = (out / BEGUN_ITEMS).exists() or (
        record.exists() and "scores" in read_json(record, RunRecord)["info"]
    )
    if out.exists() and not ours and any(path.name not in LOCK_FILES for path in out.iterdir()):
        raise UserError(
            f"{out} is not empty and holds no scores from elsewhere; choose another --out."
        )
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / BEGUN_ITEMS, {})
    record.unlink(missing_ok=True)
    forget_splits(out)
    for folder in ("benchmarks", "pools", "tables"):
        shutil.rmtree(out / folder, ignore_errors=True)
