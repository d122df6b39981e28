"""What is said below a table of several models: intervals, certificates, runs, ties, training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.registry import find_protocol
from evaluator.provenance.contamination import UNKNOWN, mark_of, unknown_training
from evaluator.report.tables.cells import confidence
from evaluator.report.tables.table import Cell
from evaluator.runs.partitions import splits_said


def notes_of(cells: Sequence[Cell]) -> list[str]:
    """Sentences on the results that some cells stand in: what all share once, what differs for each model."""
    entries = _results(cells)
    if not entries:
        return []
    ties = max((cell.numbers.get("ties") or 0 for cell in cells), default=0)
    pools = {
        f"{entry['model']}: {said}": None
        for cell in cells for entry in [cell.of] if entry and "protocol" in cell.numbers
        if (said := find_protocol(cell.numbers["protocol"]).caption(dict(entry)))
    }  # fmt: skip
    several = [entry for entry in entries if entry["runs"] > 1]
    runs = _by_value(
        several, lambda entry: f"{entry['runs']} runs over {entry['blocks']} block{'s' * (entry['blocks'] > 1)}"
    )
    unknown = [entry for entry in entries if _training(entry)["status"] == UNKNOWN]
    return [
        f"In %, differences in points, {confidence(dict(entries[0]))} intervals of bindings like these. A tie is never correct; ties of a "
        f"cell: at most {ties:,}.",
        f"Datasets: {_by_value(entries, lambda entry: entry['certificate'])}.",
        *([f"Pooled: {runs}."] if runs else []),
        *spread_notes(entries),
        *differences(entries),
        *pools,
        *(f"{entry['model']}: at most {entry['rules']['limit']:,} items of a protocol." for entry in entries if entry["rules"].get("limit")),
        *dict.fromkeys(line for entry in entries for line in splits_said(entry["rules"])),
        *([f"What they were trained on is unknown: {', '.join(dict.fromkeys(entry['model'] for entry in unknown))}."] if unknown else []),
    ]  # fmt: skip


def marks_of(cells: Sequence[Cell]) -> str:
    """What is said of the contaminated models among some cells; "" where none is."""
    marks = {f"{entry['model']}: {mark_of(dict(entry))}": None for entry in _results(cells) if mark_of(dict(entry))}
    return " ".join(marks)


def _training(entry: Mapping[str, Any]) -> dict[str, Any]:
    return dict(entry.get("training") or unknown_training())


def _results(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The results that cells stand in, each once."""
    return list({id(cell.of): dict(cell.of) for cell in cells if cell.of}.values())


def _by_value(entries: Sequence[Mapping[str, Any]], said: Callable[[Mapping[str, Any]], str]) -> str:
    """What is said of the models, with their names where it differs.

    >>> _by_value([{"model": "a", "x": "1"}, {"model": "b", "x": "2"}, {"model": "c", "x": "1"}], lambda each: each["x"])
    '1 (a, c); 2 (b)'
    """
    names: dict[str, dict[str, None]] = {}
    for entry in entries:
        names.setdefault(said(entry), {})[entry["model"]] = None
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{value} ({', '.join(of)})" for value, of in names.items())
