"""Decides whether a form is true of a scene: True, False, or None for undecided (docs/language.md,
Truth)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from generator.dataset.relations import ORDERS, Pose
from generator.language.form import Form, Link, Mention
from generator.scene.relations import Truth, decided, poses_of
from generator.scene.scene import Scene
from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary


class Facts:
    """What is true of a scene. Objects are numbered from 0, in the order of the scene."""

    def __init__(self, scene: Scene, vocabulary: Vocabulary):
        self.categories = [obj.category for obj in scene.objects]
        """The category of each object."""
        self.values = [obj.attributes for obj in scene.objects]
        """The attribute values of each object, by attribute kind."""
        self.environment: str | None = scene.environment
        """The name of the scene's environment."""
        poses = poses_of(scene, vocabulary)
        self.azimuth = scene.azimuth
        """The azimuth of the camera, degrees; None in a world without viewpoints."""
        self.camera_bearings = [_camera_bearing(pose) for pose in poses]
        """The direction to the camera as each object looks, degrees, -180..180: 0 before its front,
        90 on its left. None without a front."""
        self.holds = _decide_relations(poses, vocabulary)
        """`holds[relation][i][j]` says whether object i stands in the relation to object j: None
        within the relation's margin, and for i = j. A relation of three objects has a third
        index."""
        self._category_kind = vocabulary.category
        self._fitting: dict[Mention, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.categories)

    def fitting(self, mention: Mention) -> tuple[int, ...]:
        """Numbers of the objects that fit a mention, whatever its count."""
        # Captions, foils and training texts of a scene repeat their mentions, so results are kept.
        if mention not in self._fitting:
            objects = range(len(self))
            self._fitting[mention] = tuple(i for i in objects if self._fits(mention, i))
        return self._fitting[mention]

    def _fits(self, mention: Mention, i: int) -> bool:
        if mention.category not in (None, self.categories[i]):
            return False
        values = self.values[i]
        for kind, value in mention.attributes:
            if values.get(kind) != value:
                return False
        return all(self._value(kind, i) != value for kind, value in mention.without)

    def _value(self, kind: str, i: int) -> str | None:
        """The value of object i of an attribute kind, or its category for the category word."""
        if kind == self._category_kind:
            return self.categories[i]
        return self.values[i].get(kind)


def decide(form: Form, facts: Facts) -> Truth:
    """Decide a form under a closed world, with a different object for every mention.

    Args:
        form: the meaning of a text.
        facts: of the scene.

    Returns:
        True, False, or None if the answer depends on a relation within its margin, or if two
        readings of the words differ.
    """
    if all(mention.count == 1 for mention in form.objects):
        fitting = [facts.fitting(mention) for mention in form.objects]
        truth = _decide_single(fitting, form.relations, facts)
    else:
        truth = _decide_counted(form, facts)
    if form.environment is not None and facts.environment is None:
        truth = both(truth, None)
    elif form.environment is not None:
        truth = both(truth, facts.environment == form.environment)
    if form.negated and truth is not None:
        return not truth
    return truth


def both(first: Truth, second: Truth) -> Truth:
    """Kleene's three-valued "and": False if one of the two is False, else None if one is None.

    >>> both(True, True), both(None, True), both(None, False)
    (True, None, False)
    """
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _decide_counted(form: Form, facts: Facts) -> Truth:
    """Decide a form in which some mentions have a count: "two cubes", "no red cube".

    Counted mentions are decided one by one; mentions of a single object are decided together, with
    the relations, which join only them.
    """
    truth: Truth = True
    for i, mention in enumerate(form.objects):
        n_fitting = len(facts.fitting(mention))
        if mention.count == 0:
            truth = both(truth, n_fitting == 0)
        elif mention.count > 1:
            # Of three cubes, "two cubes" may be read as at least two or as exactly two.
            exact = None if n_fitting > mention.count else n_fitting == mention.count
            truth = both(truth, exact)
            # In "two cubes and a red cube", the red cube may be one of the two.
            if _shares_objects(form, i, facts):
                return None

    single_places = [i for i, mention in enumerate(form.objects) if mention.count == 1]
    new_place = {place: number for number, place in enumerate(single_places)}
    links = [link.moved(new_place.__getitem__) for link in form.relations]
    fitting = [facts.fitting(form.objects[i]) for i in single_places]
    return both(truth, _decide_single(fitting, links, facts))


def _shares_objects(form: Form, place: int, facts: Facts) -> bool:
    """Whether an object of the scene fits the mention at `place` and another mention too."""
    own = set(facts.fitting(form.objects[place]))
    for other_place, mention in enumerate(form.objects):
        if other_place != place and not own.isdisjoint(facts.fitting(mention)):
            return True
    return False


class _Condition(NamedTuple):
    """A relation that an assignment of objects to mentions has to fulfil."""

    link: Link
    """The relation, between the places of two mentions."""
    denied_of: Sequence[int] | None
    """If not None, the relation is denied of all of these objects, in place of the object that is
    assigned to its second mention."""


def _decide_single(fitting: Sequence[Sequence[int]], links: Sequence[Link], facts: Facts) -> Truth:
    """Decide mentions of single objects and the relations between them.

    A denied relation has two readings. "A cube that is not left of a sphere" may speak of a sphere
    that exists, or say that the cube is left of no sphere, so that there need not be one. If the
    two readings differ, the form is undecided.

    Args:
        fitting: for each mention, the objects that fit it.
        links: the relations between these mentions.
        facts: of the scene.
    """
    # Without denials, every mention needs an object.
    if not all(fitting) and all(link.holds for link in links):
        return False

    # First reading: the object exists.
    conditions = [_Condition(link, None) for link in links]
    existing = _decide_assignments(fitting, conditions, facts=facts)

    # Second reading, of the links that have it: the relation holds to no such object. Where another
    # relation names the object too, it exists in both readings. A relation of three objects has
    # only the first reading.
    conditions = []
    open_places = set()
    for link in links:
        denied_of = None
        if not link.holds and not link.also and _object_in_no_other(link, links):
            open_places.add(link.object)
            denied_of = fitting[link.object]
        conditions.append(_Condition(link, denied_of))
    if not open_places:
        return existing
    of_none = _decide_assignments(fitting, conditions, facts=facts, unassigned=open_places)
    return existing if existing == of_none else None


def _object_in_no_other(link: Link, links: Iterable[Link]) -> bool:
    """Whether no other link has the object of `link` as an end."""
    return not any(link.object in other.ends for other in links if other is not link)


def _decide_assignments(
    fitting: Sequence[Sequence[int]],
    conditions: Sequence[_Condition],
    *,
    facts: Facts,
    unassigned: set[int] | frozenset[int] = frozenset(),
) -> Truth:
    """Kleene's "or", over all assignments of different objects to mentions, of the "and" of all
    conditions.

    Assigns the mentions depth first, those that fewest objects fit first, so that impossible
    branches end early. A condition is checked as soon as all of its mentions have an object. A
    branch ends at a False condition, and the search at an assignment that fulfils all conditions.

    Args:
        fitting: for each mention, the objects that fit it.
        conditions: the relations that have to hold.
        facts: of the scene.
        unassigned: mentions that get no object.

    Returns:
        True if an assignment fulfils all conditions, else None if one is undecided, else False.
    """
    assigned_mentions = [i for i in range(len(fitting)) if i not in unassigned]
    order = sorted(assigned_mentions, key=lambda i: len(fitting[i]))
    conditions_at = _conditions_by_step(conditions, order)
    assignment: dict[int, int] = {}
    best: Truth = False

    def assign_from(step: int, truth: Truth) -> bool:
        """Assign the mentions from `step` on; `truth` is that of the conditions before. Returns
        whether the search may stop."""
        nonlocal best
        if step == len(order):
            # An undecided assignment outweighs false ones, and a true one outweighs both.
            if truth is True or best is False:
                best = truth
            return best is True
        mention = order[step]
        taken = set(assignment.values())
        for obj in fitting[mention]:
            if obj in taken:
                continue
            assignment[mention] = obj
            here = truth
            for condition in conditions_at[step]:
                here = both(here, _decide_condition(condition, assignment, facts))
                if here is False:
                    break
            if here is not False and assign_from(step + 1, here):
                return True
            del assignment[mention]
        return False

    assign_from(0, True)
    return best


def _conditions_by_step(
    conditions: Sequence[_Condition], order: Sequence[int]
) -> list[list[_Condition]]:
    """For each mention of `order`, the conditions whose last mention it is."""
    step_of = {mention: step for step, mention in enumerate(order)}
    conditions_at: list[list[_Condition]] = [[] for _ in order]
    for condition in conditions:
        # An unassigned mention needs no step: its condition names the objects itself.
        steps = [step_of.get(end, 0) for end in condition.link.ends]
        conditions_at[max(steps)].append(condition)
    return conditions_at


def _decide_condition(condition: _Condition, assignment: Mapping[int, int], facts: Facts) -> Truth:
    """Decide a condition for the objects that its mentions are assigned to."""
    link = condition.link
    holds = facts.holds[link.relation]
    subject = assignment[link.subject]
    if condition.denied_of is None:
        truth = holds[subject][assignment[link.object]]
        for end in link.also:
            truth = truth[assignment[end]]
        if truth is None or link.holds:
            return truth
        return not truth

    # An object has no relation to itself.
    truths = [holds[subject][obj] for obj in condition.denied_of if obj != subject]
    if True in truths:
        return False
    return None if None in truths else True


def _camera_bearing(pose: Pose) -> float | None:
    """The direction of `Facts.camera_bearings`."""
    if pose.facing_right == 0 and pose.facing_behind == 0:
        return None
    # The camera is in the direction (0, -1). Sine and cosine of the angle from the front to it.
    return math.degrees(math.atan2(-pose.facing_right, -pose.facing_behind))


def _decide_relations(poses: Sequence[Pose], vocabulary: Vocabulary) -> dict[str, Any]:
    """Whether each relation holds, for all objects at its ends (`Facts.holds`)."""
    holds: dict[str, Any] = {}
    for name, relation in vocabulary.relations.items():
        if relation.converse in holds:
            # The converse holds of (i, j) where the relation holds of (j, i): transpose.
            rows = zip(*holds[relation.converse], strict=True)
            holds[name] = [list(row) for row in rows]
        else:
            holds[name] = _decide_ends(poses, relation)
    return holds


def _decide_ends(poses: Sequence[Pose], relation: Relation, ends: tuple[int, ...] = ()) -> Any:
    """Decide a relation for all objects at its ends, as lists nested by end.

    Args:
        poses: of all objects of the scene.
        relation: the relation to decide.
        ends: the objects at its first ends; the lists are nested by the ends that remain.

    Returns:
        True, False or None in nested lists; None also where an object repeats.
    """
    axis = relation.axis
    distance = relation.distance or 0.0
    objects = range(len(poses))
    if len(ends) < axis.arity - 1:
        return [_decide_ends(poses, relation, (*ends, i)) for i in objects]
    if len({*ends}) < len(ends):
        return [None] * len(objects)
    truths: list[Truth] = []
    poses_of_ends = [poses[end] for end in ends]
    for i in objects:
        if i in ends:
            truths.append(None)
        else:
            margin = axis.margin(relation.name, [*poses_of_ends, poses[i]], distance)
            truths.append(decided(margin, relation))
    return truths


class Axes:
    """The axes of a vocabulary, numbered from 0: (left, right), (behind, front), (far, near),
    (beneath, on). An axis is two relations that are each other's opposite."""

    def __init__(self, vocabulary: Vocabulary):
        declared = vocabulary.pair_relations
        self.relations: list[tuple[str, ...]] = []
        """The relations of each axis, in alphabetical order."""
        for name, relation in declared.items():
            names = tuple(sorted({name, relation.opposite}))
            if names not in self.relations:
                self.relations.append(names)
        self._axis_of: dict[str, int] = {}
        for axis, names in enumerate(self.relations):
            self._axis_of |= dict.fromkeys(names, axis)

        rules = [declared[names[0]].axis for names in self.relations]
        self._symmetric = [rule.symmetric for rule in rules]
        self._is_direction = [rule.planned_by in ORDERS for rule in rules]
        planned_by = [rule.planned_by for rule in rules]
        self._stacking = planned_by.index("stacks") if "stacks" in planned_by else None

        self.slots = list(range(len(self.relations)))
        """The slot of each axis. A caption gives an object at most one relation of each slot, so
        that no relation of a caption follows from others."""
        nearness = [axis for axis in self.slots if planned_by[axis] in ("clumps", "stacks")]
        for axis in nearness:
            # An object that rests on another is near it, so distance and stacking share a slot.
            self.slots[axis] = nearness[0]

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
        if not self._is_direction[axis]:
            return [axis]
        return [other for other, direction in enumerate(self._is_direction) if direction]

    def between(self, facts: Facts, axis: int, i: int, j: int) -> tuple[int, str] | None:
        """Find the relation of an axis in which object i stands to object j.

        Directions between two stacked objects are undecided. Instead of a direction, such a pair
        gets its stacking relation, never its distance: stacked objects are always near, so `near`
        would be true more often than `far`.

        Args:
            facts: of the scene.
            axis: the number of the axis.
            i: the number of the first object.
            j: the number of the second.

        Returns:
            The axis and the relation; None if the scene decides neither relation.
        """
        candidates = [axis]
        if self._is_direction[axis] and self._stacking is not None:
            candidates.append(self._stacking)
        for candidate in candidates:
            for name in self.relations[candidate]:
                if facts.holds[name][i][j]:
                    return candidate, name
        return None
