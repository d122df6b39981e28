"""Pools the results of many runs: rows are averaged over blocks and training seeds, never over designs (protocols,
section 1)."""

import json
import logging
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from evaluator.protocols.compass import clusters_of, pooled_loads
from evaluator.protocols.items import COUNTS
from evaluator.protocols.records import STATISTICS, Results, Row, by_key, rounded
from evaluator.provenance.contamination import mark_of
from evaluator.statistics.clusters import ALL_LIKE_THESE, NOT_OF_BINDINGS
from evaluator.statistics.mixed import SMALLEST_P
from evaluator.statistics.pooled import Spread, pool

logger = logging.getLogger(__name__)
LABELS = ("protocol", "metric", "error", "kind", "skill", "level", "n", *COUNTS, "split", "minus", "unit", "average")
"""Rows of several runs are pooled if these labels are equal."""
_SUMS = ("items", "ties", "unscored")
_BOUNDS = {"share": (0.0, 1.0), "difference": (-1.0, 1.0), "score": (-np.inf, np.inf)}
_GROUP = ("model", "treatment", "design")
_LONG = 60
"""Longer values are not repeated in a sentence."""


def pool_runs(runs: Sequence[Results]) -> list[Results]:
    """Pool results of runs, which have `factors` (evaluator.runs.folder), into an entry for each model, treatment and
    design.

    An entry is shaped like the results of a run. `model` is a name that differs from the other entries, `benchmark`
    lists its benchmarks, `runs` and `blocks` count them, `members` are the indices of its runs in `runs`. A row's
    `value` is the mean over blocks of the mean over their runs; `low` and `high` are its interval
    (evaluator.statistics.pooled). `sd_blocks`, `min_blocks`, `max_blocks` describe the spread of blocks; `sd_runs`,
    `min_runs`, `max_runs` the spread of runs within blocks. `p` needs several blocks; it is None for several runs of
    one block. `fits` are pooled likewise. Rows of several runs have no `low_fixed` and `high_fixed`.

    A duplicate run counts once; so does a model without training seed that was scored twice on a benchmark.
    """
    groups: dict[str, dict[int, Results]] = {}
    for place, run in _once(runs).items():
        groups.setdefault(_key(run, _GROUP), {})[place] = run
    names = _names([next(iter(group.values())) for group in groups.values()])
    return [_pooled(group, name) for group, name in zip(groups.values(), names, strict=True)]


def differences(entries: Sequence[Results]) -> list[str]:
    """For each option in which the designs of pooled entries differ, a sentence that they were not averaged."""
    designs = [entry["factors"]["design"] for entry in entries]
    names = dict.fromkeys(name for design in designs for name in design)
    found = {name: list(dict.fromkeys(_said(design.get(name)) for design in designs)) for name in names}
    return [
        f"Not averaged: {name} is {' or '.join(values)}."
        if max(map(len, values)) <= _LONG
        else f"Not averaged: {name} differs."
        for name, values in found.items()
        if len(values) > 1
    ]


def spread_notes(entries: Sequence[Results]) -> list[str]:
    """Notes on pooled entries: what ± is over, and whether intervals leave out the variation between trainings."""
    notes = []
    if any(entry["blocks"] > 1 for entry in entries):
        notes.append("± is the standard deviation over blocks.")
    if any(entry["runs"] > entry["blocks"] == 1 for entry in entries):
        notes.append("± is the standard deviation over the runs of one block.")
    trained = [entry for entry in entries if isinstance(entry["factors"]["training_seed"], int)]
    if any(entry["runs"] == entry["blocks"] for entry in trained):
        notes.append(
            "Each block has one training: variation between trainings is not measured. Train with other seeds (--seed) "
            "and give all runs to `score report`."
        )
    return notes


def _once(runs: Sequence[Results]) -> dict[int, Results]:
    """The runs by index, without duplicates."""
    found: dict[str, int] = {}
    for place, run in enumerate(runs):
        key = _key(run, (*_GROUP, "training_seed", "benchmark"))
        if key in found:
            logger.info(f"{run['model']} on {run['benchmark']} is given twice; it counts once.")
        found.setdefault(key, place)
    return {place: runs[place] for place in found.values()}


def _key(run: Results, names: Sequence[str]) -> str:
    return json.dumps([run["factors"][name] for name in names], sort_keys=True)


def _names(firsts: Sequence[Results]) -> list[str]:
    """A name for each entry: the model, and the options in which the model's entries differ, without long values."""
    names = []
    for run in firsts:
        model, labels = run["factors"]["model"], _told_apart(run)
        others = [_told_apart(each) for each in firsts if each["factors"]["model"] == model]
        differing = [name for name in labels if any(labels[name] != other.get(name) for other in others)]
        said = {name: _said(labels[name]) for name in differing}
        names.append(", ".join([model, *(f"{name} {text}" for name, text in said.items() if len(text) <= _LONG)]))
    return names


def _told_apart(run: Results) -> dict[str, Any]:
    return {**run["factors"]["design"], **run["factors"]["treatment"]}


def _said(value: Any) -> str:
    return value or "none" if isinstance(value, str) else json.dumps(value)


def _pooled(members: dict[int, Results], name: str) -> Results:
    runs = list(members.values())
    first, blocks = runs[0], [_block(run) for run in runs]
    entry = {
        **first,
        "model": name,
        "benchmark": _listed([run["benchmark"] for run in runs]),
        "certificate": _listed([run["certificate"] for run in runs]),
        "runs": len(runs),
        "blocks": len(set(blocks)),
        "members": list(members),
        "fits": first["fits"]
        if len(runs) == 1
        else pooled_loads([run["fits"] for run in runs], blocks, first["rules"]["level"]),
    }
    entry["training"] = next((run["training"] for run in runs if mark_of(run)), first["training"])
    named = {"model": name, "benchmark": entry["benchmark"]}
    for part in ("rows", "cells"):
        entry[part] = [{**row, **named} for row in _pooled_rows(runs, part)]
    for part in ("unknown_protocols", "not_asked"):
        entry[part] = {key: value for run in runs for key, value in run.get(part, {}).items()}
    return entry


def _block(run: Results) -> str:
    """The id of a run's block: the digest of its holdout, or of the benchmark if nothing is held out."""
    return str(run["factors"]["block"] or run["factors"]["benchmark"])


def _listed(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:3]) + (f" and {len(distinct) - 3} more" if len(distinct) > 3 else "")


def _pooled_rows(runs: Sequence[Results], part: str) -> list[Row]:
    groups = by_key((tuple(row.get(name) for name in LABELS), (_block(run), row)) for run in runs for row in run[part])
    level = runs[0]["rules"]["level"]
    return [_pooled_row(members, level, len(runs)) for members in groups.values()]


def _pooled_row(members: Sequence[tuple[str, Row]], level: float, runs: int) -> Row:
    """The row of several runs with the same labels."""
    scored = [(block, row) for block, row in members if row["value"] is not None]
    row: dict[str, Any] = {
        **members[0][1],
        "blocks": len({block for block, _ in scored}),
        "runs": len(scored),
        **_spread("blocks", None),
        **_spread("runs", None),
    }
    if runs == 1 or not scored:
        return cast(Row, row)
    rows: list[Any] = [each for _, each in scored]
    drawn = "_drawn" if row["blocks"] > 1 else ""
    found = pool(
        [each["value"] for each in rows],
        _numbers(rows, f"low{drawn}"),
        _numbers(rows, f"high{drawn}"),
        [block for block, _ in scored],
        level,
    )
    least, most = _BOUNDS[row["unit"]]
    chances = [each["chance"] for each in rows if each["chance"] is not None]
    ceilings = [each["ceiling"] for each in rows if each.get("ceiling") is not None]
    of_one = {name: None for name in STATISTICS if name in row and name not in ("unit", "blocks", "runs")}
    row |= {
        **of_one,  # statistics of one run do not hold for all runs
        "value": rounded(found.value),
        "low": rounded(max(found.low, least)),
        "high": rounded(min(found.high, most)),
        "speaks_of": ALL_LIKE_THESE if drawn and NOT_OF_BINDINGS not in row["speaks_of"] else row["speaks_of"],
        "chance": rounded(np.mean(chances)) if chances else None,
        "ceiling": rounded(np.mean(ceilings)) if ceilings else None,
        **_spread("blocks", found.over_blocks),
        **_spread("runs", found.over_runs),
    }
    tested = [each for each in rows if each["p"] is not None]
    null = 0.0 if row["unit"] == "difference" else row["chance"]
    row["p"] = rounded(max(found.p(null), SMALLEST_P)) if len(tested) == len(rows) and null is not None else None
    every: list[Any] = [each for _, each in members]
    for name in _SUMS:
        counts = [each[name] for each in every if each[name] is not None]
        row[name] = sum(counts) if counts else None
    if "unread" in row:
        row["unread"] = sum(each.get("unread") or 0 for each in every)
        of_read = [each["value_read"] for each in rows if each.get("value_read") is not None]
        row["value_read"] = rounded(float(np.mean(of_read))) if of_read else None
    return cast(Row, {**row, "clusters": clusters_of(members)})


def _spread(over: str, found: Spread | None) -> dict[str, float | None]:
    numbers = (None, None, None) if found is None else map(rounded, (found.sd, found.least, found.greatest))
    return dict(zip((f"sd_{over}", f"min_{over}", f"max_{over}"), numbers, strict=True))


def _numbers(rows: Sequence[Any], name: str) -> list[float]:
    return [np.nan if row[name] is None else row[name] for row in rows]
