"""Values of the wrong type in the JSON files of a dataset are named in a sentence."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.files import check_shape
from generator.dataset.records import (
    PLAN,
    PLAN_FILE,
    BenchmarkManifest,
    HoldoutRecord,
    IndexRecord,
    WorldManifest,
    plan_request,
    plan_schema,
)

WHOLE: dict[str, Any] = {
    "sums": "0",
    "request": {"width": 8, "objects": [2, 2], "seed": 0},
    "scenes": 3,
    "failed": 0,
}


@pytest.mark.parametrize(
    ("shape", "data", "key"),
    [
        (WorldManifest, {"request": {"width": "8"}}, "request.width"),
        (BenchmarkManifest, {"scenes": [3]}, "scenes"),
        (HoldoutRecord, {"bindings": [["red"]]}, "bindings.0"),
        (IndexRecord, {"benchmarks": {"a": 3}}, "benchmarks.a"),
    ],
)
def test_a_value_of_another_type_is_named_by_its_key_and_file(
    shape: Any, data: dict[str, Any], key: str
) -> None:
    with pytest.raises(UserError) as caught:
        check_shape(data, shape, Path("manifest.json"))
    assert caught.value.message.startswith(f"manifest.json is damaged ({key}: ")
    assert caught.value.message.endswith("; restore it or make it again.")


def test_right_unknown_and_missing_keys_pass() -> None:
    """Missing keys raise when they are read."""
    check_shape(WHOLE, WorldManifest, Path("m"))
    check_shape({"new": object()}, WorldManifest, Path("m"))


def test_plan_keeps_its_request(tmp_path: Path) -> None:
    assert plan_request(tmp_path) is None
    pq.write_table(plan_schema({"seed": 3}).empty_table(), tmp_path / PLAN_FILE)
    assert plan_request(tmp_path) == {"seed": 3}


@pytest.mark.parametrize(
    ("schema", "words"),
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
def test_a_plan_of_another_format_is_refused(tmp_path: Path, schema: pa.Schema, words: str) -> None:
    pq.write_table(schema.empty_table(), tmp_path / PLAN_FILE)
    with pytest.raises(UserError, match=words):
        plan_request(tmp_path)
