"""Relations as a family declares them: their words, and the rule of space that decides them."""

from collections.abc import Mapping
from functools import partial

from pydantic import field_validator

from generator.base.declarations import Declared, Positive, Words, caught, refuse
from generator.base.errors import did_you_mean
from generator.vocabulary.relation_rules import AXIS_OF, Axis


class Relation(Declared):
    """A relation: the words for it, its converse and opposite, and the rule and margin (metres) that decide it.

    `converse` is what the second object is to the first; `opposite` is what the first surely is not when it is this.
    `rule` is a rule of relation_rules.py; `distance` (metres) is the bound of the rules that need one.
    """

    phrase: Words
    synonyms: tuple[Words, ...] = ()
    converse: str
    opposite: str
    rule: str
    margin: Positive
    distance: Positive | None = None

    @field_validator("rule")
    @classmethod
    def _known(cls, rule: str) -> str:
        if rule not in AXIS_OF:
            raise ValueError(f"unknown rule '{rule}'; {did_you_mean(rule, list(AXIS_OF))}")
        return rule

    @property
    def axis(self) -> Axis:
        """The axis of its rule."""
        return AXIS_OF[self.rule]


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Raise ValueError, naming all mistakes, unless converses, opposites and distances fit together."""
    refuse(mistake for name in relations for mistake in caught(partial(_check_relation, name, relations)))


def _check_relation(name: str, relations: Mapping[str, Relation]) -> None:
    relation = relations[name]
    _check_partner(name, "converse", relation.axis.converse(relation.rule), relations)
    _check_partner(name, "opposite", relation.axis.opposite(relation.rule), relations)
    if (relation.distance is not None) != relation.axis.needs_distance:
        needing = [rule for rule, axis in AXIS_OF.items() if axis.needs_distance]
        raise ValueError(
            f"relation '{name}' has the rule '{relation.rule}' and distance = {relation.distance}; the rules "
            f"{' and '.join(needing)} need a distance, the others have none."
        )


def _check_partner(name: str, role: str, rule: str, relations: Mapping[str, Relation]) -> None:
    """Check the converse or opposite of a relation, which `role` says; `rule` is the rule that it must have."""
    relation = relations[name]
    partner: str = getattr(relation, role)
    other = relations.get(partner)
    if other is None:
        raise ValueError(f"relation '{name}' has the {role} '{partner}', which is not declared; add it.")
    if (back := getattr(other, role)) != name:
        raise ValueError(
            f"relation '{name}' has the {role} '{partner}', whose {role} is '{back}'; make them each other's {role}."
        )
    if other.rule != rule:
        raise ValueError(
            f"relation '{name}' (rule '{relation.rule}') has the {role} '{partner}' (rule '{other.rule}'); the {role} of "
            f"the rule '{relation.rule}' is '{rule}'."
        )
    if (other.margin, other.distance) != (relation.margin, relation.distance):
        raise ValueError(
            f"relation '{name}' and its {role} '{partner}' differ in margin or distance; give them the same, or one would "
            f"be in doubt where the other is not."
        )
