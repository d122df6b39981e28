"""Names that other commands turn into names of files are found when they are not plain."""

from pathlib import Path

import pyarrow as pa
import pytest

from generator.judge.benchmark import Benchmark
from generator.judge.names import name_findings
from tests.generator.judge.datasets import edit, judged, said

UNSAFE = ["../../private", "a/b", "*", "a b", "", "..", "a\n"]


@pytest.mark.parametrize(
    ("table", "column"), [("splits", "split"), ("items", "protocol"), ("items", "pool_id"), ("pools", "pool_id")]
)
def test_a_name_of_a_benchmark_that_could_leave_its_folder_is_found(
    copied: Path, benchmark: Path, table: str, column: str
) -> None:
    edit(benchmark, table, lambda rows: rows[0].update({column: "../../private"}))
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert f"{column} '../../private' of {table} is no plain name" in said(certificate, "unsafe name")


@pytest.mark.parametrize("name", ["../../private", "red", "-1"])
def test_a_scene_that_is_not_named_by_digits_is_found(copied: Path, benchmark: Path, name: str) -> None:
    edit(copied / "world", "scenes", lambda rows: rows[0].update(scene_id=name))
    edit(benchmark, "splits", lambda rows: rows[0].update(scene_id=name))
    found = said(judged(copied), "unsafe name")
    assert f"scene_id '{name}' of scenes" in found
    assert f"scene_id '{name}' of splits" in found


@pytest.mark.parametrize("name", UNSAFE)
def test_every_unsafe_name_is_found_once(name: str) -> None:
    tables = {
        "splits": pa.table({"scene_id": ["000000"] * 3, "split": ["train", name, name]}),
        "items": pa.table({"protocol": ["binary"], "split": ["id_val"], "pool_id": pa.array([None], pa.string())}),
        "pools": pa.table({"pool_id": ["grid-2"]}),
    }
    (found,) = name_findings(Benchmark(None, tables, {}, {}))  # type: ignore[arg-type]  # the check looks at the tables alone
    assert found["fault"] == "unsafe name"
