"""A dataset that a test changes and seals again, with every digest and card recomputed."""

import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.files import read_json, write_json
from generator.dataset.records import BENCHMARK_TABLES, SCENES
from generator.judge.verify import verify_dataset
from tests.generator.judge.datasets import seal, text_row

Row = dict[str, Any]

Fault = tuple[str, str]
"""The fault that has to be found, and words that its finding has to have."""


class Planted:
    """The tables of a dataset as rows, and how to choose among them. `after` runs when all is
    sealed."""

    def __init__(self, root: Path, name: str, seed: int = 0):
        self.root, self.folder, self._random = root, root / "benchmarks" / name, random.Random(seed)
        self.tables = {
            name: pq.read_table(self.folder / f"{name}.parquet").to_pylist()
            for name in BENCHMARK_TABLES
        }
        self.scenes: list[Row] = pq.read_table(root / "world/scenes.parquet").to_pylist()
        self.world = read_json(root / "world/manifest.json")
        self.manifest = read_json(self.folder / "manifest.json")
        self.block = read_json(self.folder / "holdout.json")
        self.split = {row["scene_id"]: row["split"] for row in self.tables["splits"]}
        self._scene = {row["scene_id"]: row for row in self.scenes}
        self.item = {row["item_id"]: row for row in self.tables["items"]}
        self.text = {row["text_id"]: row for row in self.tables["texts"]}
        self.after: Callable[[], object] = lambda: None

    def choose(self, rows: Iterable[Any]) -> Any:
        """One of some rows."""
        return self._random.choice(list(rows))

    def scene(self, *splits: str) -> Row:
        """A scene of one of the splits, which is no twin."""
        rows = (
            row
            for row in self.scenes
            if self.split.get(row["scene_id"]) in splits and not row["twin_of"]
        )
        row: Row = self.choose(rows)
        return row

    def items(self, protocol: str, **having: Any) -> Iterator[Row]:
        """The items of a protocol with such values."""
        for row in self.tables["items"]:
            if row["protocol"] == protocol and all(
                row[name] == value for name, value in having.items()
            ):
                yield row

    def rows_of(self, item: Mapping[str, Any]) -> list[Row]:
        """The candidates of an item."""
        return [row for row in self.tables["candidates"] if row["item_id"] == item["item_id"]]

    def candidates(self, protocol: str, **having: Any) -> Iterator[Row]:
        """Candidates of a protocol with such values, in their own columns or in those of their
        item."""
        for row in self.tables["candidates"]:
            item = self.item[row["item_id"]]
            own = ("truth", "slot", "changed")
            if item["protocol"] == protocol and all(
                (row if name in own else item)[name] == value for name, value in having.items()
            ):
                yield row

    def candidate(self, protocol: str, **having: Any) -> Row:
        """One of the candidates of a protocol with such values."""
        row: Row = self.choose(self.candidates(protocol, **having))
        return row

    def scene_of(self, row: Mapping[str, Any]) -> Row:
        """The scene of a candidate or of a row of the splits."""
        return self._scene[row["scene_id"]]

    def name_candidate(self, row: Mapping[str, Any]) -> str:
        """How findings name a candidate."""
        return (
            f"item {row['item_id']}, scene {row['scene_id']}: '{self.text[row['text_id']]['text']}'"
        )

    def move(self, old: set[str], new: set[str]) -> tuple[str, str]:
        """List a scene of one of the `old` splits in another, one of the `new`; its id and its
        split now."""
        row = self.choose(row for row in self.tables["splits"] if row["split"] in old)
        row["split"] = self.choose(sorted(new - {row["split"]}))
        return row["scene_id"], row["split"]

    def leave_out(self, scene_id: str) -> None:
        """Take a scene out of its split, with its items."""
        for row in self.tables["splits"]:
            if row["scene_id"] == scene_id:
                row["split"] = None
        items = {row["item_id"] for row in self.tables["candidates"] if row["scene_id"] == scene_id}
        for name in ("candidates", "items"):
            self.tables[name] = [row for row in self.tables[name] if row["item_id"] not in items]

    def held_out(self) -> tuple[str, str]:
        """A held-out binding."""
        value, category = self.choose(self.block["bindings"])
        return value, category

    def add_text(self, text: str) -> str:
        """The id of a text, with a row of its own where there is none."""
        row = text_row(text)
        if row["text_id"] not in self.text:
            self.tables["texts"].append(row)
            self.text[row["text_id"]] = row
        return str(row["text_id"])

    def hold_out(self, **changes: Any) -> None:
        """Change the holdout, in its file and in the manifest."""
        self.block.update(changes)
        self.manifest["holdout"] = self.block
        write_json(self.folder / "holdout.json", self.block)

    def recount(self) -> None:
        """State the numbers of scenes and items that the tables have."""
        items: dict[str, int] = {}
        for row in self.tables["items"]:
            name = f"{row['protocol']} {row['kind']}"
            items[name] = items.get(name, 0) + 1
        self.manifest["texts"]["items"] = items
        self.manifest["scenes"] = {
            split: sum(row["split"] == split for row in self.tables["splits"])
            for split in self.manifest["scenes"]
        }

    def seal(self) -> None:
        """Write everything with its sums and cards, so that only the content is wrong."""
        for name, schema in BENCHMARK_TABLES.items():
            pq.write_table(
                pa.Table.from_pylist(self.tables[name], schema=schema),
                self.folder / f"{name}.parquet",
            )
        pq.write_table(
            pa.Table.from_pylist(self.scenes, schema=SCENES), self.root / "world/scenes.parquet"
        )
        write_json(self.folder / "manifest.json", self.manifest)
        write_json(self.root / "world/manifest.json", self.world)
        seal(self.root / "world")
        seal(self.folder)
        self.after()


def assert_fault_is_found(
    clean: Path, copy: Path, benchmark: str, plant: Callable[[Planted], Fault]
) -> None:
    """Plant a fault into a copy of a clean dataset: the judge has to find it and to name it."""
    shutil.copytree(clean, copy)
    data = Planted(copy, benchmark)
    fault, words = plant(data)
    data.seal()
    findings = verify_dataset(copy, benchmark)[benchmark]["findings"]
    assert any(entry["fault"] == fault and words in entry["what"] for entry in findings), findings
