"""Writes the tables of a paper, each as CSV, Markdown and LaTeX, and its figures as SVG or PNG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from evaluator.report.tables.csv_rows import csv_rows
from evaluator.report.tables.latex import latex
from evaluator.report.tables.markdown import markdown
from evaluator.report.tables.paper import Paper
from evaluator.report.tables.sources import Source
from evaluator.report.tables.table import Table
from generator.base.csv_tables import write_csv
from generator.base.files import write_bytes, write_text


@dataclass(frozen=True)
class Made:
    """What was made of a paper: tables by the names of their files, figures by those and their suffix, and a sentence for each that
    was not.
    """

    tables: dict[str, Table]
    figures: dict[str, bytes]
    not_made: Sequence[str]


def make_paper(paper: Paper, sources: Sequence[Source]) -> Made:
    """The tables and figures of a paper from the results of some labels. Tables without a row are left out."""
    made = [(each, each.make(sources)) for each in paper.tables]
    figures: dict[str, bytes] = {}
    undrawn = []
    for figure in paper.figures:
        drawn = figure.make(sources)
        undrawn += [] if drawn else [f"Figure {figure.number} is not drawn: {figure.wanted}."]
        figures |= {
            f"figure{figure.number}{f'-{i + 1}' * (len(drawn) > 1)}.svg": svg.encode() for i, svg in enumerate(drawn)
        }
    for picture in paper.pictures:
        found = picture.make(sources)
        undrawn += [] if found else [f"Figure {picture.number} is not drawn: {picture.wanted}."]
        figures |= {f"figure{picture.number}-{name}": content for name, content in found.items()}
    empty = [f"{table.name} ({table.title}) has no row: {each.wanted}." for each, table in made if not table.lines]
    tables = {f"table{each.number}": table for each, table in made if table.lines}
    return Made(tables, figures, [*empty, *undrawn, *paper.elsewhere])


def write_paper(made: Made, out: Path) -> list[Path]:
    """Write all of it into the folder `out`, which is made where it is missing; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in made.tables.items():
        rows = csv_rows(table)
        write_csv(
            out / f"{name}.csv",
            pa.Table.from_pylist([{"mark": table.mark, **row} if table.mark else row for row in rows]),
        )
        write_text(out / f"{name}.md", markdown(table))
        write_text(out / f"{name}.tex", latex(table))
        paths += [out / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    for name, content in made.figures.items():
        write_bytes(out / name, content)
        paths.append(out / name)
    return paths
