"""The table of what training changed elsewhere: models before and after, on benchmarks that were not trained for."""

from dataclasses import replace

from evaluator.protocols.items import reported_splits
from evaluator.report.cells import chance_cell
from evaluator.report.papers.given import AFTER, BEFORE, Given, Label, Labels
from evaluator.report.papers.paper import PaperTable, Part, by_label, minus, part
from evaluator.report.table import Cell, Table

_LABELS = ("benchmark", "protocol", "metric", "kind", "skill", "level", "split")


def changed_elsewhere(number: str = "F") -> PaperTable:
    """For each benchmark that was measured before and after, each main metric and split, a line for each label."""
    wanted = "no model was measured elsewhere (--before and --after)"
    return PaperTable(number, "What training changed elsewhere", _table, wanted)


def _table(given: Given) -> Table:
    why = "what its training changed elsewhere was not measured (--before and --after)"
    labels = [replace(each, entries=each.elsewhere, missing=each.missing or why) for each in given.labels]
    keys: dict[tuple[object, ...], None] = {}
    for rows in (entry["rows"] for label in labels for entry in label.entries):
        splits = reported_splits(row["split"] for row in rows)
        for row in rows:
            if row["is_main"] and not row["is_gap"] and row["n"] is None and row["split"] in splits:
                keys.setdefault(tuple(row[name] for name in _LABELS))
    found = [
        Part(f"{key[0]}: {' '.join(str(label) for label in key[1:] if label)}", dict(zip(_LABELS, key, strict=True)))
        for key in keys
    ]
    columns = (
        part("Before", when=BEFORE),
        part("After", when=AFTER),
        part("Change", minus({"when": AFTER}, {"when": BEFORE})),
        part("Chance", _chance),
    )
    return by_label(labels if found else [], columns, found, "measured")


def _chance(label: Label, labels: Labels) -> Cell:
    row, _ = label.find({**labels, "when": AFTER})
    return chance_cell([row] if row else [])
