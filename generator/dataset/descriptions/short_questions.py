"""Short questions about an image: what an attribute of an object is, and how many objects there
are.

The functions list every question that an image has. Whoever asks them draws among these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from .rewards import AttributeTruth, CountTruth
from .truth import ImageTruth, TrueObject
from .vocabulary import ADJECTIVE, Vocabulary, plural_of


@dataclass(frozen=True)
class AttributeQuestion:
    """A question such as "What color is the large cube?"."""

    text: str
    """The question, with the values to choose from."""
    object_index: int
    """Index of the object in the image's record."""
    features: tuple[tuple[str, str], ...]
    """What the question names the object by: its category and values, by kind."""
    truth: AttributeTruth
    """What the answer is judged by."""


@dataclass(frozen=True, kw_only=True)
class CountQuestion:
    """A question such as "How many red cubes are in the image?"."""

    text: str
    """The question."""
    category: str | None
    """The category of the objects; None for any."""
    attributes: Mapping[str, str]
    """Values that the objects have, by kind."""
    truth: CountTruth
    """What the answer is judged by."""

    def names_held_out(self, truth: ImageTruth) -> bool:
        """Return whether the question names a held-out binding.

        Args:
            truth: the record of the image.

        Returns:
            True if its value of the tested kind and its category are held out together.
        """
        value = self.attributes.get(truth.tested_kind or "")
        return (value, self.category) in truth.held_out


def attribute_questions(truth: ImageTruth) -> list[AttributeQuestion]:
    """List a question about each fact of an image that can be asked without ambiguity.

    An object is named by as few of its other features as tell it apart, its category first. A fact
    of an object that they do not tell apart has no question. The category is a fact as well.

    Args:
        truth: the record of the image.

    Returns:
        The questions, object by object.
    """
    category = truth.vocabulary.category
    questions = []
    for index, actual in enumerate(truth.objects):
        facts = dict(_features(actual, truth.vocabulary))
        for kind, value in facts.items():
            # A question that names the object by the fact itself would give its answer away.
            features = _shortest_mention(index, truth, without=kind)
            if features is None:
                continue
            mention = _mention_of(features, truth.vocabulary)
            words = truth.vocabulary.nouns if kind == category else truth.vocabulary.values[kind]
            text = f"What {kind} is the {mention}?\nAnswer with one of: {', '.join(words)}."
            answer = AttributeTruth(kind, value, truth.vocabulary)
            questions.append(AttributeQuestion(text, index, features, answer))
    return questions


def count_questions(truth: ImageTruth) -> list[CountQuestion]:
    """List the questions of how many objects of an image have a feature, or two features together.

    Every feature of a question occurs in the image. So a question whose answer is 0 has a value and
    a category that are both there, on different objects: whoever does not bind answers 1.

    Args:
        truth: the record of the image.

    Returns:
        The questions: categories, values, and each value with each category.
    """
    categories = list(dict.fromkeys(actual.category for actual in truth.objects))
    values = []
    for kind in truth.vocabulary.judged_kinds:
        of_kind = [actual.attributes[kind] for actual in truth.objects if kind in actual.attributes]
        values += [(kind, value) for value in dict.fromkeys(of_kind)]

    questions = [_count_question(truth, category, {}) for category in categories]
    for kind, value in values:
        # Pairs that no object has are asked too; their answer is 0.
        for category in (None, *categories):
            questions.append(_count_question(truth, category, {kind: value}))
    return questions


def _count_question(
    truth: ImageTruth, category: str | None, attributes: Mapping[str, str]
) -> CountQuestion:
    if category is None:
        noun = plural_of(truth.vocabulary.generic)
    else:
        noun = truth.vocabulary.plurals[category][0]
    mention = _mention(noun, attributes, truth.vocabulary)
    return CountQuestion(
        text=f"How many {mention} are in the image?\nAnswer with a number.",
        category=category,
        attributes=attributes,
        truth=CountTruth.of_image(truth, category=category, attributes=attributes),
    )


def _features(actual: TrueObject, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """The category and the judged values of an object, by kind."""
    yield vocabulary.category, actual.category
    for kind in vocabulary.judged_kinds:
        if kind in actual.attributes:
            yield kind, actual.attributes[kind]


def _shortest_mention(
    index: int, truth: ImageTruth, *, without: str
) -> tuple[tuple[str, str], ...] | None:
    """Features that no other object has together, without a kind; None if there are none."""
    vocabulary = truth.vocabulary
    features = [
        (kind, value)
        for kind, value in _features(truth.objects[index], vocabulary)
        if kind != without
    ]
    others = []
    for other_index, other in enumerate(truth.objects):
        if other_index != index:
            others.append(set(_features(other, vocabulary)))
    # Without any feature, "the object" names the only object of an image.
    for size in range(len(features) + 1):
        for chosen in combinations(features, size):
            if not any(other.issuperset(chosen) for other in others):
                return chosen
    return None


def _mention_of(features: Sequence[tuple[str, str]], vocabulary: Vocabulary) -> str:
    attributes = dict(features)
    category = attributes.pop(vocabulary.category, None)
    noun = vocabulary.generic if category is None else vocabulary.nouns[category][0]
    return _mention(noun, attributes, vocabulary)


def _mention(noun: str, attributes: Mapping[str, str], vocabulary: Vocabulary) -> str:
    """A noun with its values: "large cube made of metal"."""
    before: list[str] = []
    after: list[str] = []
    for kind, value in attributes.items():
        phrase = vocabulary.phrases.get(kind, ADJECTIVE)
        words = before if phrase == ADJECTIVE else after
        words.append(phrase.replace(ADJECTIVE, value))
    return " ".join([*before, noun, *after])
