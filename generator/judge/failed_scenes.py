"""Checks the rows of scenes that could not be rendered, and the status of all rows."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.judge.findings import Finding, finding


def failed_faults(table: pa.Table) -> Iterator[Finding]:
    """Rows of scenes.parquet with a status that is none, and failed scenes with a record, objects or no reason."""
    status = table["status"]
    for row in np.flatnonzero(~pc.is_in(status, pa.array(["ok", "failed"])).to_numpy(zero_copy_only=False)).tolist():
        yield finding("wrong record", f"scene {table['scene_id'][row]} has the status '{status[row]}'")
    failed = table.filter(pc.equal(status, "failed"))
    sizes = [pc.fill_null(pc.list_value_length(failed[name]), 0).to_pylist() for name in ("objects", "relations")]
    columns = (failed[name].to_pylist() for name in ("scene_id", "reason", "scene"))
    for scene_id, reason, record, *listed in zip(*columns, *sizes, strict=True):
        if not reason or record is not None or any(listed):
            yield finding("wrong record", f"scene {scene_id} failed, and has a record or no reason")
