"""Measure a run: compute the outcomes and rows of every protocol from its scores. Needs no
model."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.reading import READING, describe_filters
from evaluator.metrics.comparison import TOLERANCE
from evaluator.metrics.ranking import CosineScores, MatrixScores, PoolScores
from evaluator.protocols import find_protocol, protocol_names
from evaluator.protocols.items import positions
from evaluator.protocols.pools import Pool, item_pools
from evaluator.protocols.records import Results
from evaluator.protocols.results import ProtocolResults
from evaluator.protocols.scores import Scores
from evaluator.provenance.contamination import unknown_training
from evaluator.runs.ceiling import find_ceilings
from evaluator.runs.folder import Run, factors_of, open_run
from evaluator.runs.held_out import describe_holdout
from evaluator.runs.lock import locked_run
from evaluator.runs.tables import item_rows, write_tables
from evaluator.scoring.words.answers import summarize_answers
from evaluator.scoring.words.files import read_answers, read_item_scores
from evaluator.scoring.words.prompt import prompt_of
from evaluator.scoring.writing import POOL_SIDES, pool_path
from evaluator.statistics.intervals import LEVEL
from generator.base.arrays import map_npy
from generator.base.clusters import OF, SEPARATOR
from generator.base.errors import UserError, did_you_mean
from generator.base.files import draft_of, read_json, write_json
from generator.base.tables import read_table
from generator.dataset.floor import declared_floor
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, Candidates
from generator.dataset.reader import Benchmark
from generator.dataset.records import SCORES
from generator.dataset.truth import read_truths

logger = logging.getLogger(__name__)
TRAINING = "train"
_NAMED = 5
_INTERVAL = "mixed logistic model with effects of clusters and bindings (docs/statistics.md)"
_LEVELS = (0.5, 0.999)


def measure(
    folder: Path,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Results:
    """Write results.json and tables/*.csv of the run in `folder`; returns the results.

    `rows` has a row for every metric, group of items and split of every protocol; `fits` the skill
    loads; `cells` R@1
    for every combination of counts; `factors` distinguishes the run from others (`factors_of`);
    `training` says what is
    known of the model's training; `unknown_protocols` has the protocols that this version does not
    know.
    channel: the scores to measure. tolerance: scores that differ by no more than this tie. level:
        of the intervals,
    0.5..0.999. All default to those of the run. Raises UserError if the folder is not a run, if the
    dataset changed
    since the scores were made, or if another command writes the run (evaluator.runs.lock).
    """
    open_run(folder)  # a folder without a run is refused before a lock is written there
    with locked_run(folder):
        return measure_locked(folder, channel, tolerance, level)


def measure_locked(
    folder: Path,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Results:
    """As `measure`, for a caller that holds the lock of the run."""
    run = open_run(folder)
    rules = rules_of(run, channel, tolerance, level)
    measured = measure_protocols(run, rules)
    _log_unscored(measured)
    # Locks do not work on every disk: scores of one run must not be published as another's.
    if read_json(folder / "run.json") != run.record:
        raise UserError(
            f"{folder} was written again while it was measured; run `score measure {folder}` again."
        )
    results = _results(run, measured, rules)
    write_tables(run, measured, results)
    write_json(folder / "results.json", results)
    return results


def recompute(run: Run) -> Results:
    """The results of a run, computed from its scores; its results.json is not read, and nothing is
    written.

    Raises UserError as `measure`.
    """
    rules = rules_of(run)
    return _results(run, measure_protocols(run, rules), rules)


def write_items(
    folder: Path,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Path:
    """Write items.jsonl in the folder of a run: a JSON line for each row of `item_rows`. The write
    is atomic. Returns the path.

    The arguments are those of `measure`.
    """
    run, path = open_run(folder), folder / "items.jsonl"
    with draft_of(path) as draft, draft.open("w", encoding="utf-8") as file:
        for row in item_rows(run, measure_protocols(run, rules_of(run, channel, tolerance, level))):
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return path


@dataclass(frozen=True)
class Rules:
    """How a run is measured. channel, image_channel: the scores of most protocols, and of protocols
    that compare images. tolerance: scores that differ by no more than this tie. level: of
    intervals."""

    channel: str
    image_channel: str
    tolerance: float
    level: float


def rules_of(
    run: Run, channel: str | None = None, tolerance: float | None = None, level: float | None = None
) -> Rules:
    """The given rules; None stands for the run's own.

    Raises UserError for a channel that the run does not have, and as `check_tolerance` and
    `check_level`.
    """
    if channel is not None and channel not in run.channels:
        raise UserError(
            f"The run has no channel '{channel}': {did_you_mean(channel, run.channels)}"
        )
    record = run.record
    usual = str(channel or record.get("channel") or run.channels[0])
    tie = check_tolerance(record.get("tie_tolerance") if tolerance is None else tolerance)
    of_images = str(channel or record.get("image_channel") or usual)
    return Rules(
        usual, of_images, tie, check_level(record.get("level") if level is None else level)
    )


def check_tolerance(tolerance: float | None) -> float:
    """The tie tolerance, TOLERANCE for None. Raises UserError if it is negative or not finite."""
    tie = TOLERANCE if tolerance is None else float(tolerance)
    if not 0 <= tie < np.inf:
        raise UserError(f"Expected a tolerance from 0 up, got {tie:g}; choose another --tolerance.")
    return tie


def measure_protocols(run: Run, rules: Rules | None = None) -> dict[str, ProtocolResults]:
    """Items, outcomes and rows of every protocol of a run; the rules default to the run's own."""
    rules = rules or rules_of(run)
    scores = between = read_scores(run, rules)
    if rules.image_channel != rules.channel:
        between = read_scores(run, replace(rules, channel=rules.image_channel))
        scores = replace(scores, between_images=between)
    protocols = (find_protocol(name) for name in run.record["protocols"])
    return {
        each.name: each.measure(between if each.compares_images else scores) for each in protocols
    }


def _results(run: Run, measured: dict[str, ProtocolResults], by: Rules) -> Results:
    """The results of a run, from the results of its protocols."""
    record = run.record
    rules: dict[str, Any] = {
        "tie_tolerance": by.tolerance,
        "level": by.level,
        "interval": _INTERVAL,
    }
    limit = record.get("limit")
    if limit:  # runs on a part of a benchmark are never pooled with runs on all of it
        rules["limit"] = limit
    if run.splits is not None:
        rules["splits"] = dict(run.splits["about"])
    if (run.benchmark.manifest.get("request") or {}).get("known_words"):
        rules["foils"] = "words that training has"
    reading = run.benchmark.manifest.get(READING) or {}
    if filters := reading.get("filters"):  # nor with runs on other parts
        rules["filters"] = filters
    name = record["benchmark_name"] + (f" (limit {limit:,})" if limit else "")
    name += f" ({describe_filters(filters)})" if filters else ""
    name += f" (foils of {rules['foils']})" if "foils" in rules else ""
    words, answers = record.get("words"), {}
    if words is not None:  # nor are runs that were asked in another way
        rules["words"] = {**words, "prompt": words["digest"]}
        prompt, rows = prompt_of(words["prompt"]), Candidates(run.benchmark)
        answers = {
            "answers": summarize_answers(read_answers(run.folder, rows, prompt), rows, prompt)
        }

    truths = None if run.world is None else read_truths(run.benchmark, run.world)
    ceilings = find_ceilings(_scores(run, pa.table({}), by), truths)

    def collected(part: Literal["rows", "cells"]) -> list[dict[str, Any]]:
        of = {"model": record["model"], "benchmark": name}
        return [
            {
                **of,
                "protocol": protocol,
                "is_main": row["metric"] == each.main_metric,
                **row,
                "ceiling": ceilings.of(protocol, row),
            }
            for protocol, each in measured.items()
            for row in getattr(each, part)
        ]

    return {
        "model": record["model"],
        "benchmark": name,
        "held_out": describe_holdout(run.benchmark.holdout),
        "reading": reading,
        "certificate": record["certificate"],
        "training": record.get("training") or unknown_training(),
        "rules": rules,
        **answers,
        "factors": factors_of(run, by.channel, rules),
        "channel": by.channel,
        "image_channel": by.image_channel,
        "sampled_pools": record.get("sampled_pools", {}),
        "left_out": record.get("left_out", []),
        "not_asked": record.get("not_asked", {}),
        "limit": record.get("under_limit"),
        "revealed": declared_floor(run.benchmark.folder, run.benchmark.digest),
        "empty_cells": list(run.benchmark.manifest.get("empty_cells", [])),
        "unknown_protocols": unknown_protocols(run.benchmark),
        **{part: collected(part) for part in ("rows", "cells")},
        "fits": [{"protocol": name, **fit} for name, each in measured.items() for fit in each.fits],
    }


def _log_unscored(measured: dict[str, ProtocolResults]) -> None:
    """Log the first items without a score, and the file that lists all of them."""
    for protocol, each in measured.items():
        unscored = each.items.item_id[~each.items.scored].tolist()
        if unscored:
            more = f" and {len(unscored) - _NAMED:,} more" * (len(unscored) > _NAMED)
            reasons = ", ".join(sorted(set(each.items.unscored.tolist()) - {""}))
            logger.info(
                f"Unscored items of '{protocol}': {', '.join(unscored[:_NAMED])}{more} "
                f"({reasons}); tables/items.csv lists all."
            )


def unknown_protocols(benchmark: Benchmark) -> dict[str, int]:
    """The protocols of a benchmark that this version does not know, with their number of items."""
    counts = benchmark.items["protocol"].value_counts().to_pylist()
    return {
        row["values"]: row["counts"]
        for row in counts
        if row["values"] not in (*protocol_names(), TRAINING)
    }


def check_level(level: float | None) -> float:
    """The level of intervals, by default 0.95. Raises UserError unless it is a number from 0.5 to
    0.999."""
    if level is None:
        return LEVEL
    if not _LEVELS[0] <= level <= _LEVELS[1]:
        raise UserError(
            f"Expected a level from {_LEVELS[0]} to {_LEVELS[1]}, got {level:g}; for intervals of "
            f"90% write --level 0.9."
        )
    return level


def read_scores(run: Run, rules: Rules) -> Scores:
    """The scores of one channel of a run, `rules.channel`."""
    path, benchmark, record = run.folder / "scores.parquet", run.benchmark, run.record
    if (words := record.get("words")) is not None:
        by_form = read_item_scores(run.folder, benchmark, words)
        scores = _scores(run, pa.table({}), rules, in_items=by_form[CHOICE])
        if words["form"] != CHOICE:
            return scores
        by_image, by_pair = (replace(scores, in_items=by_form[form]) for form in (IMAGES, MATCHING))
        return replace(scores, between_images=by_image, matchings=by_pair)
    if not path.exists():
        raise UserError(f"{run.folder} has lost its scores.parquet; run `score run` again.")
    table = _of_channel(read_table(path, SCORES), rules.channel)
    sampled = (
        table if record.get("sampled_pools") else None
    )  # millions of rows: kept only if needed

    def matrix(pool: Pool) -> PoolScores:
        if pool.sample is not None and sampled is not None:
            return MatrixScores(_matrix(sampled, pool))
        return stored_scores(run, pool, rules.channel)

    return _scores(run, table, rules, matrix=matrix)


def _scores(run: Run, table: pa.Table, rules: Rules, **more: Any) -> Scores:
    benchmark, record = run.benchmark, run.record
    pools = (
        []
        if "words" in record
        else item_pools(benchmark, record["protocols"], record.get("sampled_pools", {}))
    )
    return Scores(
        benchmark,
        record["indistinct_texts"],
        table,
        record["protocols"],
        pools,
        {name: find_protocol(name).folds(benchmark) for name in record.get("raw_retrieval", [])},
        tolerance=rules.tolerance,
        shown=_bindings(run),
        twins=_twins(run),
        confidence=rules.level,
        partitioned=run.splits is not None,
        averages_categories=bool(benchmark.manifest.get(READING, {}).get("averages")),
        **{"matrix": _no_pool, **more},
    )


def _no_pool(pool: Pool) -> PoolScores:
    raise UserError(f"The run has no scores of the pool '{pool.name}'.")


def _of_channel(scores: pa.Table, channel: str) -> pa.Table:
    """The rows of one channel; no copy, which may take hundreds of megabytes, if the table has no
    other channel."""
    inside = pc.equal(scores["channel"], channel)
    return scores if pc.all(inside).as_py() else scores.filter(inside)


def _bindings(run: Run) -> dict[str, str]:
    """The bindings of each scene, joined by ";": the value under test and the category of each
    object."""
    kind = (run.benchmark.holdout or {}).get("kind")
    if kind is None or run.world is None:
        return {}
    scenes = run.world.scenes
    shown = (
        SEPARATOR.join(
            sorted(
                OF.join((dict(o["attributes"]).get(kind, ""), o["category"])) for o in objects or ()
            )
        )
        for objects in scenes["objects"].to_pylist()
    )
    return dict(zip(scenes["scene_id"].to_pylist(), shown, strict=True))


def _twins(run: Run) -> dict[str, str]:
    """The twin of each scene that has one, in both directions."""
    if run.world is None:
        return {}
    scenes = run.world.scenes
    found: dict[str, str] = {}
    for scene, original in zip(
        scenes["scene_id"].to_pylist(), scenes["twin_of"].to_pylist(), strict=True
    ):
        if original is not None:
            found[scene], found[original] = original, scene
    return found


def _matrix(scores: pa.Table, pool: Pool) -> np.ndarray:
    """The scores of a pool from a table of scores (SCORES), float32 (images, texts); nan where
    there is none."""
    row = positions(scores["image_id"], pa.chunked_array([pool.images], pa.string()))
    column = positions(scores["text_id"], pa.chunked_array([pool.texts], pa.string()))
    inside = (row >= 0) & (column >= 0)
    matrix = np.full((len(pool.images), len(pool.texts)), np.nan, dtype=np.float32)
    values = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)
    matrix[row[inside], column[inside]] = values[inside]
    return matrix


def stored_scores(run: Run, pool: Pool, channel: str) -> PoolScores:
    """The scores of a pool that a run stored: its embeddings, or a matrix. Raises UserError where a
    file is missing or damaged."""
    sides = [pool_path(run.folder, pool.name, side=side) for side in POOL_SIDES]
    if sides[0].exists():
        images, texts = (
            _mapped(path, (len(names), None))
            for path, names in zip(sides, (pool.images, pool.texts), strict=True)
        )
        if images.shape[1] != texts.shape[1]:
            raise UserError(
                f"{sides[1]} has embeddings of another width than {sides[0]}; run `score run` "
                f"again."
            )
        return CosineScores(images, texts)
    path = pool_path(run.folder, pool.name, channel=channel, number=run.channels.index(channel))
    return MatrixScores(_mapped(path, (len(pool.images), len(pool.texts))))


def _mapped(path: Path, shape: tuple[int, int | None]) -> np.ndarray:
    try:
        return map_npy(path, shape, np.float32)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `score run` again.") from None
