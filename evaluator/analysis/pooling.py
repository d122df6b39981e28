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

from evaluator.analysis.run_items import ItemTable, read_items
from evaluator.protocols.compass import clusters_of, pooled_loads
from evaluator.protocols.items import COUNTS
from evaluator.protocols.records import STATISTICS, Results, Row, by_key, rounded
from evaluator.provenance.contamination import mark_of
from evaluator.statistics.blocks import Spread, block_mean
from evaluator.statistics.intervals import NEW_TRAININGS, Estimate
from evaluator.statistics.runs import gap_over_runs, mean_over_runs

logger = logging.getLogger(__name__)
LABELS = (
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
_BOUNDS = {"share": (0.0, 1.0), "difference": (-1.0, 1.0), "score": (-np.inf, np.inf)}
_GROUP = ("model", "treatment", "design")
OVER_BLOCKS = "blocks like these"
"""What Student's t over blocks speaks of."""
_TRAINED_HERE = "jackalope:"
_LONG = 60
"""Longer values are not repeated in a sentence."""


def pool_runs(runs: Sequence[Results]) -> list[Results]:
    """Pool results of runs, which have `factors` (evaluator.runs.folder), into an entry for each
    model, treatment and design.

    An entry is shaped like the results of a run. `model` is a name that differs from the other
    entries, `benchmark` lists its benchmarks, `runs` and `blocks` count them, `members` are the
    indices of its runs in `runs`. A row's `value` is the mean over blocks of the mean over their
    runs. The intervals come from one analysis of the items of all runs (evaluator.statistics.runs);
    `same_images` says that a gap is over images that are unseen in one turn and seen in others.
    Rows that are no means over items, and runs whose folder is not at hand, have Student's t over
    blocks, and none for one block. `sd_blocks`, `min_blocks`, `max_blocks` describe the spread of
    blocks; `sd_runs`, `min_runs`, `max_runs` the spread of runs within blocks. `fits` are pooled
    over blocks. Rows of several runs have no `low_fixed` and `high_fixed`.

    A duplicate run counts once; so does a model without training seed that was scored twice on a
    benchmark.
    """
    groups: dict[str, dict[int, Results]] = {}
    for place, run in _once(runs).items():
        groups.setdefault(_key(run, _GROUP), {})[place] = run
    names = _names([list(group.values()) for group in groups.values()])
    return [_pooled(group, name) for group, name in zip(groups.values(), names, strict=True)]


def differences(entries: Sequence[Results]) -> list[str]:
    """For each option in which the designs of pooled entries differ, a sentence that they were not
    averaged."""
    designs = [entry["factors"]["design"] for entry in entries]
    names = dict.fromkeys(name for design in designs for name in design)
    found = {
        name: list(dict.fromkeys(_said(design.get(name)) for design in designs)) for name in names
    }
    return [
        f"Not averaged: {name} is {' or '.join(values)}."
        if max(map(len, values)) <= _LONG
        else f"Not averaged: {name} differs."
        for name, values in found.items()
        if len(values) > 1
    ]


def spread_notes(entries: Sequence[Results]) -> list[str]:
    """Notes on pooled entries: what ± is over, and whether intervals leave out the variation
    between trainings."""
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


def _names(groups: Sequence[Sequence[Results]]) -> list[str]:
    """A name for each entry: that of its model, and the options in which entries of this name
    differ, without long values."""
    models = [_model_name(runs) for runs in groups]
    options = [_told_apart(runs[0]) for runs in groups]
    names = []
    for model, own in zip(models, options, strict=True):
        others = [each for name, each in zip(models, options, strict=True) if name == model]
        differing = [name for name in own if any(own[name] != other.get(name) for other in others)]
        said = {name: _said(own[name]) for name in differing}
        names.append(
            ", ".join(
                [model, *(f"{name} {text}" for name, text in said.items() if len(text) <= _LONG)]
            )
        )
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
    end = commonprefix([folder[len(start) :][::-1] for folder in distinct])[::-1].lstrip(digits)  # noqa: RUF071
    if not start and not end:
        return _listed(distinct)
    # The name of a turn says nothing without the folder above it.
    return "/".join(PurePath(f"{start}*{end}").parts[-2:])


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
        "held_out": _held_out(runs),
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
    tables = [read_items(run, _block(run)) if len(runs) > 1 else None for run in runs]
    for part in ("rows", "cells"):
        entry[part] = [{**row, **named} for row in _pooled_rows(runs, part, tables)]
    entry.pop("folder", None)
    for part in ("unknown_protocols", "not_asked"):
        entry[part] = {key: value for run in runs for key, value in run.get(part, {}).items()}
    return entry


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
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:3]) + (f" and {len(distinct) - 3} more" if len(distinct) > 3 else "")


def _pooled_rows(
    runs: Sequence[Results], part: str, tables: Sequence[ItemTable | None]
) -> list[Row]:
    groups = by_key(
        (tuple(row.get(name) for name in LABELS), (i, row))
        for i, run in enumerate(runs)
        for row in run[part]
    )
    blocks = [_block(run) for run in runs]
    level = runs[0]["rules"]["level"]
    rows = []
    for members in groups.values():
        of_runs = [(blocks[i], row) for i, row in members]
        scored = [(i, row) for i, row in members if row["value"] is not None]
        row = {**members[0][1], **_counts([(blocks[i], row) for i, row in scored])}
        if len(runs) > 1 and scored:
            row |= _pooled_row(of_runs, [(blocks[i], row) for i, row in scored], level)
            row |= _analysed([(tables[i], row) for i, row in scored], row["chance"], level)
        rows.append(cast(Row, row))
    return rows


def _counts(scored: Sequence[tuple[str, Row]]) -> dict[str, Any]:
    return {
        "blocks": len({block for block, _ in scored}),
        "runs": len(scored),
        **_spread("blocks", None),
        **_spread("runs", None),
    }


def _pooled_row(
    members: Sequence[tuple[str, Row]], scored: Sequence[tuple[str, Row]], level: float
) -> dict[str, Any]:
    """What the values of the runs alone give: the mean over blocks, its spread and Student's t over
    blocks."""
    rows: list[Any] = [row for _, row in scored]
    first = rows[0]
    mean = block_mean([row["value"] for row in rows], [block for block, _ in scored], level)
    least, most = _BOUNDS[first["unit"]]
    chances = [row["chance"] for row in rows if row["chance"] is not None]
    chance = rounded(np.mean(chances)) if chances else None
    ceilings = [row["ceiling"] for row in rows if row.get("ceiling") is not None]
    null = 0.0 if first["unit"] == "difference" else chance
    tested = null is not None and all(row["p"] is not None for row in rows)
    # Statistics of one run do not hold for all runs.
    of_one = {
        name: None
        for name in STATISTICS
        if name in first and name not in ("unit", "blocks", "runs")
    }
    totals: dict[str, int | None] = {}
    for name in _SUMS:
        counts = [cast(Any, row)[name] for _, row in members if cast(Any, row)[name] is not None]
        totals[name] = sum(counts) if counts else None
    return {
        **of_one,
        "value": rounded(mean.value),
        "low": rounded(max(mean.low, least)),
        "high": rounded(min(mean.high, most)),
        "speaks_of": f"{OVER_BLOCKS}; {NEW_TRAININGS}",
        "p": rounded(mean.p(null)) if tested and null is not None else None,
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
    of_read = [share for row in scored if (share := row.get("value_read")) is not None]
    return {
        "unread": sum(row.get("unread") or 0 for _, row in members),
        "value_read": rounded(float(np.mean(of_read))) if of_read else None,
    }


def _analysed(
    scored: Sequence[tuple[ItemTable | None, Row]], chance: float | None, level: float
) -> dict[str, Any]:
    """The value and intervals from the items of all runs; {} if some run's items are not at
    hand."""
    tables = [table for table, _ in scored if table is not None]
    if len(tables) < len(scored):
        return {}
    first = scored[0][1]
    vocabularies = [table.vocabulary for table in tables]
    vocabulary = max(sizes[0] for sizes in vocabularies), max(sizes[1] for sizes in vocabularies)
    if first["is_gap"]:
        sides = [table.sides_of(row) for table, (_, row) in zip(tables, scored, strict=True)]
        known_sides = [side for side in sides if side is not None]
        if len(known_sides) < len(sides):
            return {}
        estimate, same_images = gap_over_runs(known_sides, level=level, vocabulary=vocabulary)
        return {**_of_estimate(estimate, first["unit"]), "same_images": same_images}
    items = [table.items_of(row) for table, (_, row) in zip(tables, scored, strict=True)]
    known = [each for each in items if each is not None]
    if len(known) < len(items):
        return {}
    share = first["unit"] == "share"
    null = (
        0.0 if first["unit"] == "difference" else np.nan if chance is None or not share else chance
    )
    return _of_estimate(
        mean_over_runs(known, level=level, vocabulary=vocabulary, share=share, null=null),
        first["unit"],
    )


def _of_estimate(estimate: Estimate, unit: str) -> dict[str, Any]:
    least, most = _BOUNDS[unit]
    ends = {
        **{name: max(getattr(estimate, name), least) for name in ("low", "low_wider")},
        **{name: min(getattr(estimate, name), most) for name in ("high", "high_wider")},
    }
    return {
        "value": rounded(estimate.value),
        **{name: rounded(end) for name, end in ends.items()},
        "speaks_of": estimate.speaks_of,
        "p": rounded(estimate.p),
    }


def _spread(over: str, found: Spread | None) -> dict[str, float | None]:
    numbers = (
        (None, None, None)
        if found is None
        else map(rounded, (found.sd, found.least, found.greatest))
    )
    return dict(zip((f"sd_{over}", f"min_{over}", f"max_{over}"), numbers, strict=True))
