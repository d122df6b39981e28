"""What a plan says of space, before anything has a place: orders, clumps, stacks, and the relations that follow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Protocol

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.scene.relations import Truth
from generator.scene.stacks import can_carry
from generator.vocabulary.relation_rules import Relation
from generator.vocabulary.schema import Vocabulary

_TRIES = 1_000
Triple = tuple[int, str, int]
"""Object, relation, object; objects by their place in the plan."""


class Arranged(Protocol):
    """What has an arrangement in space: a plan of a scene, or its `Layout`."""

    @property
    def depth_order(self) -> tuple[int, ...]: ...
    @property
    def rests_on(self) -> tuple[int | None, ...]: ...
    @property
    def clumps(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Layout:
    """Where objects that are listed from left to right stand to one another.

    `depth_order`: for each its rank from front to behind, 0 the nearest to the camera. `rests_on`: for each the place
    of the object on which it rests, None for the ground; () when all stand on the ground. `clumps`: for each the number
    of its clump; objects of a clump are near each other, all others far; () when nothing is said about distance.
    """

    depth_order: tuple[int, ...]
    rests_on: tuple[int | None, ...] = ()
    clumps: tuple[int, ...] = ()


def facts(planned: Arranged, vocabulary: Vocabulary) -> tuple[Triple, ...]:
    """The relations that hold in every scene of a plan, each as often as there are ordered pairs of which it holds.

    What is neither here nor in `undecided` fails in every scene of the plan.
    """
    return tuple(triple for triple, holds in _decisions(planned, vocabulary) if holds)


def undecided(planned: Arranged, vocabulary: Vocabulary) -> tuple[Triple, ...]:
    """The relations that the plan leaves open, such as which of two stacked objects is further left."""
    return tuple(triple for triple, holds in _decisions(planned, vocabulary) if holds is None)


def consistent(layout: Arranged, categories: Sequence[str], vocabulary: Vocabulary) -> bool:
    """Whether there can be room for a layout of objects of these categories, however large the ground.

    What rests on another can stand on it, is its neighbour in both orders and in its clump, and nothing rests on what
    rests; two clumps do not overlap both from left to right and from front to behind; and at most one place lies
    between two of a clump in both orders, since what stands in a row is not all near.
    """
    depths, rests_on, clumps = layout.depth_order, layout.rests_on, layout.clumps
    for upper, lower in _stacked(layout):
        neighbours = abs(upper - lower) == 1 == abs(depths[upper] - depths[lower])
        together = not clumps or clumps[upper] == clumps[lower]
        alone = rests_on[lower] is None and rests_on.count(lower) == 1
        if not (neighbours and together and alone and can_carry(vocabulary, categories[lower], categories[upper])):
            return False
    carriers = [i for i in range(len(clumps)) if not rests_on or rests_on[i] is None]
    groups = [[i for i in carriers if clumps[i] == each] for each in dict.fromkeys(clumps)]
    return all(_loose(group, depths) for group in groups) and not any(
        _overlap(one, other) and _overlap([depths[i] for i in one], [depths[i] for i in other])
        for one, other in combinations(groups, 2)
    )


def draw_layout(categories: Sequence[str], stream: Stream, vocabulary: Vocabulary) -> Layout:
    """A random consistent layout for objects of these categories, listed from left to right.

    Every two objects are near as often as far. Of two neighbours in a clump that are not stacked yet either rests on the
    other with a chance of a third, where it can. Where the vocabulary knows no distances and no stacks, only the order
    in depth is drawn, each as often as every other. Raises UserError for more objects than can be near each other.
    """
    rules = [relation.rule for relation in vocabulary.relations.values()]
    clumps = _gather(len(categories), stream) if "near" in rules else ()
    rests_on = _stack(categories, clumps, stream, vocabulary) if "on" in rules else ()
    for _ in range(_TRIES):
        layout = Layout(_order(len(categories), rests_on, stream), rests_on, clumps)
        if consistent(layout, categories, vocabulary):
            return layout
    raise UserError(
        f"--objects: {len(categories)} objects can hardly all be near or far as the family '{vocabulary.name}' asks; take fewer "
        f"--objects."
    )


def _decisions(planned: Arranged, vocabulary: Vocabulary) -> Iterator[tuple[Triple, Truth]]:
    for i, j in permutations(range(len(planned.depth_order)), 2):
        for name, relation in vocabulary.relations.items():
            yield (i, name, j), _decide(planned, vocabulary, relation, i, j)


def _decide(planned: Arranged, vocabulary: Vocabulary, relation: Relation, i: int, j: int) -> Truth:
    on, beneath = _rests(planned, i, j), _rests(planned, j, i)
    if relation.rule in ("on", "beneath"):
        return on if relation.rule == "on" else beneath
    if relation.rule in ("near", "far"):
        if not (on or beneath or planned.clumps):
            return None
        near = on or beneath or planned.clumps[i] == planned.clumps[j]
        return near if relation.rule == "near" else not near
    rules, sideways = vocabulary.placement, relation.rule in ("left", "right")
    if on or beneath or rules.clearance < relation.margin or (rules.orders == "free" and not sideways):
        return None
    order = range(len(planned.depth_order)) if sideways else planned.depth_order
    return order[i] < order[j] if relation.rule in ("left", "front") else order[i] > order[j]


def _rests(planned: Arranged, upper: int, lower: int) -> bool:
    return bool(planned.rests_on) and planned.rests_on[upper] == lower


def _stacked(layout: Arranged) -> list[tuple[int, int]]:
    return [(upper, lower) for upper, lower in enumerate(layout.rests_on) if lower is not None]


def _overlap(one: Sequence[int], other: Sequence[int]) -> bool:
    return min(one) < max(other) and min(other) < max(one)


def _loose(group: Sequence[int], depths: Sequence[int]) -> bool:
    """Whether at most one of a group lies between two others in both orders."""
    return all(
        sum(i < k < j and min(depths[i], depths[j]) < depths[k] < max(depths[i], depths[j]) for k in group) < 2
        for i, j in combinations(group, 2)
    )


def _gather(n: int, stream: Stream) -> tuple[int, ...]:
    """Each object in one of two clumps, by chance; the first object's is number 0."""
    drawn = [stream.below(2) for _ in range(n)]
    return tuple(int(side != drawn[0]) for side in drawn)


def _stack(
    categories: Sequence[str], clumps: Sequence[int], stream: Stream, vocabulary: Vocabulary
) -> tuple[int | None, ...]:
    rests_on: list[int | None] = [None] * len(categories)
    taken: list[int] = []
    for i in stream.shuffled(range(len(categories) - 1)):
        lower, upper = ((i, i + 1), (i + 1, i), (i, i))[stream.below(3)]
        free = upper != lower and not {i, i + 1} & {*taken} and (not clumps or clumps[i] == clumps[i + 1])
        if free and can_carry(vocabulary, categories[lower], categories[upper]):
            rests_on[upper] = lower
            taken += [i, i + 1]
    return tuple(rests_on) if taken else ()


def _order(n: int, rests_on: Sequence[int | None], stream: Stream) -> tuple[int, ...]:
    """Ranks from front to behind; what is stacked stays together."""
    units = [[i] for i in range(n) if not rests_on or rests_on[i] is None]
    for unit in units:
        unit += [i for i, lower in enumerate(rests_on) if lower == unit[0]]
    ranks = stream.shuffled(range(len(units)))
    by_depth = [i for place in range(len(units)) for i in units[ranks.index(place)]]
    return tuple(by_depth.index(i) for i in range(n))
