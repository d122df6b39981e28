"""The table of what training changed elsewhere: models before and after, on benchmarks that were not trained for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluator.protocols.items import reported_splits
from evaluator.protocols.results import Row
from evaluator.report.tables.paper import PaperTable, Part, minus, part
from evaluator.report.tables.result_cells import chance_cell
from evaluator.report.tables.sources import AFTER, BEFORE, Labels, Source
from evaluator.report.tables.table import Cell, Table

_LABELS = ("benchmark", "protocol", "metric", "kind", "skill", "level", "split")
_NOT_MEASURED = "what its training changed elsewhere was not measured (--before and --after)"


def _chance(source: Source, labels: Labels) -> Cell:
    row, _ = source.find({**labels, "when": AFTER})
    return chance_cell([row] if row else [])


_COLUMNS = (
    part("Before", when=BEFORE),
    part("After", when=AFTER),
    part("Change", minus({"when": AFTER}, {"when": BEFORE})),
    part("Chance", _chance),
)


@dataclass(frozen=True)
class ForgettingTable:
    """For each benchmark that models were measured on, each main metric and split, a line for each label of the runs."""

    number: str
    title: str
    wanted: str = "no model was measured elsewhere (--before and --after)"

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where no run says what its training changed."""
        measured = [
            replace(source, entries=source.elsewhere, missing=source.missing or _NOT_MEASURED) for source in sources
        ]
        return PaperTable(
            self.number, self.title, _COLUMNS, rows=_rows(measured), head="measured", wanted=self.wanted
        ).make(measured)


FORGETTING = ForgettingTable("F", "What training changed elsewhere")
"""For papers that have no such table."""


def _rows(sources: Sequence[Source]) -> list[Part]:
    """A row for each benchmark, main metric, group of items and reported split."""
    keys: dict[tuple[object, ...], None] = {}
    for entry in (entry for source in sources for entry in source.entries):
        rows: list[Row] = entry["rows"]
        main = {row["protocol"]: row["metric"] for row in reversed(rows)}
        splits = reported_splits(row["split"] for row in rows)
        for row in rows:
            if row["metric"] == main[row["protocol"]] and row["n"] is None and row["split"] in splits:
                keys.setdefault(tuple(row[name] for name in _LABELS))
    return [
        Part(f"{key[0]}: {' '.join(str(label) for label in key[1:] if label)}", dict(zip(_LABELS, key, strict=True)))
        for key in keys
    ]
