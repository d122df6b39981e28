"""Pooled results beside a page: a CSV with every row, LaTeX with the models side by side and the tables of each."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from evaluator.analysis.pooling import LABELS
from evaluator.protocols.results import Results
from evaluator.provenance.contamination import MARK, mark_of
from evaluator.report.latex import latex_tables, side_by_side
from generator.base.csv_tables import write_csv
from generator.base.files import write_text


def write_pooled(entries: Sequence[Results], page: Path) -> tuple[Path, Path]:
    """Write the rows of pooled entries (evaluator.analysis.pooling) beside `page`, as .csv and as .tex; returns both paths."""
    marks = {MARK: True} if any(mark_of(entry) for entry in entries) else {}
    of_entry = ("model", "benchmark")
    rows = [
        {
            **{name: mark_of(entry) for name in marks},
            **{name: entry[name] for name in of_entry},
            **dict.fromkeys(LABELS),
            **row,
        }
        for entry in entries
        for row in entry["rows"]
    ]
    table, tex = page.with_suffix(".csv"), page.with_suffix(".tex")
    write_csv(table, pa.Table.from_pylist(rows))
    parts = [side_by_side(entries), *(text for entry in entries for text in latex_tables(entry).values())]
    write_text(tex, "\n".join(parts))
    return table, tex
