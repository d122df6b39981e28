"""The relations that a family declares: their words, and the metres that decide them.

The rules of space themselves are in generator/dataset/relations.py.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import Field, field_validator

from generator.base.declarations import Declared, Positive, Words, error_lines, raise_all
from generator.base.errors import did_you_mean
from generator.dataset.relations import AXIS_OF, Axis


class Relation(Declared):
    """A relation of a family."""

    name: str = Field(exclude=True)
    """The name of its rule."""
    phrase: Words
    """Its words, such as "to the left of"."""
    synonyms: tuple[Words, ...] = ()
    """Other phrases for it."""
    margin: Positive
    """It is undecided where its rule gives fewer metres than this, in either direction."""
    distance: Positive | None = None
    """The bound of rules that need a distance, metres; None for other rules."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in AXIS_OF:
            raise ValueError(f"unknown relation '{name}'; {did_you_mean(name, list(AXIS_OF))}")
        return name

    @property
    def axis(self) -> Axis:
        """The axis of its rule."""
        return AXIS_OF[self.name]

    @property
    def converse(self) -> str:
        """The relation of the second object to the first."""
        return self.axis.converse(self.name)

    @property
    def opposite(self) -> str:
        """The relation that cannot hold together with this one."""
        return self.axis.opposite(self.name)


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Check that each opposite is declared with the same margin and distance, and that exactly the
    rules that need a distance have one.

    Raises:
        ValueError: names all mistakes.
    """
    raise_all(
        mistake
        for name in relations
        for mistake in error_lines(partial(_check_relation, name, relations))
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
    if (relation.distance is not None) != relation.axis.needs_distance:
        needing = [rule for rule, axis in AXIS_OF.items() if axis.needs_distance]
        raise ValueError(
            f"relation '{name}' has distance = {relation.distance}; {' and '.join(needing)} need a "
            f"distance, the others have none."
        )
