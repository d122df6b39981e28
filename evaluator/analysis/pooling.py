"""Pools the results of many runs: a row is one analysis over the items of all turns, blocks and
trainings, never over designs (protocols, sections 1 and 13)."""

import json
import logging
from collections.abc import Sequence
from os.path import commonprefix
from pathlib import PurePath
from string import digits
from typing import Any, cast

import numpy as np

from evaluator.analysis.load_items import load_over_runs
from evaluator.analysis.run_items import ItemTable, read_items
from evaluator.protocols.compass import Fit, clusters_of, pooled_loads
from evaluator.protocols.items import COUNTS
from evaluator.protocols.records import STATISTICS, Results, Row, by_key, rounded
from evaluator.protocols.results import OVER_ITEMS
from evaluator.provenance.contamination import mark_of
from evaluator.statistics.blocks import Spread, block_mean
from evaluator.statistics.intervals import NEW_TRAININGS, Estimate
from evaluator.statistics.runs import gap_over_runs, mean_over_runs

logger = logging.getLogger(__name__)
POOLED_BY = (
    "protocol",
    "metric",
    "error",
    "kind",
    "skill",
    "level",
    "n",
    *COUNTS,
    "split",
    "minus",
    "unit",
    "average",
)
"""Rows of several runs are pooled if these labels are equal."""
_SUMS = ("items", "ties", "unscored")
"""Columns that are added over the runs."""
_BOUNDS = {"share": (0.0, 1.0), "difference": (-1.0, 1.0), "score": (-np.inf, np.inf)}
"""The least and greatest value of each unit."""
_GROUP = ("model", "treatment", "design")
"""Runs with the same of these factors are pooled."""
OVER_BLOCKS = "blocks like these"
"""What Student's t over blocks speaks of."""
_TRAINED_HERE = "jackalope:"
"""How the identity of a model begins that this project trained."""
_LONG = 60
"""Longer values are not repeated in a sentence."""


def pool_runs(runs: Sequence[Results]) -> list[Results]:
    """Pool results of runs into an entry for each model, treatment and design.

    A duplicate run counts once; so does a model without training seed that was scored twice on a
    benchmark.

    Args:
        runs: the results of each, with their `factors` (evaluator.runs.folder). With `folder`, the
            folder of the run, the items of all runs are analysed at once; `pool` of the Python API
            and the commands add it. Without it only the values of the runs are known.

    Returns:
        Entries shaped like the results of a run. `model` is a name that differs from the other
        entries, `benchmark` lists its benchmarks, `runs` and `blocks` count them, `members` are the
        indices of its runs in `runs`. A row's `value` is the mean over blocks of the mean over
        their runs. Its intervals come from one analysis of the items of all runs
        (evaluator.statistics.runs); `same_images` says that a gap is over images that are unseen in
        one turn and seen in others. Rows that are not means over items (errors, means over
        categories or folds), and runs without `folder`, have Student's t over blocks, and none for
        one block; `population` says so. `sd_blocks`, `min_blocks`, `max_blocks` describe the spread
        of blocks; `sd_runs`, `min_runs`, `max_runs` that of runs within blocks. `fits` are pooled
        in the same way. Rows of several runs have no `low_fixed` and `high_fixed`.
    """
    groups_by_key: dict[str, dict[int, Results]] = {}
    for index, run in _without_duplicates(runs).items():
        groups_by_key.setdefault(_key(run, _GROUP), {})[index] = run
    groups = list(groups_by_key.values())
    names = _names([list(group.values()) for group in groups])
    return [_pooled(group, name) for group, name in zip(groups, names, strict=True)]


def differences(entries: Sequence[Results]) -> list[str]:
    """What was not averaged.

    Args:
        entries: from `pool_runs`.

    Returns:
        A sentence for each option in which the designs of the entries differ.
    """
    designs = [entry["factors"]["design"] for entry in entries]
    names: dict[str, None] = {}
    for design in designs:
        names |= dict.fromkeys(design)
    sentences = []
    for name in names:
        values = list(dict.fromkeys(_in_words(design.get(name)) for design in designs))
        if len(values) == 1:
            continue
        if max(map(len, values)) <= _LONG:
            sentences.append(f"Not averaged: {name} is {' or '.join(values)}.")
        else:
            sentences.append(f"Not averaged: {name} differs.")
    return sentences


def spread_notes(entries: Sequence[Results]) -> list[str]:
    """What the spread and the intervals of pooled entries leave out.

    Args:
        entries: from `pool_runs`.

    Returns:
        Sentences: what ± is over, and whether intervals leave out the variation between trainings.
    """
    notes = []
    if any(entry["blocks"] > 1 for entry in entries):
        notes.append("± is the standard deviation over blocks.")
    if any(entry["runs"] > entry["blocks"] == 1 for entry in entries):
        notes.append("± is the standard deviation over the runs of one block.")
    trained = [entry for entry in entries if isinstance(entry["factors"]["training_seed"], int)]
    if any(entry["runs"] == entry["blocks"] for entry in trained):
        notes.append(
            "Each turn or block has one training: variation between trainings is not measured, and "
            "intervals about this vocabulary take bindings as a sample, which makes them wider. "
            "Train with other seeds (--seed) and give all runs to `score report`."
        )
    return notes


def _without_duplicates(runs: Sequence[Results]) -> dict[int, Results]:
    """The runs by index, without duplicates."""
    index_of: dict[str, int] = {}
    for index, run in enumerate(runs):
        key = _key(run, (*_GROUP, "training_seed", "benchmark"))
        if key in index_of:
            logger.info(f"{run['model']} on {run['benchmark']} is given twice; it counts once.")
        index_of.setdefault(key, index)
    return {index: runs[index] for index in index_of.values()}


def _key(run: Results, names: Sequence[str]) -> str:
    """The factors of these names as text."""
    return json.dumps([run["factors"][name] for name in names], sort_keys=True)


def _names(groups: Sequence[Sequence[Results]]) -> list[str]:
    """A name for each entry: that of its model, and the options in which entries of this name
    differ, without long values."""
    models = [_model_name(runs) for runs in groups]
    options = [_options(runs[0]) for runs in groups]
    names = []
    for model, own in zip(models, options, strict=True):
        namesakes = []
        for name, of_other in zip(models, options, strict=True):
            if name == model:
                namesakes.append(of_other)
        parts = [model]
        for name, value in own.items():
            text = _in_words(value)
            differs = any(value != of_other.get(name) for of_other in namesakes)
            if differs and len(text) <= _LONG:
                parts.append(f"{name} {text}")
        names.append(", ".join(parts))
    return names


def _model_name(runs: Sequence[Results]) -> str:
    """The name of the model of an entry's runs, in the words of the user.

    A model that was trained here is called by its folder or by `--name`: its identity in `factors`
    is a method and a digest of weights. The folders of its turns and seeds become one pattern.
    """
    identity = str(runs[0]["factors"]["model"])
    if not identity.startswith(_TRAINED_HERE):
        return identity
    return _folder_pattern([run["model"].removeprefix(_TRAINED_HERE) for run in runs])


def _folder_pattern(folders: Sequence[str]) -> str:
    """The name of one folder, or a pattern for several.

    >>> _folder_pattern(["models/tiny"]), _folder_pattern(["models/turn0", "models/turn1"])
    ('tiny', 'models/turn*')
    >>> _folder_pattern(["a", "b"])
    'a, b'
    """
    distinct = list(dict.fromkeys(folders))
    if len(distinct) == 1:
        return PurePath(distinct[0]).name
    # Letter by letter, because a turn is only a part of a folder's name. Without the digits,
    # because turn10 and turn11 are turns of turn*, not of turn1*.
    start = commonprefix(distinct).rstrip(digits)  # noqa: RUF071
    # The common end is the common start of what is left, read backwards.
    reversed_rests = [folder[len(start) :][::-1] for folder in distinct]
    end = commonprefix(reversed_rests)[::-1].lstrip(digits)  # noqa: RUF071
    if not start and not end:
        return _listed(distinct)
    # The name of a turn says nothing without the folder above it.
    return "/".join(PurePath(f"{start}*{end}").parts[-2:])


def _options(run: Results) -> dict[str, Any]:
    """All options of a run that tell entries apart."""
    return {**run["factors"]["design"], **run["factors"]["treatment"]}


def _in_words(value: Any) -> str:
    """The value of an option as text."""
    if isinstance(value, str):
        return value or "none"
    return json.dumps(value)


def _pooled(members: dict[int, Results], name: str) -> Results:
    """The entry of some runs, by their index, under a name."""
    runs = list(members.values())
    first = runs[0]
    blocks = [_block(run) for run in runs]
    # A single run keeps its own numbers, so its items are not read.
    tables: list[ItemTable | None] = [None] * len(runs)
    if len(runs) > 1:
        tables = [read_items(run, _block(run)) for run in runs]
    # The training of a run with a mark is what readers must know of.
    marked = [run["training"] for run in runs if mark_of(run)]
    entry = {
        **first,
        "model": name,
        "benchmark": _listed([run["benchmark"] for run in runs]),
        "held_out": _held_out(runs),
        "certificate": _listed([run["certificate"] for run in runs]),
        "runs": len(runs),
        "blocks": len(set(blocks)),
        "members": list(members),
        "fits": _pooled_fits(runs, blocks, tables),
        "training": marked[0] if marked else first["training"],
    }
    entry.pop("folder", None)
    named = {"model": name, "benchmark": entry["benchmark"]}
    if len(runs) > 1 and None in tables:
        logger.warning(
            f"{name}: the items of some runs are not at hand, so intervals are Student's t over "
            f"blocks; pool runs with their folders."
        )
    for part in ("rows", "cells"):
        entry[part] = [{**row, **named} for row in _pooled_rows(runs, part, tables)]
    for part in ("unknown_protocols", "not_asked"):
        merged: dict[str, Any] = {}
        for run in runs:
            merged |= run.get(part, {})
        entry[part] = merged
    return entry


def _pooled_fits(
    runs: Sequence[Results], blocks: Sequence[str], tables: Sequence[ItemTable | None]
) -> list[Fit]:
    """The skill loads over runs; those of a single run are its own."""
    first = runs[0]
    if len(runs) == 1:
        return first["fits"]
    level = first["rules"]["level"]

    def from_items(members: Sequence[int], fits: Sequence[Fit], count: str) -> Estimate | None:
        of_members = [tables[run] for run in members]
        known = [table for table in of_members if table is not None]
        # Without the items of every run, coefficients are pooled from those of the runs.
        if len(known) < len(of_members):
            return None
        return load_over_runs(known, fits, count=count, level=level)

    return pooled_loads([run["fits"] for run in runs], blocks, level=level, from_items=from_items)


def _block(run: Results) -> str:
    """The id of a run's block: the digest of its holdout, or of the benchmark if nothing is held
    out."""
    return str(run["factors"]["block"] or run["factors"]["benchmark"])


def _held_out(runs: Sequence[Results]) -> str:
    """What the runs hold out, in words; of several blocks or turns the first and their number."""
    distinct = list(dict.fromkeys(run.get("held_out", "") for run in runs))
    more = f"; others in {len(distinct) - 1} more blocks or turns" if len(distinct) > 1 else ""
    return f"{distinct[0]}{more}"


def _listed(names: Sequence[str]) -> str:
    """The first three distinct names, and the number of the others."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - 3} more" if len(distinct) > 3 else ""
    return ", ".join(distinct[:3]) + more


def _pooled_rows(
    runs: Sequence[Results], part: str, tables: Sequence[ItemTable | None]
) -> list[Row]:
    """The pooled rows of a part of the results, `rows` or `cells`."""
    labelled = []
    for i, run in enumerate(runs):
        for row in run[part]:
            labels = tuple(row.get(name) for name in POOLED_BY)
            labelled.append((labels, (i, row)))
    blocks = [_block(run) for run in runs]
    level = runs[0]["rules"]["level"]
    pooled = []
    for members in by_key(labelled).values():
        scored = [(i, row) for i, row in members if row["value"] is not None]
        in_blocks = [(blocks[i], row) for i, row in members]
        scored_in_blocks = [(blocks[i], row) for i, row in scored]
        _, first_row = members[0]
        row = {**first_row, **_counts(scored_in_blocks)}
        if len(runs) > 1 and scored:
            # An analysis of the items, where there is one, replaces the interval over blocks.
            row |= _from_values(in_blocks, scored_in_blocks, level)
            in_tables = [(tables[i], row_of_run) for i, row_of_run in scored]
            row |= _from_items(in_tables, row["chance"], level)
        pooled.append(cast(Row, row))
    return pooled


def _counts(scored: Sequence[tuple[str, Row]]) -> dict[str, Any]:
    """The numbers of blocks and runs with a value, and no spread yet."""
    return {
        "blocks": len({block for block, _ in scored}),
        "runs": len(scored),
        **_spread("blocks", None),
        **_spread("runs", None),
    }


def _from_values(
    members: Sequence[tuple[str, Row]], scored: Sequence[tuple[str, Row]], level: float
) -> dict[str, Any]:
    """What the values of the runs alone give: the mean over blocks, its spread and Student's t over
    blocks."""
    rows: list[Any] = [row for _, row in scored]
    blocks = [block for block, _ in scored]
    first = rows[0]
    mean = block_mean([row["value"] for row in rows], blocks, level)
    # Student's t knows no bounds: its interval may end above 100%.
    least, most = _BOUNDS[first["unit"]]
    # Blocks may differ in chance, as pools of different sizes do.
    chances = [row["chance"] for row in rows if row["chance"] is not None]
    chance = rounded(np.mean(chances)) if chances else None
    ceilings = [row["ceiling"] for row in rows if row.get("ceiling") is not None]
    # A difference is tested against 0, a share against its chance.
    null = 0.0 if first["unit"] == "difference" else chance
    is_tested = null is not None and all(row["p"] is not None for row in rows)
    # Statistics of one run do not hold for all runs.
    cleared: dict[str, Any] = {}
    for name in STATISTICS:
        if name in first and name not in ("unit", "blocks", "runs"):
            cleared[name] = None
    totals: dict[str, int | None] = {}
    for name in _SUMS:
        counts = [cast(Any, row)[name] for _, row in members]
        known = [count for count in counts if count is not None]
        totals[name] = sum(known) if known else None
    return {
        **cleared,
        "value": rounded(mean.value),
        "low": rounded(max(mean.low, least)),
        "high": rounded(min(mean.high, most)),
        "population": f"{OVER_BLOCKS}; {NEW_TRAININGS}",
        "p": rounded(mean.p(null)) if is_tested and null is not None else None,
        "chance": chance,
        "ceiling": rounded(float(np.mean(ceilings))) if ceilings else None,
        **_of_read_answers(members, rows),
        **_spread("blocks", mean.over_blocks),
        **_spread("runs", mean.over_runs),
        **totals,
        "clusters": clusters_of(members),
    }


def _of_read_answers(members: Sequence[tuple[str, Row]], scored: Sequence[Row]) -> dict[str, Any]:
    """Of runs in words: the items without a read answer, and the mean value over the others."""
    if "unread" not in scored[0]:
        return {}
    shares = [row.get("value_read") for row in scored]
    known = [share for share in shares if share is not None]
    return {
        "unread": sum(row.get("unread") or 0 for _, row in members),
        "value_read": rounded(float(np.mean(known))) if known else None,
    }


def _from_items(
    scored: Sequence[tuple[ItemTable | None, Row]], chance: float | None, level: float
) -> dict[str, Any]:
    """The value and intervals from the items of all runs; {} if some run's items are not at
    hand."""
    tables = [table for table, _ in scored if table is not None]
    if len(tables) < len(scored):
        return {}
    rows = [row for _, row in scored]
    unit = rows[0]["unit"]
    # Of the largest vocabulary: how many values and objects there are is a property of the world,
    # and a run may have been asked about a part.
    vocabularies = [table.vocabulary for table in tables]
    values, objects = (max(sizes) for sizes in zip(*vocabularies, strict=True))
    if rows[0]["is_gap"]:
        sides = []
        for table, row in zip(tables, rows, strict=True):
            of_run = table.sides_of(row)
            if of_run is None:
                return {}
            sides.append(of_run)
        gap, same_images = gap_over_runs(sides, level=level, vocabulary=(values, objects))
        return {**_statistics(gap, unit), "same_images": same_images}

    runs = []
    for table, row in zip(tables, rows, strict=True):
        items = table.items_of(row)
        if items is None:
            return {}
        runs.append(items)
    null = np.nan
    if unit == "difference":
        null = 0.0
    elif unit == "share" and chance is not None and rows[0]["average"] == OVER_ITEMS:
        null = chance  # a mean over n has no p: chance differs between numbers of atoms
    mean = mean_over_runs(
        runs, level=level, vocabulary=(values, objects), share=unit == "share", null=null
    )
    return _statistics(mean, unit)


def _statistics(estimate: Estimate, unit: str) -> dict[str, Any]:
    """The columns of a row that an estimate gives, within the bounds of its unit."""
    least, most = _BOUNDS[unit]
    return {
        "value": rounded(estimate.value),
        "low": rounded(max(estimate.low, least)),
        "low_wider": rounded(max(estimate.low_wider, least)),
        "high": rounded(min(estimate.high, most)),
        "high_wider": rounded(min(estimate.high_wider, most)),
        "population": estimate.population,
        "p": rounded(estimate.p),
    }


def _spread(over: str, spread: Spread | None) -> dict[str, float | None]:
    """The columns of a spread over `blocks` or `runs`; None where there is none."""
    names = f"sd_{over}", f"min_{over}", f"max_{over}"
    if spread is None:
        return dict.fromkeys(names)
    numbers = spread.sd, spread.least, spread.greatest
    return dict(zip(names, map(rounded, numbers), strict=True))
