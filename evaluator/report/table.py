"""The table that all reports use (labels, grouped heads, cells with a value or the reason why it is
missing), and the formatting of its cells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from string import ascii_lowercase
from typing import Any

from evaluator.metrics.formats import DASH, number
from evaluator.protocols.items import COUNTS
from evaluator.protocols.steps import HALF_POINT
from evaluator.statistics.intervals import LEVEL

Row = Any
"""A row of results (evaluator.protocols.records.Row), or of a paper's other numbers
(evaluator.papers)."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a value as text, or the reason why there is none."""

    text: str = ""
    """The value; "" for an empty cell."""
    interval: str = ""
    """The interval of the value, which is set in small print; "" if it has none."""
    stars: str = ""
    """Stars of significance behind the text."""
    strong: bool = False
    """Whether the text is bold, where the format allows it."""
    reason: str = ""
    """Why the cell has no value; "" if it has one."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The unrounded row of results that the cell shows, for CSV and JSON."""
    of: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The results that contain the row, whose marks apply to the cell."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    head: str
    """The text above the cells."""
    group: str = ""
    """The head above this one, which neighbouring columns of one group share; "" for none."""


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    labels: Sequence[str]
    """The texts of the label columns."""
    cells: Sequence[Cell]
    """The cells, one for each column."""
    rule: bool = False
    """Whether to draw a rule above the line."""


@dataclass(frozen=True)
class Table:
    """Lines under heads, with a title and notes."""

    labels: Sequence[str]
    """The heads of the label columns."""
    columns: Sequence[Column]
    """The heads of the cells."""
    lines: Sequence[Line]
    """The lines below the heads."""
    name: str = ""
    """The name, such as "Table 2"; "" for none."""
    title: str = ""
    """What the table shows."""
    notes: Sequence[str] = ()
    """Sentences below the table."""
    mark: str = ""
    """The warning on every table of contaminated results; "" if they are not contaminated."""

    def letters(self) -> dict[str, str]:
        """Letter the reasons why cells are empty.

        Returns:
            {reason: its letter}, in the order of the cells; numbers after the letter z.

        Example:
            >>> no_run = Cell(reason="no run")
            >>> lines = [Line(["a"], [no_run]), Line(["b"], [no_run])]
            >>> Table(["model"], [Column("R@1")], lines).letters()
            {'no run': 'a'}
        """
        reasons: dict[str, None] = {}
        for line in self.lines:
            for cell in line.cells:
                if cell.reason:
                    reasons[cell.reason] = None
        numbers = map(str, count(len(ascii_lowercase) + 1))
        return dict(zip(reasons, chain(ascii_lowercase, numbers), strict=False))

    def all_notes(self) -> list[str]:
        """Write everything below the table.

        Returns:
            The notes, then what each letter means.
        """
        meanings = [f"({letter}) {reason}." for reason, letter in self.letters().items()]
        return [*self.notes, *meanings]


def plain(cell: Cell, letters: Mapping[str, str]) -> str:
    """Write a cell without its interval, as a terminal shows it.

    Args:
        cell: The cell.
        letters: The letters of its table (`Table.letters`).

    Returns:
        The text with its stars, or a dash with the letter of the reason.
    """
    if cell.reason:
        return f"{DASH} ({letters[cell.reason]})"
    return cell.text + cell.stars


def result_cell(row: Row | None, of: Mapping[str, Any] | None = None, decimals: int = 1) -> Cell:
    """Make a cell of a row of results.

    Args:
        row: The row; None for a cell that shows a dash.
        of: The results that contain the row.
        decimals: Digits after the point of shares in percent.

    Returns:
        The value with its interval and, if it has one, its standard deviation: over n or folds,
        else over blocks or runs. Without a value, the reason why.
    """
    if row is None:
        return Cell(DASH)
    if row["value"] is None:
        reason = "this split has no items"
        if row.get("unscored"):
            reason = f"none of {row['unscored']:,} items has a score"
        elif row.get("items") and row.get("metric") == HALF_POINT:
            reason = "accuracy does not cross half between two steps"
        return Cell(reason=row.get("reason") or reason, numbers=row, of=of or {})
    text = value_text(row, ("sd", "sd_blocks", "sd_runs"), decimals)
    return Cell(text, interval(row, decimals), numbers=row, of=of or {})


def value_text(row: Row, deviations: Sequence[str] = ("sd",), decimals: int = 1) -> str:
    """Write the value of a row and its standard deviation.

    Args:
        row: The row of results.
        deviations: Columns of standard deviations, of which the first with a number is written.
        decimals: Digits after the point of shares in percent.

    Returns:
        The value in its unit, with ± if it has a deviation.

    Example:
        >>> value_text({"value": 0.5, "unit": "share", "sd": 0.1})
        '50.0 ± 10.0'
    """
    text = number(row["value"], row["unit"], decimals)
    for name in deviations:
        if row.get(name) is not None:
            return f"{text} ± {_deviation(row[name], row, decimals)}"
    return text


def interval(row: Row, decimals: int = 1) -> str:
    """Write the interval of a row.

    Args:
        row: The row of results.
        decimals: Digits after the point of shares in percent.

    Returns:
        The ends in the row's unit, in square brackets, "…" for an open end; "" if it has no
        interval.

    Example:
        >>> interval({"low": 0.4, "high": 0.6, "unit": "share"})
        '[40.0, 60.0]'
    """
    if row["low"] is None and row.get("high") is None:
        return ""
    ends = []
    for end in ("low", "high"):
        # The half point of a ladder may have an end beyond its last step.
        is_open = row[end] is None
        ends.append("…" if is_open else number(row[end], row["unit"], decimals))
    return f"[{', '.join(ends)}]"


def spread(row: Row, over: str, decimals: int = 1) -> str:
    """Write the spread of a row over what was pooled.

    Args:
        row: The row of results.
        over: "blocks" or "runs".
        decimals: Digits after the point of shares in percent.

    Returns:
        Standard deviation [minimum, maximum]; "" for a single block or run.

    Example:
        >>> row = {"unit": "share", "sd_runs": 0.05, "min_runs": 0.4, "max_runs": 0.5}
        >>> spread(row, "runs")
        '± 5.0 [40.0, 50.0]'
    """
    sd = row.get(f"sd_{over}")
    if sd is None:
        return ""
    ends = {**row, "low": row.get(f"min_{over}"), "high": row.get(f"max_{over}")}
    return f"± {_deviation(sd, row, decimals)} {interval(ends, decimals)}"


def chance_cell(rows: Sequence[Row]) -> Cell:
    """Make a cell of the chance level of rows.

    Args:
        rows: Rows of results.

    Returns:
        The level, as minimum–maximum if it differs.
    """
    known = [row for row in rows if row.get("chance") is not None]
    known.sort(key=lambda row: row["chance"])
    levels = [number(row["chance"], row["unit"]) for row in known]
    return Cell(_range_text(levels))


CEILING = (
    "Ceiling: the value of an oracle that knows which texts are true. Below 100% some questions "
    "have several right answers; splits with different ceilings are not comparable."
)
"""The note below tables with ceilings."""


def ceiling_cell(rows: Sequence[Row]) -> Cell:
    """Make a cell of the ceiling of rows.

    Args:
        rows: Rows of results.

    Returns:
        The ceiling, by split if splits differ, as minimum–maximum if rows of a split differ; empty
        if all reach 100% or none is known.

    Example:
        >>> seen, unseen = {"ceiling": 0.5, "split": "seen"}, {"ceiling": 0.05, "split": "unseen"}
        >>> ceiling_cell([seen, unseen]).text
        'seen 50.0, unseen 5.0'
    """
    if not any(has_low_ceiling(row) for row in rows):
        return Cell()
    ceilings_of: dict[str, list[float]] = {}
    for row in rows:
        if row.get("ceiling") is not None:
            ceilings_of.setdefault(row["split"], []).append(row["ceiling"])
    texts = {}
    for split, ceilings in ceilings_of.items():
        numbers = [number(ceiling, "share") for ceiling in sorted(ceilings)]
        texts[split] = _range_text(numbers)
    if len(set(texts.values())) == 1:
        return Cell(next(iter(texts.values())))
    return Cell(", ".join(f"{split} {text}" for split, text in texts.items()))


def has_low_ceiling(row: Row) -> bool:
    """Tell whether even an oracle fails on some items of a row.

    Args:
        row: A row of results.

    Returns:
        Whether it is a row of a split with a known ceiling below 100%.
    """
    return not row.get("is_gap") and row.get("ceiling") is not None and row["ceiling"] < 1


def count_cell(rows: Sequence[Row], name: str) -> Cell:
    """Make a cell of a count of items.

    Args:
        rows: Rows of results.
        name: The column: `items`, `clusters`, `ties` or `unscored`.

    Returns:
        The count, as minimum–maximum if the rows differ.
    """
    counts = sorted(row[name] for row in rows if row.get(name) is not None)
    return Cell(_range_text([f"{items:,}" for items in counts]))


def load_cell(coefficient: Mapping[str, Any] | None, of: Mapping[str, Any] | None = None) -> Cell:
    """Make a cell of a skill load.

    Args:
        coefficient: The coefficient of a fit; None for a cell that shows a dash.
        of: The results that contain the fit.

    Returns:
        The load in points per atom with corrected stars; its standard error and p in small print; a
        self-load in bold.
    """
    if coefficient is None:
        return Cell(DASH)
    return Cell(
        text=f"{coefficient['beta']:+.2f}",
        interval=f"({coefficient['error']:.2f}, {p_value(coefficient['p'])})",
        stars=coefficient["stars_corrected"],
        strong=coefficient["load"] == "self",
        numbers=coefficient,
        of=of or {},
    )


def loads(fits: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table of skill loads (COMPASS).

    Args:
        fits: The fits of results.

    Returns:
        A table with a line for each fit: the load β of each count in points per atom, its standard
        error, p and corrected stars.
    """
    lines = []
    for fit in fits:
        cells = [load_cell(fit["coefficients"].get(name)) for name in COUNTS]
        cells.append(Cell(f"{fit['items']}/{fit['clusters']}"))
        labels = [fit[name] or "" for name in ("level", "skill", "split")]
        lines.append(Line(labels, cells))
    notes = []
    if fits:
        notes.append(
            "Loads: standard error and p in brackets, p without correction; * p < .005, "
            f"** p < .001 after {fits[0]['correction']} over the table."
        )
    heads = [*(name.removeprefix("n_") for name in COUNTS), "items/clusters"]
    return Table(["level", "skill", "split"], [Column(head) for head in heads], lines, notes=notes)


def p_value(p: float | None) -> str:
    """Write a p-value.

    Args:
        p: The value in 0..1; None for a missing one.

    Returns:
        It with three decimals and no leading zero; a dash for None.

    Example:
        >>> p_value(0.0123), p_value(0.0005), p_value(0.9999), p_value(None)
        ('.012', '<.001', '1', '–')
    """
    if p is None:
        return DASH
    if p < 0.001:
        return "<.001"
    # Three decimals would round it to 1.000.
    if p >= 0.9995:
        return "1"
    return f"{p:.3f}".lstrip("0")


def confidence(results: Mapping[str, Any]) -> str:
    """Write the level of the intervals of results.

    Args:
        results: Results of a run, or pooled ones.

    Returns:
        The level in percent; the usual one for results that do not record theirs.

    Example:
        >>> confidence({"rules": {"level": 0.999}}), confidence({"rules": {}})
        ('99.9%', '95%')
    """
    return f"{100 * results['rules'].get('level', LEVEL):.4g}%"


def population(rows: Iterable[Mapping[str, Any]]) -> str:
    """Name the population that the intervals of rows cover.

    Args:
        rows: Rows of results. Gaps and the split `val` are ignored.

    Returns:
        The population, with the splits if it differs between splits. Where rows of one split
        differ, as accuracies and kinds of errors of pooled runs do, splits explain nothing, and
        each population is named once.

    Example:
        >>> seen = {"split": "seen", "population": "a"}
        >>> unseen = {"split": "unseen", "population": "b"}
        >>> population([seen, unseen])
        'a (on seen); b (on unseen)'
        >>> population([seen, {**seen, "population": "b"}])
        'a, or in some rows b'
    """
    splits_of: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["population"] and not row.get("is_gap") and row["split"] != "val":
            splits_of.setdefault(row["population"], {})[row["split"] or "all items"] = None
    if len(splits_of) == 1:
        return next(iter(splits_of))
    all_splits = [split for splits in splits_of.values() for split in splits]
    if len(set(all_splits)) < len(all_splits):
        return ", or in some rows ".join(splits_of)
    return "; ".join(f"{name} (on {', '.join(splits)})" for name, splits in splits_of.items())


def _deviation(sd: float, row: Row, decimals: int) -> str:
    """A standard deviation in the unit of a row, without the sign that a difference has."""
    return number(sd, "score" if row["unit"] == "score" else "share", decimals)


def _range_text(ordered: Sequence[str]) -> str:
    """The first and the last text; one if they are equal, a dash without texts.

    >>> _range_text(["1", "2", "2", "9"]), _range_text(["1", "1"]), _range_text([])
    ('1–9', '1', '–')
    """
    ends = dict.fromkeys([*ordered[:1], *ordered[-1:]])
    return DASH.join(ends) or DASH
