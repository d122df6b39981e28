"""Checks that a world has the scenes that its plan lists."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generator.judge.files import DAMAGE
from generator.judge.findings import Finding, finding

_COLUMNS = ["scene_id", "cluster_id", "twin_of"]
_SHOWN = 5


def plan_faults(folder: Path, shard: Sequence[int] | None) -> Iterator[Finding]:
    """Scenes that plan.parquet and scenes.parquet list differently; none if the world has no plan.

    `shard`: (i, n) if the world is a shard: it holds every n-th scene of the plan from the i-th on.
    """
    if not (folder / "plan.parquet").exists():
        return
    try:
        i, n = shard or (1, 1)
        planned, made = (pq.read_table(folder / f"{name}.parquet", columns=_COLUMNS) for name in ("plan", "scenes"))
        turn = pa.array(range(i - 1, len(planned), n), pa.int64())
        planned, made = planned.take(turn).sort_by("scene_id"), made.sort_by("scene_id")
    except (*DAMAGE, TypeError) as error:
        yield finding("damaged file", f"{folder.name}/plan.parquet cannot be compared with scenes.parquet: {error}")
        return
    if planned.equals(made):
        return
    rows, others = (Counter(tuple(row.values()) for row in table.to_pylist()) for table in (planned, made))
    differing = sorted({str(row[0]) for row in (rows - others) + (others - rows)})
    shown = ", ".join(differing[:_SHOWN]) + ", ..." * (len(differing) > _SHOWN)
    yield finding("not as planned", f"plan.parquet and scenes.parquet differ in {len(differing)} scenes: {shown}")
