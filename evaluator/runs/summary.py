"""The results of a run (results.json), from the results of its protocols."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.benchmarks.reading import READING, describe_filters
from evaluator.protocols import protocol_names
from evaluator.protocols.records import Results, Row
from evaluator.protocols.results import ProtocolResults
from evaluator.provenance.contamination import unknown_training
from evaluator.runs.ceiling import fill_ceilings
from evaluator.runs.factors import factors_of
from evaluator.runs.folder import Run
from evaluator.runs.held_out import describe_holdout
from evaluator.runs.rules import Rules
from evaluator.runs.stored_scores import scores_without_values
from evaluator.scoring.words.answers import summarize_answers
from evaluator.scoring.words.files import read_answers
from evaluator.scoring.words.prompt import prompt_of
from generator.dataset.floor import declared_floor
from generator.dataset.questions import Candidates
from generator.dataset.reader import Benchmark
from generator.dataset.records import TRAIN
from generator.dataset.truth import read_truths

_INTERVAL = "mixed logistic model with effects of clusters and bindings (docs/statistics.md)"
"""How intervals were computed, as results.json says it."""


def summarize_run(run: Run, measured: Mapping[str, ProtocolResults], rules: Rules) -> Results:
    """The results of a run.

    Args:
        run: A finished run.
        measured: By protocol, its results.
        rules: How the run was measured.

    Returns:
        The contents of results.json (evaluator.protocols.records.ResultsRecord). Each row has its
        ceiling, if the judge's truths are known.

    Raises:
        UserError: The file of answers or of truths is damaged.
    """
    record, benchmark = run.record, run.benchmark
    rules_record = _rules_record(run, rules)
    name = _benchmark_name(record, rules_record)

    rows: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    for protocol, results in measured.items():
        labels = {"model": record["model"], "benchmark": name, "protocol": protocol}
        rows += _labelled(results.rows, labels, results.main_metric)
        cells += _labelled(results.cells, labels, results.main_metric)
        fits += [{"protocol": protocol, **fit} for fit in results.fits]
    if run.world is not None:
        truths = read_truths(benchmark, run.world)
        if truths is not None:
            fill_ceilings([*rows, *cells], scores_without_values(run, rules), truths)

    return {
        "model": record["model"],
        "benchmark": name,
        "held_out": describe_holdout(benchmark.holdout),
        "reading": benchmark.manifest.get(READING) or {},
        "certificate": record["certificate"],
        "training": record.get("training") or unknown_training(),
        "rules": rules_record,
        **_answers(run),
        "factors": factors_of(run, rules.channel, rules_record),
        "channel": rules.channel,
        "image_channel": rules.image_channel,
        "sampled_pools": record.get("sampled_pools", {}),
        "left_out": record.get("left_out", []),
        "not_asked": record.get("not_asked", {}),
        "limit": record.get("under_limit"),
        "revealed": declared_floor(benchmark.folder, benchmark.digest),
        "empty_cells": list(benchmark.manifest.get("empty_cells", [])),
        "unknown_protocols": unknown_protocols(benchmark),
        "rows": rows,
        "cells": cells,
        "fits": fits,
    }


def _answers(run: Run) -> dict[str, Any]:
    """The entry `answers` of a run in words (AnswersRecord); no entry for other runs."""
    words = run.record.get("words")
    if words is None:
        return {}
    prompt = prompt_of(words["prompt"])
    candidates = Candidates(run.benchmark)
    answered = read_answers(run.folder, candidates, prompt)
    return {"answers": summarize_answers(answered, candidates, prompt)}


def _rules_record(run: Run, rules: Rules) -> dict[str, Any]:
    """The rules as results.json has them (RulesRecord). Runs with different rules are not
    pooled."""
    record, manifest = run.record, run.benchmark.manifest
    rules_record: dict[str, Any] = {
        "tie_tolerance": rules.tolerance,
        "level": rules.level,
        "interval": _INTERVAL,
    }
    # A run on a part of a benchmark, or in other words, does not count as a run on all of it.
    if record.get("limit"):
        rules_record["limit"] = record["limit"]
    if run.splits is not None:
        rules_record["splits"] = dict(run.splits["about"])
    if (manifest.get("request") or {}).get("known_words"):
        rules_record["foils"] = "words that training has"
    filters = (manifest.get(READING) or {}).get("filters")
    if filters:
        rules_record["filters"] = filters
    words = record.get("words")
    if words is not None:
        rules_record["words"] = {**words, "prompt": words["digest"]}
    return rules_record


def _benchmark_name(record: Mapping[str, Any], rules_record: Mapping[str, Any]) -> str:
    """The name of the benchmark in tables, with the part of it that was measured."""
    name = str(record["benchmark_name"])
    if "limit" in rules_record:
        name += f" (limit {rules_record['limit']:,})"
    if "filters" in rules_record:
        name += f" ({describe_filters(rules_record['filters'])})"
    if "foils" in rules_record:
        name += f" (foils of {rules_record['foils']})"
    return name


def _labelled(
    rows: Sequence[Row], labels: Mapping[str, Any], main_metric: str
) -> list[dict[str, Any]]:
    """The rows of a protocol with the labels that all of them share."""
    return [{**labels, "is_main": row["metric"] == main_metric, **row} for row in rows]


def unknown_protocols(benchmark: Benchmark) -> dict[str, int]:
    """The protocols of a benchmark that this version does not know.

    Args:
        benchmark: Any benchmark.

    Returns:
        The number of items by protocol, without the items of training.
    """
    known = (*protocol_names(), TRAIN)  # items of training are never measured
    counts = benchmark.items["protocol"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts if row["values"] not in known}
