"""A published benchmark in memory is the benchmark that its run's folder has."""

from pathlib import Path

import pytest

from evaluator.benchmarks.reading import READING
from evaluator.benchmarks.registry import BenchmarkSource, open_external, write_questions
from generator.base.errors import UserError
from generator.dataset.certificate import describe_certificate
from generator.dataset.reader import Benchmark
from generator.dataset.records import BENCHMARK_TABLES
from tests.evaluator.benchmarks.conftest import WRITERS, write_table


@pytest.mark.parametrize("name", ["sugarcrepe", "bivlc", "crepe", "table"])
def test_tables_and_digest_are_those_of_its_folder(name: str, tmp_path: Path) -> None:
    pictures, benchmark = open_external(BenchmarkSource(WRITERS[name](tmp_path / "files"), name))
    tables = {table: getattr(benchmark, table) for table in BENCHMARK_TABLES}
    about = benchmark.manifest.get(READING, {})
    folder = write_questions(tmp_path / "run", name, tables=tables, about=about)
    written = Benchmark(folder)
    assert benchmark.name == written.name == name
    assert benchmark.digest == written.digest
    assert benchmark.sums == written.sums
    assert benchmark.manifest == written.manifest
    assert len(benchmark.items) > 0
    assert len(benchmark.splits) == len(benchmark.pools) == 0
    for table in BENCHMARK_TABLES:
        assert getattr(benchmark, table).equals(getattr(written, table)), table
    assert set(benchmark.candidates["scene_id"].to_pylist()) <= set(pictures.by_id)
    assert (READING in benchmark.manifest) == (name != "table")


def test_it_has_neither_holdout_nor_certificate(tmp_path: Path) -> None:
    source = BenchmarkSource(WRITERS["aro"](tmp_path / "files"), "aro")
    pictures, benchmark = open_external(source)
    assert benchmark.holdout is None
    assert describe_certificate(benchmark, pictures) == "not verified"


def test_messages_name_it_as_users_do(tmp_path: Path) -> None:
    file = write_table(tmp_path / "files")
    file.write_text(file.read_text().replace("seen", "half/seen"))
    with pytest.raises(UserError, match=rf"table:{file}/items.parquet has the split 'half/seen'"):
        open_external(BenchmarkSource(file, "table"))
