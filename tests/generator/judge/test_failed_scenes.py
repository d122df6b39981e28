"""Rows of failed scenes hold a reason and nothing else."""

import pyarrow as pa
import pytest

from generator.dataset.records import SCENES
from generator.judge.failed_scenes import failed_faults


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"status": "ok", "scene": "{}"}, None),
        ({"status": "failed", "reason": "no room"}, None),
        ({"status": "failed"}, "failed, and has a record or no reason"),
        ({"status": "failed", "reason": "no room", "scene": "{}"}, "failed, and has a record or no reason"),
        ({"status": "failed", "reason": "x", "objects": [{"index": 0}]}, "failed, and has a record or no reason"),
        ({"status": "well"}, "has the status 'well'"),
        ({"status": None}, "has the status 'None'"),
    ],
)
def test_a_row_says_whether_its_scene_was_rendered(row: dict[str, object], fault: str | None) -> None:
    table = pa.Table.from_pylist([{"scene_id": "000000", **row}], schema=SCENES)
    found = [each["what"] for each in failed_faults(table)]
    assert (found == []) if fault is None else (len(found) == 1 and fault in found[0])
