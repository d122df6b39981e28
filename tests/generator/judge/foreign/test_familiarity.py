"""Unequal familiarity of labels and negatives is named; unequal swaps are noted."""

import json
from pathlib import Path

from tests.generator.judge.foreign.label_files import judged, rows, said


def test_unequal_familiarity_and_exposed_bindings(tmp_path: Path) -> None:
    table = rows("label,wrong,split", "red cube and blue cone,blue cube and red cone,train", "green cone,green cube,train",
                 "green cube and blue cone,blue cube and green cone,test", "red cube and green cone,red cone and green cube,test")  # fmt: skip
    found = judged(tmp_path / "a.csv", table, "negative=wrong")
    assert said(found, "asymmetric familiarity") == [
        '"red cube and green cone" (test, line 5) has 0 bindings that training never shows, its negative '
        '"red cone and green cube" 2'
    ]
    assert said(found, "exposed binding") == ['"green cube" (train, line 3) is a negative and names green cube']
    (table_of,) = found["familiarity"].values()
    assert {row["split"]: (row["seen"], row["partial"]) for row in table_of} == {
        "train": (2, 0),
        "test": (1, 1),
        "all": (3, 1),
    }


def test_a_relation_that_training_never_shows(tmp_path: Path) -> None:
    table = rows("label,negative,split", "cube left cone,,train", "sphere left cone,cone right cube,test")
    found = judged(tmp_path / "a.csv", table)
    assert "has 1 relations that training never shows, its negative" in said(found, "asymmetric familiarity")[0]


def test_swaps_of_evaluation_labels_that_are_unequally_familiar_are_a_note(tmp_path: Path) -> None:
    data = {"train": ["red cube", "blue cone", "blue cube"], "test": [["red cube", "blue cone"]]}
    found = judged(tmp_path / "a.json", json.dumps(data))
    assert found["status"] == "clean"
    assert any("test: asked against a caption with its attributes exchanged, 1 rows" in note for note in found["notes"])
