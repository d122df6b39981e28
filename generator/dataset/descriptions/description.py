"""What an answer says, after reading: objects, relations, and the parts that were not read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .truth import ImageTruth

Span = tuple[int, int]
"""First character of a part of an answer, and the character after its last."""
AnswerForm = Literal["json", "prose"]
MOST_OBJECTS = 1_000
"""More described objects than this are not read: no image of a world has nearly as many, and the
time of matching stays bounded."""
LONGEST = 1 << 20
"""Most characters of an answer that are read; the rest is one unread part."""


@dataclass(frozen=True)
class DescribedObject:
    """An object that an answer names."""

    category: str | None
    """Its category; None for "a red object". A word that the world does not have, if the answer
    was to use the world's words alone."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Its values by attribute kind."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """Where prose says them: by attribute kind, and by the vocabulary's word for categories. Empty
    for JSON."""


@dataclass(frozen=True)
class DescribedRelation:
    """A relation between two described objects."""

    subject: int
    """Index of the first object in the description."""
    relation: str
    """Its name in the vocabulary."""
    target: int
    """Index of the second object."""
    span: Span | None = None
    """Where prose says it; None for JSON."""


@dataclass(frozen=True)
class UnreadPart:
    """A part of an answer that says nothing which could be read."""

    start: int
    """Its first character."""
    end: int
    """The character after its last."""
    reason: str
    """Why it was not read."""


@dataclass(frozen=True)
class Description:
    """What an answer says of an image."""

    objects: tuple[DescribedObject, ...] = ()
    """The described objects, in order of mention."""
    relations: tuple[DescribedRelation, ...] = ()
    """The described relations, in order of mention."""
    unread: tuple[UnreadPart, ...] = ()
    """What was not read, in order."""
    form: AnswerForm = "prose"
    """How the answer was read."""


def description_of(truth: ImageTruth, relations: bool = False) -> Description:
    """Describe an image completely: every object with its judged attributes.

    Args:
        truth: the record of the image.
        relations: whether to name every true relation too.

    Returns:
        The description that each measure counts as right.
    """
    objects = []
    for actual in truth.objects:
        attributes = {}
        for kind in truth.vocabulary.judged_kinds:
            if kind in actual.attributes:
                attributes[kind] = actual.attributes[kind]
        objects.append(DescribedObject(actual.category, attributes))
    # Only by one of two converses: the other says the same fact.
    described_relations = []
    if relations:
        for subject, name, target in truth.true_relations:
            described_relations.append(DescribedRelation(subject, name, target))
    return Description(tuple(objects), tuple(described_relations), form="json")
