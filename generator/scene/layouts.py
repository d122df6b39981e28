"""Draws layouts (orders, clumps, stacks and own sides of a planned scene, without positions) and
derives their relations.

Two orders say which object is further right and which is further behind. Clumps say which objects
are near each other. Stacks say which object rests on which. A relation of space follows from one of
these, so a plan can decide it before positions are drawn. Own sides say in which direction of an
object's own frame the other one stands; its heading is then drawn so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from types import MappingProxyType
from typing import Protocol

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.own_frames import is_own_direction
from generator.dataset.relations import AXIS_OF, ORDERS, OWN, PlannedBy
from generator.scene.own_side import OwnSide
from generator.scene.relations import Truth
from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary

# Random depth orders before the number of objects counts as too large. Of random orders of ten
# objects in two clumps, the most that a scene has, 0.3% are consistent; of six objects, 20%.
_TRIES = 1_000

Fact = tuple[int, str, int]
"""(Object, relation, object); objects by their index in the plan."""


class HasLayout(Protocol):
    """Anything with a layout: a `Layout`, or the plan of a scene. See `Layout` for the fields."""

    @property
    def depth_order(self) -> tuple[int, ...]: ...
    @property
    def rests_on(self) -> tuple[int | None, ...]: ...
    @property
    def clumps(self) -> tuple[int, ...]: ...
    @property
    def own_sides(self) -> tuple[OwnSide, ...]: ...


@dataclass(frozen=True)
class Layout:
    """The relative positions of objects, which are listed from left to right."""

    depth_order: tuple[int, ...]
    """The rank of each object from front to behind, 0 nearest to the camera."""
    rests_on: tuple[int | None, ...] = ()
    """For each object the index of the object under it, None for the ground; () when all stand on
    the ground."""
    clumps: tuple[int, ...] = ()
    """The clump number of each object. Objects of one clump are near, those of two clumps are far
    from each other; () when the plan leaves distances open."""
    own_sides: tuple[OwnSide, ...] = ()
    """For each object whose heading the plan decides, where the other one stands. All others may
    look anywhere."""


def certain_relations(planned: HasLayout, vocabulary: Vocabulary) -> tuple[Fact, ...]:
    """The relations that hold in every scene of a plan.

    A relation that is neither here nor in `open_relations` holds in no scene of the plan.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> certain_relations(Layout(depth_order=(1, 0)), read_vocabulary("clevr"))
    ((0, 'left', 1), (0, 'behind', 1), (1, 'right', 0), (1, 'front', 0))
    """
    return tuple(fact for fact, holds in _decisions(planned, vocabulary) if holds)


def open_relations(planned: HasLayout, vocabulary: Vocabulary) -> tuple[Fact, ...]:
    """The relations that the plan leaves open, such as which of two stacked objects is further
    left."""
    return tuple(fact for fact, holds in _decisions(planned, vocabulary) if holds is None)


def is_consistent(layout: HasLayout, categories: Sequence[str], vocabulary: Vocabulary) -> bool:
    """Whether a layout of objects of these categories is possible on a ground of any size.

    Stacks: an upper object can stand on its lower object, is its neighbour in both orders and in
    its clump, and carries nothing itself. Clumps: two clumps do not overlap both from left to right
    and from front to behind, and at most one object of a clump lies between two others of it in
    both orders.

    Args:
        layout: orders, stacks and clumps.
        categories: the category of each object.
        vocabulary: says what can carry what.
    """
    return _stacks_are_possible(layout, categories, vocabulary) and _clumps_are_possible(layout)


def _stacks_are_possible(
    layout: HasLayout, categories: Sequence[str], vocabulary: Vocabulary
) -> bool:
    depths, rests_on, clumps = layout.depth_order, layout.rests_on, layout.clumps
    for upper, lower in enumerate(rests_on):
        if lower is None:
            continue
        # An object between the two in an order would have to be inside the stack.
        steps_across = abs(upper - lower)
        steps_in_depth = abs(depths[upper] - depths[lower])
        if steps_across != 1 or steps_in_depth != 1:
            return False
        if clumps and clumps[upper] != clumps[lower]:
            return False
        lower_is_on_ground = rests_on[lower] is None
        lower_carries_one = rests_on.count(lower) == 1
        if not lower_is_on_ground or not lower_carries_one:
            return False
        if not can_carry(vocabulary, categories[lower], categories[upper]):
            return False
    return True


def _clumps_are_possible(layout: HasLayout) -> bool:
    depths, rests_on, clumps = layout.depth_order, layout.rests_on, layout.clumps
    # Objects on the ground stand for their stack, which has one ground position.
    members_of_clump: dict[int, list[int]] = {clump: [] for clump in clumps}
    for i, clump in enumerate(clumps):
        if not rests_on or rests_on[i] is None:
            members_of_clump[clump].append(i)
    all_members = list(members_of_clump.values())

    for members in all_members:
        # Objects in a row are not all near: those in the middle keep the outer two apart.
        if _has_row(members, depths):
            return False
    for first, second in combinations(all_members, 2):
        # Clumps that overlap in both orders would mix, and members of both would be near.
        overlap_across = _spans_overlap(first, second)
        first_depths = [depths[i] for i in first]
        second_depths = [depths[i] for i in second]
        if overlap_across and _spans_overlap(first_depths, second_depths):
            return False
    return True


def draw_layout(
    categories: Sequence[str],
    stream: Stream,
    vocabulary: Vocabulary,
    own_frames: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Layout:
    """A random consistent layout for objects of these categories, listed from left to right.

    Two objects are near or far with equal probability. Of two unstacked neighbours in a clump, each
    rests on the other with probability 1/3 if it can. For a vocabulary without distances and
    stacks, the layout is a uniformly random depth order.

    Args:
        categories: the category of each object.
        stream: draws the layout.
        vocabulary: says which relations a plan decides, and what can carry what.
        own_frames: by category the directions in its own frame that are held out, or that a turn of
            a rotation holds out: the plan decides that axis of all its objects. In scenes of two,
            each of the four directions has the same probability. Among more, an object can hardly
            look so that all others are within the margin of an axis, so nothing is decided.

    Raises:
        UserError: there are too many objects for a consistent layout.
    """
    n = len(categories)
    planned_by = {relation.axis.planned_by for relation in vocabulary.pair_relations.values()}
    clumps: tuple[int, ...] = ()
    if "clumps" in planned_by:
        clumps = _draw_clumps(n, stream)
    rests_on: tuple[int | None, ...] = ()
    if "stacks" in planned_by:
        rests_on = _draw_stacks(categories, clumps, stream=stream, vocabulary=vocabulary)
    own_sides = _draw_own_sides(categories, own_frames, stream) if n == 2 else ()

    # Of an inconsistent layout only the depth order is drawn again.
    for _ in range(_TRIES):
        depth_order = _draw_depth_order(n, rests_on, stream)
        layout = Layout(depth_order, rests_on, clumps, own_sides)
        if is_consistent(layout, categories, vocabulary):
            return layout
    raise UserError(
        f"--objects: {n} objects can hardly all be near or far as the family "
        f"'{vocabulary.name}' asks; take fewer --objects."
    )


def _decisions(planned: HasLayout, vocabulary: Vocabulary) -> Iterator[tuple[Fact, Truth]]:
    """Whether each relation holds of each ordered pair in every scene of a plan; None where the
    plan leaves it open."""
    for i, j in permutations(range(len(planned.depth_order)), 2):
        for name, relation in vocabulary.pair_relations.items():
            axis = relation.axis
            holds: Truth = None
            if axis.planned_by is not None:
                decide = _DECIDES_FIRST_RULE[axis.planned_by]
                first, second, negated = axis.in_terms_of_first_rule(relation.name, i, j)
                holds = decide(planned, vocabulary, relation, first, second)
                if negated and holds is not None:
                    holds = not holds
            elif is_own_direction(name):
                holds = _is_on_own_side(planned, name, i=i, j=j)
            yield (i, name, j), holds


def _is_further_right(
    planned: HasLayout, vocabulary: Vocabulary, relation: Relation, i: int, j: int
) -> Truth:
    if _are_stacked(planned, i, j) or vocabulary.placement.clearance < relation.margin:
        return None
    return i > j


def _is_further_behind(
    planned: HasLayout, vocabulary: Vocabulary, relation: Relation, i: int, j: int
) -> Truth:
    rules = vocabulary.placement
    if _are_stacked(planned, i, j) or rules.clearance < relation.margin:
        return None
    if rules.orders == "free":
        # Placement may draw another depth order.
        return None
    return planned.depth_order[i] > planned.depth_order[j]


def _is_near(
    planned: HasLayout, _vocabulary: Vocabulary, _relation: Relation, i: int, j: int
) -> Truth:
    if _are_stacked(planned, i, j):
        return True
    if not planned.clumps:
        return None
    return planned.clumps[i] == planned.clumps[j]


def _is_on_top(
    planned: HasLayout, _vocabulary: Vocabulary, _relation: Relation, i: int, j: int
) -> Truth:
    return _rests(planned, i, j)


def _is_on_own_side(planned: HasLayout, direction: str, *, i: int, j: int) -> Truth:
    """Whether object i stands in a direction of object j; None if the plan leaves it open."""
    for side in planned.own_sides:
        if (side.subject, side.object) != (i, j):
            continue
        if side.is_straight or AXIS_OF[side.relation] is AXIS_OF[direction]:
            return direction == side.relation
    return None


_DECIDES_FIRST_RULE: dict[
    PlannedBy, Callable[[HasLayout, Vocabulary, Relation, int, int], Truth]
] = {
    "left-right order": _is_further_right,
    "depth order": _is_further_behind,
    "clumps": _is_near,
    "stacks": _is_on_top,
}
"""By `planned_by` of an axis: whether its first rule holds of objects i and j in every scene of a
plan."""


def _are_stacked(planned: HasLayout, i: int, j: int) -> bool:
    return _rests(planned, i, j) or _rests(planned, j, i)


def _rests(planned: HasLayout, upper: int, lower: int) -> bool:
    return bool(planned.rests_on) and planned.rests_on[upper] == lower


def _spans_overlap(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two sets of ranks overlap, each from its least to its largest."""
    return min(first) < max(second) and min(second) < max(first)


def _has_row(members: Sequence[int], depths: Sequence[int]) -> bool:
    """Whether two or more objects of a clump lie between two others of it in both orders."""
    for i, j in combinations(members, 2):
        front, behind = sorted((depths[i], depths[j]))
        n_between = 0
        for k in members:
            if i < k < j and front < depths[k] < behind:
                n_between += 1
        if n_between >= 2:
            return True
    return False


def _draw_clumps(n: int, stream: Stream) -> tuple[int, ...]:
    """A random clump, 0 or 1, for each of n objects; that of the first object is number 0."""
    sides = [stream.below(2) for _ in range(n)]
    return tuple(int(side != sides[0]) for side in sides)


def _draw_stacks(
    categories: Sequence[str], clumps: Sequence[int], *, stream: Stream, vocabulary: Vocabulary
) -> tuple[int | None, ...]:
    """Random stacks of neighbours, as `Layout.rests_on`; () without stacks."""
    rests_on: list[int | None] = [None] * len(categories)
    in_stack: set[int] = set()
    for left in stream.shuffled(range(len(categories) - 1)):
        right = left + 1
        # Three equally likely cases; in the third, both stand on the ground.
        lower, upper = ((left, right), (right, left), (left, left))[stream.below(3)]
        if lower == upper or in_stack & {left, right}:
            continue
        if clumps and clumps[left] != clumps[right]:
            continue
        if can_carry(vocabulary, categories[lower], categories[upper]):
            rests_on[upper] = lower
            in_stack |= {left, right}
    return tuple(rests_on) if in_stack else ()


def _draw_own_sides(
    categories: Sequence[str], own_frames: Mapping[str, Sequence[str]], stream: Stream
) -> tuple[OwnSide, ...]:
    """A random direction for each of two objects in whose own frame directions are held out. It is
    straight if the other axis is held out, so that none of its directions holds."""
    directions = list(OWN.values())
    sides = []
    for place, category in enumerate(categories):
        if category in own_frames:
            direction = directions[stream.below(len(directions))]
            held_out_axes = {AXIS_OF[name] for name in own_frames[category]}
            is_straight = bool(held_out_axes - {AXIS_OF[direction]})
            sides.append(OwnSide(1 - place, direction, place, is_straight))
    return tuple(sides)


def _draw_depth_order(n: int, rests_on: Sequence[int | None], stream: Stream) -> tuple[int, ...]:
    """Random ranks from front to behind in which the two objects of a stack are neighbours."""
    # Each object on the ground begins a stack, of one object or two.
    stacks = [[i] for i in range(n) if not rests_on or rests_on[i] is None]
    for stack in stacks:
        (lowest,) = stack
        stack += [upper for upper, lower in enumerate(rests_on) if lower == lowest]
    rank_of_stack = stream.shuffled(range(len(stacks)))
    front_to_behind: list[int] = []
    for rank in range(len(stacks)):
        front_to_behind += stacks[rank_of_stack.index(rank)]
    return tuple(front_to_behind.index(i) for i in range(n))


_MOST_AXIS_OFFSET = 0.03
"""Metres. Stacks vary a little, but no upper object looks as if it were about to fall."""
_DIAGONAL = 1.5
"""A bound of the square root of 2: offsets along two directions add up to a diagonal."""


def max_axis_offset(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, along each ground direction, metres.

    It is small enough to keep all relations decided: the upper object is inside the rim of the top
    by the margin, neither of the two is left or in front of the other, and both have the same
    relations to all other objects.
    """
    bounds = [_MOST_AXIS_OFFSET, *_axis_offset_bounds(vocabulary)]
    return max(0.0, min(bounds))


def max_offset(vocabulary: Vocabulary) -> float:
    """How far from the middle of a top an object may rest, in any direction, metres."""
    return max_axis_offset(vocabulary) * _DIAGONAL


def _axis_offset_bounds(vocabulary: Vocabulary) -> Iterator[float]:
    """The largest offset along a ground direction that each relation allows, metres."""
    least_scale = min(vocabulary.scales)
    top_radii = []
    for spec in vocabulary.objects.values():
        if spec.top:
            top_radii.append(spec.top.radius * spec.size * least_scale)
    for relation in vocabulary.pair_relations.values():
        planned_by = relation.axis.planned_by
        if planned_by in ORDERS:
            # An offset below half the margin decides neither order of the two. Two upper objects
            # may move towards each other, so each has half of what their lower ones can spare.
            spare = vocabulary.placement.clearance - relation.margin
            yield min(relation.margin, spare) / 2
        elif planned_by == "clumps":
            # Two objects of a stack are near.
            near = (relation.distance or 0.0) - relation.margin
            yield near / 2 / _DIAGONAL
        elif planned_by == "stacks" and top_radii:
            yield (min(top_radii) - relation.margin) / _DIAGONAL


def can_carry(vocabulary: Vocabulary, lower: str, upper: str) -> bool:
    """Whether an object can rest on another at all sizes of both.

    Args:
        vocabulary: declares tops and feet.
        lower: the category of the object that carries.
        upper: the category of the object that rests on it.
    """
    lower_spec = vocabulary.objects[lower]
    upper_spec = vocabulary.objects[upper]
    if lower_spec.top is None or upper_spec.foot is None:
        return False
    least_top_radius = lower_spec.top.radius * lower_spec.size * min(vocabulary.scales)
    most_foot_radius = upper_spec.foot * upper_spec.size * max(vocabulary.scales)
    return most_foot_radius + max_offset(vocabulary) <= least_top_radius


def can_hold(relation: Relation, subject: str, other: str, vocabulary: Vocabulary) -> bool:
    """Whether a relation can hold of two objects in any scene.

    Args:
        relation: the relation.
        subject: the category of the first object.
        other: the category of the second.
        vocabulary: says what can carry what.
    """
    if relation.axis.planned_by != "stacks":
        return True
    upper, lower, _ = relation.axis.in_terms_of_first_rule(relation.name, subject, other)
    return can_carry(vocabulary, lower, upper)
