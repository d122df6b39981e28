"""The three best captions that each model finds for a few images, beside one another (CREPE, table 13)."""

import hashlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.report.papers.given import Given, Label
from evaluator.report.papers.paper import Part
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.runs.folder import Run
from generator.base.csv_tables import read_csv

ITEMS = 3
"""How many items of each split are shown, by a hash of their names."""
_NONE = Cell(reason="its runs have no best texts of these items")
_COLUMNS = {**dict.fromkeys(("protocol", "item_id", "kind", "split", "text"), pa.string()), "truth": pa.bool_()}
Top = dict[str, list[dict[str, Any]]]
"""By item, its best texts in their order."""


def top_captions(given: Given, protocol: str, kind: str, splits: Sequence[Part]) -> Table:
    """For each split a few items of a protocol and kind that all labels with runs were asked: of each label's first
    run, whether the best text is the true one, and the best texts. Without lines where labels share no item."""
    labels = given.labels
    tops = [_top(label.opened[0], protocol, kind) if label.opened else {} for label in labels]
    shared = set.intersection(*(set(top) for top in tops if top)) if any(tops) else set()
    split_of = {item: texts[0]["split"] for top in tops for item, texts in top.items()}
    asked = next((label.opened[0] for label, top in zip(labels, tops, strict=True) if top), None)
    lines: list[Line] = []
    for split in splits:
        of_split = [item for item in shared if split_of[item] == split.of["split"]]
        for i, item in enumerate(sorted(of_split, key=_hash)[:ITEMS]):
            cells = [cell for label, top in zip(labels, tops, strict=True) for cell in _cells(label, top.get(item))]
            caption = _caption(asked, item) if asked else ()
            lines.append(Line([split.head, *caption], cells, rule=i == 0 and bool(lines)))
    columns = [Column(head, label.name) for label in labels for head in ("R@1", "Top 3 captions")]
    return Table(["split", "image", "caption"], columns, lines)


def _top(run: Run, protocol: str, kind: str) -> Top:
    path = run.folder / "tables" / "top.csv"
    if not path.exists():
        return {}
    rows = read_csv(path, _COLUMNS).filter((pc.field("protocol") == protocol) & (pc.field("kind") == kind))
    found: Top = {}
    for row in rows.to_pylist():
        found.setdefault(row["item_id"], []).append(row)
    return found


def _cells(label: Label, texts: Sequence[dict[str, Any]] | None) -> list[Cell]:
    if texts is None:
        return [Cell(reason=label.missing) if label.missing and not label.entries else _NONE] * 2
    right = int(texts[0]["truth"])
    said = "; ".join(f"{i}. {text['text']}" for i, text in enumerate(texts, 1))
    return [Cell(str(right), numbers={"value": right, "unit": "share"}), Cell(said)]


def _caption(run: Run, item: str) -> tuple[str, str]:
    """The image and the true caption of an item."""
    rows = run.benchmark.candidates
    (row, *_) = rows.filter((pc.field("item_id") == item) & (pc.field("slot") == "c") & pc.field("truth")).to_pylist()
    return row["scene_id"], run.benchmark.text_of[row["text_id"]]


def _hash(item: str) -> str:
    return hashlib.sha256(item.encode()).hexdigest()
