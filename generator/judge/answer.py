"""What `gen verify` tells a person."""

from collections.abc import Iterator, Mapping
from typing import Any


def report(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The lines of what was found, by benchmark or task: findings, notes, tables, the sentence."""
    for name, each in found.items():
        for finding in each["findings"]:
            yield f"{name}: {finding['fault']}: {finding['what']}"
        for note in each.get("notes", ()):
            yield f"{name}: note: {note}"
        for kind, rows in each.get("familiarity", {}).items():
            yield from _table(name, kind, rows)
        yield f"{name}: {each['sentence']}"


def _table(name: str, kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{name}: rows by how many bindings of {kind} training never shows (of these: another number when swapped)"
    width = max(len(row["split"]) for row in rows)
    yield f"  {'':{width}} {'none':>19} {'some':>19} {'all':>19}"
    for row in rows:
        cells = (f"{row[count]:,} ({row[f'{count}_unequal']:,})" for count in ("seen", "partial", "unseen"))
        yield f"  {row['split']:{width}}" + "".join(f" {cell:>19}" for cell in cells)
