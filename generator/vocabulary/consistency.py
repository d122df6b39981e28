"""Checks that the tables of a family fit together; each raises ValueError with a sentence that says how to mend it."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from generator.base.declarations import refuse
from generator.base.errors import did_you_mean
from generator.vocabulary.environments import Environment, LampSpec
from generator.vocabulary.objects import ObjectSpec, Phrasing, check_phrasing
from generator.vocabulary.relations import Relation

Said = tuple[str, str, Sequence[str]]
"""A word, where it is declared, and its synonyms."""


def check_names(
    tested: str,
    category: str,
    adjectives: Sequence[str],
    kinds: Collection[str],
    objects: Collection[str],
    environments: Collection[str],
) -> None:
    """The tested kind, category and adjectives agree with the attribute kinds; objects and environments exist."""
    if tested not in kinds:
        raise ValueError(f"tested = '{tested}' is no attribute kind; {did_you_mean(tested, list(kinds))}")
    if category in kinds:
        raise ValueError(f"category = '{category}' is also an attribute kind; give one of them another name.")
    if len(objects) < 2:
        raise ValueError("expected at least two objects; add some to [objects].")
    if adjectives and sorted(adjectives) != sorted(kinds):
        raise ValueError(f"adjectives = {list(adjectives)} should name every attribute kind once: {', '.join(kinds)}.")
    if not environments:
        raise ValueError("expected at least one environment; add one to [environments].")


def check_words(words: Iterable[Said]) -> None:
    """No word or synonym has two meanings."""
    declared_at: dict[str, str] = {}
    mistakes = []
    for name, place, synonyms in words:
        for word in (name, *synonyms):
            if word in declared_at:
                mistakes.append(
                    f"the word '{word}' means both {declared_at[word]} and {place}; choose another for one of them."
                )
            declared_at.setdefault(word, place)
    refuse(mistakes)


def check_phrasings(phrasings: Mapping[str, Phrasing], kinds: Collection[str]) -> None:
    """Every phrasing belongs to an attribute kind and can be told from the words around it."""
    for kind, phrasing in phrasings.items():
        if kind not in kinds:
            raise ValueError(f"kinds.{kind} is about no attribute kind; {did_you_mean(kind, list(kinds))}")
        check_phrasing(kind, phrasing)


def check_paints(paints: Sequence[str], kinds: Collection[str]) -> None:
    """`paints` is empty or names two or more attribute kinds, each once."""
    unknown = [kind for kind in paints if kind not in kinds]
    if unknown:
        raise ValueError(
            f"paints names '{unknown[0]}', which is no attribute kind; {did_you_mean(unknown[0], list(kinds))}"
        )
    if paints and len(set(paints)) != max(2, len(paints)):
        raise ValueError(
            f"paints = {list(paints)} should name two or more attribute kinds, each once, of which a world has one."
        )


def check_lamps(environments: Mapping[str, Environment], lamps: Mapping[str, LampSpec]) -> None:
    """The lamps of an environment replace lamps of the family, of the same type."""
    for place, environment in environments.items():
        for name, lamp in environment.lamps.items():
            if name not in lamps:
                raise ValueError(
                    f"environments.{place}.lamps.{name} stands in for no lamp; {did_you_mean(name, list(lamps))}"
                )
            if lamp.type != lamps[name].type:
                raise ValueError(
                    f"environments.{place}.lamps.{name} should have the type of the lamp '{name}', {lamps[name].type}."
                )


def check_orders(orders: str, relations: Mapping[str, Relation]) -> None:
    """Where orders in depth are free, no relation is planned with them."""
    planned = [name for name, relation in relations.items() if relation.axis.planned_by in ("clumps", "stacks")]
    if orders == "free" and planned:
        raise ValueError(
            f"relation '{planned[0]}' is planned with the orders of the objects; take orders = \"planned\" in "
            f"[placement]."
        )


def check_distances(relations: Mapping[str, Relation], scales: Sequence[float], gap: float) -> None:
    """Two of the largest objects can stand side by side within the distance of a clump."""
    side_by_side = 2 * max(scales, default=0) + gap
    for name, relation in relations.items():
        if relation.axis.planned_by == "clumps" and (relation.distance or 0) - relation.margin <= side_by_side:
            raise ValueError(
                f"relation '{name}' has distance = {relation.distance} and margin = {relation.margin}, and large "
                f"objects "
                f"side by side are {side_by_side:.3g} m apart, so that they could not be near; take a larger distance."
            )


def check_stacks(relations: Mapping[str, Relation], objects: Mapping[str, ObjectSpec], scales: Sequence[float]) -> None:
    """Where relations are planned by stacks, some objects carry others, on tops wider than the relation's margin."""
    stacking = {name: relation for name, relation in relations.items() if relation.axis.planned_by == "stacks"}
    if not stacking or not scales:
        return
    rule = next(relation.axis.rules[0] for relation in stacking.values())
    margin, least = max(relation.margin for relation in stacking.values()), min(scales)
    for name, spec in objects.items():
        if spec.top and spec.top.radius * least <= margin:
            raise ValueError(
                f"the top of '{name}' has a radius of {spec.top.radius * least:.3g} m where it is smallest, no more "
                f"than "
                f"the margin of '{rule}' ({margin} m); lessen the margin, or declare no top."
            )
    if not any(spec.top for spec in objects.values()):
        raise ValueError(
            f"the rule '{rule}' needs an object to rest on; declare the top of one, or leave out the relation."
        )
    if not any(spec.foot is not None for spec in objects.values()):
        raise ValueError(
            f"the rule '{rule}' needs an object that rests; declare the foot of one, or leave out the relation."
        )
