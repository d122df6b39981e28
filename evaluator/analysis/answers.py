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
from evaluator.provenance.contamination import describe_marks, marked_today
from generator.base.clusters import Clusters, vocabulary_size
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json
from generator.base.paths import split_name
from generator.base.tables import read_csv

logger = logging.getLogger(__name__)
ITEM_LABELS = ("protocol", "metric", "kind", "skill", "split", "cluster", "bindings", "scene")
"""What is known of an item besides its answer."""
_NEEDED = ("item", "correct", "cluster")
"""Columns that another program's table must have."""
_OPTIONAL = ("split", "model", "protocol", "metric", "kind", "skill", "bindings", "scene")
"""Columns that it may have."""
_RUN_COLUMNS = (
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
    "unscored",
)
"""Columns of a run's items.csv that are read."""
_MEANINGS = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0, "": np.nan}
"""The outcomes that the texts of `correct` mean."""
_OF_PAIRS = "matching"
"""The metric whose items are pairs of images. A table with an answer for each image is not one of
them."""
_NAMED = 3
"""How many left-out items are named."""
_COMPARE = "compare runs on one benchmark, or on benchmarks that differ only in their block seed."


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of one run of a model to n items."""

    model: str
    """The name of the model."""
    source: str
    """The folder or the table that the answers are from."""
    benchmark: tuple[str, ...] | None
    """The name and the digests of the benchmark; None for another program's table."""
    block: str | None
    """The digest of the holdout; None if nothing is held out, and for a table."""
    design: dict[str, Any]
    """The options of world and benchmark, without the block."""
    item: np.ndarray
    """(n,) the name of each item, an object array of strings."""
    correct: np.ndarray
    """(n,) 1 or 0; nan for an unscored item."""
    labels: dict[str, np.ndarray]
    """Those ITEM_LABELS that the source has, object arrays (n,) of strings."""
    partitioned: bool = False
    """Whether the splits are partitions by familiarity."""
    mark: str = ""
    """The note beside every number of the model (evaluator.provenance.contamination)."""


@dataclass(frozen=True, kw_only=True)
class Matched:
    """The answers of several runs to the n items that all of them answered."""

    models: dict[str, list[int]]
    """The row numbers of each model in `correct`."""
    correct: np.ndarray
    """(runs, n) 0 or 1."""
    labels: dict[str, np.ndarray]
    """All ITEM_LABELS, object arrays (n,) of strings; "" where no run has the label."""
    left_out: dict[str, Any]
    """How many items were left out and why, as `match` returns it."""
    partitioned: bool = False
    """Whether the splits are partitions by familiarity."""
    world: str | None = None
    """The digest of the world that shows the scenes; None if it is not known."""


def read_answers(
    source: str, metric: str | None = None, common: Mapping[str, str] = MappingProxyType({})
) -> list[Answers]:
    """The answers in a run's folder or in a table.

    Args:
        source: a path, or NAME=PATH to give the model a name.
        metric: a metric that is right or wrong for each item; None for the main metric of each
            protocol. A table without the column `metric` is taken to hold this one.
        common: the metrics of `common_metrics`, which go before a run's own main metrics.

    Returns:
        One entry; of a table with the column `model` one for each model.

    Raises:
        UserError: the source is neither a run nor a table, or its contents are invalid.
    """
    name, path = split_name(source)
    if path.is_dir():
        answers = [_read_run(path, metric, common)]
    elif path.suffix.lower() in TABLES and path.is_file():
        answers = _read_table(path, metric)
    else:
        raise UserError(
            f"Expected the folder of a run, or a table that ends in {', '.join(TABLES)}, got "
            f"{path}; give one that exists."
        )
    if name and len(answers) > 1:
        raise UserError(f"{path} names its models in the column 'model'; leave out '{name}='.")
    return [replace(of_model, model=name or of_model.model) for of_model in answers]


def common_metrics(sources: Sequence[str]) -> dict[str, str]:
    """The metric to compare for each protocol whose main metric differs between runs.

    A run of scores has `matching` as the main metric of `binary` where a run in words has
    `accuracy`.

    Args:
        sources: as in `read_answers`; tables have no main metrics and are ignored.

    Returns:
        By protocol, the first main metric that all runs of the protocol have; nothing where there
        is none.
    """
    main_metrics: dict[str, list[str]] = {}
    metrics_of_runs: dict[str, list[set[str]]] = {}
    for source in sources:
        path = split_name(source)[1] / "results.json"
        if not path.exists():
            continue
        rows = read_json(path, ResultsRecord)["rows"]
        for protocol in dict.fromkeys(row["protocol"] for row in rows):
            of_protocol = [row for row in rows if row["protocol"] == protocol]
            main = dict.fromkeys(row["metric"] for row in of_protocol if row["is_main"])
            main_metrics.setdefault(protocol, []).extend(main)
            metrics = {row["metric"] for row in of_protocol}
            metrics_of_runs.setdefault(protocol, []).append(metrics)

    common = {}
    for protocol, main_of_runs in main_metrics.items():
        in_all_runs = set.intersection(*metrics_of_runs[protocol])
        candidates = [metric for metric in main_of_runs if metric in in_all_runs]
        if len(set(main_of_runs)) > 1 and candidates:
            common[protocol] = candidates[0]
    return common


def clusters_of_items(selections: Sequence[tuple[Matched, np.ndarray]]) -> Clusters:
    """What the selected items share, block after block.

    Blocks share bindings and clusters, and blocks of one world its scenes too: the turns of a
    rotation ask about the same images. An item without a scene counts as a separate scene.

    Args:
        selections: the answers of each block, with a mask (n,) of its items.

    Returns:
        The clusters, bindings and scenes of all selected items.
    """
    names: dict[str, list[np.ndarray]] = {"cluster": [], "bindings": [], "scene": []}
    for i, (block, selected) in enumerate(selections):
        scene = block.labels["scene"][selected]
        separate = np.array([f"{i} item {j}" for j in range(len(scene))], dtype=object)
        world = f"{block.world or i} "
        names["cluster"].append(block.labels["cluster"][selected])
        names["bindings"].append(block.labels["bindings"][selected])
        names["scene"].append(np.where(scene == "", separate, world + scene))
    # The vocabulary is that of all items, because the intervals of all splits speak of it.
    sizes = [vocabulary_size(block.labels["bindings"].tolist()) for block, _ in selections]
    values, objects = zip(*sizes, strict=True)
    return Clusters.from_names(
        np.concatenate(names["cluster"]),
        np.concatenate(names["bindings"]),
        np.concatenate(names["scene"]),
        vocabulary=(max(values), max(objects)),
    )


def match_blocks(answers: Sequence[Answers]) -> list[Matched]:
    """Match the answers block by block. All tables count as one block.

    Args:
        answers: of all models, on benchmarks that differ only in their block.

    Returns:
        The matched answers of each block.

    Raises:
        UserError: designs differ, a model has no run on a block, a table may hold another metric
            than a run, or as `match`.
    """
    _check_metrics(answers)
    blocks = by_key((of_run.benchmark, of_run) for of_run in answers)
    if len(blocks) == 2 and None in blocks:  # a table beside runs of one benchmark
        return [match(answers)]
    first, *others = (of_block[0] for of_block in blocks.values())
    for other in others:
        _check_designs(first, other)
    models = list(dict.fromkeys(of_run.model for of_run in answers))
    for of_block in blocks.values():
        models_of_block = {of_run.model for of_run in of_block}
        for model in models:
            if model not in models_of_block:
                raise UserError(
                    f"'{model}' has no run on the benchmark of {of_block[0].source}; give every "
                    f"model a run on each block, or leave that block out."
                )
    return [match(of_block) for of_block in blocks.values()]


def match(answers: Sequence[Answers]) -> Matched:
    """Keep the items that all runs answered, with the labels of the first run that has them.

    Args:
        answers: the runs of a block.

    Returns:
        The common items. `left_out` counts all `items`, the `compared` items, `missing` and
        `unscored` items by run, and `mismatched` items by the label in which runs differ; the last
        three name their first items.

    Raises:
        UserError: no item is left.
    """
    all_items = chain.from_iterable(of_run.item.tolist() for of_run in answers)
    items = list(dict.fromkeys(all_items))
    row_of_item = {item: row for row, item in enumerate(items)}
    present = np.zeros((len(answers), len(items)), dtype=bool)
    correct = np.full((len(answers), len(items)), np.nan)
    labels = {name: np.full(len(items), "", dtype=object) for name in ITEM_LABELS}
    mismatched = {name: np.zeros(len(items), dtype=bool) for name in ITEM_LABELS}
    for i, of_run in enumerate(answers):
        rows_of_run = [row_of_item[item] for item in of_run.item.tolist()]
        rows = np.array(rows_of_run, dtype=int)
        present[i, rows] = True
        correct[i, rows] = of_run.correct
        for name, values in of_run.labels.items():
            known = labels[name][rows]
            # A label that a source lacks contradicts nothing.
            are_both_known = (known != "") & (values != "")
            mismatched[name][rows] |= are_both_known & (known != values)
            labels[name][rows] = np.where(known == "", values, known)

    is_complete = np.isfinite(correct).all(axis=0)
    is_mismatched = np.any(list(mismatched.values()), axis=0)
    compared = is_complete & ~is_mismatched
    if not compared.any():
        _refuse_nothing(answers, present)
    names = np.array(items, dtype=object)
    sources = [of_run.source for of_run in answers]
    unscored = present & np.isnan(correct)
    left_out = {
        "items": len(items),
        "compared": int(compared.sum()),
        "missing": _named_items(names, dict(zip(sources, ~present, strict=True))),
        "unscored": _named_items(names, dict(zip(sources, unscored, strict=True))),
        "mismatched": _named_items(names, mismatched),
    }
    worlds = [of_run.benchmark[2] for of_run in answers if of_run.benchmark]
    return Matched(
        models=by_key((of_run.model, i) for i, of_run in enumerate(answers)),
        correct=correct[:, compared],
        labels={name: values[compared] for name, values in labels.items()},
        left_out=left_out,
        partitioned=any(of_run.partitioned for of_run in answers),
        world=worlds[0] if worlds else None,
    )


def _read_run(folder: Path, metric: str | None, common: Mapping[str, str]) -> Answers:
    """The answers of a run by `metric`, or by each protocol's common or main metric.

    Reads the tables of the run, but no dataset and no model.
    """
    if not (folder / "run.json").exists():
        raise UserError(f"{folder} is not a finished run; give a folder written by `score run`.")
    path = folder / "tables" / "items.csv"
    if not (path.exists() and (folder / "results.json").exists()):
        raise UserError(f"{folder} has no results; write them with `score measure {folder}`.")
    record = read_json(folder / "run.json", RunRecord)
    results = read_json(folder / "results.json", ResultsRecord)
    results = marked_today(results, record.get("info", {}))
    read = read_csv(path, dict.fromkeys(_RUN_COLUMNS, pa.string()))
    table = {name: strings(read[name]) for name in _RUN_COLUMNS}

    if metric and metric not in table["metric"]:
        raise UserError(
            f"{folder} has no metric '{metric}'; "
            f"{did_you_mean(metric, sorted(set(table['metric'])))}"
        )
    # A metric that all runs have replaces the main one of this run.
    main_of = {row["protocol"]: row["metric"] for row in results["rows"] if row["is_main"]}
    compared = _right_or_wrong(table, metric, main_of={**main_of, **common}, folder=folder)
    if not compared.any():
        raise UserError(
            f"{folder} has no items that are right or wrong; compare runs of another protocol or "
            f"metric."
        )
    table = {name: values[compared] for name, values in table.items()}

    labels = {name: table[name] for name in ITEM_LABELS if name in table}
    labels["scene"] = table["scene_id"]
    # Where items have no kind, their skill stands in its place.
    no_kind = table["kind"] == ""
    labels["kind"] = np.where(no_kind, table["skill"], table["kind"])
    labels["skill"] = np.where(no_kind, "", table["skill"])
    channel = results["channel"]
    is_first_channel = channel == record.get("channels", [channel])[0]
    return Answers(
        model=record["model"] if is_first_channel else f"{record['model']} ({channel})",
        source=str(folder),
        benchmark=(record["benchmark_name"], record["benchmark"], record["world"]),
        block=results["factors"]["block"],
        design=results["factors"]["design"],
        item=table["item_id"],
        correct=_correct(table["value"], table["item_id"], path),
        labels=labels,
        partitioned="splits" in results.get("rules", {}),
        mark=describe_marks(results),
    )


def _right_or_wrong(
    table: Mapping[str, np.ndarray], metric: str | None, *, main_of: Mapping[str, str], folder: Path
) -> np.ndarray:
    """Find the rows of a run's items.csv that can be compared.

    Args:
        table: The columns of items.csv, as strings.
        metric: The metric to compare; None for that of each protocol in `main_of`.
        main_of: {protocol: metric}.
        folder: The folder of the run, for messages.

    Returns:
        bool (rows,): the rows of the metric, in protocols where it is right or wrong for each item.
    """
    compared = np.zeros(len(table["item_id"]), dtype=bool)
    for protocol in dict.fromkeys(table["protocol"].tolist()):
        of_metric = table["metric"] == (metric or main_of.get(protocol))
        of_metric &= table["protocol"] == protocol
        # An item without a value that is not unscored is not a question of this metric, such as
        # half a pair of images.
        of_metric &= (table["value"] != "") | (table["unscored"] != "")
        if set(table["value"][of_metric].tolist()) <= set(_MEANINGS):
            compared |= of_metric
        else:
            what = f"'{metric}'" if metric else "its main metric"
            logger.info(
                f"{folder}: '{protocol}' is not compared, because {what} is not right or wrong."
            )
    return compared


def _read_table(path: Path, metric: str | None) -> list[Answers]:
    """The answers in a table that another program wrote, by model."""
    columns = _read_columns(path)
    if metric is not None:
        rows = len(columns["item"])
        of_metric = columns.setdefault("metric", np.full(rows, metric, dtype=object)) == metric
        if not of_metric.any():
            raise UserError(
                f"{path} has no rows of the metric '{metric}'; name it in the column 'metric'."
            )
        columns = {name: values[of_metric] for name, values in columns.items()}
    correct = _correct(columns["correct"], columns["item"], path)
    for name in ("item", "cluster"):
        if (columns[name] == "").any():
            raise UserError(
                f"{path} has rows without '{name}'; give every row an item and a cluster, and "
                f"independent items different clusters."
            )
    models = columns.get("model", np.full(len(correct), path.stem, dtype=object))
    names = list(dict.fromkeys(models.tolist()))
    answers = []
    for model in names:
        # As an array of fixed length a name would lose trailing NUL characters.
        of_model = models == np.array(model, dtype=object)
        item = columns["item"][of_model]
        distinct, counts = np.unique(item.astype(str), return_counts=True)
        if counts.max() > 1:
            raise UserError(
                f"{path} has the item '{distinct[counts > 1][0]}' {counts.max()} times for the "
                f"model '{model}'; give each item once, and name several models in a column "
                f"'model'."
            )
        answers.append(
            Answers(
                model=model,
                source=str(path) if len(names) == 1 else f"{path} ({model})",
                benchmark=None,
                block=None,
                design={},
                item=item,
                correct=correct[of_model],
                labels={name: columns[name][of_model] for name in ITEM_LABELS if name in columns},
            )
        )
    return answers


def _read_columns(path: Path) -> dict[str, np.ndarray]:
    """The known columns of a table as strings. Raises UserError when it cannot be read, lacks a
    required column, or has no rows."""
    table = read_table(path)
    lacking = [name for name in _NEEDED if name not in table.column_names]
    if lacking:
        raise UserError(
            f"{path} lacks the column '{lacking[0]}'; expected {', '.join(_NEEDED)} and optionally "
            f"{', '.join(_OPTIONAL)}."
        )
    try:
        known = [name for name in (*_NEEDED, *_OPTIONAL) if name in table.column_names]
        return {name: strings(pc.cast(table[name], pa.string())) for name in known}
    except pa.ArrowException as error:
        raise UserError(
            f"{path} has a column that is not text ({error}); write it again."
        ) from None


def _correct(values: np.ndarray, items: np.ndarray, path: Path) -> np.ndarray:
    """1 for right, 0 for wrong, nan for unscored, from strings (n,)."""
    words = [value.lower() for value in values.tolist()]
    # Infinity stands for a word without a meaning.
    meanings = np.array([_MEANINGS.get(word, np.inf) for word in words])
    is_unknown = np.isinf(meanings)
    if is_unknown.any():
        row = int(is_unknown.argmax())
        raise UserError(
            f"{path}: expected 'correct' to be 0, 1, true, false, or empty for an unscored item, "
            f"got '{values[row]}' for the item '{items[row]}'."
        )
    return meanings


def _check_metrics(answers: Sequence[Answers]) -> None:
    """Raises UserError if a table does not name its metric beside a run whose items are pairs."""
    for table in answers:
        if table.benchmark is not None or "metric" in table.labels:
            continue
        for run in answers:
            if run.benchmark is None or _OF_PAIRS not in run.labels["metric"]:
                continue
            items_of_pairs = run.item[run.labels["metric"] == _OF_PAIRS]
            if np.isin(table.item, items_of_pairs).any():
                raise UserError(
                    f"{table.source} has no column 'metric', and {run.source} is compared on "
                    f"'{_OF_PAIRS}'; name the metric in the table, or compare another one, as with "
                    f"--metric accuracy."
                )


def _check_designs(first: Answers, other: Answers) -> None:
    """Raises UserError unless two sources are from different blocks of one design."""
    if first.block is None or other.block is None or first.block == other.block:
        raise UserError(
            f"{first.source} and {other.source} were scored on two benchmarks that are not blocks "
            f"of one design; {_COMPARE}"
        )
    for name in {**first.design, **other.design}:
        if first.design.get(name) != other.design.get(name):
            raise UserError(
                f"{first.source} and {other.source} were scored on benchmarks that differ in "
                f"'{name}'; {_COMPARE}"
            )


def _refuse_nothing(answers: Sequence[Answers], present: np.ndarray) -> None:
    """Raises UserError with the reason why no item can be compared."""
    if present.all(axis=0).any():
        raise UserError(
            "No item can be compared: every item is unscored in a run, or differs between runs in "
            "its cluster, split, kind or metric; score the runs again or correct these columns."
        )
    last = 1
    while present[: last + 1].all(axis=0).any():
        last += 1
    first, other = answers[0], answers[last]
    raise UserError(
        f"{other.source} has no item that all runs before it have (it has '{other.item[0]}', "
        f"{first.source} has '{first.item[0]}'); compare answers to the same items."
    )


def _named_items(items: np.ndarray, masks: dict[str, np.ndarray]) -> dict[str, Any]:
    """For each mask (n,) that is not all False, its number of items and the first _NAMED of
    them."""
    named = {}
    for name, mask in masks.items():
        if mask.any():
            masked = items[mask]
            named[name] = {"items": len(masked), "first": masked[:_NAMED].tolist()}
    return named
