"""Rewards for reinforcement learning: pure functions of an answer and a truth record.

    from evaluator.rewards import description_reward
    reward = description_reward(answer, record)
    reward.value, reward.parts

A record is an object of this package, its JSON data, or its JSON text, so a trainer that has only a
column of a table can call these functions. An answer that cannot be read earns 0; no answer raises
an error. Answers that do not look at the image earn at most what a blind guess earns on average
(docs/descriptions.md, "Rewards").
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..answer_reader import read_choice
from .description import Description
from .json_reader import WordsAllowed
from .judging import Judgement, Verdict, judge_description
from .lexicon import GRAMMAR, Term, lexicon_of
from .matching import count_relations
from .reading import final_part, read_description
from .truth import ImageTruth, TruthRecord
from .vocabulary import Vocabulary

Record = Mapping[str, Any] | str
"""A record as JSON data or as JSON text."""
_LONGEST = 20_000
"""Most characters of a short answer that are read, as by the package answer_reader."""
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+|'t\b")
_COUNTS = {"zero": 0, "no": 0, "none": 0, "one": 1, **GRAMMAR["numbers"]}
"""Words for counts."""
_MOST_DIGITS = 4
"""Digits of a count that is read."""


@dataclass(frozen=True)
class Reward:
    """What an answer earns."""

    value: float
    """The reward, 0..1."""
    parts: dict[str, float] = field(default_factory=dict)
    """What it is made of; counts and shares by name."""
    unread: str = ""
    """Why the answer, or a part of it, was not read; "" if all of it was."""


@dataclass(frozen=True)
class ChoiceTruth(TruthRecord):
    """The truth of a question with captions under letters."""

    _NAMES = ("letters", "right")

    letters: str
    """One letter for each caption, such as "AB"."""
    right: int
    """Index of the true caption."""
    captions: tuple[str, ...] = ()
    """The captions, so that an answer may repeat one; empty if only letters count."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ChoiceTruth":
        """As `TruthRecord.from_dict`."""
        return cls(str(data["letters"]), int(data["right"]), tuple(data.get("captions", ())))


@dataclass(frozen=True)
class CountTruth(TruthRecord):
    """The truth of a question "How many red cubes are there?"."""

    _NAMES = ("count",)

    count: int
    """The number of objects."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CountTruth":
        """As `TruthRecord.from_dict`."""
        return cls(int(data["count"]))

    @classmethod
    def of_image(
        cls,
        truth: ImageTruth,
        *,
        category: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> "CountTruth":
        """Count the objects of an image.

        Args:
            truth: the record of the image.
            category: of the objects; None for any.
            attributes: values that the objects have, by kind.

        Returns:
            The truth of the question.
        """
        count = 0
        for actual in truth.objects:
            has_values = all(
                actual.attributes.get(kind) == value for kind, value in (attributes or {}).items()
            )
            count += has_values and category in (None, actual.category)
        return cls(count)


@dataclass(frozen=True)
class AttributeTruth(TruthRecord):
    """The truth of a question "What color is the cube?"."""

    _NAMES = ("kind", "value", "vocabulary")

    kind: str
    """The attribute kind, or the vocabulary's word for categories."""
    value: str
    """The value, or the category."""
    vocabulary: Vocabulary
    """The words of the image's world."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AttributeTruth":
        """As `TruthRecord.from_dict`."""
        vocabulary = Vocabulary.from_dict(data["vocabulary"])
        return cls(str(data["kind"]), str(data["value"]), vocabulary)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data.

        Returns:
            Data that `of` reads back.
        """
        vocabulary = self.vocabulary.to_dict()
        return {"kind": self.kind, "value": self.value, "vocabulary": vocabulary}


def description_reward(
    answer: str,
    truth: ImageTruth | Record,
    *,
    relations: bool = False,
    words: WordsAllowed = "closed",
) -> Reward:
    """Reward a description of an image, in JSON or prose.

    Objects earn Σ (1 + right values) / (1 + values) over the matched objects, divided by the larger
    of the numbers of described and actual objects. So every object too many costs as much as one
    that is missing. With `relations`, half of the reward is for relations: right ones less wrong
    ones, divided by the larger of those that are decided and those that join all objects (one less
    than there are).

    Args:
        answer: the whole answer, with its reasoning.
        truth: the record of the image.
        relations: whether relations were asked for.
        words: whether the question named the world's words (docs/descriptions.md).

    Returns:
        The reward, with the counts that it is made of.

    Raises:
        ValueError: `truth` is not a record.

    Example:
        >>> from generator.dataset.descriptions.truth import TrueObject
        >>> tables = '[objects]\\ncube = {}\\ncone = {}\\n[attributes.color]\\nred = {}\\nblue = {}'
        >>> objects = TrueObject("cube", {"color": "red"}), TrueObject("cone", {"color": "blue"})
        >>> truth = ImageTruth(
        ...     scene_id="0", cluster_id="0", split="seen", objects=objects, relations={},
        ...     vocabulary=Vocabulary.from_toml('category = "shape"\\n' + tables),
        ... )
        >>> description_reward("A red cube and a blue cone.", truth).value
        1.0
        >>> description_reward('[{"shape": "cube", "color": "blue"}]', truth.to_dict()).value
        0.25
    """
    record = ImageTruth.read(truth)
    description = read_description(answer, record.vocabulary, words=words)
    judgement = judge_description(description, record)
    objects = _object_share(description, judgement, record)
    parts = {
        "objects": objects,
        "described": float(len(description.objects)),
        "named": float(len(judgement.matches)),
        "actual": float(len(record.objects)),
    }
    # An image of one object has no relation to name; its reward is for the object alone.
    value = objects
    if relations and record.true_relations:
        parts["relations"] = _relation_share(description, judgement, record)
        value = (objects + parts["relations"]) / 2
    unread = description.unread[0].reason if description.unread else ""
    return Reward(value, parts, unread)


def _object_share(description: Description, judgement: Judgement, truth: ImageTruth) -> float:
    # The larger number: naming more objects must not raise the share of right ones.
    n = max(len(description.objects), len(truth.objects))
    if n == 0:
        return 0.0
    total = 0.0
    for index, actual_index in judgement.matches.items():
        own = truth.objects[actual_index].attributes
        n_values = sum(kind in own for kind in truth.vocabulary.judged_kinds)
        n_right = sum(verdict is Verdict.RIGHT for verdict in judgement.attributes[index].values())
        # The category counts as one value more, so that naming an object earns something by itself.
        total += (1 + n_right) / (1 + n_values)
    return total / n


def _relation_share(description: Description, judgement: Judgement, truth: ImageTruth) -> float:
    right, invented, reversed_, _ = count_relations(description, truth, judgement.matches)
    # Wrong relations cancel right ones, so naming every relation earns nothing.
    wrong = -invented - reversed_
    # More relations than join all objects follow from others, so a full list is not needed.
    needed = min(len(truth.objects) - 1, len(truth.true_relations))
    return max(0, right - wrong) / max(needed, right + wrong, 1)


def choice_reward(answer: str, truth: ChoiceTruth | Record) -> Reward:
    """Reward the choice of a caption under a letter.

    Args:
        answer: the whole answer, with its reasoning.
        truth: the record of the question.

    Returns:
        1 for the right caption, else 0; 0 for an answer that does not choose one.

    Raises:
        ValueError: `truth` is not a record.

    Example:
        >>> choice_reward("The answer is B.", {"letters": "AB", "right": 1}).value
        1.0
        >>> choice_reward("A or B", {"letters": "AB", "right": 1}).value
        0.0
    """
    question = ChoiceTruth.read(truth)
    # Rewards get no reason why an answer ended; a cut-off one chooses nothing anyway.
    reading = read_choice(answer, "stop", question.letters, question.captions)
    parts = {} if reading.label is None else {"chosen": float(reading.label)}
    return Reward(float(reading.label == question.right), parts, reading.why)


def count_reward(answer: str, truth: CountTruth | Record) -> Reward:
    """Reward a count. An answer with two different numbers, or with words such as "about" and "or"
    in place of a commitment, is not read.

    Args:
        answer: the whole answer, with its reasoning.
        truth: the record of the question.

    Returns:
        1 for the right count, else 0.

    Raises:
        ValueError: `truth` is not a record.

    Example:
        >>> count_reward("There are three red cubes.", {"count": 3}).value
        1.0
        >>> count_reward("3 or 4", {"count": 3})
        Reward(value=0.0, parts={}, unread="a hedge: 'or'")
    """
    question = CountTruth.read(truth)
    start, end = final_part(answer)
    if end - start > _LONGEST:
        return Reward(0.0, {}, "beyond the longest answer")
    # The same number twice, as "3 … three cubes", is one commitment.
    numbers = set()
    for match in _NUMBER.finditer(answer[start:end].casefold()):
        word = match[0]
        # Naming several numbers, or hedging, must not earn more than one guess.
        if word in GRAMMAR["words"]["hedge"]:
            return Reward(0.0, {}, f"a hedge: '{word}'")
        if word in _COUNTS:
            numbers.add(_COUNTS[word])
        elif not word[-1].isdecimal() and word in ("not", "between", "'t"):
            return Reward(0.0, {}, f"no commitment: '{word}'")
        elif word[-1].isdecimal():
            # "3.5" and "1,000,000" are no counts of objects, and Python refuses integers of
            # thousands of digits.
            is_count = word.isdecimal() and len(word) <= _MOST_DIGITS
            if not is_count:
                return Reward(0.0, {}, f"not a count: '{word:.20}'")
            numbers.add(int(word))
    if len(numbers) != 1:
        return Reward(0.0, {}, "no number" if not numbers else "several numbers")
    number = numbers.pop()
    return Reward(float(number == question.count), {"count": float(number)})


def attribute_reward(answer: str, truth: AttributeTruth | Record) -> Reward:
    """Reward the value of an object. An answer that names two values of the kind is not read.

    Args:
        answer: the whole answer, with its reasoning.
        truth: the record of the question.

    Returns:
        1 for the right value or a synonym of it, else 0.

    Raises:
        ValueError: `truth` is not a record.

    Example:
        >>> tables = '[objects]\\ncube = {}\\n[attributes.color]\\nred = {}\\nblue = {}\\n'
        >>> vocabulary = Vocabulary.from_toml('category = "shape"\\n' + tables)
        >>> question = AttributeTruth("color", "red", vocabulary)
        >>> attribute_reward("The cube is red.", question).value
        1.0
        >>> attribute_reward("Red, or blue.", question).unread
        'a hedge or denial'
    """
    question = AttributeTruth.read(truth)
    value, unread = read_value(answer, question.kind, question.vocabulary)
    return Reward(float(value == question.value), {}, unread)


def read_value(answer: str, kind: str, vocabulary: Vocabulary) -> tuple[str | None, str]:
    """Read the one value of a kind that an answer names.

    Args:
        answer: the whole answer, with its reasoning.
        kind: an attribute kind, or the vocabulary's word for categories.
        vocabulary: the words of the image's world.

    Returns:
        The value and ""; None and the reason for an answer that names none or several, or that
        hedges or denies.

    Example:
        >>> tables = '[objects]\\ncube = {}\\n[attributes.color]\\nred = {}\\nblue = {}\\n'
        >>> vocabulary = Vocabulary.from_toml('category = "shape"\\n' + tables)
        >>> read_value("It is red.", "color", vocabulary)
        ('red', '')
    """
    start, end = final_part(answer)
    if end - start > _LONGEST:
        return None, "beyond the longest answer"
    terms = lexicon_of(vocabulary).split(answer[start:end])
    # "Not red" and "red or blue" name a value without committing to it.
    if any(term.kind in ("hedge", "not", "no") for term in terms):
        return None, "a hedge or denial"
    values = _values_of(terms, kind, vocabulary)
    if len(values) != 1:
        return None, "no value" if not values else "several values"
    return values.pop(), ""


def _values_of(terms: Sequence[Term], kind: str, vocabulary: Vocabulary) -> set[str]:
    """The different values of a kind that terms name."""
    values = set()
    for term in terms:
        if kind == vocabulary.category:
            if term.kind in ("noun", "plural"):
                values.add(term.meaning)
        elif term.kind in ("value", "after") and term.meaning[0] == kind:
            values.add(term.meaning[1])
    return values


def to_record(truth: ImageTruth | ChoiceTruth | CountTruth | AttributeTruth) -> dict[str, Any]:
    """Return a record as JSON data, for a column of a table.

    Args:
        truth: a record of any kind.

    Returns:
        JSON data that the reward of this kind reads.
    """
    if isinstance(truth, (ImageTruth, AttributeTruth)):
        return truth.to_dict()
    return asdict(truth)
