"""Lists and rows of labels become tasks."""

import json
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.judge.foreign.label_tables import SplitRoles
from generator.judge.foreign.verify import verify_splits
from tests.generator.judge.foreign.label_files import judged, said


def test_lists_of_things_and_of_thing_relation_thing(tmp_path: Path) -> None:
    pairs = judged(
        tmp_path / "a.json", json.dumps({"train": [["red cube", "blue cone"]], "test": [["blue cone", "red cube"]]})
    )
    assert said(pairs, "reordered leak") == [
        '"red cube and blue cone" (train, label 1) = "blue cone and red cube" (test, label 1)'
    ]
    linked = {"train": [["cube", "left of", "cone"], ["cone", "orbiting", "cube"]], "test": [["cone", "right", "cube"]]}
    found = judged(tmp_path / "a.json", json.dumps(linked))
    assert said(found, "converse leak") == ['"cube left cone" (train, label 1) = "cone right cube" (test, label 1)']
    assert any(
        "without a known converse, compared in their own words only: orbiting" in note for note in found["notes"]
    )


def test_rows_of_json_and_a_relation_column(tmp_path: Path) -> None:
    data = [
        {"first": "cube", "relation": "on top of", "second": "cone", "part": "train"},
        {"first": "cone", "relation": "beneath", "second": "cube", "part": "test"},
    ]
    found = judged(tmp_path / "a.json", json.dumps(data), "split=part")
    assert said(found, "converse leak") == ['"cube on cone" (train, entry 1) = "cone beneath cube" (test, entry 2)']
    by_split = {"train": [{"label": "red cube"}], "test": [{"label": "red cube"}]}
    assert len(said(judged(tmp_path / "a.json", json.dumps(by_split)), "shared arrangement")) == 1


@pytest.mark.parametrize(
    ("roles", "task", "expected"),
    [
        (SplitRoles(training=("trian",)), None, "--train trian: a has no such split; did you mean 'train'?"),
        (SplitRoles(familiar=("id",)), None, "--familiar id: a has no such split; expected one of: train."),
        (SplitRoles(), "b", "has no task 'b'"),
    ],
)
def test_names_that_are_not_there(tmp_path: Path, roles: SplitRoles, task: str | None, expected: str) -> None:
    (tmp_path / "a.json").write_text('{"train": ["red cube"]}', encoding="utf-8")
    with pytest.raises(UserError, match=expected.replace("?", r"\?")):
        verify_splits(tmp_path / "a.json", task=task, roles=roles)
