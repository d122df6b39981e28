from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.dataset.records import PLAN, PLAN_FILE, plan_request, plan_schema


def write(folder: Path, schema: pa.Schema) -> None:
    pq.write_table(schema.empty_table(), folder / PLAN_FILE)


def test_a_plan_says_what_it_was_asked_for(tmp_path: Path) -> None:
    assert plan_request(tmp_path) is None
    write(tmp_path, plan_schema({"seed": 3}))
    assert plan_request(tmp_path) == {"seed": 3}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (PLAN, "is damaged"),
        (PLAN.with_metadata({"format": "other/1", "request": "{}"}), "not a plan of this version"),
        (
            pa.schema([("scene_id", pa.string())], {"format": "jackalope/1", "request": "{}"}),
            "not a plan of this version",
        ),
        (PLAN.with_metadata({"format": "jackalope/1", "request": "{"}), "is damaged"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, schema: pa.Schema, said: str) -> None:
    write(tmp_path, schema)
    with pytest.raises(UserError, match=said):
        plan_request(tmp_path)
