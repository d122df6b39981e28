"""LaTeX tables beside the CSV: of each protocol of a run, and models side by side."""

from collections.abc import Sequence
from pathlib import Path

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.registry import find_protocol
from evaluator.protocols.results import Results
from evaluator.provenance.contamination import mark_of
from evaluator.report.overview import main_lines, shown_splits, varying_entries, varying_labels
from evaluator.report.tables.cells import confidence, is_gap
from evaluator.report.tables.latex import environment
from evaluator.report.tables.result_cells import chance_cell, result_cell
from evaluator.report.tables.table import Cell, Column, Line, Table
from evaluator.runs.folder import tables_folder
from evaluator.runs.partitions import splits_said
from generator.base.files import write_text


def write_latex(results: Results, folder: Path) -> None:
    """Write tables/PROTOCOL.tex of a run, for each protocol that the results have rows of."""
    for name, text in latex_tables(results).items():
        write_text(tables_folder(folder) / f"{name}.tex", text)


def latex_tables(results: Results) -> dict[str, str]:
    """The text of a .tex file for each protocol that the results have rows of, by its name."""
    return {name: _document(results, name) for name in dict.fromkeys(row["protocol"] for row in results["rows"])}


def side_by_side(entries: Sequence[Results]) -> str:
    """A table environment with a line for each protocol's main metric, group of items and entry of pooled results."""
    lines = [line for group in main_lines(entries) for line in group]
    labels, of_entry = ["protocol", "metric", *varying_labels(lines)], varying_entries(entries)
    splits = shown_splits(lines)
    rows = [
        Line(
            [*(str(line.first[name] or "") for name in labels), *(str(line.entry[name]) for name in of_entry)],
            [
                *(result_cell(line.rows.get(split)) for split in splits),
                chance_cell([row for row in line.rows.values() if not is_gap(row)]),
                *(Cell(str(line.entry[name])) for name in ("blocks", "runs")),
            ],
        )
        for line in lines
    ]
    table = Table([*labels, *of_entry], [Column(head) for head in (*splits, "chance", "blocks", "runs")], rows)
    marks = [f"{entry['model']}: {mark_of(entry)}" for entry in entries if mark_of(entry)]
    notes = [*marks, *differences(entries), *spread_notes(entries)]
    caption = f"In %, gaps in points, {confidence(entries[0])} intervals of bindings like these. {' '.join(notes)}"
    return environment([table], caption, " ".join(marks))


def _channels(results: Results) -> str:
    """The channel that was measured, and the one that compares images where it is another."""
    between = results.get("image_channel", results["channel"])
    return results["channel"] + (f" ({between} between images)" if between != results["channel"] else "")


def _document(results: Results, name: str) -> str:
    """The tables of a protocol under one caption."""
    protocol, rows = find_protocol(name), [row for row in results["rows"] if row["protocol"] == name]
    ties, unscored = (max((row[count] or 0 for row in rows), default=0) for count in ("ties", "unscored"))
    mark = mark_of(results)
    caption = (
        f"{mark} {name}: {results['model']} on {results['benchmark']} (dataset {results['certificate']}), channel {_channels(results)}. "
        f"In %, gaps in points, {confidence(results)} intervals of bindings like these; a mean ± has its standard deviation; scores that differ by no more than "
        f"{results['rules']['tie_tolerance']:g} (relative to scores above 1) tie, and a tie is never "
        f"correct: at most {ties} ties and {unscored} unscored items a row, all in summary.csv. {' '.join([*splits_said(results['rules']), protocol.caption(results)])}"
    )
    tables = [table for make in protocol.tables for table in make(results, name)]
    return environment(tables, " ".join([caption.strip(), *(note for table in tables for note in table.said())]), mark)
