"""Unreadable and repeated texts, and wrong ids, forms and counts, are named."""

import json
from pathlib import Path

from tests.generator.judge.datasets import (
    Rows,
    edit,
    judged,
    said,
)


def test_texts_that_cannot_be_read_or_stand_twice(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        rows[0]["text"] = "colourless green ideas sleep furiously"
        rows[2]["text"] = rows[1]["text"]

    edit(benchmark, "texts", plant)
    certificate = judged(copied)
    assert "colourless" in said(certificate, "unreadable text")
    assert "repeated text" in certificate["faults"]
    assert certificate["faults"]["wrong text id"] == 2


def test_forms_and_counts_that_the_words_do_not_bear_out(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        form = json.loads(rows[0]["form"])
        form["objects"].reverse()
        rows[0]["form"] = json.dumps(form)
        rows[1]["form"] = "{"
        rows[2].update(n_attributes=3, level="OAR")
        rows[3]["form"] = None

    edit(benchmark, "texts", plant)
    certificate = judged(copied)
    assert set(certificate["faults"]) == {"wrong form"}
    assert certificate["faults"]["wrong form"] == 3
    assert (
        "it is listed with level OAR, n_objects 2, n_attributes 3, n_relations 0; its words give OA, 2, 2, 0"
        in said(certificate, "wrong form")
    )
