"""Score answers to exported questions, in the tools that ask them.

`gen export lmms-eval` and `gen export inspect` copy this file, and the reader of answers, beside
the questions. It needs only the standard library.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from generator.dataset.answer_reader import read_choice, read_yes_no

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FORMS_OF_PAIRS = {
    "text_score": ("choice",),
    "image_score": ("images",),
    "group_score": ("choice", "images"),
    "matching_score": ("matching",),
}
"""The forms of questions that each unit of pairs counts. `right_items` is not the group score: it
also counts the matching."""
UNITS = ("right", "right_in_all_orders", "right_items", *_FORMS_OF_PAIRS)
"""What a score is a share of: answers; questions that are right in every order of their options;
items whose questions are all right; pairs whose questions about captions, about images, about both,
or about which caption belongs to which image, are all right."""
Result = dict[str, Any]
"""What `result_of` returns for one answer."""
_COPIED = (
    *("id", "item", "group", "cluster", "form"),
    *("orders", "questions", "of_form", "of_group_score"),
)
"""The entries of a question that its result keeps."""
_EXPECTED_COUNT = {
    "right": None,
    "right_in_all_orders": "orders",
    "right_items": "questions",
    "text_score": "of_form",
    "image_score": "of_form",
    "group_score": "of_group_score",
    "matching_score": "of_form",
}
"""By unit, the entry of a question that says how many questions belong together; None for one."""


def result_of(row: Mapping[str, Any], answer: str, finish: str = "stop") -> Result:
    """Score an answer.

    Args:
        row: A row of questions.jsonl.
        answer: The model's whole answer.
        finish: Why it ended: `length` if it was cut off, `content_filter` if it was blocked.

    Returns:
        `score`: 1.0 if the answer is right, else 0.0: an answer that cannot be read, refuses or was
        cut off is wrong. `says`: the letter, yes or no; or why there is none. The other entries
        come from the row.
    """
    labels: Sequence[str]
    if row["options"]:
        # Options of questions about images are names of images, which all contain the word "image".
        has_words = row["form"] in ("choice", "quarter-turns", "taken-from")
        captions = row["options"] if has_words else ()
        reading = read_choice(answer, finish, LETTERS[: len(row["options"])], captions)
        labels = LETTERS
    else:
        reading = read_yes_no(answer, finish)
        labels = ("yes", "no")
    says = reading.why if reading.label is None else labels[reading.label]
    about = {name: row[name] for name in _COPIED}
    return {**about, "score": float(says == row["answer"]), "says": says}


def outcomes_of(results: Iterable[Result], unit: str) -> list[tuple[str, float]]:
    """List the outcomes that a unit counts.

    Args:
        results: Results of `result_of`.
        unit: A name of UNITS.

    Returns:
        Cluster and outcome, 0.0 or 1.0, of each answer, question, item or pair. A group, or an
        item, that lacks a question is wrong.
    """
    members: dict[Any, list[Result]] = defaultdict(list)
    for result in results:
        key = _member_of(result, unit)
        if key is not None:
            members[key].append(result)
    expected_count = _EXPECTED_COUNT[unit]
    outcomes = []
    for group in members.values():
        answered = len({result["id"] for result in group})
        # A log may lack answers that a tool dropped, and "all right" must not be said of the rest.
        is_complete = expected_count is None or answered == group[0][expected_count]
        outcome = min(result["score"] for result in group) if is_complete else 0.0
        outcomes.append((group[0]["cluster"], outcome))
    return outcomes


def _member_of(result: Result, unit: str) -> Any:
    """What the result is a part of: the id of its question, group or item; None if the unit does
    not count it."""
    if unit == "right":
        return result["id"]
    if unit == "right_in_all_orders":
        return result["group"]
    if unit in _FORMS_OF_PAIRS:
        is_counted = result["form"] in _FORMS_OF_PAIRS[unit]
        # An item about one image has no group score.
        if unit == "group_score" and not result["of_group_score"]:
            is_counted = False
        return result["item"] if is_counted else None
    return result["item"]


def share_of(results: Iterable[Result], unit: str) -> float:
    """Compute the share of a unit that is right.

    Args:
        results: Results of `result_of`.
        unit: A name of UNITS.

    Returns:
        The mean outcome, 0..1; nan if there is none.

    Example:
        >>> row = {"id": "1", "group": 0, "orders": 2, "cluster": "s", "score": 1.0}
        >>> share_of([row], "right"), share_of([row], "right_in_all_orders")
        (1.0, 0.0)
    """
    outcomes = [outcome for _, outcome in outcomes_of(results, unit)]
    return sum(outcomes) / len(outcomes) if outcomes else float("nan")


def error_of(results: Iterable[Result], unit: str) -> float:
    """Compute the standard error of `share_of`, by clusters of items of one scene.

    With residuals summed over each cluster it is sqrt(G / (G - 1) · Σ sums²) / n for G clusters
    and n outcomes (cluster-robust, CR1).

    Args:
        results: Results of `result_of`.
        unit: A name of UNITS.

    Returns:
        The error; nan for fewer than two clusters.
    """
    outcomes = outcomes_of(results, unit)
    mean = sum(outcome for _, outcome in outcomes) / max(1, len(outcomes))
    sums: dict[str, float] = defaultdict(float)
    for cluster, outcome in outcomes:
        sums[cluster] += outcome - mean
    n_clusters = len(sums)
    # One cluster tells nothing of how clusters vary.
    if n_clusters < 2:
        return float("nan")
    squares = sum(value**2 for value in sums.values())
    return sqrt(n_clusters / (n_clusters - 1) * squares) / len(outcomes)
