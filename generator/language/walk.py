"""Draws true captions of an exact complexity by random walks over a scene's graph (CREPE, appendix
A.3)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from generator.base.streams import Stream
from generator.language.complexity import Cell
from generator.language.form import Form, Link, Mention
from generator.language.truth import Axes, Facts
from generator.vocabulary.schema import Vocabulary

Sayable = Callable[[int], Sequence[str]]
"""Takes the index of an object of the scene; returns the attribute kinds that a caption may name of
it."""
_WALKS = 4
_STEPS = 10
_NEW = (
    0.7  # probability that a step goes to an unvisited object, if it could also go to a visited one
)


class Subgraph(NamedTuple):
    """A form, and for each of its mentions the index of the scene's object that it describes."""

    form: Form
    objects: tuple[int, ...]


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
        sayable: Sayable | None = None,
        apart: bool = False,
        within: Subgraph | None = None,
    ) -> Subgraph | None:
        """A random subgraph of eligible objects with exactly the cell's counts; None if none is
        found.

        The walk starts at a random object and follows relations to other objects; when no relation
        is left it jumps to another object. An object is in at most one relation of each slot
        (truth.py): two relations of one axis that share an object are not independent, and the text
        alone would tell likely chains from unlikely ones. `sayable` limits the attribute kinds that
        may be named of an object; by default all may. With `apart` the walk jumps to an unvisited
        object after every relation, so that each relation joins a different pair; the cell needs
        two objects per relation for that. With `within` the result is a part of that subgraph: all
        its relations are from there, and `eligible` are the objects of that subgraph.
        """
        if len(eligible) < cell.n_objects or self._lacks_attributes(cell, eligible, sayable):
            return None
        for _ in range(_WALKS):
            found = (
                _part(within, cell, stream)
                if within
                else self._related(facts, cell, eligible, stream, apart)
            )
            if found is None:
                continue
            objects, links = found
            slots = [
                (place, kind)
                for place, thing in enumerate(objects)
                for kind in (sayable(thing) if sayable else self._kinds)
            ]
            if len(slots) >= cell.n_attributes:
                break
        else:
            return None
        attributes: list[list[tuple[str, str]]] = [[] for _ in objects]
        for place, kind in stream.sample(slots, cell.n_attributes):
            attributes[place].append((kind, facts.values[objects[place]][kind]))
        mentions = tuple(
            Mention(facts.categories[thing], tuple(sorted(pairs)))
            for thing, pairs in zip(objects, attributes, strict=True)
        )
        return Subgraph(Form(mentions, tuple(links)), tuple(objects))

    def subgraph(self, facts: Facts, eligible: Sequence[int], stream: Stream) -> Subgraph:
        """All eligible objects, without attributes, and the relations of one walk of at most ten
        steps (COMPASS, section 3.1).

        If no walk of that length is found, tries shorter walks.
        """
        most = min(_STEPS, len(set(self._axes.slots)) * len(eligible) // 2)
        walks = (
            self._related(facts, Cell("OR", len(eligible), 0, n), eligible, stream, False)
            for n in range(most, 0, -1)
        )
        objects, links = next((walk for walk in walks if walk is not None), (list(eligible), []))
        return Subgraph(
            Form(tuple(Mention(facts.categories[thing]) for thing in objects), tuple(links)),
            tuple(objects),
        )

    def _lacks_attributes(
        self, cell: Cell, eligible: Sequence[int], sayable: Sayable | None
    ) -> bool:
        """Whether every choice of objects has fewer sayable attributes than the cell asks for."""
        if sayable is None:
            return cell.n_attributes > cell.n_objects * len(self._kinds)
        most = sorted((len(sayable(thing)) for thing in eligible), reverse=True)
        return sum(most[: cell.n_objects]) < cell.n_attributes

    def _related(
        self, facts: Facts, cell: Cell, eligible: Sequence[int], stream: Stream, apart: bool
    ) -> tuple[list[int], list[Link]] | None:
        """Walks until there are as many objects and relations as the cell has; None if the walk
        gets stuck."""
        unvisited = stream.shuffled(eligible)
        objects, links = [here := unvisited.pop()], list[Link]()
        filled: set[tuple[int, int]] = set()
        while len(links) < cell.n_relations:
            full = len(objects) == cell.n_objects
            others = stream.shuffled([thing for thing in objects if thing != here])
            starts = (
                (start, self._step(facts, start, objects, eligible, full, filled, stream))
                for start in [here, *others]
            )
            start, step = next((each for each in starts if each[1] is not None), (here, None))
            if step is not None:
                there, axis, relation = step
                if there not in objects:
                    objects.append(there)
                    unvisited.remove(there)
                slot = self._axes.slots[axis]
                filled |= {(start, slot), (there, slot)}
                ends = objects.index(start), objects.index(there)
                links.append(
                    _link(ends, relation, self._axes.relations[axis], facts, objects, stream)
                )
                here = there
            elif full or not unvisited:
                return None
            jumps = step is None or (apart and len(links) < cell.n_relations)
            if jumps and unvisited and len(objects) < cell.n_objects:
                objects.append(here := unvisited.pop())
        return objects + unvisited[: cell.n_objects - len(objects)], links

    def _step(
        self,
        facts: Facts,
        here: int,
        objects: list[int],
        eligible: Sequence[int],
        full: bool,
        filled: set[tuple[int, int]],
        stream: Stream,
    ) -> tuple[int, int, str] | None:
        """A random step: an object, an axis, and the relation in which `here` stands to the object;
        None if there is none.

        If the walk is `full`, steps lead only to visited objects.
        """
        slots = self._axes.slots
        options = [
            (there, *found)
            for axis in self._axes.general
            if (here, slots[axis]) not in filled
            for there in (objects if full else eligible)
            if there != here and (there, slots[axis]) not in filled
            if (found := self._axes.between(facts, axis, here, there)) is not None
            if not {(here, slots[found[0]]), (there, slots[found[0]])} & filled
        ]
        new = [option for option in options if option[0] not in objects]
        visited = [option for option in options if option[0] in objects]
        pool = new if new and (not visited or stream.uniform(0, 1) < _NEW) else visited
        return pool[stream.below(len(pool))] if pool else None


def _link(
    ends: tuple[int, int],
    relation: str,
    axis: Sequence[str],
    facts: Facts,
    objects: list[int],
    stream: Stream,
) -> Link:
    """The relation between two places of a form; at random, it is replaced by its converse."""
    subject, other = ends
    if stream.below(2):
        back = next(
            (name for name in axis if facts.holds[name][objects[other]][objects[subject]]), None
        )
        if back is not None:
            return Link(other, back, subject)
    return Link(subject, relation, other)


def _part(whole: Subgraph, cell: Cell, stream: Stream) -> tuple[list[int], list[Link]] | None:
    """A part of a subgraph with the cell's numbers of objects and relations, grown from a random
    object; None if it gets stuck.

    Prefers relations that share an object with the part.
    """
    n = len(whole.objects)
    if n < cell.n_objects:
        return None
    places, links = [stream.below(n)], list[Link]()
    left = stream.shuffled(whole.form.relations)
    while len(links) < cell.n_relations:
        fitting = [link for link in left if len({*places, *link.ends}) <= cell.n_objects]
        if not fitting:
            return None
        link = next((link for link in fitting if {*link.ends} & {*places}), fitting[0])
        left.remove(link)
        places += [end for end in link.ends if end not in places]
        links.append(link)
    places += stream.shuffled([place for place in range(n) if place not in places])[
        : cell.n_objects - len(places)
    ]
    new = {place: number for number, place in enumerate(places)}
    joined = [link.moved(new.__getitem__) for link in links]
    return [whole.objects[place] for place in places], joined
