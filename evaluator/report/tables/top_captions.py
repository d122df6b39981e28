"""The three best captions that each model finds for a few images, beside one another (CREPE, table 13)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.report.tables.paper import Part
from evaluator.report.tables.sources import Source
from evaluator.report.tables.table import Cell, Column, Line, Table
from evaluator.runs.folder import Run
from generator.base.csv_tables import read_csv

ITEMS = 3
"""How many items of each split are shown, by a hash of their names."""
_NONE = Cell(reason="its runs have no best texts of these items")
_COLUMNS = {**dict.fromkeys(("protocol", "item_id", "kind", "split", "text"), pa.string()), "truth": pa.bool_()}

Top = dict[str, list[dict[str, Any]]]
"""By item, its best texts in their order."""


@dataclass(frozen=True)
class TopTable:
    """For each split a few items of a protocol and kind that all labels with runs were asked: of each label's first run, whether
    the best text is the true one, and the best texts.
    """

    number: str
    title: str
    protocol: str
    kind: str
    splits: Sequence[Part]
    wanted: str = "no run has best texts (tables/top.csv) of items that all others were asked too"

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where labels share no item."""
        chosen = [source for source in sources if source.audit is None]
        tops = [self._top(source.opened[0]) if source.opened else {} for source in chosen]
        shared = set.intersection(*(set(top) for top in tops if top)) if any(tops) else set()
        split_of = {item: texts[0]["split"] for top in tops for item, texts in top.items()}
        asked = next((source.opened[0] for source, top in zip(chosen, tops, strict=True) if top), None)
        lines: list[Line] = []
        for split in self.splits:
            of_split = [item for item in shared if split_of[item] == split.of["split"]]
            for i, item in enumerate(sorted(of_split, key=_hash)[:ITEMS]):
                cells = [
                    cell for source, top in zip(chosen, tops, strict=True) for cell in _cells(source, top.get(item))
                ]
                lines.append(
                    Line([split.head, *(_caption(asked, item) if asked else ())], cells, rule=i == 0 and bool(lines))
                )
        columns = [Column(head, source.name) for source in chosen for head in ("R@1", "Top 3 captions")]
        return Table(["split", "image", "caption"], columns, lines, f"Table {self.number}", self.title)

    def _top(self, run: Run) -> Top:
        path = run.folder / "tables" / "top.csv"
        if not path.exists():
            return {}
        table = read_csv(path, _COLUMNS)
        rows = table.filter((pc.field("protocol") == self.protocol) & (pc.field("kind") == self.kind)).to_pylist()
        found: Top = {}
        for row in rows:
            found.setdefault(row["item_id"], []).append(row)
        return found


def _cells(source: Source, texts: Sequence[dict[str, Any]] | None) -> list[Cell]:
    if texts is None:
        reason = Cell(reason=source.missing) if source.missing and not source.entries else _NONE
        return [reason, reason]
    right = texts[0]["truth"]
    said = "; ".join(f"{i}. {text['text']}" for i, text in enumerate(texts, 1))
    return [Cell(str(int(right)), numbers={"value": int(right), "unit": "share"}), Cell(said)]


def _caption(run: Run, item: str) -> tuple[str, str]:
    """The image and the true caption of an item."""
    rows = run.benchmark.candidates
    (row, *_) = rows.filter((pc.field("item_id") == item) & (pc.field("slot") == "c") & pc.field("truth")).to_pylist()
    return row["scene_id"], run.benchmark.text_of[row["text_id"]]


def _hash(item: str) -> str:
    return hashlib.sha256(item.encode()).hexdigest()
