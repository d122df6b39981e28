"""Kamath et al. 2024, "The Hard Positive Truth about Vision-Language Compositionality"."""

from collections.abc import Sequence
from typing import Any

from evaluator.papers.inputs import Given, Label
from evaluator.papers.paper import (
    Paper,
    PaperTable,
    Part,
    by_label,
    changed_elsewhere,
    grouped,
    part,
    parts,
)
from evaluator.provenance.contamination import UNKNOWN
from evaluator.report.table import Table

_MEASURES = (
    part("Original", metric="original accuracy"),
    part("Augmented", metric="augmented accuracy"),
    part("Drop", metric="augmented - original"),
    part("Brittleness", metric="brittleness"),
)
_KINDS = (part("REPLACE", kind="replace"), part("SWAP", kind="swap"))
_SKILLS = (
    part("Relations", kind="replace", skill="relation"),
    part("Attributes", kind="replace", skill="attribute"),
)
_SCORES = tuple(part(slot, metric=f"mean score {slot}", kind="replace") for slot in ("c", "n", "p"))
_FIRST_SCORES = tuple(Part(each.head, {**each.of, "metric": "mean score c"}) for each in _KINDS)
_PRESET = (
    "Only with the texts of the preset hard-positives2024, c is the plain caption and p the "
    "synonym."
)
_BY_KIND = grouped(_KINDS, _MEASURES)
_CONVERSE = grouped((part("CONVERSE", kind="converse"),), _MEASURES)


def _by_split(labels: Sequence[Label], columns: Sequence[Part], *notes: str) -> Table:
    of: dict[str, Any] = {"protocol": "hard_positives"}
    kinds = tuple({each.of["kind"]: None for each in columns})
    wanted = {**of, "kind": kinds, "skill": (None, "relation", "attribute")}
    return by_label(
        labels, columns, parts(labels, "{}", ["split"], wanted), "split", of, notes=notes
    )


def _of_training(given: Given, known: bool) -> Table:
    """The table of labels whose training data is known, such as models of `score train`, or of all
    other labels."""

    def is_known(label: Label) -> bool:
        return not label.entries or any(
            entry["training"]["status"] != UNKNOWN for entry in label.entries
        )

    return _by_split([label for label in given.labels if is_known(label) == known], _BY_KIND)


_TITLE = "Original and augmented accuracy, brittleness"
PAPER = Paper(
    [
        PaperTable("1", _TITLE, lambda given: _by_split(given.labels, _BY_KIND)),
        PaperTable(
            "1-converse",
            f"{_TITLE}: relations in their converse form",
            lambda given: _by_split(given.labels, _CONVERSE),
            "no run was asked for the kind `converse`",
        ),
        PaperTable(
            "2", "Mean scores of REPLACE", lambda given: _by_split(given.labels, _SCORES, _PRESET)
        ),
        PaperTable(
            "7",
            "REPLACE by relations and attributes",
            lambda given: _by_split(given.labels, grouped(_SKILLS, _MEASURES)),
        ),
        PaperTable(
            "9",
            "Mean score of the original caption",
            lambda given: _by_split(given.labels, _FIRST_SCORES, _PRESET),
        ),
        PaperTable(
            "3",
            f"{_TITLE}: models trained here",
            lambda given: _of_training(given, True),
            "no run is of a model that `score train` made",
        ),
        PaperTable(
            "8",
            f"{_TITLE}: other models",
            lambda given: _of_training(given, False),
            "no run is of another model",
        ),
        changed_elsewhere("10"),
    ]
)
