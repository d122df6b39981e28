"""Kamath et al. 2024, "The Hard Positive Truth about Vision-Language Compositionality"."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evaluator.provenance.contamination import UNKNOWN
from evaluator.report.tables.forgetting import ForgettingTable
from evaluator.report.tables.paper import BY_SPLIT, Paper, PaperTable, Part, grouped, part
from evaluator.report.tables.sources import Labels, Source

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


def _known(source: Source) -> bool:
    """Whether it is known what a label was trained on, as of models that `score train` made; or why there is no run."""
    return not source.entries or any(entry["training"]["status"] != UNKNOWN for entry in source.entries)


def _unknown(source: Source) -> bool:
    return not _known(source)


_PRESET = "c is the plain caption and p the synonym only with the texts of the preset hard-positives2024."

_TITLE, _BY_KIND = "Original and augmented accuracy, brittleness", grouped(_KINDS, _MEASURES)

PAPER = Paper(
    (
        _table("1", _TITLE, _BY_KIND),
        _table("2", "Mean scores of REPLACE", _SCORES, (_PRESET,), kind="replace"),
        _table("7", "REPLACE by relations and attributes", grouped(_SKILLS, _MEASURES)),
        _table("9", "Mean score of the original caption", [part(each.head, **each.of, metric="mean score c") for each in _KINDS], (_PRESET,)),
        replace(_table("3", f"{_TITLE}: models trained here", _BY_KIND), only=_known, wanted="no run is of a model that `score train` made"),
        replace(_table("8", f"{_TITLE}: models of others", _BY_KIND), only=_unknown, wanted="no run is of a model of others"),
        ForgettingTable("10", "What training changed elsewhere"),
    ),
)  # fmt: skip
