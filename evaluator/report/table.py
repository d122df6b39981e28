"""The table that all reports use (labels, grouped heads, cells with a value or the reason why it is
missing), and the formatting of its numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from string import ascii_lowercase
from typing import Any

from evaluator.protocols.items import COUNTS
from evaluator.statistics.intervals import LEVEL

NOTHING = "–"
Row = Any
"""A row of results (evaluator.protocols.records.Row), or of a paper's other numbers
(evaluator.papers)."""


@dataclass(frozen=True)
class Cell:
    """A cell: `text` with its `stars`, and an `interval` in small print; or the `reason` why it is
    empty.

    strong: bold, where the format allows it. numbers: the unrounded row of results that it shows,
        for CSV and JSON.
    of: the results that contain the row.
    """

    text: str = ""
    interval: str = ""
    stars: str = ""
    strong: bool = False
    reason: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    of: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Column:
    """The head of a column; neighbouring columns of one `group` share a head above."""

    head: str
    group: str = ""


@dataclass(frozen=True)
class Line:
    """The labels and cells of a line. rule: draw a rule above it."""

    labels: Sequence[str]
    cells: Sequence[Cell]
    rule: bool = False


@dataclass(frozen=True)
class Table:
    """Lines under heads. labels: the heads of the label columns. name: such as "Table 2". mark: the
    warning on every table of contaminated results. notes: sentences below the table."""

    labels: Sequence[str]
    columns: Sequence[Column]
    lines: Sequence[Line]
    name: str = ""
    title: str = ""
    notes: Sequence[str] = ()
    mark: str = ""

    def letters(self) -> dict[str, str]:
        """{reason why a cell is empty: its letter}, in the order of the cells.

        >>> no_run = Cell(reason="no run")
        >>> lines = [Line(["a"], [no_run]), Line(["b"], [no_run])]
        >>> Table(["model"], [Column("R@1")], lines).letters()
        {'no run': 'a'}
        """
        reasons = dict.fromkeys(
            cell.reason for line in self.lines for cell in line.cells if cell.reason
        )
        return dict(
            zip(
                reasons,
                chain(ascii_lowercase, map(str, count(len(ascii_lowercase) + 1))),
                strict=False,
            )
        )

    def said(self) -> list[str]:
        """The notes, and what each letter means."""
        return [
            *self.notes,
            *(f"({letter}) {reason}." for reason, letter in self.letters().items()),
        ]


def plain(cell: Cell, letters: Mapping[str, str]) -> str:
    """A cell without its interval, as a terminal shows it."""
    if cell.reason:
        return f"{NOTHING} ({letters[cell.reason]})"
    return cell.text + cell.stars


def result_cell(row: Row | None, of: Mapping[str, Any] | None = None, decimals: int = 1) -> Cell:
    """A value with its interval and, if it has one, its standard deviation: over n or folds, else
    over blocks or runs."""
    if row is None:
        return Cell(NOTHING)
    if row["value"] is None:
        lacking = (
            f"none of {row['unscored']:,} items has a score"
            if row.get("unscored")
            else "this split has no items"
        )
        return Cell(reason=row.get("reason") or lacking, numbers=row, of=of or {})
    text = value_text(row, ("sd", "sd_blocks", "sd_runs"), decimals)
    return Cell(text, interval(row, decimals), numbers=row, of=of or {})


def value_text(row: Row, deviations: Sequence[str] = ("sd",), decimals: int = 1) -> str:
    """The value of a row, with the first of the columns `deviations` that is not None.

    >>> value_text({"value": 0.5, "unit": "share", "sd": 0.1})
    '50.0 ± 10.0'
    """
    text = number(row["value"], row["unit"], decimals)
    sd = next((row[name] for name in deviations if row.get(name) is not None), None)
    return text if sd is None else f"{text} ± {_deviation(sd, row, decimals)}"


def interval(row: Row, decimals: int = 1) -> str:
    """The interval of a row, in its unit; "" if it has none."""
    if row["low"] is None:
        return ""
    return (
        f"[{number(row['low'], row['unit'], decimals)}, "
        f"{number(row['high'], row['unit'], decimals)}]"
    )


def spread(row: Row, over: str, decimals: int = 1) -> str:
    """The spread over pooled `blocks` or `runs`: standard deviation [minimum, maximum]; "" for a
    single one.

    >>> spread({"unit": "share", "sd_runs": 0.05, "min_runs": 0.4, "max_runs": 0.5}, "runs")
    '± 5.0 [40.0, 50.0]'
    """
    sd, least, most = (row.get(f"{name}_{over}") for name in ("sd", "min", "max"))
    if sd is None:
        return ""
    return (
        f"± {_deviation(sd, row, decimals)} "
        f"{interval({**row, 'low': least, 'high': most}, decimals)}"
    )


def chance_cell(rows: Sequence[Row]) -> Cell:
    """The chance level of rows, as minimum–maximum if it differs."""
    known = sorted(
        (row for row in rows if row.get("chance") is not None), key=lambda row: row["chance"]
    )
    return Cell(_between([number(row["chance"], row["unit"]) for row in known]))


CEILING = (
    "Ceiling: the value of an oracle that knows which texts are true. Below 100% some questions "
    "have several right answers; splits with different ceilings are not comparable."
)
"""The note below tables with ceilings."""


def ceiling_cell(rows: Sequence[Row]) -> Cell:
    """The ceiling of rows, by split if splits differ, as minimum–maximum if rows of a split differ;
    empty if all reach 100% or none is known.

    >>> ceiling_cell([{"ceiling": 0.5, "split": "seen"}, {"ceiling": 0.05, "split": "unseen"}]).text
    'seen 50.0, unseen 5.0'
    """
    if not any(has_low_ceiling(row) for row in rows):
        return Cell()
    of_split: dict[str, list[float]] = {}
    for row in rows:
        if row.get("ceiling") is not None:
            of_split.setdefault(row["split"], []).append(row["ceiling"])
    texts = {
        split: _between([number(each, "share") for each in sorted(of)])
        for split, of in of_split.items()
    }
    if len(set(texts.values())) == 1:
        return Cell(next(iter(texts.values())))
    return Cell(", ".join(f"{split} {text}" for split, text in texts.items()))


def has_low_ceiling(row: Row) -> bool:
    """Whether a row of a split has a known ceiling below 100%."""
    return not row.get("is_gap") and row.get("ceiling") is not None and row["ceiling"] < 1


def count_cell(rows: Sequence[Row], name: str) -> Cell:
    """The `items`, `clusters`, `ties` or `unscored` (`name`) of rows, as minimum–maximum if they
    differ."""
    return Cell(
        _between([f"{n:,}" for n in sorted(row[name] for row in rows if row.get(name) is not None)])
    )


def load_cell(coefficient: Mapping[str, Any] | None, of: Mapping[str, Any] | None = None) -> Cell:
    """A skill load in points per atom with corrected stars; its standard error and p in small
    print; a self-load in bold."""
    if coefficient is None:
        return Cell(NOTHING)
    small = f"({coefficient['error']:.2f}, {p_value(coefficient['p'])})"
    bold = coefficient["load"] == "self"
    stars = coefficient["stars_corrected"]
    return Cell(f"{coefficient['beta']:+.2f}", small, stars, bold, numbers=coefficient, of=of or {})


def loads(fits: Sequence[Mapping[str, Any]]) -> Table:
    """A table of skill loads (COMPASS): for each fit a line with the load β of each count in points
    per atom, its standard error, p and corrected stars."""
    lines = []
    for fit in fits:
        cells = [load_cell(fit["coefficients"].get(count)) for count in COUNTS]
        sizes = Cell(f"{fit['items']}/{fit['clusters']}")
        lines.append(
            Line([fit[name] or "" for name in ("level", "skill", "split")], [*cells, sizes])
        )
    notes = [
        "Loads: standard error and p in brackets, p without correction; * p < .005, ** p < .001 "
        "after "
        f"{fit['correction']} over the table."
        for fit in fits[:1]
    ]
    heads = [*(count.removeprefix("n_") for count in COUNTS), "items/clusters"]
    return Table(["level", "skill", "split"], [Column(head) for head in heads], lines, notes=notes)


def number(value: Any, unit: str, decimals: int = 1) -> str:
    """Format a number by its unit: a share in percent (tiny ones with two significant digits), a
    difference in signed points, a count or a score; a dash for None.

    >>> number(0.5, "share"), number(2 / 7392, "share")
    ('50.0', '0.027')
    >>> number(-0.1, "difference"), number(1200, "count")
    ('-10.0', '1,200')
    >>> number(0.21, "score"), number(-0.010234, "score"), number(None, "share")
    ('0.210', '-0.01023', '–')
    """
    if value is None:
        return NOTHING
    if unit == "share":
        percent = 100 * value
        return (
            f"{percent:.{decimals}f}"
            if percent == 0 or percent >= 10**-decimals
            else f"{percent:.2g}"
        )
    if unit == "difference":
        return f"{100 * value:+.{decimals}f}"
    if unit == "count":
        return f"{value:,}"
    return f"{value:.4g}" if 0 < abs(value) < 0.1 else f"{value:.3f}"


def p_value(p: float | None) -> str:
    """A p-value with three decimals; a dash for None.

    >>> p_value(0.0123), p_value(0.0005), p_value(0.9999), p_value(None)
    ('.012', '<.001', '1', '–')
    """
    if p is None:
        return NOTHING
    if p < 0.001:
        return "<.001"
    return f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def confidence(results: Mapping[str, Any]) -> str:
    """The level of the intervals of results, in percent.

    >>> confidence({"rules": {"level": 0.999}}), confidence({"rules": {}})
    ('99.9%', '95%')
    """
    return f"{100 * results['rules'].get('level', LEVEL):.4g}%"


def population(rows: Iterable[Mapping[str, Any]]) -> str:
    """The population that the intervals of rows cover, with the splits if it differs between
    splits; ignores gaps and `val`.

    >>> population([{"split": "seen", "speaks_of": "a"}, {"split": "unseen", "speaks_of": "b"}])
    'a (on seen); b (on unseen)'

    Where rows of one split differ, as accuracies and kinds of errors of pooled runs do, splits
    explain nothing, and each population is named once:

    >>> population([{"split": "seen", "speaks_of": "a"}, {"split": "seen", "speaks_of": "b"}])
    'a, or in some rows b'
    """
    splits_of: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["speaks_of"] and not row.get("is_gap") and row["split"] != "val":
            splits_of.setdefault(row["speaks_of"], {})[row["split"] or "all items"] = None
    if len(splits_of) == 1:
        return next(iter(splits_of))
    all_splits = [split for splits in splits_of.values() for split in splits]
    if len(set(all_splits)) < len(all_splits):
        return ", or in some rows ".join(splits_of)
    return "; ".join(f"{of} (on {', '.join(splits)})" for of, splits in splits_of.items())


def _deviation(sd: float, row: Row, decimals: int) -> str:
    return number(sd, "score" if row["unit"] == "score" else "share", decimals)


def _between(ordered: Sequence[str]) -> str:
    """
    >>> _between(["1", "2", "2", "9"]), _between([])
    ('1–9', '–')
    """
    return NOTHING.join(dict.fromkeys([*ordered[:1], *ordered[-1:]])) or NOTHING
