"""Decides whether a form is true of a scene: True, False, or None for undecided (docs/language.md,
Truth)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from generator.dataset.relations import ORDERS, Pose
from generator.language.form import Form, Link, Mention
from generator.scene.relations import Truth, decided, poses_of
from generator.scene.scene import Scene
from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary

Objects = Sequence[int]
"""Indices of objects of a scene."""


class Facts:
    """A scene's categories, attribute values and relations, by index of the object.

    `holds[relation][i][j]` says whether object i stands in the relation to object j; None if the
    relation is within its
    margin, and for i = j. A relation of three objects has a third index.
    """

    def __init__(self, scene: Scene, vocabulary: Vocabulary):
        self.categories = [thing.category for thing in scene.objects]
        self.values = [thing.attributes for thing in scene.objects]
        self.environment = scene.environment
        self._category_kind = vocabulary.category
        self.holds = _relations(scene, vocabulary)
        self._fitting: dict[Mention, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.categories)

    def fitting(self, mention: Mention) -> tuple[int, ...]:
        """Indices of the objects that fit a mention."""
        found = self._fitting.get(mention)
        if found is None:
            found = self._fitting[mention] = tuple(
                i for i in range(len(self)) if self._fits(mention, i)
            )
        return found

    def _fits(self, mention: Mention, i: int) -> bool:
        values = self.values[i]
        return (
            mention.category in (None, self.categories[i])
            and all(values.get(kind) == value for kind, value in mention.attributes)
            and all(self._value(kind, i) != value for kind, value in mention.without)
        )

    def _value(self, kind: str, i: int) -> str | None:
        return self.categories[i] if kind == self._category_kind else self.values[i].get(kind)


def decide(form: Form, facts: Facts) -> Truth:
    """Whether a form is true of a scene, under a closed world and with a different object for every
    mention.

    None if the answer depends on a relation within its margin, or if two readings of the words
    differ.
    """
    if all(mention.count == 1 for mention in form.objects):
        value = _decide_single(
            [facts.fitting(mention) for mention in form.objects], form.relations, facts
        )
    else:
        value = _decide_counted(form, facts)
    if form.environment is not None:
        same = None if facts.environment is None else facts.environment == form.environment
        value = both(value, same)
    return value if not form.negated or value is None else not value


def both(first: Truth, second: Truth) -> Truth:
    """Kleene's three-valued "and"."""
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _decide_counted(form: Form, facts: Facts) -> Truth:
    value: Truth = True
    places = [i for i, mention in enumerate(form.objects) if mention.count == 1]
    for i, mention in enumerate(form.objects):
        there = len(facts.fitting(mention))
        if mention.count == 0:
            value = both(value, there == 0)
        elif mention.count > 1:
            value = both(value, None if there > mention.count else there == mention.count)
            if any(
                set(facts.fitting(mention)) & set(facts.fitting(form.objects[j]))
                for j in range(len(form.objects))
                if j != i
            ):
                return None
    new = {place: number for number, place in enumerate(places)}
    links = [link.moved(new.__getitem__) for link in form.relations]
    return both(
        value, _decide_single([facts.fitting(form.objects[i]) for i in places], links, facts)
    )


def _decide_single(fits: list[tuple[int, ...]], links: Sequence[Link], facts: Facts) -> Truth:
    if not all(fits) and all(link.holds for link in links):
        return False
    specific = _best(fits, [(link, None) for link in links], facts)
    loose = [
        link for link in links if not (link.holds or link.also) and _object_in_no_other(link, links)
    ]
    if not loose:
        return specific
    # second reading: the object of a denied relation need not exist ("it is left of no sphere")
    free = {link.object for link in loose}
    candidates = [tuple(range(len(facts))) if i in free else there for i, there in enumerate(fits)]
    none = _best(
        candidates,
        [(link, fits[link.object] if link in loose else None) for link in links],
        facts,
        free,
    )
    return specific if specific == none else None


def _object_in_no_other(link: Link, links: Iterable[Link]) -> bool:
    return not any(link.object in other.ends for other in links if other is not link)


def _best(
    fits: list[tuple[int, ...]],
    links: Sequence[tuple[Link, Objects | None]],
    facts: Facts,
    skipped: set[int] | frozenset[int] = frozenset(),
) -> Truth:
    """Kleene's "or", over all assignments of different objects to mentions, of the "and" of all
    links.

    `fits`: for each mention, the objects that fit it. A link that comes with objects is denied of
    all of these objects;
    `skipped` mentions get no object.
    """
    order = sorted((i for i in range(len(fits)) if i not in skipped), key=lambda i: len(fits[i]))
    ready: list[list[tuple[Link, Objects | None]]] = [[] for _ in order]
    place = {mention: step for step, mention in enumerate(order)}
    for link, free in links:
        ready[max(place.get(end, 0) for end in link.ends)].append((link, free))
    chosen: dict[int, int] = {}
    best: Truth = False

    def extend(step: int, value: Truth) -> bool:
        nonlocal best
        if step == len(order):
            best = value if best is False else best or value
            return best is True
        mention = order[step]
        taken = set(chosen.values())
        for thing in fits[mention]:
            if thing in taken:
                continue
            chosen[mention] = thing
            here = value
            for link, free in ready[step]:
                here = both(here, _link_truth(link, free, chosen, facts))
                if here is False:
                    break
            if here is not False and extend(step + 1, here):
                return True
            del chosen[mention]
        return False

    extend(0, True)
    return best


def _link_truth(link: Link, free: Objects | None, chosen: Mapping[int, int], facts: Facts) -> Truth:
    value = facts.holds[link.relation]
    if free is None:
        value = value[chosen[link.subject]][chosen[link.object]]
        for end in link.also:
            value = value[chosen[end]]
        return value if link.holds or value is None else not value
    first = chosen[link.subject]
    values = [value[first][thing] for thing in free if thing != first]
    return False if True in values else None if None in values else True


def _relations(scene: Scene, vocabulary: Vocabulary) -> dict[str, Any]:
    poses, found = poses_of(scene, vocabulary), dict[str, Any]()
    for name, relation in vocabulary.relations.items():
        if relation.converse in found:
            found[name] = [list(row) for row in zip(*found[relation.converse], strict=True)]
        else:
            found[name] = _decided(poses, relation)
    return found


def _decided(poses: Sequence[Pose], relation: Relation, ends: tuple[int, ...] = ()) -> Any:
    """Truth of a relation for all objects at its ends, as lists nested by end; None if an object
    repeats."""
    axis, distance, objects = relation.axis, relation.distance or 0.0, range(len(poses))
    if len(ends) < axis.arity - 1:
        return [_decided(poses, relation, (*ends, i)) for i in objects]
    if len({*ends}) < len(ends):
        return [None] * len(objects)
    return [
        None
        if i in ends
        else decided(axis.margin(relation.name, [poses[k] for k in (*ends, i)], distance), relation)
        for i in objects
    ]


Axis = tuple[str, ...]


class Axes:
    """The axes of a vocabulary, numbered from 0: (left, right), (behind, front), (far, near),
    (beneath, on).

    `relations[axis]` holds the relations of an axis in alphabetical order. `slots[axis]` is the
    slot of an axis: a
    caption gives an object at most one relation per slot. Distance and stacking share a slot,
    because an object that
    rests on another is near it.
    """

    def __init__(self, vocabulary: Vocabulary):
        declared = vocabulary.pair_relations
        self.relations: list[Axis] = list(
            dict.fromkeys(
                tuple(sorted({name, relation.opposite})) for name, relation in declared.items()
            )
        )
        self._symmetric = [declared[names[0]].axis.symmetric for names in self.relations]
        planned_by = [declared[names[0]].axis.planned_by for names in self.relations]
        self._is_direction = [each in ORDERS for each in planned_by]
        stacking = [axis for axis, each in enumerate(planned_by) if each == "stacks"]
        self._stacking = stacking[0] if stacking else None
        nearness = [axis for axis, each in enumerate(planned_by) if each in ("clumps", "stacks")]
        self.slots = [
            nearness[0] if axis in nearness else axis for axis in range(len(self.relations))
        ]
        self._axis_of = {name: axis for axis, names in enumerate(self.relations) for name in names}

    @property
    def general(self) -> list[int]:
        """The axes that apply to any two objects: all but stacking."""
        return [axis for axis in range(len(self.relations)) if axis != self._stacking]

    def is_symmetric(self, axis: int) -> bool:
        """Whether each relation of an axis is its own converse, such as near."""
        return self._symmetric[axis]

    def of_the_same_pairs(self, axis: int) -> list[int]:
        """The axes that apply to the same pairs as `axis`, including itself: only stacking, or all
        others."""
        return [axis] if axis == self._stacking else self.general

    def axis_of(self, relation: str) -> int:
        """The axis of a relation."""
        return self._axis_of[relation]

    def interchangeable(self, axis: int) -> list[int]:
        """The axis itself and, for a direction, the other directions.

        These axes are decided for the same pairs of objects, and their relations are equally
        likely.
        """
        direction = self._is_direction[axis]
        return [
            n
            for n in range(len(self.relations))
            if n == axis or (direction and self._is_direction[n])
        ]

    def between(self, facts: Facts, axis: int, i: int, j: int) -> tuple[int, str] | None:
        """The axis and relation in which object i stands to object j; None if the scene decides
        neither relation.

        Directions between two stacked objects are undecided. Instead of a direction, such a pair
        gets its stacking relation, never its distance: stacked objects are always near, so `near`
        would be true more often than `far`.
        """
        for candidate in (axis, self._stacking if self._is_direction[axis] else None):
            if candidate is not None:
                found = next(
                    (name for name in self.relations[candidate] if facts.holds[name][i][j]), None
                )
                if found is not None:
                    return candidate, found
        return None
