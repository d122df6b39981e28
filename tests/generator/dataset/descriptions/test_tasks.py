"""Tasks: each right answer earns 1, in any form of its record, and other records are refused."""

import json
from typing import Any

import pytest

from generator.dataset.descriptions.rewards import (
    AttributeTruth,
    ChoiceTruth,
    CountTruth,
    to_record,
)
from generator.dataset.descriptions.tasks import TASKS, answer_reward, gold_answer
from tests.generator.dataset.descriptions.answers import VOCABULARY
from tests.generator.dataset.descriptions.scenes import image

SCENE = image("cube red large metal", "cone blue small rubber", right=(0, 1))
TRUTHS = {
    "describe": SCENE,
    "relations": SCENE,
    "count": CountTruth(2),
    "attributes": AttributeTruth("color", "red", VOCABULARY),
    "choice": ChoiceTruth("AB", 1, ("a red cone", "a red cube")),
}


@pytest.mark.parametrize("task", TASKS)
def test_right_answers_earn_one(task: str) -> None:
    record = {"task": task, "truth": to_record(TRUTHS[task])}
    for form in (record, json.dumps(record)):
        answer = gold_answer(form)
        assert answer_reward(answer, form).value == 1
        assert answer_reward(f"<think>Or not?</think>{answer}", form).value == 1
        assert answer_reward("", form).value == 0


def test_a_description_without_its_relations_earns_half() -> None:
    truth = to_record(SCENE)
    answer = gold_answer({"task": "describe", "truth": truth})
    assert answer_reward(answer, {"task": "relations", "truth": truth}).value == 0.5


@pytest.mark.parametrize(
    "record",
    [
        *({}, [], "", "nonsense", "[]", {"task": "count"}, {"task": "sing", "truth": {}}),
        *({"task": "count", "truth": {}}, {"task": "describe", "truth": {"objects": 3}}),
    ],
)
def test_other_records_are_refused(record: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        answer_reward("3", record)
