"""The tables: what a row of each holds survives Parquet."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.files import write_table
from generator.dataset.outputs import ObjectBoxes
from generator.dataset.records import BENCHMARK_TABLES, SCENES


def test_objects_survive_parquet(tmp_path: Path) -> None:
    thing = {"index": 0, "category": "cube", "attributes": [("color", "red")], "amodal_box": [1, 2, 3, 4],
             "visible_fraction_estimate": 0.5}  # fmt: skip
    write_table(tmp_path / "scenes", [{"scene_id": "0", "objects": [thing]}], SCENES)
    [row] = pq.read_table(tmp_path / "scenes", schema=SCENES).to_pylist()
    assert row["objects"] == [thing]
    assert row["relations"] is None


def test_words_for_boxes_are_those_of_the_boxes_files() -> None:
    columns = [field.name for field in SCENES.field("objects").type.value_type]
    of_boxes = ObjectBoxes.__dataclass_fields__
    assert {"index", "category", "amodal_box"} <= set(columns) & set(of_boxes)
    assert not {"box", "visible", "visible_fraction"} & set(columns)


def test_every_table_of_a_benchmark_can_be_empty(tmp_path: Path) -> None:
    for name, schema in BENCHMARK_TABLES.items():
        write_table(tmp_path / name, [], schema)
        assert pq.read_table(tmp_path / name).schema.equals(pa.schema(schema))
