"""Draws layouts (orders, clumps and stacks of a planned scene, without positions) and derives their
relations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Protocol

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.relations import ORDERS, PlannedBy
from generator.scene.relations import Truth
from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary

_TRIES = 1_000
Triple = tuple[int, str, int]
"""(Object, relation, object); objects by their index in the plan."""


class Arranged(Protocol):
    """Anything with an arrangement in space: a plan of a scene, or its `Layout`."""

    @property
    def depth_order(self) -> tuple[int, ...]: ...
    @property
    def rests_on(self) -> tuple[int | None, ...]: ...
    @property
    def clumps(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Layout:
    """The relative positions of objects, which are listed from left to right.

    `depth_order`: the rank of each object from front to behind, 0 nearest to the camera.
    `rests_on`: for each object
    the index of the object under it, None for the ground; () when all stand on the ground.
    `clumps`: the clump number
    of each object; objects of one clump are near, of two clumps far; () when the plan leaves
    distances open.
    """

    depth_order: tuple[int, ...]
    rests_on: tuple[int | None, ...] = ()
    clumps: tuple[int, ...] = ()


def facts(planned: Arranged, vocabulary: Vocabulary) -> tuple[Triple, ...]:
    """The relations that hold in every scene of a plan, as (object, relation, object) triples.

    A relation that is neither here nor in `undecided` is false in every scene of the plan.
    """
    return tuple(triple for triple, holds in _decisions(planned, vocabulary) if holds)


def undecided(planned: Arranged, vocabulary: Vocabulary) -> tuple[Triple, ...]:
    """The relations that the plan leaves open, such as which of two stacked objects is further
    left."""
    return tuple(triple for triple, holds in _decisions(planned, vocabulary) if holds is None)


def consistent(layout: Arranged, categories: Sequence[str], vocabulary: Vocabulary) -> bool:
    """Whether a layout of objects of these categories is possible on a ground of any size.

    An upper object can stand on its lower object, is its neighbour in both orders and in its clump,
    and carries nothing itself. Two clumps do not overlap both from left to right and from front to
    behind. At most one object of a clump lies between two others of it in both orders, since
    objects in a row are not all near.
    """
    depths, rests_on, clumps = layout.depth_order, layout.rests_on, layout.clumps
    for upper, lower in _stacked(layout):
        neighbours = abs(upper - lower) == 1 == abs(depths[upper] - depths[lower])
        together = not clumps or clumps[upper] == clumps[lower]
        alone = rests_on[lower] is None and rests_on.count(lower) == 1
        if not (
            neighbours
            and together
            and alone
            and can_carry(vocabulary, categories[lower], categories[upper])
        ):
            return False
    carriers = [i for i in range(len(clumps)) if not rests_on or rests_on[i] is None]
    groups = [[i for i in carriers if clumps[i] == each] for each in dict.fromkeys(clumps)]
    return all(_loose(group, depths) for group in groups) and not any(
        _overlap(one, other) and _overlap([depths[i] for i in one], [depths[i] for i in other])
        for one, other in combinations(groups, 2)
    )


def draw_layout(categories: Sequence[str], stream: Stream, vocabulary: Vocabulary) -> Layout:
    """A random consistent layout for objects of these categories, listed from left to right.

    Two objects are near or far with equal probability. Of two unstacked neighbours in a clump, each
    rests on the other with probability 1/3 if it can. For a vocabulary without distances and
    stacks, the layout is a uniformly random depth order. Raises UserError if there are too many
    objects for a consistent layout.
    """
    planned_by = {relation.axis.planned_by for relation in vocabulary.pair_relations.values()}
    clumps = _gather(len(categories), stream) if "clumps" in planned_by else ()
    rests_on = _stack(categories, clumps, stream, vocabulary) if "stacks" in planned_by else ()
    for _ in range(_TRIES):
        layout = Layout(_order(len(categories), rests_on, stream), rests_on, clumps)
        if consistent(layout, categories, vocabulary):
            return layout
    raise UserError(
        f"--objects: {len(categories)} objects can hardly all be near or far as the family "
        f"'{vocabulary.name}' asks; "
        "take fewer --objects."
    )


def _decisions(planned: Arranged, vocabulary: Vocabulary) -> Iterator[tuple[Triple, Truth]]:
    """Whether each relation holds of each ordered pair in every scene of a plan; None where the
    plan leaves it open."""
    relations = [
        (name, relation, relation.axis) for name, relation in vocabulary.pair_relations.items()
    ]
    for i, j in permutations(range(len(planned.depth_order)), 2):
        for name, relation, axis in relations:
            holds: Truth = None
            if axis.planned_by is not None:
                first, second, negated = axis.asked(relation.name, i, j)
                holds = _DECIDES[axis.planned_by](planned, vocabulary, relation, first, second)
                holds = not holds if negated and holds is not None else holds
            yield (i, name, j), holds


def _further_right(
    planned: Arranged, vocabulary: Vocabulary, relation: Relation, i: int, j: int
) -> Truth:
    if _on_each_other(planned, i, j) or vocabulary.placement.clearance < relation.margin:
        return None
    return i > j


def _further_behind(
    planned: Arranged, vocabulary: Vocabulary, relation: Relation, i: int, j: int
) -> Truth:
    rules = vocabulary.placement
    if _on_each_other(planned, i, j) or rules.clearance < relation.margin or rules.orders == "free":
        return None
    return planned.depth_order[i] > planned.depth_order[j]


def _in_one_clump(
    planned: Arranged, _vocabulary: Vocabulary, _relation: Relation, i: int, j: int
) -> Truth:
    if _on_each_other(planned, i, j):
        return True
    return planned.clumps[i] == planned.clumps[j] if planned.clumps else None


def _on_top(
    planned: Arranged, _vocabulary: Vocabulary, _relation: Relation, i: int, j: int
) -> Truth:
    return _rests(planned, i, j)


_DECIDES: dict[PlannedBy, Callable[[Arranged, Vocabulary, Relation, int, int], Truth]] = {
    "left-right order": _further_right,
    "depth order": _further_behind,
    "clumps": _in_one_clump,
    "stacks": _on_top,
}
"""Functions by `planned_by`: whether the first rule of an axis holds of objects i and j in every
scene of a plan."""


def _on_each_other(planned: Arranged, i: int, j: int) -> bool:
    return _rests(planned, i, j) or _rests(planned, j, i)


def _rests(planned: Arranged, upper: int, lower: int) -> bool:
    return bool(planned.rests_on) and planned.rests_on[upper] == lower


def _stacked(layout: Arranged) -> list[tuple[int, int]]:
    """The pairs (upper, lower) of a layout."""
    return [(upper, lower) for upper, lower in enumerate(layout.rests_on) if lower is not None]


def _overlap(one: Sequence[int], other: Sequence[int]) -> bool:
    return min(one) < max(other) and min(other) < max(one)


def _loose(group: Sequence[int], depths: Sequence[int]) -> bool:
    """Whether at most one object of a group lies between any two others in both orders."""
    return all(
        sum(
            i < k < j and min(depths[i], depths[j]) < depths[k] < max(depths[i], depths[j])
            for k in group
        )
        < 2
        for i, j in combinations(group, 2)
    )


def _gather(n: int, stream: Stream) -> tuple[int, ...]:
    """A random clump, 0 or 1, for each of n objects; the first object's is number 0."""
    drawn = [stream.below(2) for _ in range(n)]
    return tuple(int(side != drawn[0]) for side in drawn)


def _stack(
    categories: Sequence[str], clumps: Sequence[int], stream: Stream, vocabulary: Vocabulary
) -> tuple[int | None, ...]:
    """Random stacks of neighbours: for each object the index of the object under it; () without
    stacks."""
    rests_on: list[int | None] = [None] * len(categories)
    taken: list[int] = []
    for i in stream.shuffled(range(len(categories) - 1)):
        lower, upper = ((i, i + 1), (i + 1, i), (i, i))[stream.below(3)]
        free = (
            upper != lower
            and not {i, i + 1} & {*taken}
            and (not clumps or clumps[i] == clumps[i + 1])
        )
        if free and can_carry(vocabulary, categories[lower], categories[upper]):
            rests_on[upper] = lower
            taken += [i, i + 1]
    return tuple(rests_on) if taken else ()


def _order(n: int, rests_on: Sequence[int | None], stream: Stream) -> tuple[int, ...]:
    """Random ranks from front to behind in which the objects of a stack are neighbours."""
    units = [[i] for i in range(n) if not rests_on or rests_on[i] is None]
    for unit in units:
        unit += [i for i, lower in enumerate(rests_on) if lower == unit[0]]
    ranks = stream.shuffled(range(len(units)))
    by_depth = [i for place in range(len(units)) for i in units[ranks.index(place)]]
    return tuple(by_depth.index(i) for i in range(n))


_MOST_SLIP = 0.03
_DIAGONAL = 1.5  # more than the square root of 2: slips along two directions add up


def slip(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, along each ground direction, metres.

    It is small enough to keep all relations decided: the upper object is inside the rim of the top
    by the margin, neither of the two is left or in front of the other, and both have the same
    relations to all other objects.
    """
    return max(0.0, min(_MOST_SLIP, *_bounds(vocabulary)))


def _bounds(vocabulary: Vocabulary) -> Iterator[float]:
    """The largest slip that each relation allows, metres."""
    radii = [
        spec.top.radius * spec.size * min(vocabulary.scales)
        for spec in vocabulary.objects.values()
        if spec.top
    ]
    for relation in vocabulary.pair_relations.values():
        planned_by = relation.axis.planned_by
        if planned_by in ORDERS:
            yield min(relation.margin, vocabulary.placement.clearance - relation.margin) / 2
        elif planned_by == "clumps":
            yield ((relation.distance or 0.0) - relation.margin) / 2 / _DIAGONAL
        elif planned_by == "stacks" and radii:
            yield (min(radii) - relation.margin) / _DIAGONAL


def shift(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, in any direction, metres."""
    return slip(vocabulary) * _DIAGONAL


def can_carry(vocabulary: Vocabulary, lower: str, upper: str) -> bool:
    """Whether an object of category `upper` can rest on an object of `lower` at all sizes of
    both."""
    under, over = vocabulary.objects[lower], vocabulary.objects[upper]
    if under.top is None or over.foot is None:
        return False
    room = under.top.radius * under.size * min(vocabulary.scales)
    return over.foot * over.size * max(vocabulary.scales) + shift(vocabulary) <= room


def can_hold(relation: Relation, subject: str, other: str, vocabulary: Vocabulary) -> bool:
    """Whether a relation can hold of an object of category `subject` and one of `other` in any
    scene."""
    if relation.axis.planned_by != "stacks":
        return True
    upper, lower, _ = relation.axis.asked(relation.name, subject, other)
    return can_carry(vocabulary, lower, upper)
