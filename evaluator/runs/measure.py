"""From the scores of a run to results: every protocol's outcomes and rows. Needs no model."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.reading import READING, filters_said
from evaluator.metrics.comparison import TOLERANCE
from evaluator.metrics.ranking import CosineScores, MatrixScores, PoolScores
from evaluator.protocols.items import Items, positions
from evaluator.protocols.pools import Pool, item_pools
from evaluator.protocols.records import Results
from evaluator.protocols.registry import find_protocol, protocol_names
from evaluator.protocols.results import Outcome, ProtocolResults
from evaluator.protocols.scores import Scores
from evaluator.provenance.contamination import MARK, mark_of, unknown_training
from evaluator.runs.factors import factors_of
from evaluator.runs.folder import Run, open_run, tables_folder
from evaluator.runs.top_texts import top_texts
from evaluator.scoring.writing import EMBEDDINGS, pool_path
from evaluator.statistics.clusters import SEPARATOR
from evaluator.statistics.intervals import LEVEL
from generator.base.csv_tables import write_csv
from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_json
from generator.base.limits import map_npy
from generator.base.parquet import read_table
from generator.dataset.reader import Benchmark
from generator.dataset.records import SCORES

logger = logging.getLogger(__name__)
_ROWS = 50_000
"""Items whose tables are in memory at once."""
TRAINING = "train"
_NAMED = 5
_INTERVAL = "mixed logistic model with effects of clusters and bindings (docs/statistics.md)"
_LEVELS = (0.5, 0.999)


def measure(
    folder: Path, channel: str | None = None, tolerance: float | None = None, level: float | None = None
) -> Results:
    """Write results.json and tables/*.csv of the run in `folder`; returns the results.

    `rows` has a row for every metric, group of items and split of every protocol, `fits` the skill loads, `cells` R@1
    for every combination of counts, `factors` tells the run from others (evaluator.runs.factors), `training` says
    what is known of the model's training, `unknown_protocols` the protocols of the benchmark that this version does
    not know. `channel` names the scores to measure, `tolerance` says how close scores tie, `level` (0.5..0.999) is
    that of the intervals; by default those that the run chose. Raises UserError when the folder is no run, or when
    the dataset changed since the scores were made.
    """
    run = open_run(folder)
    measured = measure_protocols(run, channel, tolerance, level)
    _log_unscored(measured)
    return write_results(run, measured, channel, tolerance, level)


def measure_protocols(
    run: Run, channel: str | None = None, tolerance: float | None = None, level: float | None = None
) -> dict[str, ProtocolResults]:
    """Items, outcomes and rows of every protocol of a run, by one channel of its scores."""
    rules = _tolerance(run, tolerance), _level(run, level)
    scores = between = read_scores(run, _channel(run, channel), *rules)
    if (other := _image_channel(run, channel)) != _channel(run, channel):
        between = read_scores(run, other, *rules)
        scores = replace(scores, between_images=between)
    protocols = (find_protocol(name) for name in run.record["protocols"])
    return {each.name: each.measure(between if each.compares_images else scores) for each in protocols}


def write_results(
    run: Run,
    measured: dict[str, ProtocolResults],
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Results:
    """Write and return the results of a run from those of its protocols."""

    record = run.record
    rules = {"tie_tolerance": _tolerance(run, tolerance), "level": _level(run, level), "interval": _INTERVAL}
    limit = record.get("limit")
    if limit:  # a part of a benchmark is not the whole: they are never pooled
        rules["limit"] = limit
    if run.splits is not None:
        rules["splits"] = dict(run.splits.about)
    reading = run.benchmark.manifest.get(READING) or {}
    if filters := reading.get("filters"):  # nor are other parts
        rules["filters"] = filters
    name = record["benchmark_name"] + (f" (limit {limit:,})" if limit else "")
    name += f" ({filters_said(filters)})" if filters else ""

    def collected(part: Literal["rows", "cells"]) -> list[dict[str, Any]]:
        of = {"model": record["model"], "benchmark": name}
        return [
            {**of, "protocol": protocol, "is_main": row["metric"] == each.outcomes[0].metric, **row}
            for protocol, each in measured.items()
            for row in getattr(each, part)
        ]

    results: Results = {
        "model": record["model"],
        "benchmark": name,
        "reading": reading,
        "certificate": record["certificate"],
        "training": record.get("training") or unknown_training(),
        "rules": rules,
        "factors": factors_of(run, _channel(run, channel), rules),
        "channel": _channel(run, channel),
        "image_channel": _image_channel(run, channel),
        "sampled_pools": record.get("sampled_pools", {}),
        "left_out": record.get("left_out", []),
        "not_asked": record.get("not_asked", {}),
        "limit": record.get("under_limit"),
        "unknown_protocols": unknown_protocols(run.benchmark),
        **{part: collected(part) for part in ("rows", "cells")},
        "fits": [{"protocol": name, **fit} for name, each in measured.items() for fit in each.fits],
    }
    folder, text_of = tables_folder(run.folder), run.benchmark.text_of
    fits = [row for fit in results["fits"] for row in _fit_rows(fit)]
    mark: dict[str, str | int | None] = {"limit": limit, MARK: mark_of(results)}
    level = results["rules"]["level"]
    for name, rows in (("summary", results["rows"]), ("cells", results["cells"]), ("fits", fits)):
        write_csv(folder / f"{name}.csv", _marked(_with_confidence(pa.Table.from_pylist(rows), level), mark))
    items = (table for name, each in measured.items() for table in _item_tables(name, each, text_of))
    top = (top_texts(name, few, text_of) for name, each in measured.items() for few, _ in each.parts(_ROWS))
    for name, tables in (("items", items), ("top", top)):
        write_csv(folder / f"{name}.csv", (_marked(table, mark) for table in tables))
    write_json(run.folder / "results.json", results)
    return results


def _log_unscored(measured: dict[str, ProtocolResults]) -> None:
    """Name the first items without a score, and the file that names all."""
    for protocol, each in measured.items():
        unscored = each.items.item_id[~each.items.scored].tolist()
        if unscored:
            more = f" and {len(unscored) - _NAMED:,} more" * (len(unscored) > _NAMED)
            reasons = ", ".join(sorted(set(each.items.unscored.tolist()) - {""}))
            logger.info(
                f"Unscored items of '{protocol}': {', '.join(unscored[:_NAMED])}{more} ({reasons}); tables/items.csv "
                f"names all."
            )


def unknown_protocols(benchmark: Benchmark) -> dict[str, int]:
    """The protocols of a benchmark that this version does not know, with their number of items."""
    counts = benchmark.items["protocol"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts if row["values"] not in (*protocol_names(), TRAINING)}


def _channel(run: Run, asked: str | None) -> str:
    """The channel to measure. Raises UserError when the run has none of that name."""
    if asked is not None and asked not in run.channels:
        raise UserError(f"The run has no channel '{asked}': {did_you_mean(asked, run.channels)}")
    return str(asked or run.record.get("channel") or run.channels[0])


def _image_channel(run: Run, asked: str | None) -> str:
    """The channel of protocols that compare images: the one that was asked for, else the model's own for that."""
    return str(asked or run.record.get("image_channel") or _channel(run, None))


def _tolerance(run: Run, asked: float | None) -> float:
    """How close scores tie. Raises UserError for what is no number from 0 up."""
    tolerance = float(run.record.get("tie_tolerance", TOLERANCE) if asked is None else asked)
    if not 0 <= tolerance < np.inf:
        raise UserError(f"Expected a tolerance from 0 up, got {tolerance:g}; choose another --tolerance.")
    return tolerance


def check_level(level: float | None) -> float:
    """The level of intervals, by default 0.95. Raises UserError unless it is a number from 0.5 to 0.999."""
    if level is None:
        return LEVEL
    if not _LEVELS[0] <= level <= _LEVELS[1]:
        raise UserError(
            f"Expected a level from {_LEVELS[0]} to {_LEVELS[1]}, got {level:g}; for intervals of 90% write --level "
            f"0.9."
        )
    return level


def _level(run: Run, asked: float | None) -> float:
    return check_level(run.record.get("level") if asked is None else asked)


def read_scores(run: Run, channel: str, tolerance: float = TOLERANCE, level: float = LEVEL) -> Scores:
    """The scores of one channel of a run."""
    path, benchmark, record = run.folder / "scores.parquet", run.benchmark, run.record
    if not path.exists():
        raise UserError(f"{run.folder} has lost its scores.parquet; run `score run` again.")
    table = _of_channel(read_table(path, SCORES), channel)
    sampled = table if record.get("sampled_pools") else None  # a table of millions is not kept for nothing

    def matrix(pool: Pool) -> PoolScores:
        if pool.sample is not None and sampled is not None:
            return MatrixScores(_matrix(sampled, pool))
        return stored_scores(run, pool, channel)

    return Scores(
        benchmark,
        record["indistinct_texts"],
        table,
        record["protocols"],
        item_pools(benchmark, record["protocols"], record.get("sampled_pools", {})),
        {name: find_protocol(name).folds(benchmark) for name in record.get("raw_retrieval", [])},
        matrix,
        tolerance,
        _bindings(run),
        level,
        partitioned=run.splits is not None,
        averages_categories=bool(benchmark.manifest.get(READING, {}).get("averages")),
    )


def _of_channel(scores: pa.Table, channel: str) -> pa.Table:
    """The rows of one channel; the table itself where it has no others, since a copy may take hundreds of megabytes."""
    inside = pc.equal(scores["channel"], channel)
    return scores if pc.all(inside).as_py() else scores.filter(inside)


def _bindings(run: Run) -> dict[str, str]:
    """The bindings of each scene, joined by ";": the value under test and the category of each object."""
    kind = (run.benchmark.holdout or {}).get("kind")
    if kind is None or run.world is None:
        return {}
    scenes = run.world.scenes
    shown = (
        SEPARATOR.join(sorted(f"{dict(each['attributes']).get(kind, '')} {each['category']}" for each in objects or ()))
        for objects in scenes["objects"].to_pylist()
    )
    return dict(zip(scenes["scene_id"].to_pylist(), shown, strict=True))


def _matrix(scores: pa.Table, pool: Pool) -> np.ndarray:
    """The scores of a pool out of a table of scores (schema.SCORES), float32 (images, texts), nan where there is
    none."""
    row = positions(scores["image_id"], pa.chunked_array([pool.images], pa.string()))
    column = positions(scores["text_id"], pa.chunked_array([pool.texts], pa.string()))
    inside = (row >= 0) & (column >= 0)
    matrix = np.full((len(pool.images), len(pool.texts)), np.nan, dtype=np.float32)
    values = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)
    matrix[row[inside], column[inside]] = values[inside]
    return matrix


def stored_scores(run: Run, pool: Pool, channel: str) -> PoolScores:
    """The scores of a pool that a run stored: its embeddings, or a matrix. Raises UserError where a file is missing
    or damaged."""
    sides = [pool_path(run.folder, pool.name, channel, 0, of) for of in EMBEDDINGS]
    if sides[0].exists():
        images, texts = (
            _mapped(path, (len(names), None)) for path, names in zip(sides, (pool.images, pool.texts), strict=True)
        )
        if images.shape[1] != texts.shape[1]:
            raise UserError(f"{sides[1]} has embeddings of another width than {sides[0]}; run `score run` again.")
        return CosineScores(images, texts)
    path = pool_path(run.folder, pool.name, channel, run.channels.index(channel))
    return MatrixScores(_mapped(path, (len(pool.images), len(pool.texts))))


def _mapped(path: Path, shape: tuple[int, int | None]) -> np.ndarray:
    try:
        return map_npy(path, shape, np.float32)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `score run` again.") from None


def _fit_rows(fit: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each coefficient of a fit; one row for a fit that could not be made."""
    common = {name: value for name, value in fit.items() if name != "coefficients"}
    return [{**common, "count": count, **values} for count, values in fit["coefficients"].items()] or [common]


def _item_tables(protocol: str, measured: ProtocolResults, text_of: Mapping[str, str]) -> Iterator[pa.Table]:
    """The outcomes of every item, metric by metric; its best texts by words and by id."""
    for i in range(len(measured.outcomes)):
        for items, outcomes in measured.parts(_ROWS):
            yield _item_table(protocol, items, outcomes[i], text_of)


def _item_table(protocol: str, items: Items, outcome: Outcome, text_of: Mapping[str, str]) -> pa.Table:
    n = len(items)
    labels = {
        name: pa.array(getattr(items, name), pa.string())
        for name in ("item_id", "scene_id", "cluster", "kind", "skill", "level", "split")
    }
    if items.bindings is not None:
        labels["bindings"] = pa.array(items.bindings, pa.string())
    candidates = {}
    for name, column in items.best_candidates().items():
        if name.endswith("_text"):
            candidates[name] = pa.array([text_of.get(text) for text in column], pa.string())
            candidates[f"{name}_id"] = pa.array(column, pa.string())
        else:
            candidates[name] = _numbers(column, items.scored)
    return pa.table(
        {
            "protocol": pa.array([protocol] * n, pa.string()),
            **labels,
            "metric": pa.array([outcome.metric] * n, pa.string()),
            "value": _numbers(outcome.value, items.scored),
            "tie": pa.array(outcome.tie, mask=~items.scored),
            **candidates,
            "unscored": pa.array(items.unscored, pa.string()),
        }
    )


def _numbers(values: np.ndarray, known: np.ndarray) -> pa.Array:
    return pa.array(values.astype(np.float64), mask=~known | np.isnan(values))


def _with_confidence(table: pa.Table, level: float) -> pa.Table:
    """The table with a last column `confidence`, the level of its intervals; `level` is the name of another label."""
    if not table.num_columns:
        return table
    return table.append_column("confidence", pa.array([level] * table.num_rows, pa.float64()))


def _marked(table: pa.Table, marks: Mapping[str, str | int | None]) -> pa.Table:
    """The table with a first column for each mark that there is, which holds it in every row."""
    for name, mark in marks.items():
        if mark and table.num_columns:
            table = table.add_column(0, name, pa.repeat(pa.scalar(mark), table.num_rows))
    return table
