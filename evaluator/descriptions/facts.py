"""The facts of an image asked one by one: how an answer is judged, what is counted, and the floors.

A fact is a value of an object, or its category. It is asked only where the question names the
object by features that no other object of the image has together (short_questions.py). The same
question can be put to a description: it answers if exactly one of its objects fits these features.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evaluator.descriptions.floors import DRAWS, draw_other_image
from evaluator.descriptions.measures import Shares
from generator.base.streams import Stream
from generator.dataset.descriptions.judging import Verdict
from generator.dataset.descriptions.short_questions import AttributeQuestion
from generator.dataset.descriptions.truth import ImageTruth

UNREAD = "unread"
"""The verdict on an answer, or a description, that names no one value."""
FACT_SHARES: Shares = MappingProxyType(
    {
        "values right": (lambda image: image.right, lambda image: image.questions),
        "values exchanged": (lambda image: image.exchanged, lambda image: image.questions),
        "values invented": (lambda image: image.invented, lambda image: image.questions),
        "values unread": (lambda image: image.unread, lambda image: image.questions),
        "recall of held-out bindings": (
            lambda image: image.held_out_right,
            lambda image: image.held_out,
        ),
        "recall of seen bindings": (lambda image: image.seen_right, lambda image: image.seen),
    }
)
"""The measures of facts. Of a binding, the value is asked: "What color is the cube?"."""


@dataclass(frozen=True, kw_only=True)
class FactCounts:
    """The counts of the facts of one image."""

    questions: int
    """Number of facts that are asked."""
    right: int
    """Answers with the right value."""
    exchanged: int
    """Wrong values that another object of the image has."""
    invented: int
    """Wrong values that no object of the image has."""
    unread: int
    """Answers that name no one value."""
    held_out: int
    """Facts that are the value of a held-out binding."""
    held_out_right: int
    """Those that are answered rightly."""
    seen: int
    """Facts that are the value of a binding that is not held out; 0 without a holdout."""
    seen_right: int
    """Those that are answered rightly."""


def judge_fact(question: AttributeQuestion, value: str | None, truth: ImageTruth) -> str:
    """Judge a value as the answer to a question.

    Args:
        question: The question.
        value: What was answered; None if it was not read.
        truth: The record of the image.

    Returns:
        Verdict.RIGHT, EXCHANGED or INVENTED, or UNREAD.
    """
    if value is None:
        return UNREAD
    if value == question.truth.value:
        return Verdict.RIGHT.value
    in_image = feature_values(question.truth.kind, truth)
    return (Verdict.EXCHANGED if value in in_image else Verdict.INVENTED).value


def feature_values(kind: str, truth: ImageTruth) -> list[str]:
    """List the values of a kind that the objects of an image have.

    Args:
        kind: An attribute kind, or the vocabulary's word for categories.
        truth: The record of the image.

    Returns:
        The value of each object that has one.
    """
    if kind == truth.vocabulary.category:
        return [actual.category for actual in truth.objects]
    values = []
    for actual in truth.objects:
        # Not every category has every kind of attribute.
        if kind in actual.attributes:
            values.append(actual.attributes[kind])
    return values


def is_held_out(question: AttributeQuestion, truth: ImageTruth) -> bool | None:
    """Whether a fact is the value of a held-out binding.

    Args:
        question: The question.
        truth: The record of the image.

    Returns:
        None if it is not the value of a binding under test.
    """
    # Values of one kind are held out with categories; those of other kinds are no test of it.
    if not truth.held_out or question.truth.kind != truth.tested_kind:
        return None
    return truth.binding_of(question.object_index) in truth.held_out


def count_facts(
    questions: Sequence[AttributeQuestion], verdicts: Sequence[str], truth: ImageTruth
) -> FactCounts:
    """Count the verdicts on the facts of an image.

    Args:
        questions: The questions.
        verdicts: The verdict on each answer (`judge_fact`).
        truth: The record of the image.

    Returns:
        The counts.
    """
    counts = Counter(verdicts)
    of_bindings: Counter[bool] = Counter()
    right_bindings: Counter[bool] = Counter()
    for question, verdict in zip(questions, verdicts, strict=True):
        held_out = is_held_out(question, truth)
        if held_out is not None:
            of_bindings[held_out] += 1
            right_bindings[held_out] += verdict == Verdict.RIGHT
    return FactCounts(
        questions=len(questions),
        right=counts[Verdict.RIGHT],
        exchanged=counts[Verdict.EXCHANGED],
        invented=counts[Verdict.INVENTED],
        unread=counts[UNREAD],
        held_out=of_bindings[True],
        held_out_right=right_bindings[True],
        seen=of_bindings[False],
        seen_right=right_bindings[False],
    )


def answer_of_description(
    features: Sequence[tuple[str, str]],
    kind: str,
    described: Sequence[Mapping[str, Any]],
    category_word: str,
) -> str | None:
    """Look up the answer to a question in a description.

    Args:
        features: What the question names the object by.
        kind: What it asks for.
        described: The described objects: `category` and values by kind.
        category_word: The vocabulary's word for categories.

    Returns:
        The value of the only described object that fits; None if none or several fit, or if it has
        no such value.

    Example:
        >>> objects = [{"category": "cube", "color": "red"}, {"category": "cone", "color": "blue"}]
        >>> answer_of_description([("shape", "cube")], "color", objects, "shape")
        'red'
        >>> answer_of_description([], "color", objects, "shape") is None
        True
    """
    fitting = []
    for one in described:
        # Questions name the category by the world's word for it, such as shape.
        own = {**one, category_word: one.get("category")}
        if all(own.get(name) == value for name, value in features):
            fitting.append(own)
    if len(fitting) != 1:
        return None
    value = fitting[0].get(kind)
    return None if value is None else str(value)


Guess = Callable[[AttributeQuestion, Sequence[ImageTruth], int, Stream], str | None]
"""Answers a question about the image of an index; None if it cannot."""


def _guess_blindly(
    question: AttributeQuestion, truths: Sequence[ImageTruth], index: int, stream: Stream
) -> str | None:
    """The value of a random object of another image of the split."""
    other = draw_other_image(truths, index, stream)
    values = [] if other is None else feature_values(question.truth.kind, other)
    return values[stream.below(len(values))] if values else None


def _guess_unbound(
    question: AttributeQuestion, truths: Sequence[ImageTruth], index: int, stream: Stream
) -> str | None:
    """The value of a random object of the image."""
    values = feature_values(question.truth.kind, truths[index])
    return values[stream.below(len(values))] if values else None


_GUESSES: Mapping[str, Guess] = MappingProxyType(
    {"blind": _guess_blindly, "unbound": _guess_unbound}
)
"""How each floor answers; the names are those of floors.FLOORS."""


def draw_fact_floors(
    questions: Sequence[Sequence[AttributeQuestion]],
    truths: Sequence[ImageTruth],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, list[list[FactCounts]]]:
    """Answer the questions of each image as the floors do.

    Args:
        questions: The questions of each image.
        truths: The records of the images, in the same order.
        draws: Answers to each question.
        seed: Of the random numbers; each image and draw has a stream of its own.

    Returns:
        By floor, for each image the counts of its draws; none if the floor cannot answer.
    """
    of_floor = {}
    for floor, guess in _GUESSES.items():
        of_images = []
        for index, truth in enumerate(truths):
            of_image = []
            for draw in range(draws):
                stream = Stream(seed, "fact floor", floor, truth.scene_id, draw)
                values = [guess(question, truths, index, stream) for question in questions[index]]
                # A draw counts whole or not at all: its shares must be of the same questions.
                if None in values:
                    continue
                verdicts = []
                for question, value in zip(questions[index], values, strict=True):
                    verdicts.append(judge_fact(question, value, truth))
                of_image.append(count_facts(questions[index], verdicts, truth))
            of_images.append(of_image)
        of_floor[floor] = of_images
    return of_floor
