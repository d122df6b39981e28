"""Checks that a world has the scenes that its plan lists."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.parquet import read_schema, read_table
from generator.judge.findings import DAMAGE, Finding, finding

_COLUMNS = ["scene_id", "cluster_id", "twin_of"]
_CONTENTS = ["status", "objects"]
_SHOWN = 5


def plan_faults(folder: Path, shard: Sequence[int] | None) -> Iterator[Finding]:
    """Scenes that plan.parquet and scenes.parquet list differently, or that show other objects than planned; none if the
    world has no plan.

    `shard`: (i, n) if the world is a shard: it holds every n-th scene of the plan from the i-th on.
    """
    if not (folder / "plan.parquet").exists():
        return
    try:
        i, n = shard or (1, 1)
        planned, made = (_read(folder / f"{name}.parquet") for name in ("plan", "scenes"))
        turn = pa.array(range(i - 1, len(planned), n), pa.int64())
        planned, made = planned.take(turn).sort_by("scene_id"), made.sort_by("scene_id")
    except DAMAGE as error:
        yield finding("damaged file", f"{folder.name}/plan.parquet cannot be compared with scenes.parquet: {error}")
        return
    if planned.select(_COLUMNS).equals(made.select(_COLUMNS)):
        yield from _other_objects(planned, made)
        return
    planned, made = planned.select(_COLUMNS), made.select(_COLUMNS)
    rows, others = (Counter(tuple(row.values()) for row in table.to_pylist()) for table in (planned, made))
    differing = sorted({str(row[0]) for row in (rows - others) + (others - rows)})
    shown = ", ".join(differing[:_SHOWN]) + ", ..." * (len(differing) > _SHOWN)
    yield finding("not as planned", f"plan.parquet and scenes.parquet differ in {len(differing)} scenes: {shown}")


def _read(path: Path) -> pa.Table:
    there = [name for name in _CONTENTS if name in read_schema(path).names]
    return read_table(path, columns=[*_COLUMNS, *there])


def _other_objects(planned: pa.Table, made: pa.Table) -> Iterator[Finding]:
    """Scenes that show other objects than planned. `planned`, `made`: the same scenes in the same order.

    A twin shows what its scene does after an exchange, and twins.py compares the two; a failed scene shows nothing.
    """
    if not {*_CONTENTS} <= {*made.column_names} or "objects" not in planned.column_names:
        return
    judged = pc.and_(pc.equal(made["status"], "ok"), pc.is_null(made["twin_of"]))
    planned, made = planned.filter(judged), made.filter(judged)
    parts = [_parts(table["objects"]) for table in (planned, made)]
    if all(one.equals(other) for one, other in zip(*parts, strict=True)):
        return
    due, found = (_contents(*each) for each in parts)
    differing = np.flatnonzero([one != other for one, other in zip(due, found, strict=True)])
    if len(differing):
        shown = ", ".join(made["scene_id"].take(differing[:_SHOWN]).to_pylist()) + ", ..." * (len(differing) > _SHOWN)
        yield finding("not as planned", f"{len(differing)} scenes show other objects than planned: {shown}")


def _parts(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The number of objects of each scene, and the category and the values of every object."""
    lists = column.combine_chunks()
    things = pc.list_flatten(lists)
    return pc.list_value_length(lists), pc.struct_field(things, "category"), pc.struct_field(things, "attributes")


def _contents(numbers: pa.Array, categories: pa.Array, attributes: pa.Array) -> list[tuple[Any, ...]]:
    """By scene, its categories and values from left to right."""
    values = [tuple(sorted(each or ())) for each in attributes.to_pylist()]
    things = iter(zip(categories.to_pylist(), values, strict=True))
    return [tuple(islice(things, n or 0)) for n in numbers.to_pylist()]
