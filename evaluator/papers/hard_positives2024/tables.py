"""Kamath et al. 2024, "The Hard Positive Truth about Vision-Language Compositionality"."""

from collections.abc import Sequence

from evaluator.papers.inputs import LabelledRuns, PaperInputs, RowFilter
from evaluator.papers.paper import Paper, PaperTable, table_of_changes
from evaluator.papers.selection import Selection, by_label, grouped, select, selections
from evaluator.provenance.contamination import UNKNOWN
from evaluator.report.table import Table

_MEASURES = (
    select("Original", metric="original accuracy"),
    select("Augmented", metric="augmented accuracy"),
    select("Drop", metric="augmented - original"),
    select("Brittleness", metric="brittleness"),
)
_KINDS = (select("REPLACE", kind="replace"), select("SWAP", kind="swap"))
_SKILLS = (
    select("Relations", kind="replace", skill="relation"),
    select("Attributes", kind="replace", skill="attribute"),
)
_SCORES = (
    select("c", metric="mean score c", kind="replace"),
    select("n", metric="mean score n", kind="replace"),
    select("p", metric="mean score p", kind="replace"),
)
_FIRST_SCORES = (
    select("REPLACE", kind="replace", metric="mean score c"),
    select("SWAP", kind="swap", metric="mean score c"),
)
_PRESET = (
    "Only with the texts of the preset hard-positives2024, c is the plain caption and p the "
    "synonym."
)
_BY_KIND = grouped(_KINDS, _MEASURES)
_CONVERSE = grouped((select("CONVERSE", kind="converse"),), _MEASURES)


def _by_split(labels: Sequence[LabelledRuns], columns: Sequence[Selection], *notes: str) -> Table:
    """A table with a row for each split."""
    row_filter: RowFilter = {"protocol": "hard_positives"}
    kinds = tuple(dict.fromkeys(column.row_filter["kind"] for column in columns))
    of_rows = {**row_filter, "kind": kinds, "skill": (None, "relation", "attribute")}
    rows = selections(labels, "{}", ["split"], of_rows)
    return by_label(labels, columns, rows, "split", row_filter, notes=notes)


def _by_training(inputs: PaperInputs, *, is_known: bool) -> Table:
    """The table of labels whose training data is known, such as models of `score train`, or of all
    other labels."""
    labels = []
    for label in inputs.labels:
        statuses = [entry["training"]["status"] for entry in label.entries]
        # A label without runs stands with its reason in the table of models trained here, whose
        # rows are planned.
        has_known = not statuses or any(status != UNKNOWN for status in statuses)
        if has_known == is_known:
            labels.append(label)
    return _by_split(labels, _BY_KIND)


_TITLE = "Original and augmented accuracy, brittleness"
PAPER = Paper(
    [
        PaperTable("1", _TITLE, lambda inputs: _by_split(inputs.labels, _BY_KIND)),
        PaperTable(
            "1-converse",
            f"{_TITLE}: relations in their converse form",
            lambda inputs: _by_split(inputs.labels, _CONVERSE),
            "no run was asked for the kind `converse`",
        ),
        PaperTable(
            "2", "Mean scores of REPLACE", lambda inputs: _by_split(inputs.labels, _SCORES, _PRESET)
        ),
        PaperTable(
            "7",
            "REPLACE by relations and attributes",
            lambda inputs: _by_split(inputs.labels, grouped(_SKILLS, _MEASURES)),
        ),
        PaperTable(
            "9",
            "Mean score of the original caption",
            lambda inputs: _by_split(inputs.labels, _FIRST_SCORES, _PRESET),
        ),
        PaperTable(
            "3",
            f"{_TITLE}: models trained here",
            lambda inputs: _by_training(inputs, is_known=True),
            "no run is of a model that `score train` made",
        ),
        PaperTable(
            "8",
            f"{_TITLE}: other models",
            lambda inputs: _by_training(inputs, is_known=False),
            "no run is of another model",
        ),
        table_of_changes("10"),
    ]
)
