"""Formats, names and files of components."""

from pathlib import Path

from generator.base.files import write_sums
from generator.dataset.records import FORMAT
from generator.judge.components import benchmark_faults, format_faults


def test_the_format_is_the_one_that_is_judged() -> None:
    assert list(format_faults("x", {"format": FORMAT})) == []
    for other in ("nope", "jackalope/0", None):
        (found,) = format_faults("x", {"format": other})
        assert found == {"fault": "wrong format", "what": f"x has the format '{other}', expected '{FORMAT}'"}


def test_a_benchmark_is_called_as_its_folder_and_holds_its_tables(tmp_path: Path) -> None:
    (tmp_path / "items.parquet").write_bytes(b"")
    write_sums(tmp_path, {})
    assert list(benchmark_faults(tmp_path, {"format": FORMAT, "name": tmp_path.name})) == []
    (tmp_path / "run.sh").write_bytes(b"")
    write_sums(tmp_path, {})
    faults = [each["fault"] for each in benchmark_faults(tmp_path, {"format": FORMAT, "name": "other"})]
    assert faults == ["wrong manifest", "stray file"]
