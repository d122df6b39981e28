"""A paper's tables as data: what their rows and columns select of the results, and which statistic stands in a cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from evaluator.protocols.items import reported_splits
from evaluator.protocols.results import Results
from evaluator.report.tables.result_cells import chance_cell, count_cell, load_cell, result_cell
from evaluator.report.tables.said import marks_of, notes_of
from evaluator.report.tables.sources import DEFAULTS, EACH, Labels, Source, has, splits_of
from evaluator.report.tables.table import Cell, Column, Line, Table
from evaluator.runs.folder import folder_name
from generator.base.errors import UserError
from generator.base.limits import check_file

Statistic = Callable[[Source, Labels], Cell]
"""What stands in a cell, of a label's results and the labels of rows."""
_SIZES = ("items", "clusters", "unscored")
_LABELS = ("model", "variant", "variant 2", "variant 3")


def result(source: Source, labels: Labels) -> Cell:
    """The row of results with these labels: its value with the interval and standard deviation that it has."""
    row, entry = source.find(labels)
    return result_cell(row, entry) if row is not None else Cell(reason=source.why_missing(labels))


@dataclass(frozen=True)
class Part:
    """A row or a column of a paper's table: its head, the labels that it selects, the statistic of its cells, its group."""

    head: str = ""
    of: Labels = field(default_factory=dict)
    statistic: Statistic = result
    group: str = ""


def part(head: str, statistic: Statistic = result, **of: Any) -> Part:
    """A row or a column that selects rows with these labels. With EACH it is one for each value found, for {} in its head."""
    return Part(head, of, statistic)


def grouped(groups: Sequence[Part], members: Sequence[Part]) -> tuple[Part, ...]:
    """Each member under each group's head, with the labels of both."""
    return tuple(replace(each, of={**group.of, **each.of}, group=group.head) for group in groups for each in members)


BY_SPLIT = (part("{}", split=EACH),)
"""Rows for the splits that are reported."""


class Tabulated(Protocol):
    """A table of a paper: its number, what it wants of a run, and `make`, which gives it for some labels."""

    @property
    def number(self) -> str:
        """Its number in the paper."""

    @property
    def wanted(self) -> str:
        """What no label has where it has no lines."""

    def make(self, sources: Sequence[Source]) -> Table:
        """The table."""


class Drawn(Protocol):
    """A figure of a paper: its number, what it wants of a run, and `make`, which draws it for some labels."""

    @property
    def number(self) -> str:
        """Its number in the paper."""

    @property
    def wanted(self) -> str:
        """What no label has where nothing is drawn."""

    def make(self, sources: Sequence[Source]) -> list[str]:
        """SVG texts; none where no results have numbers for it."""


@dataclass(frozen=True)
class PaperTable:
    """A table by its number in the paper. For each of `rows` it has a line for each label of the runs.

    of: labels that all cells share. head: what the rows are. across: the labels are columns instead, each with `columns`. only:
    which labels have a row, and needs: what one of them has to have, without which there are no lines; `wanted` says so.
    sparse: columns are left out whose splits no benchmark has by its design. sizes: chance levels, items, clusters and unscored items
    stand below, with `across` to the right: the least and the greatest where labels differ.
    """

    number: str
    title: str
    columns: Sequence[Part]
    rows: Sequence[Part] = (Part(),)
    head: str = ""
    of: Labels = field(default_factory=dict)
    across: bool = False
    only: Callable[[Source], bool] = bool
    needs: Callable[[Source], bool] = bool
    sparse: bool = False
    sizes: bool = True
    wanted: str = "no run answers it"
    notes: Sequence[str] = ()

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where no label has a row in it."""
        chosen = [source for source in sources if source.audit is None and self.only(source)]
        if not any(map(self.needs, chosen)):
            chosen = []
        rows, columns = (
            _found(self.rows, self.columns, self.of, chosen),
            _found(self.columns, self.rows, self.of, chosen) or [_unfound(each) for each in self.columns],
        )
        if self.sparse:
            columns = [each for each in columns if _designed(each.of, chosen)] or columns
        cells = {
            (r, s, c): column.statistic(source, {**self.of, **row.of, **column.of})
            for r, row in enumerate(rows) for s, source in enumerate(chosen) for c, column in enumerate(columns)
        }  # fmt: skip
        made = _across(rows, chosen, columns, cells) if self.across else _down(rows, chosen, columns, cells, self.sizes)
        labels = [*([self.head] if any(row.head for row in rows) else []), *made.labels]
        said = [*self.notes, *notes_of(list(cells.values()))]
        return replace(
            made, labels=labels, name=f"Table {self.number}", title=self.title, notes=said, mark=marks_of(list(cells.values()))
        )  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: `draw` (evaluator.report.figures) of a protocol, of the rows of results that have some labels."""

    number: str
    draw: Callable[[Sequence[Results], str], list[str]]
    protocol: str
    of: Labels = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        """What no label has where nothing is drawn."""
        of = ", ".join(f"{name} {value}" for name, value in self.of.items() if isinstance(value, str))
        return f"no run has results of `{self.protocol}`{f' ({of})' * bool(of)}"

    def make(self, sources: Sequence[Source]) -> list[str]:
        """SVG texts; none where no results have numbers for it."""
        wanted = {**dict.fromkeys(DEFAULTS, EACH), **self.of}
        entries = [
            {**entry, **{name: [row for row in entry[name] if has(row, wanted)] for name in ("rows", "cells")}}
            for source in sources for entry in source.entries if any(row["protocol"] == self.protocol for row in entry["rows"])
        ]  # fmt: skip
        return self.draw(entries, self.protocol) if entries else []


@dataclass(frozen=True)
class Picture:
    """A figure of a paper that another command draws: some files of its folder."""

    number: str
    command: str
    files: Sequence[str]

    @property
    def wanted(self) -> str:
        """What is lacking where there is none."""
        return f"nothing that `{self.command}` wrote was given"

    def make(self, sources: Sequence[Source]) -> dict[str, bytes]:
        """The contents of the files, by the label and name of each."""
        made = {}
        for source in sources:
            for file in self.files if source.audit and source.auditor == self.command else ():
                check_file(source.path / file, None)
                if not (source.path / file).exists():
                    raise UserError(
                        f"{source.path} is unfinished: it has no {file}; run the same `{self.command}` again."
                    )
                made[f"{folder_name(source.name)}-{file}"] = (source.path / file).read_bytes()
        return made


@dataclass(frozen=True)
class Paper:
    """The tables and figures of a paper. elsewhere: what another command has, in a sentence each."""

    tables: Sequence[Tabulated]
    figures: Sequence[Drawn] = ()
    pictures: Sequence[Picture] = ()
    elsewhere: Sequence[str] = ()


def over_n(source: Source, labels: Labels) -> Cell:
    """A mean over n with its standard deviation over n (COMPASS, table 2); of one n, its result."""
    cell = result(source, labels)
    if labels.get("n") is not None or not cell.numbers:
        return cell
    values = [source.find({**labels, "n": n})[0] for n in source.values("n", labels)]
    known = [row["value"] for row in values if row is not None and row["value"] is not None]
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return result_cell({**cell.numbers, "sd": sd, "sd_blocks": None, "sd_runs": None}, cell.of)


def load(count: str) -> Statistic:
    """The skill load of a count (COMPASS, equation 4) on the items of these labels."""

    def of_count(source: Source, labels: Labels) -> Cell:
        row, entry = source.find(labels)
        if row is None:
            return Cell(reason=source.why_missing(labels))
        names = ("split", "level", "skill")
        fits = [fit for fit in entry["fits"] if all(fit[name] == row[name] for name in names)]
        if count not in fits[0]["coefficients"]:
            return Cell(reason=fits[0]["reason"] or "this count does not vary", of=entry)
        sizes = {name: row[name] for name in (*_SIZES, "ties")}
        return load_cell({**sizes, "chance": None, **fits[0]["coefficients"][count]}, entry)

    return of_count


_SPREADS = [f"{name}_{over}" for over in ("blocks", "runs") for name in ("sd", "min", "max")]
_OF_ONE = ("sd", "low", "high", "low_fixed", "high_fixed", "p", *_SPREADS)
"""What rows say of one value, and the difference of two has not."""


def minus(first: Labels, second: Labels) -> Statistic:
    """The difference of two rows' values, without an interval: the results have none."""

    def of_both(source: Source, labels: Labels) -> Cell:
        (a, entry), (b, _) = (source.find({**labels, **each}) for each in (first, second))
        if a is None or b is None or a["value"] is None or b["value"] is None:
            return result(source, {**labels, **(first if a is None or a["value"] is None else second)})
        numbers = {"unit": "difference", "value": a["value"] - b["value"], "chance": a["chance"] - b["chance"]}
        empty = dict.fromkeys(name for name in a if name in _OF_ONE)
        return result_cell({**a, **empty, **numbers}, entry)

    return of_both


def _found(parts: Sequence[Part], others: Sequence[Part], of: Labels, sources: Sequence[Source]) -> list[Part]:
    """Parts with one in place of each EACH for every value that the results have, in the results that the others select; a head
    has the values for {}, but no split or benchmark where there is only one."""
    found: list[Part] = []
    for each in parts:
        chosen: list[dict[str, Any]] = [{}]
        for name in (name for name, value in each.of.items() if value is EACH):
            chosen = [
                {**labels, name: value}
                for labels in chosen
                for value in _values(name, [{**of, **other.of, **each.of, **labels} for other in others], sources)
            ]
        alone = {name for name in ("split", "benchmark") if len({labels.get(name) for labels in chosen}) == 1}
        for labels in chosen:
            shown = [str(value) for name, value in labels.items() if name not in alone]
            found.append(replace(each, head=each.head.format(", ".join(shown)).strip(", "), of={**each.of, **labels}))
    return found


def _unfound(part: Part) -> Part:
    """A part that no value was found for, so that its cells say why."""
    return replace(
        part, head=part.head.format("…"), of={name: value for name, value in part.of.items() if value is not EACH}
    )


def _values(name: str, wanted: Sequence[Labels], sources: Sequence[Source]) -> list[Any]:
    """The values of a label in the rows that some labels select, in order."""
    values = {value for source in sources for labels in wanted for value in source.values(name, labels)}
    return reported_splits(values) if name == "split" else sorted(values, key=lambda value: (len(str(value)), value))


def _designed(of: Labels, sources: Sequence[Source]) -> bool:
    """Whether some results have the splits of a column by their design; a gap has two."""
    names = set(str(of["split"]).split(" - "))
    return any(names <= splits_of(entry) for source in sources for entry in source.entries)


_Cells = dict[tuple[int, int, int], Cell]
"""Cells by row, label and column."""


def _down(
    rows: Sequence[Part], sources: Sequence[Source], columns: Sequence[Part], cells: _Cells, sizes: bool
) -> Table:
    """A line for each row and label, and with `sizes` what is known of each column below."""
    depth = max((len(source.label) for source in sources), default=1)
    headed = any(row.head for row in rows)
    lines = [
        Line(
            [*([row.head] if headed else []), *source.label, *[""] * (depth - len(source.label))],
            [cells[r, s, c] for c in range(len(columns))], rule=s == 0 and r > 0,
        )
        for r, row in enumerate(rows) for s, source in enumerate(sources)
    ]  # fmt: skip
    if not (lines and sizes):
        return Table(_LABELS[:depth], [Column(column.head, column.group) for column in columns], lines)
    of_column = [
        [cells[r, s, c].numbers for r in range(len(rows)) for s in range(len(sources))] for c in range(len(columns))
    ]
    summary = [("chance", chance_cell), *((name, _counter(name)) for name in _SIZES)]
    blank = [""] * (depth - 1 + headed)
    lines += [
        Line([name, *blank], [of(_shown(numbers)) for numbers in of_column], rule=name == "chance")
        for name, of in summary
    ]
    return Table(_LABELS[:depth], [Column(column.head, column.group) for column in columns], lines)


def _across(rows: Sequence[Part], sources: Sequence[Source], columns: Sequence[Part], cells: _Cells) -> Table:
    """A line for each row, the labels beside one another, and what is known of each line to the right."""
    lines = []
    for r, row in enumerate(rows):
        own = [cells[r, s, c] for s in range(len(sources)) for c in range(len(columns))]
        known = [_shown(cells[r, s, c].numbers for s in range(len(sources))) for c in range(len(columns))]
        sizes = [count_cell(_shown(cell.numbers for cell in own), name) for name in _SIZES]
        lines.append(Line([row.head], [*own, *map(chance_cell, known), *sizes]))
    heads = [Column(column.head, source.name) for source in sources for column in columns]
    heads += [Column(column.head, "chance") for column in columns]
    return Table([], [*heads, *map(Column, _SIZES)], lines if sources else [])


def _counter(name: str) -> Callable[[Sequence[Any]], Cell]:
    return lambda rows: count_cell(rows, name)


def _shown(numbers: Any) -> list[Any]:
    return [each for each in numbers if each]
