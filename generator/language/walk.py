"""Draws true captions of an exact complexity by random walks over a scene's graph (CREPE, appendix
A.3)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from generator.base.streams import Stream
from generator.language.complexity import Cell
from generator.language.form import Form, Link, Mention
from generator.language.truth import Axes, Facts
from generator.vocabulary.schema import Vocabulary

NamedAttribute = tuple[int, str]
"""The place of a mention, and the attribute kind that is named of it."""
Sayable = Callable[[int], Sequence[str]]
"""Takes the number of an object of the scene; returns the attribute kinds that a caption may name
of it."""
_MOST_WALKS = 4
"""Walks that are tried for a caption before its cell is given up; the quota then tries another
cell."""
_MOST_STEPS = 10
"""The longest walk of a shared subgraph (COMPASS, section 3.1)."""
_NEW_OBJECT_PROBABILITY = 0.7
"""Probability that a step goes to an unvisited object, if it could also go to a visited one."""


class Subgraph(NamedTuple):
    """A part of a scene's graph, which a caption can name."""

    form: Form
    """Its objects, attributes and relations."""
    objects: tuple[int, ...]
    """For each mention of the form, the number of the scene's object that it describes."""


class _Step(NamedTuple):
    """A step of a walk along a relation."""

    target: int
    """The object that it leads to."""
    axis: int
    """The axis of the relation."""
    relation: str
    """The relation in which the object that it starts from stands to `target`."""


class Walker:
    """Random walks over scenes of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary):
        self._axes = Axes(vocabulary)
        self._kinds = vocabulary.varied_kinds

    def walk(
        self,
        facts: Facts,
        cell: Cell,
        eligible: Sequence[int],
        stream: Stream,
        *,
        sayable: Sayable | None = None,
        apart: bool = False,
        within: Subgraph | None = None,
    ) -> Subgraph | None:
        """Draw a random subgraph of eligible objects with exactly the cell's counts.

        The walk starts at a random object and follows relations to other objects; when no relation
        is left it jumps to another object. An object is in at most one relation of each slot
        (truth.py): two relations of one axis that share an object are not independent, and the text
        alone would tell likely chains from unlikely ones. Attributes are then drawn among all that
        the objects have.

        Args:
            facts: of the scene.
            cell: the numbers of objects, attributes and relations.
            eligible: objects that may be named; with `within`, the objects of that subgraph.
            stream: the random numbers.
            sayable: the attribute kinds that may be named of an object; by default all.
            apart: jump to an unvisited object after every relation, so that each relation joins a
                different pair. The cell needs two objects per relation for that.
            within: the subgraph of which the result is a part: all its relations are from there.

        Returns:
            The subgraph; None if no walk has enough relations and attributes.
        """
        # No walk can name more than there is.
        if len(eligible) < cell.n_objects or self._lacks_attributes(cell, eligible, sayable):
            return None

        for _ in range(_MOST_WALKS):
            if within:
                walked = _draw_part(within, cell, stream)
            else:
                walked = self._walk_relations(
                    facts, cell, eligible=eligible, stream=stream, apart=apart
                )
            if walked is None:
                continue
            objects, links = walked
            slots = self._attribute_slots(objects, sayable)
            if len(slots) >= cell.n_attributes:
                named = stream.sample(slots, cell.n_attributes)
                form = Form(_mentions(facts, objects, named), tuple(links))
                return Subgraph(form, tuple(objects))
        return None

    def _attribute_slots(
        self, objects: Sequence[int], sayable: Sayable | None
    ) -> list[NamedAttribute]:
        """The attributes that may be named of the objects of a walk."""
        slots = []
        for place, obj in enumerate(objects):
            for kind in sayable(obj) if sayable else self._kinds:
                slots.append((place, kind))
        return slots

    def subgraph(self, facts: Facts, eligible: Sequence[int], stream: Stream) -> Subgraph:
        """Draw all eligible objects, without attributes, and the relations of one walk of at most
        ten steps (COMPASS, section 3.1).

        If no walk of that length is found, tries shorter walks; if none has a relation, the
        subgraph has none.

        Args:
            facts: of the scene.
            eligible: objects that may be named.
            stream: the random numbers.
        """
        # A relation of a slot joins two objects, so a slot has at most half as many as objects.
        n_slots = len(set(self._axes.slots))
        longest = min(_MOST_STEPS, n_slots * len(eligible) // 2)
        objects: list[int] = list(eligible)
        links: list[Link] = []
        for n_relations in range(longest, 0, -1):
            cell = Cell("OR", len(eligible), 0, n_relations)
            walked = self._walk_relations(
                facts, cell, eligible=eligible, stream=stream, apart=False
            )
            if walked is not None:
                objects, links = walked
                break
        mentions = tuple(Mention(facts.categories[obj]) for obj in objects)
        return Subgraph(Form(mentions, tuple(links)), tuple(objects))

    def _lacks_attributes(
        self, cell: Cell, eligible: Sequence[int], sayable: Sayable | None
    ) -> bool:
        """Whether every choice of objects has fewer sayable attributes than the cell asks for."""
        if sayable is None:
            return cell.n_attributes > cell.n_objects * len(self._kinds)
        # The objects with the most attributes are the best choice.
        n_sayable = sorted((len(sayable(obj)) for obj in eligible), reverse=True)
        most = sum(n_sayable[: cell.n_objects])
        return most < cell.n_attributes

    def _walk_relations(
        self, facts: Facts, cell: Cell, *, eligible: Sequence[int], stream: Stream, apart: bool
    ) -> tuple[list[int], list[Link]] | None:
        """Walk until there are as many objects and relations as the cell has.

        Returns:
            The visited objects, and the relations between their places in that list; None if the
            walk gets stuck.
        """
        unvisited = stream.shuffled(eligible)
        here = unvisited.pop()
        objects = [here]
        links: list[Link] = []
        # (object, slot) of all relations so far.
        filled: set[tuple[int, int]] = set()
        while len(links) < cell.n_relations:
            full = len(objects) == cell.n_objects

            # A step from the current object, else from another visited one, in random order.
            others = stream.shuffled([obj for obj in objects if obj != here])
            step: _Step | None = None
            for start in (here, *others):
                step = self._draw_step(
                    facts,
                    start,
                    objects=objects,
                    eligible=eligible,
                    full=full,
                    filled=filled,
                    stream=stream,
                )
                if step is not None:
                    break

            if step is not None:
                if step.target not in objects:
                    objects.append(step.target)
                    unvisited.remove(step.target)
                slot = self._axes.slots[step.axis]
                filled |= {(start, slot), (step.target, slot)}
                ends = objects.index(start), objects.index(step.target)
                axis = self._axes.relations[step.axis]
                links.append(
                    _link(
                        ends, step.relation, axis=axis, facts=facts, objects=objects, stream=stream
                    )
                )
                here = step.target
            elif full or not unvisited:
                return None

            jumps = step is None or (apart and len(links) < cell.n_relations)
            if jumps and unvisited and len(objects) < cell.n_objects:
                here = unvisited.pop()
                objects.append(here)
        # Objects without relations fill the rest.
        n_missing = cell.n_objects - len(objects)
        return objects + unvisited[:n_missing], links

    def _draw_step(
        self,
        facts: Facts,
        here: int,
        *,
        objects: list[int],
        eligible: Sequence[int],
        full: bool,
        filled: set[tuple[int, int]],
        stream: Stream,
    ) -> _Step | None:
        """Draw a random step from an object.

        Args:
            facts: of the scene.
            here: the object from which the step starts.
            objects: the visited objects.
            eligible: the objects to which a step may lead.
            full: whether steps lead only to visited objects.
            filled: objects with the slots of their relations, which take no other relation.
            stream: the random numbers.

        Returns:
            The step; None if there is none.
        """
        slots = self._axes.slots
        steps: list[_Step] = []
        for axis in self._axes.general:
            if (here, slots[axis]) in filled:
                continue
            for target in objects if full else eligible:
                if target == here or (target, slots[axis]) in filled:
                    continue
                related = self._axes.between(facts, axis, here, target)
                if related is None:
                    continue
                # A stacked pair gets its stacking relation in place of a direction, and so another
                # slot than that of `axis`.
                slot = slots[related[0]]
                if (here, slot) not in filled and (target, slot) not in filled:
                    steps.append(_Step(target, *related))

        new = [step for step in steps if step.target not in objects]
        visited = [step for step in steps if step.target in objects]
        options = visited
        if new and (not visited or stream.uniform(0, 1) < _NEW_OBJECT_PROBABILITY):
            options = new
        if not options:
            return None
        return options[stream.below(len(options))]


def _mentions(
    facts: Facts, objects: Sequence[int], named: Sequence[NamedAttribute]
) -> tuple[Mention, ...]:
    """The mentions of objects of a scene, with the attributes that are named of them, given as
    place and kind."""
    attributes: list[list[tuple[str, str]]] = [[] for _ in objects]
    for place, kind in named:
        values = facts.values[objects[place]]
        attributes[place].append((kind, values[kind]))
    mentions = []
    for obj, pairs in zip(objects, attributes, strict=True):
        mentions.append(Mention(facts.categories[obj], tuple(sorted(pairs))))
    return tuple(mentions)


def _link(
    ends: tuple[int, int],
    relation: str,
    *,
    axis: Sequence[str],
    facts: Facts,
    objects: list[int],
    stream: Stream,
) -> Link:
    """The relation between two places of a form; in half of the cases its converse, so that walks
    do not name one direction more often.

    Args:
        ends: the places of its subject and object.
        relation: the relation of the subject to the object.
        axis: both relations of its axis.
        facts: of the scene.
        objects: the scene's object at each place.
        stream: the random numbers.
    """
    subject, other = ends
    if stream.below(2):
        for name in axis:
            if facts.holds[name][objects[other]][objects[subject]]:
                return Link(other, name, subject)
    return Link(subject, relation, other)


def _draw_part(whole: Subgraph, cell: Cell, stream: Stream) -> tuple[list[int], list[Link]] | None:
    """Draw a part of a subgraph with the cell's numbers of objects and relations.

    Grows the part from a random object, by relations that share an object with it where there are
    some, so that captions stay connected.

    Returns:
        The objects, and the relations between their places in that list; None if the part gets
        stuck.
    """
    n_places = len(whole.objects)
    if n_places < cell.n_objects:
        return None
    places = [stream.below(n_places)]
    links: list[Link] = []
    unused = stream.shuffled(whole.form.relations)
    while len(links) < cell.n_relations:
        visited = set(places)
        fitting = []
        connected = []
        for link in unused:
            if len(visited.union(link.ends)) <= cell.n_objects:
                fitting.append(link)
                if not visited.isdisjoint(link.ends):
                    connected.append(link)
        if not fitting:
            return None
        link = connected[0] if connected else fitting[0]
        unused.remove(link)
        places += [end for end in link.ends if end not in places]
        links.append(link)

    # Objects without relations fill the rest.
    unnamed = [place for place in range(n_places) if place not in places]
    n_missing = cell.n_objects - len(places)
    places += stream.shuffled(unnamed)[:n_missing]
    new_place = {place: number for number, place in enumerate(places)}
    moved_links = [link.moved(new_place.__getitem__) for link in links]
    return [whole.objects[place] for place in places], moved_links
