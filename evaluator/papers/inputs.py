"""The inputs of a paper's tables: results by label, or the reason why a label has none, and results
of other commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from evaluator.analysis.pooling import differences, pool_runs
from evaluator.protocols.items import FULL, PARTITIONS
from evaluator.protocols.records import Results, Row
from evaluator.report.audit_results import Audit, read_audit
from evaluator.runs.folder import NamedRun, read_named
from generator.base.errors import UserError
from generator.base.paths import split_name
from generator.dataset.records import RAW

SEPARATOR = " / "
"""Separates the parts of a label, such as "dual / labclip"."""
DEFAULTS: dict[str, Any] = {
    "error": None,
    "kind": None,
    "skill": None,
    "level": None,
    "n": None,
    "minus": None,
}
"""Columns that a filter need not name: a row is of all kinds, levels and so on by default."""
RowFilter = Mapping[str, Any]
"""{column: value} to select rows of the long table of results. A tuple matches any of its values;
columns of DEFAULTS are None by default."""
BEFORE, AFTER = "before", "after"
"""When a model was scored, of results that show what training changed elsewhere."""


@dataclass(frozen=True)
class LabelledRuns:
    """The pooled results of the runs that the user gave one label, or why there are none."""

    parts: tuple[str, ...]
    """The parts of the label: ("dual", "labclip")."""
    entries: Sequence[Results] = ()
    """The pooled results (evaluator.analysis.pooling): an entry for each design."""
    missing: str = ""
    """The reason why results are missing; "" if none was given."""
    runs: Sequence[NamedRun] = ()
    """The runs that were pooled."""
    before_and_after: Sequence[Results] = ()
    """Pooled results before and after training, on benchmarks that were not trained for; rows have
    the column `when` (BEFORE or AFTER)."""

    @property
    def name(self) -> str:
        """The label as the user wrote it."""
        return SEPARATOR.join(self.parts)

    def find(self, row_filter: RowFilter) -> tuple[Row | None, Results]:
        """Find the row that a filter selects.

        Args:
            row_filter: The columns and values of the row.

        Returns:
            The row and the results that contain it; (None, {}) if there is none.

        Raises:
            UserError: Runs of several designs have such a row: they are not averaged.
        """
        matches = list(self.select({**DEFAULTS, **row_filter}))
        if not matches:
            return None, {}
        # Pooling has joined what may be joined: rows that are still apart differ in design or
        # training.
        if len(matches) > 1:
            reasons = differences([entry for _, entry in matches])
            reason = " ".join(reasons) or "Their trainings differ."
            raise UserError(
                f"Several runs of '{self.name}' answer the same question "
                f"({row_filter['protocol']}) and cannot be averaged. {reason} Give each its own "
                f"label as LABEL=RUN."
            )
        return matches[0]

    def select(self, row_filter: RowFilter) -> Iterator[tuple[Row, Results]]:
        """Yield each row that a filter selects, and the results that contain it.

        Args:
            row_filter: The columns and values of the rows; `protocol` among them.
        """
        # Rows of audits have no protocol, and neither do their filters.
        protocol = row_filter.get("protocol")
        is_of_several = isinstance(protocol, tuple)
        candidates = self._rows if is_of_several else self._rows_by_protocol.get(protocol, ())
        for row, entry in candidates:
            if has(row, row_filter):
                yield row, entry

    @cached_property
    def _rows(self) -> Sequence[tuple[Row, Results]]:
        """The rows of all entries, each with its entry."""
        return [(row, entry) for entry in self.entries for row in entry["rows"]]

    @cached_property
    def _rows_by_protocol(self) -> Mapping[str | None, Sequence[tuple[Row, Results]]]:
        """The rows of all entries. A table looks for hundreds of rows among thousands, and nearly
        every filter names one protocol."""
        rows: dict[str | None, list[tuple[Row, Results]]] = {}
        for row, entry in self._rows:
            rows.setdefault(row.get("protocol"), []).append((row, entry))
        return rows

    def why_missing(self, row_filter: RowFilter) -> str:
        """Say why a filter selects no row.

        Args:
            row_filter: The columns and values of the row; `protocol` among them.

        Returns:
            A clause, such as "no run".
        """
        if self.missing or not self.entries:
            return self.missing or "no run"
        # Reasons from the most particular to the most general: the first that applies is the one
        # that the user can act on.
        protocol = row_filter["protocol"]
        is_raw = row_filter.get("kind") == RAW
        subject = f"raw retrieval of {protocol}" if is_raw else protocol
        rows = []
        for entry in self.entries:
            if subject in entry.get("not_asked", {}):
                return f"{subject} was not asked, since {entry['not_asked'][subject]}"
            if is_raw and protocol in entry.get("left_out", []):
                return f"{subject} was left out: it needs too many scores of this model"
            rows += [row for row in entry["rows"] if row["protocol"] == protocol]
        if not rows:
            return f"protocol '{protocol}' not in the benchmarks of its runs"
        if is_raw and not any(row["kind"] == RAW for row in rows):
            return (
                f"{subject} needs at least two captions in each split, for productivity at each "
                f"number of atoms"
            )
        splits_with_values = {row["split"] for row in rows if row["value"] is not None}
        # A gap needs two splits.
        needed = {row_filter.get("split"), row_filter.get("minus") or row_filter.get("split")}
        # A split that the design has, but whose rows have no value, is empty; another one is not of
        # this benchmark at all.
        is_known = any(needed <= splits_of(entry) for entry in self.entries)
        if is_known and needed - splits_with_values:
            return "this split has no items"
        return "no such items in the benchmarks of its runs"


@dataclass(frozen=True)
class PaperInputs:
    """What the tables and figures of a paper are made of."""

    labels: Sequence[LabelledRuns] = ()
    """Results of `score run` by label."""
    audits: Sequence[Audit] = ()
    """Results of other commands."""
    used_inputs: set[str] = field(default_factory=set)
    """The commands whose results a table or figure has taken, and AFTER if a table has taken
    `before_and_after`. `make_paper` names the inputs that are not among them."""

    def audits_of(self, command: str) -> list[Audit]:
        """The results of a command; marks the command as used."""
        self.used_inputs.add(command)
        return [audit for audit in self.audits if audit.command == command]

    def audit_labels(
        self, command: str, rows_of: Callable[[Any], list[Row]], missing: str
    ) -> list[LabelledRuns]:
        """Make a label for each result of a command.

        Args:
            command: The command, such as "score audit".
            rows_of: Makes the rows of a label from the record of a result.
            missing: Why a row is missing, if it is.
        """
        labels = []
        for audit in self.audits_of(command):
            entry = {"rows": rows_of(audit.record)}
            # In the form of runs' results, so that the same selections and tables serve both.
            labels.append(LabelledRuns((audit.name,), [entry], missing))
        return labels


def has(row: Row, row_filter: RowFilter) -> bool:
    """Whether a row has all values of a filter.

    >>> has({"split": "seen", "n": 2}, {"split": ("seen", "unseen")})
    True
    """
    for column, value in row_filter.items():
        values = value if isinstance(value, tuple) else (value,)
        if row.get(column) not in values:
            return False
    return True


def count_row(metric: str, value: float | None, unit: str = "count", **columns: Any) -> Row:
    """Make a row for a number that is not the result of a run: of a dataset or of an audit.

    Args:
        metric: The name of the number.
        value: The number; None if it is not known.
        unit: Its unit, such as "count" or "share".
        columns: Further columns, such as `split`.
    """
    numbers = {"value": value, "unit": unit, "sd": None, "low": None}
    return cast(Row, {**DEFAULTS, "split": None, "metric": metric, **numbers, **columns})


def splits_of(entry: Results) -> set[str]:
    """The splits of the rows of results; with `full` all partitions, of which some may be empty."""
    splits = {row["split"] for row in entry["rows"]}
    # `full` stands for `score run --splits`, which makes all partitions, with or without items.
    return {FULL, *PARTITIONS} if FULL in splits else splits


def read_inputs(
    runs: Sequence[str],
    missing: Sequence[str] = (),
    *,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> PaperInputs:
    """Read runs and results of other commands, by label.

    Labels keep their order, except that labels with the same first part stand together.

    Args:
        runs: [LABEL=]RUN, or a result that `read_audit` reads. Runs of one label are pooled over
            blocks and training seeds; the default label is the model.
        missing: LABEL=REASON.
        before: LABEL=RUN of the model that a training started from, on a benchmark that was not
            trained for.
        after: LABEL=RUN of the trained model, on the same benchmark.

    Raises:
        UserError: A folder holds no measured run, a REASON has no label, or `before` is not the
            model that `after` started from.
    """
    audits: dict[str, Audit] = {}
    runs_of_label: dict[str, list[NamedRun]] = {}
    for text in runs:
        # A run and a result of another command are both folders, told apart by their files; so the
        # user need not say which is which.
        audit = read_audit(text)
        if audit is not None:
            audits[text] = audit
            continue
        run = read_named(text)
        runs_of_label.setdefault(run.results["factors"]["model"], []).append(run)
    reasons = _read_reasons(missing)
    before_and_after = _read_before_and_after(before, after)
    labels = []
    # A label with nothing but a reason, or with runs elsewhere only, is a line of the tables too.
    for label in dict.fromkeys([*runs_of_label, *reasons, *before_and_after]):
        of_label = runs_of_label.get(label, [])
        entries: list[Results] = []
        for entry in pool_runs([run.results for run in of_label]):
            entries.append({**entry, "model": label})
        parts: tuple[str, ...] = (label,)
        if SEPARATOR in label:
            parts = tuple(part.strip() for part in label.split(SEPARATOR.strip()))
        labels.append(
            LabelledRuns(
                parts,
                entries,
                missing=reasons.get(label, ""),
                runs=of_label,
                before_and_after=before_and_after.get(label, []),
            )
        )
    # Labels of one model stand together even if their runs were given apart. The sort is stable, so
    # variants keep the user's order.
    first_parts = list(dict.fromkeys(label.parts[0] for label in labels))
    labels.sort(key=lambda label: first_parts.index(label.parts[0]))
    return PaperInputs(labels, list(audits.values()))


def _read_reasons(missing: Sequence[str]) -> dict[str, str]:
    """The reasons of `--missing LABEL=REASON` by label, without a final full stop."""
    reasons = {}
    for text in missing:
        label, equals, reason = text.partition("=")
        if not (equals and label.strip() and reason.strip()):
            raise UserError(
                f"Expected --missing LABEL=REASON, got '{text}'; write for example --missing "
                f"'vilt=no weights'."
            )
        reasons[label.strip()] = reason.strip().rstrip(".")
    return reasons


def _read_before_and_after(before: Sequence[str], after: Sequence[str]) -> dict[str, list[Results]]:
    """Pooled results before and after training, by label. Each trained model counts as a run,
    whatever its block."""
    # Results before come first: those after are checked against their models.
    options = [(BEFORE, text) for text in before] + [(AFTER, text) for text in after]
    bases_of_label: dict[str, set[str]] = {}
    results_of: dict[tuple[str, str], list[Results]] = {}
    for when, text in options:
        label, path = split_name(text)
        if not label:
            raise UserError(
                f"Expected --{when} LABEL=RUN, got '{text}'; give it the label of the trained "
                f"model's runs."
            )
        named = read_named(text)
        info = named.run.record.get("info", {})
        if when == BEFORE:
            bases_of_label.setdefault(label, set()).add(info.get("weights_sha256", ""))
        else:
            # By the weights' digest and not by name: a difference between two other models is not
            # the effect of training.
            base = info.get("trained_on", {}).get("base", {}).get("weights_sha256")
            if base not in bases_of_label.get(label, ()):
                raise UserError(
                    f"The model of {path} did not start from a model that --before gives for "
                    f"'{label}'; score the model that it started from on the same benchmark."
                )
        # As seeds of one block, trainings on different blocks are averaged: here the block was not
        # scored.
        factors = {**named.results["factors"], "training_seed": named.run.record["model"]}
        results_of.setdefault((label, when), []).append({**named.results, "factors": factors})
    entries_of_label: dict[str, list[Results]] = {}
    for (label, when), results in results_of.items():
        for entry in pool_runs(results):
            rows = [{**row, "when": when} for row in entry["rows"]]
            pooled = {**entry, "model": f"{label}, {when}", "rows": rows}
            entries_of_label.setdefault(label, []).append(pooled)
    return entries_of_label
