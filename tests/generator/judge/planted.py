"""A dataset in which a test plants a fault."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import assume
from hypothesis import strategies as st

from bench.worlds import BENCHMARK
from generator.base.files import read_json, write_json
from generator.dataset.records import BENCHMARK_TABLES, SCENES
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from tests.generator.judge.datasets import seal

Row = dict[str, Any]

Fault = tuple[str, str]
"""The fault that has to be found, and words that its finding has to have."""


class Planted:
    """A dataset that is being damaged: its tables as rows, and how to choose among them."""

    def __init__(self, root: Path, data: st.DataObject, name: str = BENCHMARK):
        self.root, self.folder, self._data = root, root / "benchmarks" / name, data
        self.tables = {name: pq.read_table(self.folder / f"{name}.parquet").to_pylist() for name in BENCHMARK_TABLES}
        self.scenes: list[Row] = pq.read_table(root / "world/scenes.parquet").to_pylist()
        self.manifest = read_json(self.folder / "manifest.json")
        self.block = read_json(self.folder / "holdout.json")
        self.split = {row["scene_id"]: row["split"] for row in self.tables["splits"]}
        self.item = {row["item_id"]: row for row in self.tables["items"]}
        self.text = {row["text_id"]: row for row in self.tables["texts"]}

    def choose(self, rows: Any) -> Any:
        """One of some rows, drawn by Hypothesis."""
        rows = list(rows)
        assume(rows)
        return self._data.draw(st.sampled_from(rows))

    def candidates(self, **having: Any) -> Iterator[Row]:
        """Candidates with such values, in their own columns or in those of their item."""
        for row in self.tables["candidates"]:
            item = self.item[row["item_id"]]
            if all(
                (row if name in ("truth", "slot", "changed", "item_id") else item)[name] == value
                for name, value in having.items()
            ):
                yield row

    def move(self, old: set[str], new: set[str]) -> tuple[str, str]:
        """List a scene of one of the `old` splits in another, one of the `new`; its id and its split now."""
        row = self.choose(row for row in self.tables["splits"] if row["split"] in old)
        row["split"] = self.choose(sorted(new - {row["split"]}))
        return row["scene_id"], row["split"]

    def held_out(self) -> tuple[str, str]:
        """A held-out binding."""
        value, thing = self.choose(self.block["bindings"])
        return value, thing

    def words(self, text: str) -> str:
        """The id of a text, with a row of its own where there is none."""
        text_id = hashlib.sha256(text.encode()).hexdigest()[:16]
        if text_id not in self.text:
            said = read_text(text, Lexicon.of((self.root / "world/vocabulary.toml").read_text(encoding="utf-8")))
            counts = {"n_objects": said.n_objects, "n_attributes": said.n_attributes, "n_relations": len(said.links)}
            row = {
                "text_id": text_id,
                "text": text,
                "form": said.to_json(),
                "template": "x",
                "level": said.level,
                **counts,
            }
            self.tables["texts"].append(row)
            self.text[text_id] = row
        return text_id

    def seal(self) -> None:
        """Write everything with its sums and cards, so that only the content is wrong."""
        for name, schema in BENCHMARK_TABLES.items():
            pq.write_table(pa.Table.from_pylist(self.tables[name], schema=schema), self.folder / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(self.scenes, schema=SCENES), self.root / "world/scenes.parquet")
        write_json(self.folder / "manifest.json", self.manifest)
        seal(self.root / "world")
        seal(self.folder)


@contextmanager
def copy_of(root: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(root, Path(folder) / "dataset"))
