"""Relations as a vocabulary declares them, and how the rules of space go together (docs/vocabularies.md, relations)."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

from generator.dataset.declarations import Declared, Positive, Words, caught, refuse

Rule = Literal["left", "right", "front", "behind", "near", "far", "on", "beneath"]
DIRECTIONS: tuple[Rule, ...] = ("left", "right", "front", "behind")
DISTANCES: tuple[Rule, ...] = ("near", "far")
CONVERSES: dict[Rule, Rule] = {
    "left": "right", "right": "left", "front": "behind", "behind": "front",
    "near": "near", "far": "far", "on": "beneath", "beneath": "on",
}  # fmt: skip
OPPOSITES: dict[Rule, Rule] = {**CONVERSES, "near": "far", "far": "near"}


class Relation(Declared):
    """A relation: the words for it, its converse and opposite, and the rule and margin (metres) that decide it.

    `converse` is what the second object is to the first; `opposite` is what the first surely is not when it is this.
    `rule` is one of the rules of space.py, `distance` (metres) the bound of the rules near and far.
    """

    phrase: Words
    synonyms: tuple[Words, ...] = ()
    converse: str
    opposite: str
    rule: Rule
    margin: Positive
    distance: Positive | None = None


def check_relations(relations: Mapping[str, Relation]) -> None:
    """Raise ValueError, naming all mistakes, unless converses, opposites and distances fit together."""
    refuse(said for name in relations for said in caught(partial(_check_relation, name, relations)))


def _check_relation(name: str, relations: Mapping[str, Relation]) -> None:
    relation = relations[name]
    _check_partner(name, "converse", relation.converse, CONVERSES, relations)
    _check_partner(name, "opposite", relation.opposite, OPPOSITES, relations)
    if (relation.distance is not None) != (relation.rule in DISTANCES):
        raise ValueError(
            f"relation '{name}' has the rule '{relation.rule}' and distance = {relation.distance}; the rules near and "
            f"far need a distance, the others have none."
        )


def _check_partner(
    name: str, role: str, partner: str, rules: Mapping[Rule, Rule], relations: Mapping[str, Relation]
) -> None:
    relation, other = relations[name], relations.get(partner)
    if other is None:
        raise ValueError(f"relation '{name}' has the {role} '{partner}', which is not declared; add it.")
    if (back := getattr(other, role)) != name:
        raise ValueError(
            f"relation '{name}' has the {role} '{partner}', whose {role} is '{back}'; make them each other's {role}."
        )
    if other.rule != rules[relation.rule]:
        raise ValueError(
            f"relation '{name}' (rule '{relation.rule}') has the {role} '{partner}' (rule '{other.rule}'); the {role} of "
            f"the rule '{relation.rule}' is '{rules[relation.rule]}'."
        )
    if (other.margin, other.distance) != (relation.margin, relation.distance):
        raise ValueError(
            f"relation '{name}' and its {role} '{partner}' differ in margin or distance; give them the same, or one would "
            f"be in doubt where the other is not."
        )
