"""The relations that a family declares: their words, and the metres that decide them.

The rules of space themselves are in generator/dataset/relations.py.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field, field_validator

from generator.base.declarations import Declared, Positive, error_lines, raise_all
from generator.base.errors import did_you_mean
from generator.dataset.relations import AXIS_OF, Axis, Frame

GROUND, GROUND_AGAIN, THIRD = "{b}", "{the_b}", "{c}"
"""In the phrase of a relation: its second object where it is introduced, the same object when it is
repeated, and its third object."""

_WORD = "[a-z][a-z-]*"
Phrase = Annotated[str, Field(pattern=rf"^{_WORD}('s)?( ({_WORD}|\{{(b|the_b|c)\}})('s)?)*$")]
"""The words of a relation, in lower case, such as "to the left of". The second object follows them,
unless the phrase has a place for it: "to the left of {b} from {the_b}'s own point of view"."""


class Relation(Declared):
    """A relation of a family."""

    name: str = Field(exclude=True)
    """The name of its rule."""
    phrase: Phrase
    """Its words, such as "to the left of"."""
    synonyms: tuple[Phrase, ...] = ()
    """Other phrases for it."""
    margin: Positive
    """It is undecided where its rule gives fewer metres than this, in either direction."""
    distance: Positive | None = None
    """The bound of rules that need a distance, metres; None for other rules."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        # The name is the rule: a relation without one could not be decided.
        if name not in AXIS_OF:
            raise ValueError(f"unknown relation '{name}'; {did_you_mean(name, list(AXIS_OF))}")
        return name

    @property
    def axis(self) -> Axis:
        """The axis of its rule."""
        return AXIS_OF[self.name]

    @property
    def converse(self) -> str | None:
        """The relation of the second object to the first; None if the frame of the second object
        decides it, so that nothing follows."""
        return self.axis.converse(self.name)

    @property
    def frame(self) -> Frame | None:
        """Whose directions it means; None for a relation that is no direction."""
        return self.axis.frame

    @property
    def phrases(self) -> tuple[str, ...]:
        """All its phrases."""
        return (self.phrase, *self.synonyms)

    @property
    def opposite(self) -> str:
        """The relation that cannot hold together with this one."""
        return self.axis.opposite(self.name)


def bare_phrase(viewer: Relation, own: Relation) -> str | None:
    """Find the words that leave out whose direction they mean.

    Args:
        viewer: A direction of the viewer.
        own: The same direction of the second object's own.

    Returns:
        The first words before the second object that phrases of both have, such as "to the left
        of"; None if they have none in common.

    Example:
        >>> phrases = "behind {b} as the camera sees it", "behind {b} as {the_b} sees it"
        >>> viewer, own = (
        ...     Relation(name=name, phrase=phrase, margin=0.2)
        ...     for name, phrase in zip(("behind", "own-behind"), phrases)
        ... )
        >>> bare_phrase(viewer, own)
        'behind'
    """
    own_words = [_words_before_ground(phrase) for phrase in own.phrases]
    # In the order of declaration: the main phrase is tried first.
    for phrase in viewer.phrases:
        words = _words_before_ground(phrase)
        if words in own_words:
            return words
    return None


def _words_before_ground(phrase: str) -> str:
    return phrase.partition(GROUND)[0].strip()


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Check that each opposite is declared with the same margin and distance, that exactly the
    rules that need a distance have one, and that phrases say whose directions they mean.

    Raises:
        ValueError: names all mistakes.
    """
    raise_all(
        mistake
        for name in relations
        for mistake in error_lines(partial(_check_relation, name, relations))
    )
    # Only once each relation is right by itself: near and on have no frame.
    frames = {relation.frame for relation in relations.values()} - {None}
    for relation in relations.values():
        for phrase in relation.phrases:
            _check_phrase(phrase, relation, has_frames=len(frames) > 1)


def _check_phrase(phrase: str, relation: Relation, *, has_frames: bool) -> None:
    """Raise ValueError if a phrase has wrong placeholders, or does not say whose directions it
    means.

    `has_frames`: whether the family has directions of several frames.
    """
    n_ground, n_again, n_third = (phrase.count(mark) for mark in (GROUND, GROUND_AGAIN, THIRD))
    whose = f"relation '{relation.name}': the phrase '{phrase}'"
    needed = (1, 1, 0) if relation.frame == "object" else (1, 0, 1)
    if relation.frame in ("object", "third"):
        example = f"from {GROUND_AGAIN}'s own point of view" if needed[1] else f"seen from {THIRD}"
        if (n_ground, n_again, n_third) != needed:
            raise ValueError(
                f"{whose} does not say whose direction it means; name the object once, as in 'to "
                f"the left of {GROUND} {example}'."
            )
    elif n_again or n_third or n_ground > 1:
        raise ValueError(
            f"{whose} may have {GROUND} once and no other placeholder, since it names one object."
        )
    before, ground, after = phrase.partition(f" {GROUND}")
    if ground and ("{" in before or (after and not after.startswith(" "))):
        raise ValueError(f"{whose} should begin with words and name {GROUND} first, without 's.")
    if has_frames and relation.frame == "viewer" and not after:
        raise ValueError(
            f"{whose} does not say that it means the camera's direction, but the family has other "
            f"frames too; end it with words such as 'to the left of {GROUND} as the camera sees "
            f"it'."
        )


def _check_relation(name: str, relations: Mapping[str, Relation]) -> None:
    relation = relations[name]
    opposite = relations.get(relation.opposite)
    if opposite is None:
        raise ValueError(
            f"relation '{name}' has the opposite '{relation.opposite}', which is not declared; "
            f"add it."
        )
    if (opposite.margin, opposite.distance) != (relation.margin, relation.distance):
        raise ValueError(
            f"relation '{name}' and its opposite '{opposite.name}' differ in margin or distance; "
            f"give them the same, or one would be undecided where the other is decided."
        )
    # A distance without effect is refused, like any option without effect.
    if (relation.distance is not None) != relation.axis.needs_distance:
        needing = [rule for rule, axis in AXIS_OF.items() if axis.needs_distance]
        raise ValueError(
            f"relation '{name}' has distance = {relation.distance}; {' and '.join(needing)} need a "
            f"distance, the others have none."
        )
