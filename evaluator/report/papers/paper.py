"""How a paper's tables are made: rows and columns select rows of the long table, a statistic stands in each cell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.analysis.pooling import differences, spread_notes
from evaluator.protocols.records import Results
from evaluator.protocols.registry import find_protocol
from evaluator.provenance.contamination import UNKNOWN, mark_of, unknown_training
from evaluator.report.cells import chance_cell, confidence, count_cell, load_cell, result_cell
from evaluator.report.papers.given import Given, Label, Labels, combinations, has
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.report.writers import latex, markdown, write_csv_rows
from evaluator.runs.parts import splits_said
from generator.base.files import write_bytes, write_text

Statistic = Callable[[Label, Labels], Cell]
"""What stands in a cell, of a label's results and the labels of rows."""
_SIZES = ("items", "clusters", "unscored")
_HEADS = ("model", "variant", "variant 2", "variant 3")


@dataclass(frozen=True)
class PaperTable:
    """A table by its number in the paper. make: a function of what is given; wanted: what is lacking where it has no
    lines."""

    number: str
    title: str
    make: Callable[[Given], Table]
    wanted: str = "no run answers it"


@dataclass(frozen=True)
class PaperFigure:
    """A figure by its number in the paper. draw: gives SVG texts, or files by name; wanted: what is lacking without
    any."""

    number: str
    draw: Callable[[Given], list[str] | dict[str, bytes]]
    wanted: str


@dataclass(frozen=True)
class Paper:
    """The tables and figures of a paper. elsewhere: what another command has, in a sentence each."""

    tables: Sequence[PaperTable]
    figures: Sequence[PaperFigure] = ()
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True)
class Made:
    """What was made of a paper: tables by the names of their files, figures by those and their suffix, and a sentence
    for each that was not."""

    tables: dict[str, Table]
    figures: dict[str, bytes]
    not_made: Sequence[str]


def make_paper(paper: Paper, given: Given) -> Made:
    """The tables and figures of a paper. Tables without a line are left out."""
    tables: dict[str, Table] = {}
    figures: dict[str, bytes] = {}
    lacking: list[str] = []
    for each in paper.tables:
        table = replace(each.make(given), name=f"Table {each.number}", title=each.title)
        if table.lines:
            tables[f"table{each.number}"] = table
        else:
            lacking.append(f"{table.name} ({table.title}) has no row: {each.wanted}.")
    for figure in paper.figures:
        drawn = figure.draw(given)
        if not drawn:
            lacking.append(f"Figure {figure.number} is not drawn: {figure.wanted}.")
        if isinstance(drawn, list):
            several = len(drawn) > 1
            drawn = {f"{f'{i + 1}' * several}.svg": svg.encode() for i, svg in enumerate(drawn)}
        figures |= {f"figure{figure.number}{'-' * (name[0] != '.')}{name}": content for name, content in drawn.items()}
    return Made(tables, figures, [*lacking, *paper.elsewhere])


def write_paper(made: Made, out: Path) -> list[Path]:
    """Write all of it into the folder `out`, which is made where it is missing; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in made.tables.items():
        write_csv_rows(table, out / f"{name}.csv")
        write_text(out / f"{name}.md", markdown(table))
        write_text(out / f"{name}.tex", latex(table))
        paths += [out / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    for name, content in made.figures.items():
        write_bytes(out / name, content)
        paths.append(out / name)
    return paths


def result(label: Label, labels: Labels) -> Cell:
    """The row of results with these labels: its value with the interval and standard deviation that it has."""
    row, entry = label.find(labels)
    return result_cell(row, entry) if row is not None else Cell(reason=label.why_missing(labels))


def over_n(label: Label, labels: Labels) -> Cell:
    """A mean over n with its standard deviation over n (COMPASS, table 2); of one n, its result."""
    cell = result(label, labels)
    if labels.get("n") is not None or not cell.numbers:
        return cell
    rows = [label.find({**labels, **each})[0] for each in combinations([label], ["n"], labels)]
    known = [row["value"] for row in rows if row is not None and row["value"] is not None]
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
    row: Any = {**cell.numbers, "sd": sd, "sd_blocks": None, "sd_runs": None}
    return result_cell(row, cell.of)


def load(count: str) -> Statistic:
    """The skill load of a count (COMPASS, equation 4) on the items of these labels."""

    def of_count(label: Label, labels: Labels) -> Cell:
        found, entry = label.find(labels)
        if found is None:
            return Cell(reason=label.why_missing(labels))
        row: Any = found
        names = ("split", "level", "skill")
        fit = next(fit for fit in entry["fits"] if all(fit[name] == row[name] for name in names))
        if count not in fit["coefficients"]:
            return Cell(reason=fit["reason"] or "this count does not vary", of=entry)
        sizes = (*_SIZES, "ties")
        return load_cell({**{name: row[name] for name in sizes}, "chance": None, **fit["coefficients"][count]}, entry)

    return of_count


def minus(first: Labels, second: Labels) -> Statistic:
    """The difference of two rows' values, without an interval: the results have none."""

    def of_both(label: Label, labels: Labels) -> Cell:
        (a, entry), (b, _) = (label.find({**labels, **each}) for each in (first, second))
        if a is None or b is None or a["value"] is None or b["value"] is None:
            return result(label, {**labels, **(first if a is None or a["value"] is None else second)})
        kept = ("protocol", "items", "clusters", "ties", "unscored")
        chance = None if a["chance"] is None or b["chance"] is None else a["chance"] - b["chance"]
        both: Any = {name: value for name, value in a.items() if name in kept}
        both |= {"unit": "difference", "value": a["value"] - b["value"], "chance": chance, "sd": None, "low": None}
        return result_cell(both, entry)

    return of_both


@dataclass(frozen=True)
class Part:
    """A row or a column of a table: its head, the labels that it selects, the statistic of its cells, its group."""

    head: str = ""
    of: Labels = field(default_factory=dict)
    statistic: Statistic = result
    group: str = ""


def part(head: str, statistic: Statistic = result, **of: Any) -> Part:
    """A row or a column that selects rows with these labels."""
    return Part(head, of, statistic)


def parts(labels: Sequence[Label], head: str, names: Sequence[str], of: Labels) -> list[Part]:
    """A row or a column for each combination of the values that some columns have in the rows `of`; the head has them
    for {}.

    A split or a benchmark that is alone is not named.
    """
    found = combinations(labels, names, of)
    alone = {name for name in ("split", "benchmark") if len({each.get(name) for each in found}) == 1}
    said = [", ".join(str(value) for name, value in each.items() if name not in alone) for each in found]
    return [Part(head.format(text).strip(", "), each) for text, each in zip(said, found, strict=True)]


def grouped(groups: Sequence[Part], members: Sequence[Part]) -> list[Part]:
    """Each member under each group's head, with the labels of both."""
    return [replace(each, of={**group.of, **each.of}, group=group.head) for group in groups for each in members]


def by_label(
    labels: Sequence[Label],
    columns: Sequence[Part],
    rows: Sequence[Part] = (Part(),),
    head: str = "",
    of: Labels | None = None,
    sizes: bool = True,
    notes: Sequence[str] = (),
) -> Table:
    """For each row a line for each label; with `sizes` the chance, items, clusters and unscored items of each column
    below.

    of: labels that all cells share. head: what the rows are.
    """
    cells = [[_cells(label, row, columns, of) for label in labels] for row in rows]
    headed = any(row.head for row in rows)
    depth = max((len(label.parts) for label in labels), default=1)
    lines = [
        Line([*[row.head] * headed, *label.parts, *[""] * (depth - len(label.parts))], line, rule=s == 0 and r > 0)
        for r, row in enumerate(rows)
        for s, (label, line) in enumerate(zip(labels, cells[r], strict=True))
    ]
    if lines and sizes:
        of_column = [_numbers(column) for column in zip(*(line.cells for line in lines), strict=True)]
        blank = [""] * (depth - 1 + headed)
        lines.append(Line(["chance", *blank], [chance_cell(each) for each in of_column], rule=True))
        lines += [Line([name, *blank], [count_cell(each, name) for each in of_column]) for name in _SIZES]
    heads = [Column(column.head, column.group) for column in columns]
    return _said(Table([*[head] * headed, *_HEADS[:depth]], heads, lines), notes)


def labels_across(
    labels: Sequence[Label], columns: Sequence[Part], rows: Sequence[Part], head: str, of: Labels | None = None
) -> Table:
    """A line for each row, the labels beside one another with `columns` each; chance and sizes stand to the right."""
    lines = []
    for row in rows:
        cells = [_cells(label, row, columns, of) for label in labels]
        known = [_numbers(column) for column in zip(*cells, strict=True)]
        every = [cell for line in cells for cell in line]
        sizes = [count_cell(_numbers(every), name) for name in _SIZES]
        lines.append(Line([row.head], [*every, *map(chance_cell, known), *sizes]))
    heads = [Column(column.head, label.name) for label in labels for column in columns]
    heads += [*(Column(column.head, "chance") for column in columns), *map(Column, _SIZES)]
    return _said(Table([head], heads, lines if labels else []), ())


def figure_rows(given: Given, protocol: str, of: Labels | None = None) -> list[Results]:
    """The pooled results with the rows of a protocol that have some labels, for evaluator.report.figures."""
    return [
        {**entry, **{name: [row for row in entry[name] if has(row, of or {})] for name in ("rows", "cells")}}
        for label in given.labels
        for entry in label.entries
        if any(row["protocol"] == protocol for row in entry["rows"])
    ]


def _cells(label: Label, row: Part, columns: Sequence[Part], of: Labels | None) -> list[Cell]:
    return [column.statistic(label, {**(of or {}), **row.of, **column.of}) for column in columns]


def _numbers(cells: Iterable[Cell]) -> list[Any]:
    return [cell.numbers for cell in cells if cell.numbers]


def _said(table: Table, notes: Sequence[str]) -> Table:
    """The table with what is said below it: of the results that its cells are from, what all share once, what differs
    by model."""
    cells = [cell for line in table.lines for cell in line.cells]
    entries: list[Any] = list({id(cell.of): cell.of for cell in cells if cell.of}.values())
    mark = " ".join(dict.fromkeys(f"{entry['model']}: {mark_of(entry)}" for entry in entries if mark_of(entry)))
    return replace(table, notes=[*notes, *(notes_of(entries, cells) if entries else [])], mark=mark)


def notes_of(entries: Sequence[Results], cells: Sequence[Cell]) -> list[str]:
    """Sentences on the results that some cells are from."""
    ties = max((cell.numbers.get("ties") or 0 for cell in cells), default=0)
    pools = {
        f"{cell.of['model']}: {said}": None
        for cell in cells
        if cell.of and "protocol" in cell.numbers
        if (said := find_protocol(cell.numbers["protocol"]).caption(dict(cell.of)))
    }
    several = [entry for entry in entries if entry["runs"] > 1]
    runs = _by_value(
        several, lambda each: f"{each['runs']} runs over {each['blocks']} block{'s' * (each['blocks'] > 1)}"
    )
    unknown = [each for each in entries if (each.get("training") or unknown_training())["status"] == UNKNOWN]
    limited = [each for each in entries if each["rules"].get("limit")]
    names = ", ".join(dict.fromkeys(entry["model"] for entry in unknown))
    return [
        f"In %, differences in points, {confidence(entries[0])} intervals of bindings like these. A tie is never "
        f"correct; ties "
        f"of a cell: at most {ties:,}.",
        f"Datasets: {_by_value(entries, lambda entry: entry['certificate'])}.",
        *([f"Pooled: {runs}."] if runs else []),
        *spread_notes(entries),
        *differences(entries),
        *pools,
        *(f"{entry['model']}: at most {entry['rules']['limit']:,} items of a protocol." for entry in limited),
        *dict.fromkeys(line for entry in entries for line in splits_said(entry["rules"])),
        *([f"What they were trained on is unknown: {names}."] if unknown else []),
    ]


def _by_value(entries: Sequence[Mapping[str, Any]], said: Callable[[Mapping[str, Any]], str]) -> str:
    """What is said of the models, with their names where it differs.

    >>> runs = [{"model": "a", "x": "1"}, {"model": "b", "x": "2"}, {"model": "c", "x": "1"}]
    >>> _by_value(runs, lambda each: each["x"])
    '1 (a, c); 2 (b)'
    """
    names: dict[str, dict[str, None]] = {}
    for entry in entries:
        names.setdefault(said(entry), {})[entry["model"]] = None
    if len(names) <= 1:
        return "".join(names)
    return "; ".join(f"{value} ({', '.join(of)})" for value, of in names.items())
