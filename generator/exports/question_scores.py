"""Score answers to exported questions, in the tools that ask them.

`gen export lmms-eval` and `gen export inspect` copy this file, and the reader of answers, beside
the questions. It
needs only the standard library. A result is a dictionary: what `result_of` returns for one answer.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from generator.dataset.answer_reader import read_choice, read_yes_no

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
UNITS = ("right", "right_in_all_orders", "right_items", "text_score", "image_score")
"""What a score is a share of: answers; questions that are right in every order of their options;
items whose questions are all right (for pairs, the group score); pairs whose questions about
captions, or about images, are all right."""
Result = dict[str, Any]


def result_of(row: Mapping[str, Any], answer: str, finish: str = "stop") -> Result:
    """Return what an answer scores.

    Args:
        row: A row of questions.jsonl.
        answer: The model's whole answer.
        finish: Why it ended: `length` if it was cut off, `content_filter` if it was blocked.

    Returns: `score`: 1.0 if the answer is right, else 0.0: an answer that cannot be read, refuses
        or was cut off is wrong. `says`: the letter, yes or no; or why there is none. The other
        entries come from the row.
    """
    labels: Sequence[str]
    if row["options"]:
        # Options of questions about images are names of images, which all contain the word "image".
        captions = row["options"] if row["form"] == "choice" else ()
        reading = read_choice(answer, finish, LETTERS[: len(row["options"])], captions)
        labels = LETTERS
    else:
        reading = read_yes_no(answer, finish)
        labels = ("yes", "no")
    says = reading.why if reading.label is None else labels[reading.label]
    kept = {
        name: row[name]
        for name in ("id", "item", "group", "cluster", "form", "orders", "questions", "of_form")
    }
    return {**kept, "score": float(says == row["answer"]), "says": says}


def outcomes_of(results: Iterable[Result], unit: str) -> list[tuple[str, float]]:
    """Return the cluster and the outcome of each thing that a unit counts.

    A group, or an item, that lacks a question is wrong.
    """
    members: dict[Any, list[Result]] = defaultdict(list)
    for result in results:
        if unit == "right":
            members[result["id"]].append(result)
        elif unit == "right_in_all_orders":
            members[result["group"]].append(result)
        elif (
            unit == "right_items"
            or result["form"] == {"text_score": "choice", "image_score": "images"}[unit]
        ):
            members[result["item"]].append(result)
    expected = {"right": None, "right_in_all_orders": "orders", "right_items": "questions"}.get(
        unit, "of_form"
    )
    outcomes = []
    for group in members.values():
        complete = expected is None or len({result["id"] for result in group}) == group[0][expected]
        outcomes.append(
            (group[0]["cluster"], min(result["score"] for result in group) if complete else 0.0)
        )
    return outcomes


def share_of(results: Iterable[Result], unit: str) -> float:
    """Return the mean outcome of a unit of UNITS; nan if there is none.

    Example:
        >>> row = {"id": "1", "group": 0, "orders": 2, "cluster": "s", "score": 1.0}
        >>> share_of([row], "right"), share_of([row], "right_in_all_orders")
        (1.0, 0.0)
    """
    outcomes = [outcome for _, outcome in outcomes_of(results, unit)]
    return sum(outcomes) / len(outcomes) if outcomes else float("nan")


def error_of(results: Iterable[Result], unit: str) -> float:
    """Return the standard error of `share_of`, by clusters of items of one scene.

    With residuals summed over each cluster: sqrt(G / (G - 1) · Σ sums²) / n for G clusters and n
    outcomes; nan for fewer than two clusters.
    """
    outcomes = outcomes_of(results, unit)
    sums: dict[str, float] = defaultdict(float)
    mean = sum(outcome for _, outcome in outcomes) / max(1, len(outcomes))
    for cluster, outcome in outcomes:
        sums[cluster] += outcome - mean
    if len(sums) < 2:
        return float("nan")
    return sqrt(len(sums) / (len(sums) - 1) * sum(value**2 for value in sums.values())) / len(
        outcomes
    )
