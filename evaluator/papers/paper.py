"""Make a paper's tables and figures: rows and columns select rows of results, and a statistic fills
each cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.papers.inputs import AFTER, BEFORE, DEFAULTS, Given, Label, Labels, has, told
from evaluator.protocols.items import reported_splits
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.figures import Figure
from evaluator.report.overview import marks_of, notes_of
from evaluator.report.table import (
    CEILING,
    Cell,
    Column,
    Line,
    Table,
    ceiling_cell,
    chance_cell,
    count_cell,
    has_low_ceiling,
    load_cell,
    result_cell,
)
from evaluator.report.writers import latex, markdown, write_csv_rows
from evaluator.runs.folder import folder_name
from generator.base.errors import UserError
from generator.base.files import write_bytes, write_text
from generator.base.limits import check_file
from generator.base.registry import Registry

Statistic = Callable[[Label, Labels], Cell]
"""Makes a cell from a label's results and the labels that select their rows."""
NONE = "…"
"""The head of the placeholder for missing rows or columns."""
_SIZES = ("items", "clusters", "unscored", "ties")


@dataclass(frozen=True)
class PaperTable:
    """A table by its number in the paper. make: makes it from the given results. wanted: why it is
    empty, if no label gives a reason."""

    number: str
    title: str
    make: Callable[[Given], Table]
    wanted: str = "no run answers it"


@dataclass(frozen=True)
class PaperFigure:
    """A figure by its number in the paper. draw: returns figures, or {file name: contents}. wanted:
    why it is missing, if there are none."""

    number: str
    draw: Callable[[Given], list[Figure] | dict[str, bytes]]
    wanted: str


@dataclass(frozen=True)
class Paper:
    """The tables and figures of a paper. elsewhere: a sentence for each part that is found
    elsewhere."""

    tables: Sequence[PaperTable]
    figures: Sequence[PaperFigure] = ()
    elsewhere: Sequence[str] = ()


_REGISTRY: Registry[Paper] = Registry(
    "paper",
    {
        "bindsplit2026": "evaluator.papers.bindsplit2026.tables:PAPER",
        "hard-positives2024": "evaluator.papers.hard_positives2024.tables:PAPER",
        "crepe2023": "evaluator.papers.crepe2023.tables:PAPER",
        "compass2026": "evaluator.papers.compass2026.tables:PAPER",
        "pearson2025": "evaluator.papers.pearson2025.tables:PAPER",
    },
)
"""The papers. To add one, write a folder with a `PAPER` in tables.py, and enter it here."""
paper_names, find_paper = _REGISTRY.names, _REGISTRY.find


@dataclass(frozen=True)
class Made:
    """The tables of a paper by file name without suffix, its figures by file name, and a sentence
    for each table or figure that was not made."""

    tables: dict[str, Table]
    figures: dict[str, bytes]
    not_made: Sequence[str]


def make_paper(paper: Paper, given: Given) -> Made:
    """Make the tables and figures of a paper; omits tables in which no cell has a number."""
    given = replace(given, used=set())
    tables: dict[str, Table] = {}
    figures: dict[str, bytes] = {}
    lacking: list[str] = []
    for each in paper.tables:
        table = replace(each.make(given), name=f"Table {each.number}", title=each.title)
        if any(cell.numbers for line in table.lines for cell in line.cells):
            tables[f"table{each.number}"] = table
        else:
            lacking.append(
                f"{table.name} ({table.title}) has no number: "
                f"{'; '.join(table.letters()) or each.wanted}."
            )
    for figure in paper.figures:
        drawn = figure.draw(given)
        if not drawn:
            lacking.append(f"Figure {figure.number} is not drawn: {figure.wanted}.")
        if isinstance(drawn, list):
            several = len(drawn) > 1
            drawn = {
                f"{f'{i + 1}' * several}{suffix}": content
                for i, each in enumerate(drawn)
                for suffix, content in each.files().items()
            }
        figures |= {
            f"figure{figure.number}{'-' * (name[0] != '.')}{name}": content
            for name, content in drawn.items()
        }
    unused = [
        f"{each.path} of `{each.command}`"
        for each in given.audits
        if each.command not in given.used
    ]
    unused += ["runs of --before and --after"] * (
        AFTER not in given.used and any(x.elsewhere for x in given.labels)
    )
    lacking += [f"Nothing of this paper shows {each}." for each in unused]
    return Made(tables, figures, [*lacking, *paper.elsewhere])


def write_paper(made: Made, out: Path) -> list[Path]:
    """Write all tables and figures into the folder `out`, created if missing; returns the files."""
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
    """The value of the row with these labels, with its interval and standard deviation if it has
    them."""
    row, entry = label.find(labels)
    return result_cell(row, entry) if row is not None else Cell(reason=label.why_missing(labels))


def over_n(label: Label, labels: Labels) -> Cell:
    """A mean over n with its standard deviation over n (COMPASS, table 2); for labels with an n,
    its `result`."""
    cell = result(label, labels)
    if labels.get("n") is not None or not cell.numbers:
        return cell
    rows = [label.find({**labels, **each.of})[0] for each in parts([label], "{}", ["n"], labels)]
    known = [row["value"] for row in rows if row is not None and row["value"] is not None]
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return result_cell({**cell.numbers, "sd": sd, "sd_blocks": None, "sd_runs": None}, cell.of)


def load(count: str) -> Statistic:
    """The skill load of a count (COMPASS, equation 4) on the items of these labels."""

    def of_count(label: Label, labels: Labels) -> Cell:
        found, entry = label.find(labels)
        if found is None:
            return Cell(reason=label.why_missing(labels))
        row: Any = found
        labels = {name: row[name] for name in ("split", "level", "skill")}
        fit = next((fit for fit in entry["fits"] if has(fit, labels)), None)
        if fit is None:
            return Cell(reason="no load is fitted on this split", of=entry)
        if count not in fit["coefficients"]:
            return Cell(reason=fit["reason"] or "this count does not vary", of=entry)
        return load_cell(
            {**{name: row[name] for name in _SIZES}, **fit["coefficients"][count]}, entry
        )

    return of_count


@dataclass(frozen=True)
class Part:
    """A row or a column of a table: its head, the labels that it selects, the statistic of its
    cells, its group."""

    head: str = ""
    of: Labels = field(default_factory=dict)
    statistic: Statistic = result
    group: str = ""


def part(head: str, statistic: Statistic = result, /, **of: Any) -> Part:
    """A row or a column that selects rows with these labels."""
    return Part(head, of, statistic)


def parts(labels: Sequence[Label], head: str, names: Sequence[str], of: Labels) -> list[Part]:
    """A row or a column for each combination of values of the columns `names` in the result rows
    with the labels `of`, sorted; the values replace {} in the head. If there are none, one
    placeholder, in which each label gives its reason.

    Skips the split `val`. Heads do not name a split or benchmark that is the only one.
    """
    wanted = {**{name: value for name, value in DEFAULTS.items() if name not in names}, **of}
    rows = [row for label in labels for row, _ in label.select(wanted)]
    splits = reported_splits(row["split"] for row in rows)
    found = {tuple(row.get(name) for name in names) for row in rows}
    kept = [
        dict(zip(names, values, strict=True))
        for values in found
        if None not in values and ("split" not in names or values[names.index("split")] in splits)
    ]
    if not kept:
        return [Part(NONE, dict.fromkeys(names, NONE))]

    def rank(each: dict[str, Any]) -> list[Any]:
        return [
            (splits.index(value), "") if name == "split" else (len(str(value)), value)
            for name, value in each.items()
        ]

    shown = [
        name
        for name in names
        if name not in ("split", "benchmark") or len({each[name] for each in kept}) > 1
    ]
    return [
        Part(head.format(", ".join(str(each[name]) for name in shown)).strip(", "), each)
        for each in sorted(kept, key=rank)
    ]


def grouped(groups: Sequence[Part], members: Sequence[Part]) -> list[Part]:
    """Each member in each group: under the group's head, with the labels of both."""
    return [
        replace(each, of={**group.of, **each.of}, group=group.head)
        for group in groups
        for each in members
    ]


def by_label(
    labels: Sequence[Label],
    columns: Sequence[Part],
    rows: Sequence[Part] = (Part(),),
    head: str = "",
    of: Labels | None = None,
    named: str = "model",
    notes: Sequence[str] = (),
) -> Table:
    """A table: for each row a line for each label that has a number in some row; then lines with
    the chance, the ceiling if one is below 100%, items, clusters, unscored items and ties of each
    column. Notes name the other labels, and describe the results shown.

    of: labels that all cells share. head: head of the column of rows. named: head of the column of
        labels, which says
    what a label names.
    """
    headed = [head] if any(row.head for row in rows) else []
    known, absent = _divided(
        [
            (
                label,
                [
                    [
                        column.statistic(label, {**(of or {}), **row.of, **column.of})
                        for column in columns
                    ]
                    for row in rows
                ],
            )
            for label in labels
        ]
    )
    depth = max((len(label.parts) for label, _ in known), default=1)
    lines = [
        Line(
            [*[row.head] * len(headed), *label.parts, *[""] * (depth - len(label.parts))],
            of_label[r],
            rule=s == 0 and r > 0,
        )
        for r, row in enumerate(rows)
        for s, (label, of_label) in enumerate(known)
    ]
    of_column = [[line.cells[i].numbers for line in lines] for i in range(len(columns))]
    sizes = {"chance": [chance_cell(each) for each in of_column]}
    limited = any(has_low_ceiling(row) for each in of_column for row in each)
    said = [CEILING] if limited else []
    if limited:
        sizes["ceiling"] = [ceiling_cell([row for row in each if row]) for each in of_column]
    sizes |= {name: [count_cell(each, name) for each in of_column] for name in _SIZES}
    sizes = {
        name: cells
        for name, cells in sizes.items()
        if any(cell != chance_cell([]) for cell in cells)
    }
    blank = [""] * (depth - 1 + len(headed))
    lines += [
        Line([name, *blank], cells, rule=i == 0) for i, (name, cells) in enumerate(sizes.items())
    ]
    entries: list[Any] = list(
        {
            id(cell.of): cell.of for line in lines for cell in line.cells if "rules" in cell.of
        }.values()
    )
    variants = ["variant", *(f"variant {i}" for i in range(2, depth))]
    heads = [*headed, named, *variants[: depth - 1]]
    shown = [Column(column.head, column.group) for column in columns]
    return Table(
        heads,
        shown,
        lines,
        notes=[*notes, *absent, *notes_of(entries), *said],
        mark=marks_of(entries),
    )


def _divided(
    made: Sequence[tuple[Label, list[list[Cell]]]],
) -> tuple[Sequence[tuple[Label, list[list[Cell]]]], list[str]]:
    """The labels with a number in some cell, and sentences on the other labels; all labels if none
    has a number."""
    known, names = [], dict[str, list[str]]()
    for label, rows in made:
        cells = [*chain.from_iterable(rows)]
        if any(cell.numbers for cell in cells):
            known.append((label, rows))
        else:
            reasons = dict.fromkeys(cell.reason for cell in cells if cell.reason)
            names.setdefault("; ".join(reasons), []).append(" / ".join(label.parts))
    if not known:
        return made, []
    return known, [f"Not shown: {'; '.join(each)} ({reason})." for reason, each in names.items()]


def changed_elsewhere(number: str = "F") -> PaperTable:
    """The table of changes by training on benchmarks that were not trained for: a row for each
    benchmark, main metric and split, with a line for each label."""
    names = ("benchmark", "protocol", "metric", "kind", "skill", "level", "split")

    def make(given: Given) -> Table:
        why = "it was not measured elsewhere before and after its training (--before and --after)"
        given.used.add(AFTER)
        labels = [
            replace(each, entries=each.elsewhere, missing=each.missing or why)
            for each in given.labels
        ]
        found: dict[tuple[object, ...], Part] = {}
        for rows in (entry["rows"] for label in labels for entry in label.entries):
            splits = reported_splits(row["split"] for row in rows)
            for row in rows:
                if (
                    row["is_main"]
                    and not row["is_gap"]
                    and row["n"] is None
                    and row["split"] in splits
                ):
                    key = tuple(row[name] for name in names)
                    said = " ".join(str(value) for value in key[1:] if value)
                    found[key] = Part(f"{key[0]}: {said}", dict(zip(names, key, strict=True)))
        columns = [
            part("Before", when=BEFORE),
            part("After", when=AFTER),
            part("Change", _change),
            part(
                "Chance",
                lambda label, of: chance_cell(
                    [row for row, _ in label.select({**of, "when": AFTER})]
                ),
            ),
        ]
        return by_label(labels, columns, [*found.values()], "measured")

    return PaperTable(
        number,
        "What training changed elsewhere",
        make,
        "no model was measured elsewhere (--before and --after)",
    )


def _change(label: Label, labels: Labels) -> Cell:
    """The difference of the values before and after, without an interval: the results have none."""
    after, before = (result(label, {**labels, "when": when}) for when in (AFTER, BEFORE))
    if after.reason or before.reason:
        return after if after.reason else before
    row = told(
        after.numbers["metric"], after.numbers["value"] - before.numbers["value"], "difference"
    )
    return result_cell({**row, **{name: after.numbers[name] for name in _SIZES}}, after.of)


def figure(
    number: str,
    drawing: Callable[[Sequence[Results], str], list[Figure]],
    protocol: str,
    /,
    **of: Any,
) -> PaperFigure:
    """A figure that `drawing` (evaluator.report.figures) makes from the rows of a protocol with the
    labels `of`."""

    def draw(given: Given) -> list[Figure]:
        entries: list[Results] = [
            {
                **entry,
                "model": marked(entry["model"], entry),
                **{
                    name: [row for row in entry[name] if has(row, of)] for name in ("rows", "cells")
                },
            }
            for label in given.labels
            for entry in label.entries
            if any(row["protocol"] == protocol for row in entry["rows"])
        ]
        return drawing(entries, protocol)

    return PaperFigure(number, draw, f"no run has results of `{protocol}`")


def picture(number: str, command: str, *files: str) -> PaperFigure:
    """A figure that another command draws: a copy of `files` from each of its folders."""

    def draw(given: Given) -> dict[str, bytes]:
        found = {}
        for audit in given.audits_of(command):
            for file in files:
                check_file(audit.path / file, None)
                if not (audit.path / file).exists():
                    raise UserError(
                        f"{audit.path} is unfinished: it has no {file}; run the same `{command}` "
                        f"again."
                    )
                found[f"{folder_name(audit.name)}-{file}"] = (audit.path / file).read_bytes()
        return found

    return PaperFigure(number, draw, f"no result of `{command}` was given")
