"""Decides whether a text is true, false or undecided of a scene (docs/language.md, "Truth").

A text with mentions of single objects is true if its mentions can be given different objects of the
scene such that each fits its mention and every relation holds. A relation is sure, or only
possible where a margin is too small (geometry.py). So the search runs twice:

1. With the pairs for which the relations are possible. Without an assignment the text is false.
2. With the pairs for which they are sure. If there is an assignment, it is true, else undecided.

Texts with counts ("two cubes", "no cube") compare numbers of fitting objects. A denied relation may
have two readings ("not left of a cube": of some cube, or of any cube); readings that differ make
the text undecided.

A set of objects is an integer with one bit for each object of the scene.
"""

from collections.abc import Iterator
from typing import NamedTuple

from generator.judge.geometry import DecidedPairs, SceneGeometry
from generator.judge.meaning import Meaning, RelationMention

Truth = bool | None
"""None: undecided."""


class Constraint(NamedTuple):
    """A relation between mentions, as the sets of objects that it allows."""

    mentions: tuple[int, ...]
    """Subject, object and, for a relation of three, the third mention."""
    allowed: list
    """`allowed[i]`: the second objects for the first object i. With three mentions `allowed[i][j]`:
    the third objects."""
    allowed_by_second: list
    """`allowed_by_second[j]`: the first objects for the second object j. Empty with three."""


Partners = list[list[tuple[int, list]]]
"""For each mention and each of its relations of two: the other mention, and the objects that the
other may have by the object of this one."""


def decide(meaning: Meaning, scene: SceneGeometry) -> Truth:
    """Whether a text is true of a scene; None if undecided."""
    truth = _decide_statement(meaning, scene)
    if meaning.environment is not None:
        if scene.environment is None:
            truth = _both(truth, None)
        else:
            truth = _both(truth, meaning.environment == scene.environment)
    # The denial of an undecided text is undecided too.
    if meaning.denied and truth is not None:
        return not truth
    return truth


def _both(first: Truth, second: Truth) -> Truth:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _decide_statement(meaning: Meaning, scene: SceneGeometry) -> Truth:
    """Rules 3 to 5: the objects and relations of a text, without its environment and without denial
    of the whole."""
    fitting = [scene.fitting(mention) for mention in meaning.objects]
    counts = [mention.number for mention in meaning.objects]
    if all(count == 1 for count in counts):
        return _decide_singles(fitting, meaning.relations, scene)

    # "two cubes and a red object": a red cube may be one of the two, so the count says nothing.
    for i, count in enumerate(counts):
        others = fitting[:i] + fitting[i + 1 :]
        if count > 1 and any(fitting[i] & other for other in others):
            return None

    singles = [i for i, count in enumerate(counts) if count == 1]
    relations = _renumbered(meaning.relations, singles)
    truth = _decide_singles([fitting[i] for i in singles], relations, scene)
    for objects, count in zip(fitting, counts, strict=True):
        if count != 1:
            truth = _both(truth, _decide_count(objects.bit_count(), count))
    return truth


def _renumbered(
    relations: tuple[RelationMention, ...], remaining: list[int]
) -> tuple[RelationMention, ...]:
    """The relations when only the mentions `remaining` are left, numbered from 0."""
    number_of = {mention: number for number, mention in enumerate(remaining)}
    renumbered: list[RelationMention] = []
    for subject, name, object_, asserted, *third in relations:
        new_third = [number_of[mention] for mention in third]
        renumbered.append((number_of[subject], name, number_of[object_], asserted, *new_third))
    return tuple(renumbered)


def _decide_count(n_fitting: int, count: int) -> Truth:
    """Rule 5: "no cube" or "two cubes". Undecided if two or more are said and there are more: "two
    cubes" may mean exactly two or at least two."""
    if n_fitting == count:
        return True
    # "No cube" has no second reading: one cube makes it false.
    return None if count > 0 and n_fitting > count else False


def _decide_singles(
    fitting: list[int], relations: tuple[RelationMention, ...], scene: SceneGeometry
) -> Truth:
    """Rules 3 and 4: mentions of single objects and their relations, in both readings of "not"."""
    # Without relations the mentions only have to be given different objects.
    if not relations:
        return _can_match(fitting)
    truth = _decide_assignment(fitting, relations, scene)
    if all(asserted for _, _, _, asserted, *_ in relations):
        return truth
    # Only an object that no other relation names can be read as "no such object".
    uses: list[int] = []
    for relation in relations:
        uses += _mentions_of(relation)
    none_of: list[RelationMention] = []
    for relation in relations:
        _, _, object_, asserted, *third = relation
        if not asserted and not third and uses.count(object_) == 1:
            none_of.append(relation)
    if not none_of:
        return truth
    second_truth = _decide_second_reading(fitting, relations, none_of=none_of, scene=scene)
    return truth if second_truth is truth else None


def _decide_second_reading(
    fitting: list[int],
    relations: tuple[RelationMention, ...],
    *,
    none_of: list[RelationMention],
    scene: SceneGeometry,
) -> Truth:
    """Rule 4: "not left of a cube" read as "left of no cube"; the cube then needs no assignment."""
    # The subjects that are in the relation to none of the objects: surely, and possibly.
    sure, possible = list(fitting), list(fitting)
    for subject, name, object_, *_ in none_of:
        relation = scene.decided(name, True)
        for i in _members(fitting[subject]):
            if relation.possible[i] & fitting[object_]:
                sure[subject] &= ~(1 << i)
            if relation.sure[i] & fitting[object_]:
                possible[subject] &= ~(1 << i)

    # Then as in the first reading, without these objects and relations.
    unassigned = {object_ for _, _, object_, *_ in none_of}
    assigned = [i for i in range(len(fitting)) if i not in unassigned]
    # What is related to none of the objects is settled above, so only the other relations are left.
    others = tuple(relation for relation in relations if relation not in none_of)
    decided = _decided_relations(_renumbered(others, assigned), scene)
    possible_domains = [possible[i] for i in assigned]
    if not _can_assign(possible_domains, _possible_constraints(decided)):
        return False
    sure_domains = [sure[i] for i in assigned]
    return True if _can_assign(sure_domains, _sure_constraints(decided)) else None


def _mentions_of(relation: RelationMention) -> tuple[int, ...]:
    """The mentions that a relation relates."""
    subject, _, object_, _, *third = relation
    return subject, object_, *third


def _decide_assignment(
    fitting: list[int], relations: tuple[RelationMention, ...], scene: SceneGeometry
) -> Truth:
    """Rule 3: whether some assignment of different, fitting objects makes every relation true."""
    decided = _decided_relations(relations, scene)
    if not _can_assign(fitting, _possible_constraints(decided)):
        return False
    # Without undecided pairs both searches are the same.
    if all(pairs.sure == pairs.possible for _, pairs in decided):
        return True
    return True if _can_assign(fitting, _sure_constraints(decided)) else None


_DecidedRelations = list[tuple[tuple[int, ...], DecidedPairs]]


def _decided_relations(
    relations: tuple[RelationMention, ...], scene: SceneGeometry
) -> _DecidedRelations:
    """The mentions of each relation, with the objects between which it holds."""
    return [
        (_mentions_of(relation), scene.decided(relation[1], relation[3])) for relation in relations
    ]


def _possible_constraints(decided: _DecidedRelations) -> list[Constraint]:
    return [
        Constraint(mentions, pairs.possible, pairs.possible_by_second)
        for mentions, pairs in decided
    ]


def _sure_constraints(decided: _DecidedRelations) -> list[Constraint]:
    return [Constraint(mentions, pairs.sure, pairs.sure_by_second) for mentions, pairs in decided]


# Assignment of different objects to mentions. The domain of a mention is the set of objects that it
# may still have.


def _members(objects: int) -> Iterator[int]:
    """The numbers of the objects in a set."""
    while objects:
        lowest = objects & -objects
        yield lowest.bit_length() - 1
        objects ^= lowest


def _can_match(domains: list[int]) -> bool:
    """Whether the mentions can be assigned distinct objects of their domains (augmenting paths)."""
    # Most texts mention two objects.
    if len(domains) == 2:
        first, second = domains
        return bool(first and second and (first | second).bit_count() > 1)
    # Kuhn's algorithm for bipartite matching; a few mentions need no faster one.
    mention_of: dict[int, int] = {}
    mentions = range(len(domains))
    return all(
        _find_object(domains, mention_of, mention=mention, tried=set()) for mention in mentions
    )


def _find_object(
    domains: list[int], mention_of: dict[int, int], *, mention: int, tried: set[int]
) -> bool:
    """Whether a mention can be assigned an object that no other has. Earlier mentions are
    reassigned if needed; `mention_of` is updated."""
    for i in _members(domains[mention]):
        if i in tried:
            continue
        tried.add(i)
        if i not in mention_of or _find_object(
            domains, mention_of, mention=mention_of[i], tried=tried
        ):
            mention_of[i] = mention
            return True
    return False


def _can_assign(domains: list[int], constraints: list[Constraint]) -> bool:
    """Whether the mentions can be assigned distinct objects of their domains such that every
    constraint is met."""
    if not _can_match(domains):
        return False
    # Most texts with a relation have two objects.
    if len(domains) == 2 and len(constraints) == 1:
        (subject, object_), allowed, _ = constraints[0]
        return any(allowed[i] & domains[object_] for i in _members(domains[subject]))

    # Each relation of two narrows the domain of either end.
    partners: Partners = [[] for _ in domains]
    of_three = []
    for constraint in constraints:
        if len(constraint.mentions) == 3:
            of_three.append(constraint)
            continue
        subject, object_ = constraint.mentions
        partners[subject].append((object_, constraint.allowed))
        partners[object_].append((subject, constraint.allowed_by_second))
    related = {mention for constraint in constraints for mention in constraint.mentions}
    return _search(domains, related, partners=partners, of_three=of_three)


def _search(
    domains: list[int], unassigned: set[int], *, partners: Partners, of_three: list[Constraint]
) -> bool:
    """Assign the remaining mentions, the smallest domain first. Each choice narrows the other
    domains.

    Relations of three are decided after all mentions are assigned.
    """
    # Relations of three are rare, so they are tested at the end instead of narrowing domains.
    if not unassigned:
        chosen = [domain.bit_length() - 1 for domain in domains]
        for (subject, object_, third), allowed, _ in of_three:
            if not allowed[chosen[subject]][chosen[object_]] & domains[third]:
                return False
        return _can_match(domains)

    # The smallest domain first, so that impossible branches end early.
    mention = min(unassigned, key=lambda place: domains[place].bit_count())
    rest = unassigned - {mention}
    for i in _members(domains[mention]):
        narrowed = [domain & ~(1 << i) for domain in domains]
        narrowed[mention] = 1 << i
        for other, allowed in partners[mention]:
            narrowed[other] &= allowed[i]
        if not all(narrowed) or not _can_match(narrowed):
            continue
        if _search(narrowed, rest, partners=partners, of_three=of_three):
            return True
    return False
