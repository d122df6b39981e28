"""The tables of a board: for each form its models in order, with a column for each world, and the
models over all forms of a suite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols import protocol_names
from evaluator.protocols.items import FULL, reported_splits
from evaluator.protocols.records import LABELS, Results, Row
from evaluator.provenance.contamination import CONTAMINATED
from evaluator.report.overview import MetricLine, main_lines
from evaluator.submissions.checks import CheckedRun
from evaluator.submissions.form_spread import FormSpread, spread_over_forms
from evaluator.submissions.forms import Form
from evaluator.submissions.marks import MarkedForm
from evaluator.submissions.read import Submission
from generator.base.errors import UserError

_MAIN_SPLITS = ("unseen", FULL)
"""Splits that a column is about, the first that all models have."""
_DIGITS_OF_CHANCE = 6
"""Digits to which chance levels are compared: values of other chance are not comparable."""


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A model of the board."""

    name: str
    """Its name, which no other model of the board has."""
    submission: Submission | None
    """Its submission; None for plain runs."""
    runs: Sequence[CheckedRun]
    """Its runs on all forms."""
    marks: Mapping[Form, MarkedForm]
    """The mark of its runs on each form."""
    unranked: str
    """Why it has no rank, a sentence; "" if it has one."""

    def pooled(self, form: Form) -> dict[str, Results]:
        """Pool the runs on a form over the turns of each world.

        Args:
            form: The form.

        Returns:
            By column (track, world and question set), the pooled results.

        Raises:
            UserError: Runs of one column differ in more than their turn.
        """
        # A world may be asked in several runs, each with protocols of its own.
        of_column: dict[str, dict[tuple[str, ...], list[Results]]] = {}
        for run in self.runs:
            if run.place.form == form:
                of_protocols = of_column.setdefault(run.column, {})
                protocols = tuple(run.run.record["protocols"])
                of_protocols.setdefault(protocols, []).append(run.results)
        pooled = {}
        for column, of_protocols in of_column.items():
            entries = [self._pool(column, results) for results in of_protocols.values()]
            merged = {**entries[0], "model": self.name}
            for part in ("rows", "cells", "fits"):
                merged[part] = [row for entry in entries for row in entry[part]]
            pooled[column] = merged
        return pooled

    @property
    def is_text_only(self) -> bool:
        """Whether the scores of a run do not depend on its images."""
        return any(run.reads_images is False for run in self.runs)

    def _pool(self, column: str, results: Sequence[Results]) -> Results:
        """Pool runs over turns. Raises UserError if they differ in more."""
        entries = pool_runs([{**of_run, "model": self.name} for of_run in results])
        if len(entries) > 1:
            raise UserError(
                f"{self.name} has {len(entries)} kinds of runs of {column}, which differ in more "
                f"than their turn; submit one kind."
            )
        return entries[0]


@dataclass(frozen=True)
class BoardColumn:
    """A column of a form's table: the metric that all models of a world have."""

    name: str
    """Track, world and question set."""
    metric: str
    """Protocol and metric in words, such as `pairs matching`."""
    split: str
    """The split."""
    chance: float | None
    """The value of a model that guesses, 0..1; None if it differs or is not known."""


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A model on a form."""

    entrant: Entrant
    """The model."""
    mark: MarkedForm
    """Its mark on this form."""
    cells: Sequence[Row | None]
    """The row of results of each column; None if the model has none."""
    mean: float | None
    """The mean over the columns, 0..1; None if a column is missing."""
    low: float | None
    """Lower end of the interval of the mean; None without a mean or without intervals."""
    high: float | None
    """Its upper end."""
    rank: int | None
    """Its place from 1; None if it has no rank."""
    why_unranked: str
    """Why it has no rank; "" if it has one."""
    training: str
    """What its training saw, as its sender says."""


@dataclass(frozen=True)
class FormTable:
    """The models on one form."""

    form: Form
    """The form."""
    columns: Sequence[BoardColumn]
    """The worlds."""
    rows: Sequence[BoardRow]
    """The models: by rank, then those without rank by mean."""


@dataclass(frozen=True)
class PooledForms:
    """The models over all forms of a suite."""

    title: str
    """The suite, its version and part."""
    forms: Sequence[Form]
    """The forms that count."""
    spread: FormSpread
    """The means and the spread."""
    ranking: Sequence[str]
    """The names of the models, best first."""


def rank_form(form: Form, entrants: Sequence[Entrant]) -> FormTable:
    """Compare the models on one form.

    Args:
        form: The form.
        entrants: All models of the board; those without a run on the form are left out.

    Returns:
        The table.

    Raises:
        UserError: As `Entrant.pooled`.
    """
    pooled_of = {}
    for entrant in entrants:
        pooled = entrant.pooled(form)
        if pooled:
            pooled_of[entrant.name] = pooled
    names = sorted({name for pooled in pooled_of.values() for name in pooled})
    columns: list[BoardColumn] = []
    cells_of: dict[str, list[Row | None]] = {name: [] for name in pooled_of}
    for name in names:
        lines_of = {
            model: main_lines([pooled[name]])
            for model, pooled in pooled_of.items()
            if name in pooled
        }
        column, rows_of = _choose_metric(name, lines_of)
        columns.append(column)
        for model, cells in cells_of.items():
            cells.append(rows_of.get(model))
    rows = []
    for entrant in entrants:
        if entrant.name in cells_of:
            rows.append(_row_of(entrant, form, cells_of[entrant.name], columns))
    return FormTable(form, columns, _ranked(rows))


def pool_forms(tables: Sequence[FormTable]) -> list[PooledForms]:
    """Compare models over the forms of each suite, with the spread of forms in the intervals.

    Args:
        tables: The table of each form.

    Returns:
        An entry for each suite, version and part that has two forms or more. Models without a rank
        on a form do not count there.
    """
    tables_of: dict[tuple[str, str, str], list[FormTable]] = {}
    for table in tables:
        form = table.form
        if form.suite:
            tables_of.setdefault((form.suite, form.version, form.part), []).append(table)
    pooled = []
    for (suite, version, part), of_suite in tables_of.items():
        if len(of_suite) < 2:
            continue
        values: dict[str, dict[str, float]] = {}
        for table in _comparable(of_suite):
            for row in table.rows:
                if row.rank is not None and row.mean is not None:
                    values.setdefault(row.entrant.name, {})[table.form.name] = row.mean
        spread = spread_over_forms(values)
        ranking = sorted(spread.means, key=lambda model: -spread.means[model].value)
        forms = [table.form for table in of_suite]
        pooled.append(PooledForms(f"{suite}-{version} ({part})", forms, spread, ranking))
    return pooled


def _comparable(tables: Sequence[FormTable]) -> list[FormTable]:
    """The tables with the columns that most forms have: means over other worlds differ by more than
    their form."""
    by_columns: dict[tuple[tuple[str, str, str], ...], list[FormTable]] = {}
    for table in tables:
        key = tuple((column.name, column.metric, column.split) for column in table.columns)
        by_columns.setdefault(key, []).append(table)
    return max(by_columns.values(), key=len)


def _choose_metric(
    name: str, lines_of: Mapping[str, Sequence[MetricLine]]
) -> tuple[BoardColumn, dict[str, Row]]:
    """The column of a world, and its row for each model.

    The metric is the first main metric over all kinds, in the order of the protocols, that most
    models have with the same chance level. It does not depend on how well a model does.
    """
    best: tuple[BoardColumn, dict[str, Row]] | None = None
    for protocol in protocol_names():
        for labels, rows_of in _rows_of_protocol(protocol, lines_of).items():
            split = _main_split(rows_of)
            if split is None:
                continue
            rows = {model: rows[split] for model, rows in rows_of.items() if split in rows}
            chance, of_chance = _most_common_chance(rows)
            if best is None or len(of_chance) > len(best[1]):
                words = " ".join(str(label) for label in labels if label)
                best = BoardColumn(name, words, split, chance), of_chance
    if best is None:
        return BoardColumn(name, "nothing measured", "", None), {}
    return best


def _rows_of_protocol(
    protocol: str, lines_of: Mapping[str, Sequence[MetricLine]]
) -> dict[tuple[Any, ...], dict[str, dict[str, Row]]]:
    """By the labels of a metric, by model, by split, its rows; metrics over all kinds and skills
    come first."""
    of_labels: dict[tuple[Any, ...], dict[str, dict[str, Row]]] = {}
    for model, lines in lines_of.items():
        for line in lines:
            first = line.first
            if first["protocol"] != protocol or first["unit"] != "share":
                continue
            labels = tuple(first[label] for label in LABELS)
            of_labels.setdefault(labels, {})[model] = dict(line.rows)
    return dict(sorted(of_labels.items(), key=lambda entry: sum(map(bool, entry[0]))))


def _main_split(rows_of: Mapping[str, Mapping[str, Row]]) -> str | None:
    """The split of a column: a main one that all models have with a value, else the first reported
    one; None without any."""
    common: set[str] | None = None
    for rows in rows_of.values():
        scored = {split for split, row in rows.items() if row["value"] is not None}
        common = scored if common is None else common & scored
    for split in _MAIN_SPLITS:
        if split in (common or ()):
            return split
    reported = reported_splits(common or ())
    return reported[0] if reported else None


def _most_common_chance(rows: Mapping[str, Row]) -> tuple[float | None, dict[str, Row]]:
    """The chance level that most models have, and their rows: a sampled pool has another one."""
    by_chance: dict[float | None, dict[str, Row]] = {}
    for model, row in rows.items():
        chance = row["chance"]
        key = None if chance is None else round(chance, _DIGITS_OF_CHANCE)
        by_chance.setdefault(key, {})[model] = row
    return max(by_chance.items(), key=lambda entry: len(entry[1]))


def _row_of(
    entrant: Entrant, form: Form, cells: Sequence[Row | None], columns: Sequence[BoardColumn]
) -> BoardRow:
    """The row of a model, without its rank."""
    values: list[float] = []
    squared_reach: float | None = 0.0
    for cell in cells:
        if cell is None or cell["value"] is None:
            continue
        values.append(cell["value"])
        if cell["low"] is None or cell["high"] is None or squared_reach is None:
            squared_reach = None
        else:
            # Worlds have other scenes, so their errors are independent.
            squared_reach += ((cell["high"] - cell["low"]) / 2) ** 2
    mean = low = high = None
    if len(values) == len(columns):
        mean = sum(values) / len(values)
        if squared_reach is not None:
            reach = squared_reach**0.5 / len(values)
            low, high = max(0.0, mean - reach), min(1.0, mean + reach)
    why = entrant.unranked
    trainings = _trainings(entrant, form)
    if mean is None:
        why = why or f"It has {len(values)} of {len(columns)} worlds."
    if CONTAMINATED in trainings:
        why = why or "Its training showed what is held out."
    return BoardRow(
        entrant=entrant,
        mark=entrant.marks[form],
        cells=cells,
        mean=mean,
        low=low,
        high=high,
        rank=None,
        why_unranked=why,
        training=", ".join(trainings),
    )


def _trainings(entrant: Entrant, form: Form) -> list[str]:
    """The statuses of the training of a model's runs on a form."""
    statuses = [
        str(run.results["training"]["status"]) for run in entrant.runs if run.place.form == form
    ]
    return list(dict.fromkeys(statuses))


def _ranked(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows in order, with ranks; equal means share a rank."""

    def key(row: BoardRow) -> tuple[bool, float]:
        return bool(row.why_unranked), -(row.mean if row.mean is not None else -1.0)

    ranked = []
    ordered = sorted(rows, key=key)
    means = [row.mean for row in ordered if not row.why_unranked]
    for row in ordered:
        rank = None if row.why_unranked else 1 + means.index(row.mean)
        ranked.append(
            BoardRow(
                entrant=row.entrant,
                mark=row.mark,
                cells=row.cells,
                mean=row.mean,
                low=row.low,
                high=row.high,
                rank=rank,
                why_unranked=row.why_unranked,
                training=row.training,
            )
        )
    return ranked
