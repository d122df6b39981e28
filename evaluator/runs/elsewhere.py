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
from evaluator.runs.folder import UNFINISHED_ITEMS, folder_name, split_run
from evaluator.runs.lock import LOCK_FILES, locked_run
from evaluator.runs.measure import measure_locked
from evaluator.runs.parts import forget_splits
from evaluator.runs.rules import check_level, check_tolerance
from evaluator.scoring.elsewhere import dataset_scores
from evaluator.scoring.words.files import write_answers
from evaluator.scoring.words.logs import Log, answered_in, read_log
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.base.errors import UserError
from generator.base.files import read_json, sha256, write_json
from generator.dataset.certificate import describe_certificate
from generator.dataset.questions import CHOICE, YES_NO
from generator.dataset.reader import Benchmark, Dataset

logger = logging.getLogger(__name__)
_CHANNEL = "score"
"""Name of the scores of a file, which do not say what they are."""
Record = dict[str, Any]
"""Entries of run.json."""


@dataclass(frozen=True, kw_only=True)
class ScoresFile:
    """A file of scores from elsewhere, with the options of `score measure --items`."""

    items: Path
    """The file."""
    dataset: Path | None = None
    """Folder of the dataset whose ids the file uses; None if the file has its own items."""
    benchmark: str | None = None
    """A benchmark of the dataset, or a name for the file's own items; None: the dataset's only
    benchmark, or the file's name."""
    model: str | None = None
    """Name of the model; None: the file's name."""
    out: Path | None = None
    """Folder of the run; None: one in `runs`."""
    probabilities: bool = False
    """Whether scores are probabilities, which are read as log-odds."""
    tolerance: float | None = None
    """How close scores tie, 0 or more; None for TOLERANCE."""
    level: float | None = None
    """Level of the intervals, 0.5..0.999; None for 0.95."""
    splits: Path | None = None
    """Partitions of the file's own items (evaluator.runs.parts); None for their own splits."""


def measure_items(file: ScoresFile) -> tuple[Path, Results]:
    """Write a run with the scores of a file, and measure it.

    Args:
        file: The file and how to read it.

    Returns:
        The folder of the run, and its results.

    Raises:
        UserError: The file cannot be read or measured, or the folder holds something else.
    """
    level = check_level(file.level)
    tolerance = check_tolerance(file.tolerance)
    log: Log | None = None
    content = read_log(file.items)
    if isinstance(content, Log):
        log = content
        _check_log(file, log)
        table = pa.table({"id": list(log.answers)})
    else:
        table = content
    model = file.model or file.items.stem
    common = {
        "model": model,
        "info": _info(file, table.num_rows),
        "indistinct_texts": {},
        "channels": [_CHANNEL],
        "channel": _CHANNEL,
        "sampled_pools": {},
        "level": level,
        "tie_tolerance": tolerance,
        "python": platform.python_version(),
        "versions": {"jackalope": version("jackalope")},
    }
    if file.dataset is None:
        name = folder_name(file.benchmark or file.items.stem)
        out = file.out or Path("runs") / name / folder_name(model)
        with locked_run(out):
            record = _write_own_items(file, table, name=name, out=out)
            return out, _finish(out, {**common, **record}, file.splits)
    dataset = Dataset.open(file.dataset)
    benchmark = dataset.benchmark(file.benchmark)
    dataset_folder = file.dataset.resolve()
    default = Path("runs") / f"{dataset_folder.name}-{benchmark.name}" / folder_name(model)
    out = file.out or default
    with locked_run(out):
        common |= {
            "dataset": str(dataset_folder),
            "world": dataset.world.digest,
            "benchmark_name": benchmark.name,
            "benchmark": benchmark.digest,
            "certificate": describe_certificate(benchmark, dataset.world),
        }
        if log is not None:
            record = _write_answers(log, benchmark, out)
        else:
            record = _write_scores_of_dataset(file, table, benchmark=benchmark, out=out)
        return out, _finish(out, {**common, **record}, file.splits)


def _info(file: ScoresFile, rows: int) -> Record:
    """What a run records of its file."""
    info = {"scores": str(file.items.resolve()), "sha256": sha256(file.items), "rows": rows}
    if file.probabilities:
        info["probabilities"] = "read as log-odds"
    return info


def _check_log(file: ScoresFile, log: Log) -> None:
    """Raise UserError for options that a log of answers cannot have, or lacks."""
    if file.probabilities:
        raise UserError(
            f"{file.items} is a log of {log.tool}, which has answers; leave --probabilities out."
        )
    if file.dataset is None:
        raise UserError(
            f"{file.items} is a log of {log.tool}; give the --dataset whose questions it answers."
        )


def _finish(out: Path, record: Record, splits: Path | None) -> Results:
    """Write run.json of a run whose scores are written, and measure it."""
    write_json(out / "run.json", record)
    (out / UNFINISHED_ITEMS).unlink()
    if splits is not None:
        split_run(out, splits)
    return measure_locked(out)


def _write_own_items(file: ScoresFile, table: pa.Table, *, name: str, out: Path) -> Record:
    """Write the items and scores of a file that has its own items."""
    table = one_row_a_candidate(table, file.items)
    require(table, ["item", "protocol", "score"], file.items)
    tables = benchmark_tables(table, file.items, file.probabilities)
    not_read = [column for column in table.column_names if column not in COLUMNS]
    if not_read:
        logger.info(f"Columns of {file.items.name} that are not read: {', '.join(not_read)}.")
    _clear_folder(out)
    folder = write_questions(out, name, tables=tables.by_name())
    protocols = set(tables.items["protocol"].to_pylist())

    is_scored = ~np.isnan(tables.scores)
    rows = pa.array(np.flatnonzero(is_scored))
    images, texts = (
        tables.candidates[column].combine_chunks().take(rows) for column in ("scene_id", "text_id")
    )
    write_scores(out, images, texts, scores=tables.scores[is_scored][:, None], channels=[_CHANNEL])
    return {
        "dataset": None,
        "world": None,
        "benchmark_name": name,
        "benchmark": Benchmark(folder).digest,
        "certificate": "not verified",
        "protocols": [protocol for protocol in protocol_names() if protocol in protocols],
    }


def _write_scores_of_dataset(
    file: ScoresFile, table: pa.Table, *, benchmark: Benchmark, out: Path
) -> Record:
    """Write the scores of a file that names images and texts of a dataset."""
    protocols = [name for name in protocol_names() if benchmark.items_of(name).num_rows]
    scores = dataset_scores(
        table,
        file.items,
        benchmark=benchmark,
        protocols=protocols,
        probabilities=file.probabilities,
    )
    _clear_folder(out)
    write_scores(
        out, scores.images, scores.texts, scores=scores.scores[:, None], channels=[_CHANNEL]
    )
    for name, matrix in scores.pools.items():
        write_matrix(pool_path(out, name), matrix)
    return {
        "protocols": scores.protocols,
        "raw_retrieval": scores.raw_retrieval,
        "left_out": scores.left_out,
    }


def _write_answers(log: Log, benchmark: Benchmark, out: Path) -> Record:
    """Write the answers that a log has for the questions of a dataset."""
    answered, prompt = answered_in(log, benchmark)
    _clear_folder(out)
    write_answers(out, answered)
    # Questions about images and about pairs are choices too.
    form = YES_NO if answered[0].question.form == YES_NO else CHOICE
    protocol_of_item = dict(rows_of(benchmark.items, "item_id", "protocol"))
    protocols = {protocol_of_item[answer.question.item] for answer in answered}
    return {
        "protocols": [name for name in protocol_names() if name in protocols],
        "channels": [form],
        "channel": form,
        "image_channel": None,
        "words": {
            "form": form,
            "prompt": asdict(prompt),
            "digest": f"of {log.tool}",
            "samples": log.samples,
            "temperature": None,
            "max_tokens": None,
            "orders": None,
        },
    }


def _clear_folder(out: Path) -> None:
    """Create a run's folder, or clear it if it holds scores from elsewhere. Raises UserError if it
    holds anything else."""
    record_path = out / "run.json"
    is_ours = (out / UNFINISHED_ITEMS).exists()
    if not is_ours and record_path.exists():
        is_ours = "scores" in read_json(record_path, RunRecord)["info"]
    if not is_ours and out.exists() and any(path.name not in LOCK_FILES for path in out.iterdir()):
        raise UserError(
            f"{out} is not empty and holds no scores from elsewhere; choose another --out."
        )
    out.mkdir(parents=True, exist_ok=True)
    # From here the folder is ours, also if this command is stopped.
    write_json(out / UNFINISHED_ITEMS, {})
    record_path.unlink(missing_ok=True)
    forget_splits(out)
    for folder in ("benchmarks", "pools", "tables"):
        shutil.rmtree(out / folder, ignore_errors=True)
