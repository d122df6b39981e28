"""Rows of a task: where they are, whether they train, which arrangement they show."""

import numpy as np

from generator.judge.foreign.label_tables import SplitRoles, listed_task
from generator.judge.foreign.task import first_rows, numbered

TASK = listed_task("t", {"train": ["red cube and cone", "cone"], "test": ["cone and red cube"]}, SplitRoles(), "a.json")


def test_a_row_is_found_by_split_and_number() -> None:
    assert [TASK.row(row) for row in range(3)] == ["train, label 1", "train, label 2", "test, label 1"]
    assert TASK.quoted(TASK.label[2], 2) == '"cone and red cube" (test, label 1)'


def test_training_and_evaluation_rows() -> None:
    assert TASK.trains.tolist() == [True, True, False]
    assert TASK.evaluates.tolist() == [False, False, True]


def test_labels_that_show_the_same_have_one_number() -> None:
    arrangements = TASK.arrangements[TASK.label]
    assert arrangements[0] == arrangements[2] != arrangements[1]


def test_numbers_and_first_rows() -> None:
    assert numbered(["a", "b", "a"]).tolist() == [0, 1, 0]
    first, counts = first_rows(np.array([1, 0, 1, -1]), np.array([2, 2, 2, 2]))
    assert sorted(zip(first.tolist(), counts.tolist(), strict=True)) == [(0, 2), (1, 1), (3, 1)]
