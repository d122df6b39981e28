"""Kamath et al. 2024, "The Hard Positive Truth about Vision-Language Compositionality"."""

from collections.abc import Sequence
from typing import Any

from evaluator.tables.forgetting import ForgettingTable
from evaluator.tables.paper import BY_SPLIT, Paper, PaperTable, Part, grouped, part
from evaluator.tables.sources import Labels

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
_SCORES = tuple(part(slot, metric=f"mean score {slot}") for slot in ("c", "n", "p"))


def _table(number: str, title: str, columns: Sequence[Part], notes: Sequence[str] = (), **of: Any) -> PaperTable:
    labels: Labels = {"protocol": "hard_positives", **of}
    return PaperTable(number, title, columns, rows=BY_SPLIT, head="split", of=labels, notes=notes)


_PRESET = "c is the plain caption and p the synonym only with the texts of the preset hard-positives2024."

PAPER = Paper(
    (
        _table("1", "Original and augmented accuracy, brittleness", grouped(_KINDS, _MEASURES)),
        _table("2", "Mean scores of REPLACE", _SCORES, (_PRESET,), kind="replace"),
        _table("7", "REPLACE by relations and attributes", grouped(_SKILLS, _MEASURES)),
        _table("9", "Mean score of the original caption", [part(each.head, **each.of, metric="mean score c") for each in _KINDS], (_PRESET,)),
        ForgettingTable("10", "What training changed elsewhere"),
    ),
    elsewhere=("Table 3 is table 1 of models with other weights of the negatives.",),
)  # fmt: skip
