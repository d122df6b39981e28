"""Rows of every kind of file, and what is wrong with them."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.benchmarks.files import BOX_COLUMNS, Cell, Columns, Record, box_of, read_records
from generator.base.errors import UserError
from tests.evaluator.benchmarks.test_tables import write


@pytest.mark.parametrize("kind", [".json", ".jsonl", ".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_are_those_of_the_file_or_of_its_folder(
    tmp_path: Path, kind: str, whole: bool
) -> None:
    path = write(tmp_path, kind)
    records = list(read_records(tmp_path if whole else path))
    assert [(record.key, record.text("item"), record.file) for record in records] == [
        ("0", "007", path),
        ("1", "8", path),
        ("2", "é", path),
    ]


def test_byte_order_mark_of_windows_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"item": "007"}]', encoding="utf-8-sig")
    assert [record.text("item") for record in read_records(tmp_path / "a.json")] == ["007"]


def test_files_of_a_folder_come_by_name_and_with_those_of_data(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for path in (
        tmp_path / "b.json",
        tmp_path / "a.json",
        tmp_path / "data" / "c.json",
        tmp_path / "notes.txt",
    ):
        path.write_text('{"x": {"caption": "c"}}')
    assert [record.file.name for record in read_records(tmp_path)] == ["a.json", "b.json", "c.json"]


def test_images_in_cells_are_named_by_their_bytes(tmp_path: Path) -> None:
    images = [{"bytes": b"one", "path": None}, None, {"bytes": b"two", "path": None}]
    pq.write_table(pa.table({"image": images}), tmp_path / "a.parquet")
    first, second, third = read_records(tmp_path)
    assert first.value("image") == Cell(
        tmp_path / "a.parquet", 0, "image", hashlib.sha256(b"one").hexdigest()
    )
    assert third.value("image").row == 2
    with pytest.raises(UserError, match=r"Row 1 of .* has no 'image'"):
        second.value("image")


@pytest.mark.parametrize("value", [None, "x", [], 1e400])
def test_value_that_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(
        UserError, match=r"has no 'n'|Row 0 of .* as its 'n'; expected a whole number"
    ):
        Record(Path("a.json"), "0", {"n": value}).number("n")


def test_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no questions: expected a file that ends in \.csv"):
        list(read_records(tmp_path))


@pytest.mark.parametrize(
    ("kind_columns", "item", "kind"), [((), "set/4", "set"), (("tag",), "4", "T")]
)
def test_an_id_beside_a_column_of_kinds_is_the_whole_id(
    tmp_path: Path, kind_columns: tuple[str, ...], item: str, kind: str
) -> None:
    (tmp_path / "set.json").write_text(
        json.dumps([{"id": 4, "image": "1.jpg", "a": "x", "b": "y", "tag": "T"}])
    )
    (question,) = Columns(("image",), ("a", "b"), kind_columns, "id")(tmp_path / "set.json")
    assert (question.item, question.labels.kind) == (item, kind)


def test_a_box_needs_all_columns_and_pixels() -> None:
    boxes = [{"bbox_x": 1, "bbox_y": 2, "bbox_w": 3, "bbox_h": height} for height in (None, 0)]
    empty, flat = (Record(Path("x.json"), "0", box) for box in boxes)
    assert box_of(empty, BOX_COLUMNS) is None
    with pytest.raises(UserError, match="has a box of 3x0 pixels"):
        box_of(flat, BOX_COLUMNS)
