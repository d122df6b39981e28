"""A published benchmark in memory: its tables go from its reader to the items of a run without a
folder."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.benchmarks.reading import READING
from generator.base.paths import check_benchmark_name, check_names
from generator.base.tables import TableWriter
from generator.dataset.reader import Benchmark
from generator.dataset.records import BENCHMARK_TABLES, FORMAT, VERSION


class BenchmarkInMemory(Benchmark):
    """The tables of a published benchmark, with the digest that its folder in a run has.

    The digest is that of SHA256SUMS, as `generator.dataset.writer` writes it: a run is continued
    only for the same digest, and its folder holds the same tables once it is finished.

    Args:
        name: The name of the benchmark.
        source: Its files, as users write them, such as `sugarcrepe:FOLDER`; messages name it.
        tables: Some of the tables of `records.BENCHMARK_TABLES`, by name; the others are empty.
        about: The entry READING of its manifest; {} for none.

    Raises:
        UserError: The benchmark, or a split, a protocol or a pool in its tables, has a name that
            cannot name a file.
    """

    def __init__(
        self, name: str, source: str, *, tables: Mapping[str, pa.Table], about: Mapping[str, Any]
    ):
        self.name = check_benchmark_name(name)
        # Not a folder that exists: a path of the form NAME:PATH that exists is a dataset's folder.
        self.folder = Path(source)
        self.sums = {}
        for table_name, schema in BENCHMARK_TABLES.items():
            table = tables.get(table_name, schema.empty_table())
            file_name = f"{table_name}.parquet"
            check_names(table, self.folder / file_name)
            self.sums[file_name] = hashlib.sha256(_parquet_bytes(table, schema)).hexdigest()
            # Benchmark looks tables up among its attributes before it reads a file.
            self.__dict__[table_name] = table
        lines = [f"{digest}  {file_name}\n" for file_name, digest in sorted(self.sums.items())]
        manifest: Any = {"format": FORMAT, "version": VERSION, "name": name}
        if about:
            manifest[READING] = dict(about)
        manifest["sums"] = hashlib.sha256("".join(lines).encode()).hexdigest()
        self.manifest = manifest


def _parquet_bytes(table: pa.Table, schema: pa.Schema) -> bytes:
    """The bytes of the file that the table is written to."""
    sink = pa.BufferOutputStream()
    writer = TableWriter(sink, schema)
    writer.add_all(table)
    writer.close()
    content: bytes = sink.getvalue().to_pybytes()
    return content
