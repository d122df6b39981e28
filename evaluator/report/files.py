"""Files of tables beside a run and beside a page: LaTeX of each protocol, models side by side, every row as CSV."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from evaluator.analysis.pooling import LABELS
from evaluator.protocols.records import Results
from evaluator.protocols.registry import find_protocol
from evaluator.provenance.contamination import MARK, mark_of
from evaluator.report.cells import confidence
from evaluator.report.overview import main_lines, side_by_side
from evaluator.report.protocol_tables import protocol_tables
from evaluator.report.writers import environment
from evaluator.runs.folder import tables_folder
from evaluator.runs.parts import splits_said
from generator.base.csv_tables import write_csv
from generator.base.files import write_text


def write_latex(results: Results, folder: Path) -> None:
    """Write tables/PROTOCOL.tex of a run, for each protocol that the results have rows of."""
    for name, text in latex_tables(results).items():
        write_text(tables_folder(folder) / f"{name}.tex", text)


def latex_tables(results: Results) -> dict[str, str]:
    """The text of a .tex file for each protocol that the results have rows of, by its name."""
    return {name: _document(results, name) for name in dict.fromkeys(row["protocol"] for row in results["rows"])}


def write_pooled(entries: Sequence[Results], page: Path) -> tuple[Path, Path]:
    """Write the rows of pooled entries (evaluator.analysis.pooling) beside `page`, as .csv and as .tex; returns both
    paths."""
    marked = any(mark_of(entry) for entry in entries)
    columns = ("model", "benchmark", *LABELS)
    rows = [
        {**({MARK: mark_of(entry)} if marked else {}), **dict.fromkeys(columns), **row}
        for entry in entries
        for row in entry["rows"]
    ]
    table, tex = page.with_suffix(".csv"), page.with_suffix(".tex")
    write_csv(table, pa.Table.from_pylist(rows))
    overview = side_by_side(entries, main_lines(entries))
    first = environment([overview], " ".join([*overview.said(), overview.mark]), overview.mark)
    write_text(tex, "\n".join([first, *(text for entry in entries for text in latex_tables(entry).values())]))
    return table, tex


def _document(results: Results, name: str) -> str:
    """The tables of a protocol under one caption."""
    rows = [row for row in results["rows"] if row["protocol"] == name]
    ties, unscored = (max((row[count] or 0 for row in rows), default=0) for count in ("ties", "unscored"))
    mark, channel, between = mark_of(results), results["channel"], results.get("image_channel", results["channel"])
    channels = channel if between == channel else f"{channel} ({between} between images)"
    tables = protocol_tables(results, name)
    caption = [
        f"{mark} {name}: {results['model']} on {results['benchmark']} (dataset {results['certificate']}), channel "
        f"{channels}. "
        f"In %, gaps in points, {confidence(results)} intervals of bindings like these; a mean ± has its standard "
        f"deviation; "
        f"scores that differ by no more than {results['rules']['tie_tolerance']:g} (relative to scores above 1) tie, "
        f"and a tie "
        f"is never correct: at most {ties} ties and {unscored} unscored items a row, all in summary.csv.",
        *splits_said(results["rules"]),
        find_protocol(name).caption(results),
        *(note for table in tables for note in table.said()),
    ]
    return environment(tables, " ".join(filter(None, caption)).strip(), mark)
