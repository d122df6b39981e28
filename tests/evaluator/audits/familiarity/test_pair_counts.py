"""Tables of counts: ours and those that others publish."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS, Shown, is_table, read_counts, read_table
from generator.base.errors import UserError
from generator.base.parquet import write_table

HEAD = "attr,obj_lemma,perfect_count,close_count\n"


def write(path: Path, rows: list[tuple[str, str, int, int]]) -> Path:
    write_table(path, [dict(zip(PAIR_COUNTS.names, row, strict=True)) for row in rows], PAIR_COUNTS)
    return path


def test_only_what_is_asked_is_kept_and_all_is_counted(tmp_path: Path) -> None:
    many = [(f"a{i}", "car", i, 1) for i in range(1000)]
    table = write(tmp_path / "t.parquet", [*many, ("of", "birds", 1, 0), ("the", "car", 1, 0), ("red", "bus", 2, 3)])
    asked = {("a7", "car"), ("red", "bus"), ("blue", "bus"), ("a7", "bus")}
    assert read_counts(table, asked) == Shown({("a7", "car"): (7, 1), ("red", "bus"): (2, 3)}, 1003, 2)
    assert read_counts(table, set()) == Shown({}, 1003, 2)


def test_a_published_table_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "coco_train_pair_counts.csv"
    path.write_text("\ufeff,close_count,attr,obj_lemma,perfect_count\n0,1,null,car,2\n1,0,of,person,40\n")
    assert is_table(path)
    assert [row for some in read_table(path) for row in some.to_pylist()] == [
        {"attr": "null", "obj_lemma": "car", "perfect_count": 2, "close_count": 1},
        {"attr": "of", "obj_lemma": "person", "perfect_count": 40, "close_count": 0},
    ]


def test_a_table_of_captions_is_no_table_of_counts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"caption": ["a"]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("x")
    assert is_table(write(tmp_path / "t.parquet", [("a", "b", 1, 1)]))
    assert not any(is_table(tmp_path / name) for name in ("a.parquet", "b.parquet", "c.txt"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attr,obj_lemma,perfect_count\na,b,1\n", "close_count"),
        (f"{HEAD}a,b,1,x\n", "is no table of counts"),
        ("", "is no table of counts"),
        (HEAD, "t.csv has no row"),
        (f"{HEAD}a,b,1,-1\n", "negative count"),
        (f"{HEAD}a,b,1,\n", "negative count"),
    ],
)
def test_what_is_no_table_of_counts_is_said(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=said):
        list(read_table(tmp_path / "t.csv"))
    (tmp_path / "x.parquet").write_bytes(b"x")
    with pytest.raises(UserError, match=r"x.parquet is damaged"):
        read_counts(tmp_path / "x.parquet", set())
