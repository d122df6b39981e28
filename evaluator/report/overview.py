"""The lines of tables that stand models side by side: a metric of a group of items, a cell for each split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.protocols.items import reported_splits
from evaluator.protocols.results import LABELS, Results, Row

GAP = "seen - unseen"


@dataclass(frozen=True)
class Line:
    """A metric of a group of items of one entry of pooled results. rows: by split, differences between splits included."""

    entry: Results
    rows: dict[str, Row]

    @property
    def first(self) -> Row:
        """One of the rows, for the labels that all have."""
        return next(iter(self.rows.values()))


def read_lines(entries: Sequence[Results], of: Callable[[Row], bool] = lambda row: True) -> list[list[Line]]:
    """For each metric and group of items, in the order of the rows, a line for each entry that has it. Rows by number of atoms,
    and those of which `of` is false, are left out."""
    found: dict[tuple[object, ...], dict[int, Line]] = {}
    for i, entry in enumerate(entries):
        for row in entry["rows"]:
            if row["n"] is None and of(row):
                lines = found.setdefault(tuple(row[name] for name in LABELS), {})
                lines.setdefault(i, Line(entry, {})).rows[row["split"]] = row
    return [list(lines.values()) for lines in found.values()]


def main_lines(entries: Sequence[Results]) -> list[list[Line]]:
    """`read_lines` of every protocol's main metric, which is the first one that an entry has of it."""
    main = {(id(entry), row["protocol"]): row["metric"] for entry in entries for row in reversed(entry["rows"])}
    metrics = {(protocol, metric) for (_, protocol), metric in main.items()}
    return read_lines(entries, lambda row: (row["protocol"], row["metric"]) in metrics)


def shown_splits(lines: Sequence[Line]) -> list[str]:
    """The splits that have a column: those that are reported, else val, and the gap between seen and unseen."""
    found = [split for line in lines for split in line.rows]
    return [*(reported_splits(found) or sorted(set(found))), *([GAP] if GAP in found else [])]


def varying_labels(lines: Sequence[Line]) -> list[str]:
    """The labels but protocol and metric in which lines differ."""
    return [name for name in LABELS[2:] if len({line.first[name] for line in lines}) > 1]


def varying_entries(entries: Sequence[Results]) -> list[str]:
    """What tells entries apart: `model`, and `benchmark` where they have several. Nothing for one entry."""
    several = [name for name in ("model", "benchmark") if len({entry[name] for entry in entries}) > 1]
    return several or (["model"] if len(entries) > 1 else [])
