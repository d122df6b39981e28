"""Reads which items models answered correctly, from runs or from other programs' tables, and
matches them by item."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.tables import TABLES, read_table
from evaluator.protocols.items import strings
from evaluator.protocols.records import ResultsRecord, RunRecord, by_key
from evaluator.provenance.contamination import marked_today, marks_said
from generator.base.clusters import Clusters, vocabulary_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json
from generator.base.paths import split_name
from generator.base.tables import read_csv

logger = logging.getLogger(__name__)
LABELS = ("protocol", "metric", "kind", "skill", "split", "cluster", "bindings", "scene")
_NEEDED = ("item", "correct", "cluster")
_OPTIONAL = ("split", "model", "protocol", "metric", "kind", "skill", "bindings", "scene")
_MEANINGS = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0, "": np.nan}
_NAMED = 3
_COMPARE = "compare runs on one benchmark, or on benchmarks that differ only in their block seed."


@dataclass(frozen=True)
class Answers:
    """The answers of one model to n items. correct: 1, 0, or nan for an unscored item.

    labels: the LABELS that the source has, object arrays (n,) of strings. benchmark: its name and
        digests, None for
    another program's table. block: the digest of the holdout, None if there is none. design: the
    options of world and
    benchmark, without the block. partitioned: the splits are partitions by familiarity. mark: the
    note beside every
    number of the model (evaluator.provenance.contamination).
    """

    model: str
    source: str
    benchmark: tuple[str, ...] | None
    block: str | None
    design: dict[str, Any]
    item: np.ndarray
    correct: np.ndarray
    labels: dict[str, np.ndarray]
    partitioned: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Matched:
    """The answers of several runs to the n items that all of them answered.

    models: the row numbers of each model in `correct`. correct: (runs, n), 0 or 1. labels: all
        LABELS, object arrays
    (n,). left_out: see `match`. partitioned: the splits are partitions by familiarity. world: the
    digest of the
    world that shows the scenes; None if it is not known.
    """

    models: dict[str, list[int]]
    correct: np.ndarray
    labels: dict[str, np.ndarray]
    left_out: dict[str, Any]
    partitioned: bool = False
    world: str | None = None


def read_answers(
    source: str, metric: str | None = None, common: Mapping[str, str] = MappingProxyType({})
) -> list[Answers]:
    """The answers in a run's folder or in a table; a table with the column `model` gives one entry
    per model.

    `source` is a path, or NAME=PATH to give the model a name. metric: a metric that is right or
    wrong for each item,
    None for the main metric of each protocol. common: the metrics of `common_metrics`, which go
    before a run's own
    main metrics. Raises UserError for other sources and invalid contents.
    """
    name, path = split_name(source)
    if path.is_dir():
        found = [_read_run(path, metric, common)]
    elif path.suffix.lower() in TABLES and path.is_file():
        found = _read_table(path, metric)
    else:
        raise UserError(
            f"Expected the folder of a run, or a table that ends in {', '.join(TABLES)}, got "
            f"{path}; give one that exists."
        )
    if name and len(found) > 1:
        raise UserError(f"{path} names its models in the column 'model'; leave out '{name}='.")
    return [replace(each, model=name or each.model) for each in found]


def common_metrics(sources: Sequence[str]) -> dict[str, str]:
    """The metric to compare for each protocol whose main metric differs between runs.

    A run of scores has `matching` as the main metric of `binary` where a run in words has
    `accuracy`.

    Args:
        sources: as in `read_answers`; tables have no main metrics and are ignored.

    Returns: By protocol, the first main metric that all runs of the protocol have; nothing where
        there is none.
    """
    mains: dict[str, list[str]] = {}
    metrics: dict[str, list[set[str]]] = {}
    for source in sources:
        path = split_name(source)[1] / "results.json"
        if not path.exists():
            continue
        rows = read_json(path, ResultsRecord)["rows"]
        for protocol in dict.fromkeys(row["protocol"] for row in rows):
            of_protocol = [row for row in rows if row["protocol"] == protocol]
            mains.setdefault(protocol, []).extend(
                dict.fromkeys(r["metric"] for r in of_protocol if r["is_main"])
            )
            metrics.setdefault(protocol, []).append({row["metric"] for row in of_protocol})
    found = {}
    for protocol, main in mains.items():
        in_all = set.intersection(*metrics[protocol])
        shared_mains = [metric for metric in main if metric in in_all]
        if len(set(main)) > 1 and shared_mains:
            found[protocol] = shared_mains[0]
    return found


def shared(asked: Sequence[tuple[Matched, np.ndarray]]) -> Clusters:
    """The clusters, bindings and scenes of the items that the masks (n,) choose, block after block.

    Blocks share bindings and clusters, and blocks of one world its scenes too: the turns of a
    rotation ask about the same images. An item without a scene counts as a separate scene.
    """
    found: dict[str, list[np.ndarray]] = {"cluster": [], "bindings": [], "scene": []}
    vocabularies = [vocabulary_of(block.labels["bindings"].tolist()) for block, _ in asked]
    for i, (block, chosen) in enumerate(asked):
        cluster, bindings, scene = (block.labels[name][chosen] for name in found)
        alone = np.array([f"item {j}" for j in range(len(scene))], dtype=object)
        found["cluster"].append(cluster)
        found["bindings"].append(bindings)
        of_world = f"{block.world or i} "
        found["scene"].append(np.where(scene == "", f"{i} " + alone, of_world + scene))
    vocabulary = (
        max(values for values, _ in vocabularies),
        max(objects for _, objects in vocabularies),
    )
    cluster, bindings, scene = (
        np.concatenate(found[name]) for name in ("cluster", "bindings", "scene")
    )
    return Clusters.of(cluster, bindings, scene, vocabulary=vocabulary)


def match_blocks(answers: Sequence[Answers]) -> list[Matched]:
    """Match the answers block by block; the benchmarks differ only in their block. All tables count
    as one block.

    Raises UserError when designs differ, when a model has no run on a block, and as `match`.
    """
    blocks = by_key((each.benchmark, each) for each in answers)
    if len(blocks) == 2 and None in blocks:  # a table beside runs of one benchmark
        return [match(answers)]
    firsts = [each[0] for each in blocks.values()]
    for other in firsts[1:]:
        _check_designs(firsts[0], other)
    models = list(dict.fromkeys(each.model for each in answers))
    for block in blocks.values():
        for model in models:
            if model not in {each.model for each in block}:
                raise UserError(
                    f"'{model}' has no run on the benchmark of {block[0].source}; give every model "
                    f"a run on each "
                    "block, or leave that block out."
                )
    return [match(block) for block in blocks.values()]


def match(answers: Sequence[Answers]) -> Matched:
    """Keep the items that all runs answered, with the labels of the first run that has them.

    `left_out` counts all `items`, the `compared` items, `missing` and `unscored` items by run, and
    `mismatched` items
    by the label in which runs differ; the last three name their first items. Raises UserError when
    no item is left.
    """
    items = list(dict.fromkeys(chain.from_iterable(each.item.tolist() for each in answers)))
    row_of = {item: row for row, item in enumerate(items)}
    names, n = np.array(items, dtype=object), len(items)
    present, correct = np.zeros((len(answers), n), dtype=bool), np.full((len(answers), n), np.nan)
    labels = {name: np.full(n, "", dtype=object) for name in LABELS}
    mismatched = {name: np.zeros(n, dtype=bool) for name in LABELS}
    for i, each in enumerate(answers):
        rows = np.array([row_of[item] for item in each.item.tolist()], dtype=int)
        present[i, rows], correct[i, rows] = True, each.correct
        for name, values in each.labels.items():
            known = labels[name][rows]
            mismatched[name][rows] |= (known != "") & (values != "") & (known != values)
            labels[name][rows] = np.where(known == "", values, known)
    kept = np.isfinite(correct).all(axis=0) & ~np.any(list(mismatched.values()), axis=0)
    sources = [each.source for each in answers]
    left_out = {
        "items": n,
        "compared": int(kept.sum()),
        "missing": _named_items(names, dict(zip(sources, ~present, strict=True))),
        "unscored": _named_items(
            names, dict(zip(sources, present & np.isnan(correct), strict=True))
        ),
        "mismatched": _named_items(names, mismatched),
    }
    if not kept.any():
        _refuse_nothing(answers, present)
    return Matched(
        by_key((each.model, i) for i, each in enumerate(answers)),
        correct[:, kept],
        {name: values[kept] for name, values in labels.items()},
        left_out,
        any(each.partitioned for each in answers),
        next((each.benchmark[2] for each in answers if each.benchmark), None),
    )


def _read_run(folder: Path, metric: str | None, common: Mapping[str, str]) -> Answers:
    """The answers of a run by `metric`, or by each protocol's common or main metric, from its
    tables; reads no dataset or model."""
    if not (folder / "run.json").exists():
        raise UserError(f"{folder} is no finished run; give a folder written by `score run`.")
    path = folder / "tables" / "items.csv"
    if not (path.exists() and (folder / "results.json").exists()):
        raise UserError(f"{folder} has no results; write them with `score measure {folder}`.")
    record, results = (
        read_json(folder / "run.json", RunRecord),
        read_json(folder / "results.json", ResultsRecord),
    )
    results = marked_today(results, record.get("info", {}))
    channel = results["channel"]
    main_of = {row["protocol"]: row["metric"] for row in results["rows"] if row["is_main"]} | dict(
        common
    )
    labels_read = (
        "item_id",
        "value",
        "protocol",
        "metric",
        "kind",
        "skill",
        "split",
        "cluster",
        "scene_id",
        "bindings",
    )
    columns = (*labels_read, "unscored")
    found = read_csv(path, dict.fromkeys(columns, pa.string()))
    table = {name: strings(found[name]) for name in columns}
    chosen = np.zeros(len(table["item_id"]), dtype=bool)
    for protocol in dict.fromkeys(table["protocol"].tolist()):
        of = table["protocol"] == protocol
        wanted = of & (table["metric"] == (metric or main_of.get(protocol)))
        # An item without a value that is not unscored is no question of this metric, such as half a
        # pair of images.
        wanted &= (table["value"] != "") | (table["unscored"] != "")
        if set(table["value"][wanted].tolist()) <= set(_MEANINGS):
            chosen |= wanted
        else:
            what = f"'{metric}'" if metric else "its main metric"
            logger.info(
                f"{folder}: '{protocol}' is not compared, because {what} is not right or wrong."
            )
    if metric and metric not in table["metric"]:
        raise UserError(
            f"{folder} has no metric '{metric}'; "
            f"{did_you_mean(metric, sorted(set(table['metric'])))}"
        )
    if not chosen.any():
        raise UserError(
            f"{folder} has no items that are right or wrong; compare runs of another protocol or "
            f"metric."
        )
    table = {name: values[chosen] for name, values in table.items()}
    labels = {name: table[name] for name in LABELS if name in table}
    labels["scene"] = table["scene_id"]
    no_kind = table["kind"] == ""
    labels |= {
        "kind": np.where(no_kind, table["skill"], table["kind"]),
        "skill": np.where(no_kind, "", table["skill"]),
    }
    model = (
        record["model"]
        if channel == record.get("channels", [channel])[0]
        else f"{record['model']} ({channel})"
    )
    benchmark = (record["benchmark_name"], record["benchmark"], record["world"])
    return Answers(
        model,
        str(folder),
        benchmark,
        results["factors"]["block"],
        results["factors"]["design"],
        table["item_id"],
        _correct(table["value"], table["item_id"], path),
        labels,
        "splits" in results.get("rules", {}),
        marks_said(results),
    )


def _read_table(path: Path, metric: str | None) -> list[Answers]:
    """The answers in a table that another program wrote, by model."""
    columns = _read_columns(path)
    if metric is not None:
        chosen = columns.get("metric", np.array([], dtype=object)) == metric
        if not chosen.any():
            raise UserError(
                f"{path} has no rows of the metric '{metric}'; name it in a column 'metric'."
            )
        columns = {name: values[chosen] for name, values in columns.items()}
    correct = _correct(columns["correct"], columns["item"], path)
    for name in ("item", "cluster"):
        if (columns[name] == "").any():
            raise UserError(
                f"{path} has rows without '{name}'; give every row an item and a cluster, and "
                f"independent items different clusters."
            )
    models = columns.get("model", np.full(len(correct), path.stem, dtype=object))
    found = []
    for model in dict.fromkeys(models.tolist()):
        of = models == np.array(
            model, dtype=object
        )  # as a str array it would lose trailing NUL characters
        item = columns["item"][of]
        first, counts = np.unique(item.astype(str), return_counts=True)
        if counts.max() > 1:
            raise UserError(
                f"{path} has the item '{first[counts > 1][0]}' {counts.max()} times for the model "
                f"'{model}'; give "
                "each item once, and name several models in a column 'model'."
            )
        source = str(path) if len(set(models.tolist())) == 1 else f"{path} ({model})"
        labels = {name: columns[name][of] for name in LABELS if name in columns}
        found.append(Answers(model, source, None, None, {}, item, correct[of], labels))
    return found


def _read_columns(path: Path) -> dict[str, np.ndarray]:
    """The known columns of a table as strings. Raises UserError when it cannot be read, lacks a
    required column, or has no rows."""
    table = read_table(path)
    if lacking := [name for name in _NEEDED if name not in table.column_names]:
        raise UserError(
            f"{path} lacks the column '{lacking[0]}'; expected {', '.join(_NEEDED)} and optionally "
            f"{', '.join(_OPTIONAL)}."
        )
    try:
        known = [name for name in (*_NEEDED, *_OPTIONAL) if name in table.column_names]
        return {name: strings(pc.cast(table[name], pa.string())) for name in known}
    except pa.ArrowException as error:
        raise UserError(f"{path} has a column that is no text ({error}); write it again.") from None


def _correct(values: np.ndarray, items: np.ndarray, path: Path) -> np.ndarray:
    """1 for right, 0 for wrong, nan for unscored, from strings (n,)."""
    meanings = np.array([_MEANINGS.get(value.lower(), np.inf) for value in values.tolist()])
    if np.isinf(meanings).any():
        row = int(np.isinf(meanings).argmax())
        raise UserError(
            f"{path}: expected 'correct' to be 0, 1, true, false, or empty for an unscored item, "
            f"got '{values[row]}' for the item '{items[row]}'."
        )
    return meanings


def _check_designs(first: Answers, other: Answers) -> None:
    """Raises UserError unless two sources are from different blocks of one design."""
    if first.block is None or other.block is None or first.block == other.block:
        raise UserError(
            f"{first.source} and {other.source} were scored on two benchmarks that are not blocks "
            f"of one design; {_COMPARE}"
        )
    differing = [
        name
        for name in {**first.design, **other.design}
        if first.design.get(name) != other.design.get(name)
    ]
    if differing:
        raise UserError(
            f"{first.source} and {other.source} were scored on benchmarks that differ in "
            f"'{differing[0]}'; {_COMPARE}"
        )


def _refuse_nothing(answers: Sequence[Answers], present: np.ndarray) -> None:
    """Raises UserError with the reason why no item can be compared."""
    if present.all(axis=0).any():
        raise UserError(
            "No item can be compared: every item is unscored in a run, or differs between runs in "
            "its cluster, split, kind or metric; score the runs again or correct these columns."
        )
    lacks = next(i for i in range(1, len(answers)) if not present[: i + 1].all(axis=0).any())
    first, other = answers[0], answers[lacks]
    raise UserError(
        f"{other.source} has no item that all runs before it have (it has '{other.item[0]}', "
        f"{first.source} has '{first.item[0]}'); compare answers to the same items."
    )


def _named_items(items: np.ndarray, masks: dict[str, np.ndarray]) -> dict[str, Any]:
    """For each mask (n,) that is not all False, its number of items and the first _NAMED of
    them."""
    return {
        name: {"items": int(mask.sum()), "first": items[mask][:_NAMED].tolist()}
        for name, mask in masks.items()
        if mask.any()
    }
