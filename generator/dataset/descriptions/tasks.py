"""The tasks of a model that is trained by rewards: one function rewards an answer to any of them.

A task record is JSON data, `{"task": "count", "truth": {"count": 3}}`, so that it fits into a
column of a table.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from .description import description_of
from .json_reader import write_json
from .rewards import (
    AttributeTruth,
    ChoiceTruth,
    CountTruth,
    Record,
    Reward,
    attribute_reward,
    choice_reward,
    count_reward,
    description_reward,
)
from .truth import ImageTruth

Task = Literal["describe", "count", "attributes", "relations", "choice"]
"""`describe`: name every object with its values; `relations`: also how they stand to each other;
`count`, `attributes`: a short question; `choice`: which of several captions is true."""
TASKS: tuple[Task, ...] = get_args(Task)


def answer_reward(answer: str, record: Record) -> Reward:
    """Reward an answer to a task.

    Args:
        answer: the whole answer, with its reasoning.
        record: the task and its truth, as JSON data or JSON text.

    Returns:
        The reward, 0..1.

    Raises:
        ValueError: `record` is not the record of a task.

    Example:
        >>> answer_reward("There are three.", '{"task": "count", "truth": {"count": 3}}').value
        1.0
    """
    task, truth = _parts_of(record)
    return _REWARDS[task](answer, truth)


def gold_answer(record: Record) -> str:
    """Write the answer to a task that earns 1.

    Args:
        record: the task and its truth, as JSON data or JSON text.

    Returns:
        An answer in the form that the question asks for.

    Raises:
        ValueError: `record` is not the record of a task.

    Example:
        >>> gold_answer({"task": "choice", "truth": {"letters": "AB", "right": 1}})
        'B'
    """
    task, truth = _parts_of(record)
    if task == "count":
        return str(CountTruth.read(truth).count)
    if task == "attributes":
        return AttributeTruth.read(truth).value
    if task == "choice":
        choice = ChoiceTruth.read(truth)
        return choice.letters[choice.right]
    # JSON, which the question asks for; trainers check that the gold answer earns 1.
    return write_json(description_of(ImageTruth.read(truth), relations=task == "relations"))


def _parts_of(record: Record) -> tuple[Task, Mapping[str, Any]]:
    data = json.loads(record) if isinstance(record, str) else record
    if not isinstance(data, Mapping) or data.get("task") not in TASKS or "truth" not in data:
        raise ValueError(f"Expected a record with task and truth, got {data!r:.80}")
    return data["task"], data["truth"]


def _related_reward(answer: str, truth: Record) -> Reward:
    return description_reward(answer, truth, relations=True)


_REWARDS: dict[Task, Callable[[str, Record], Reward]] = {
    "describe": description_reward,
    "relations": _related_reward,
    "count": count_reward,
    "attributes": attribute_reward,
    "choice": choice_reward,
}
