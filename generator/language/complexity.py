"""How much a caption says: levels, counts of atoms, and random subgraphs of a scene that have exactly those."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.streams import Stream
from generator.language.axes import Axes
from generator.language.form import Form, Link, Mention
from generator.language.truth import Facts
from generator.vocabulary.schema import Vocabulary

LEVELS = {"L1": (1, 10), "OA": (2, 12), "OR": (3, 12), "OAR": (4, 12)}
"""Range of N by level: objects; with attributes; with relations; with both (COMPASS, section 3.1)."""
_WALKS = 4
_NEW = 0.7


@dataclass(frozen=True, order=True)
class Cell:
    """A point of the grid of complexities: level, and exact numbers of objects, attributes and relations."""

    level: str
    n_objects: int
    n_attributes: int
    n_relations: int

    @property
    def complexity(self) -> int:
        """N, the number of atoms."""
        return self.n_objects + self.n_attributes + self.n_relations


def cells(
    levels: Sequence[str], complexity: tuple[int, int], counts: Mapping[str, int], vocabulary: Vocabulary, most: int
) -> list[Cell]:
    """All cells of the levels with N in `complexity` (inclusive), with the counts asked for (keys O, A, R).

    `most` is the largest number of objects in a scene. An object has as many attributes as the vocabulary has kinds,
    and is in one relation of each slot (axes.py), so that no relation of a caption follows from others. Raises UserError when
    there is no such cell, naming what is short.
    """
    for level in levels:
        if level not in LEVELS:
            raise UserError(f"Unknown level '{level}'; {did_you_mean(level, list(LEVELS))}")
    slots = len(set(Axes(vocabulary).slots))
    found = [
        cell
        for level in levels
        for cell in _cells_of(level, complexity, len(vocabulary.attributes), slots, most)
        if all(getattr(cell, _COUNTED[name]) == n for name, n in counts.items())
    ]
    if not found:
        asked = ", ".join(f"{name}={n}" for name, n in counts.items())
        least, greatest = min(LEVELS[level][0] for level in levels), max(LEVELS[level][1] for level in levels)
        raise UserError(
            f"No caption of level {' or '.join(levels)} has {complexity[0]} to {complexity[1]} atoms"
            f"{f' with {asked}' if asked else ''}: scenes have up to {most} objects, an object up to {len(vocabulary.attributes)} "
            f"attributes and {slots} relations, and N is {least} to {greatest}; ask for less, or render a world "
            f"with more --objects."
        )
    return found


_COUNTED = {"O": "n_objects", "A": "n_attributes", "R": "n_relations"}


def _cells_of(level: str, complexity: tuple[int, int], kinds: int, slots: int, most: int) -> Iterator[Cell]:
    least, greatest = LEVELS[level]
    for n in range(max(least, complexity[0]), min(greatest, complexity[1]) + 1):
        for n_o in range(1, min(n, most) + 1):
            for n_a in range(n - n_o + 1):
                n_r = n - n_o - n_a
                named = "O" + "A" * bool(n_a) + "R" * bool(n_r)
                if (
                    named.replace("O", "L1" if named == "O" else "O") == level
                    and n_a <= n_o * kinds
                    and n_r <= slots * (n_o // 2)
                ):
                    yield Cell(level, n_o, n_a, n_r)


def parse_complexity(spec: str) -> tuple[int, int]:
    """Least and greatest N from `4..12` or `6`. Raises UserError."""
    low, _, high = spec.partition("..")
    high = high or low
    if not (low.isdigit() and high.isdigit() and 1 <= int(low) <= int(high) <= 12):
        raise UserError(
            f"Expected --complexity to be a number of atoms from 1 to 12, or a range such as 4..12, got '{spec}'."
        )
    return int(low), int(high)


def parse_counts(spec: str | None) -> dict[str, int]:
    """Exact counts from `O=3,A=5,R=2`, any of them. Raises UserError."""
    counts: dict[str, int] = {}
    for part in spec.split(",") if spec else ():
        name, _, number = part.partition("=")
        if name.strip() not in _COUNTED or not number.strip().isdigit():
            raise UserError(f"Expected --counts to be like O=3,A=5,R=2 (objects, attributes, relations), got '{spec}'.")
        counts[name.strip()] = int(number)
    return counts


@dataclass(frozen=True)
class Subgraph:
    """A form and the scene's objects that its mentions are about, by place."""

    form: Form
    things: tuple[int, ...]


class Walker:
    """Random walks over scenes of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary):
        self._axes = Axes(vocabulary)
        self._kinds = list(vocabulary.attributes)

    def walk(
        self,
        facts: Facts,
        cell: Cell,
        eligible: Sequence[int],
        stream: Stream,
        sayable: Callable[[int], Sequence[str]] | None = None,
        apart: bool = False,
    ) -> Subgraph | None:
        """A random subgraph with exactly the cell's atoms, of the eligible objects; None where the scene has none such.

        The walk of CREPE (appendix A.3): from a random object, along relations to others, jumping to another object
        when the component is exhausted. An object is in at most one relation of each slot: relations of one axis that
        share an object are not independent, and a reader of the text alone could tell likely from unlikely chains.
        `sayable` gives the attribute kinds that may be said of an object; all by default. `apart` makes the walk jump
        after every relation, so that each joins a pair of its own.
        """
        if len(eligible) < cell.n_objects or self._short(cell, eligible, sayable):
            return None
        for _ in range(_WALKS):
            found = self._relate(facts, cell, eligible, stream, apart)
            if found is None:
                continue
            things, links = found
            slots = [
                (place, kind)
                for place, thing in enumerate(things)
                for kind in (sayable(thing) if sayable else self._kinds)
            ]
            if len(slots) >= cell.n_attributes:
                break
        else:
            return None
        said: list[list[tuple[str, str]]] = [[] for _ in things]
        for place, kind in stream.sample(slots, cell.n_attributes):
            said[place].append((kind, facts.values[things[place]][kind]))
        mentions = tuple(
            Mention(facts.categories[thing], tuple(sorted(pairs))) for thing, pairs in zip(things, said, strict=True)
        )
        return Subgraph(Form(mentions, tuple(links)), tuple(things))

    def _short(self, cell: Cell, eligible: Sequence[int], sayable: Callable[[int], Sequence[str]] | None) -> bool:
        """Whether no choice of objects has so many attributes to say."""
        if sayable is None:
            return cell.n_attributes > cell.n_objects * len(self._kinds)
        most = sorted((len(sayable(thing)) for thing in eligible), reverse=True)
        return sum(most[: cell.n_objects]) < cell.n_attributes

    def _relate(
        self, facts: Facts, cell: Cell, eligible: Sequence[int], stream: Stream, apart: bool
    ) -> tuple[list[int], list[Link]] | None:
        things = [eligible[stream.below(len(eligible))]]
        links: list[Link] = []
        taken: set[tuple[int, int]] = set()
        here = things[0]
        while len(links) < cell.n_relations:
            step = self._step(facts, here, things, eligible, cell.n_objects, taken, stream)
            if step is None:
                others = [thing for thing in things if thing != here]
                found = None
                for start in stream.shuffled(others):
                    found = self._step(facts, start, things, eligible, cell.n_objects, taken, stream)
                    if found is not None:
                        here, step = start, found
                        break
                if found is None:
                    fresh = [thing for thing in eligible if thing not in things]
                    if len(things) == cell.n_objects or not fresh:
                        return None
                    here = fresh[stream.below(len(fresh))]
                    things.append(here)
                    continue
            assert step is not None
            there, axis, relation = step
            if there not in things:
                things.append(there)
            taken |= {(here, self._axes.slots[axis]), (there, self._axes.slots[axis])}
            links.append(
                _link(things.index(here), relation, things.index(there), self._axes.names[axis], facts, things, stream)
            )
            here = there
            fresh = [thing for thing in eligible if thing not in things]
            if apart and fresh and len(things) < cell.n_objects and len(links) < cell.n_relations:
                here = fresh[stream.below(len(fresh))]
                things.append(here)
        fresh = stream.shuffled([thing for thing in eligible if thing not in things])
        return things + fresh[: cell.n_objects - len(things)], links

    def _step(
        self,
        facts: Facts,
        here: int,
        things: list[int],
        eligible: Sequence[int],
        most: int,
        taken: set[tuple[int, int]],
        stream: Stream,
    ) -> tuple[int, int, str] | None:
        """Another object, an axis and the relation in which `here` stands to it; None where `here` is exhausted."""
        slots = self._axes.slots
        options = [
            (there, *found)
            for axis in self._axes.asked
            if (here, slots[axis]) not in taken
            for there in eligible
            if there != here and (there, slots[axis]) not in taken
            if (found := self._axes.between(facts, axis, here, there)) is not None
            if not {(here, slots[found[0]]), (there, slots[found[0]])} & taken
        ]
        new = [option for option in options if option[0] not in things]
        old = [option for option in options if option[0] in things]
        if len(things) >= most:
            new = []
        pool = new if new and (not old or stream.uniform(0, 1) < _NEW) else old
        return pool[stream.below(len(pool))] if pool else None


def _link(
    subject: int, relation: str, other: int, axis: Sequence[str], facts: Facts, things: list[int], stream: Stream
) -> Link:
    """The relation said from either end, by chance."""
    if stream.below(2):
        back = next((name for name in axis if facts.holds[name][things[other]][things[subject]]), None)
        if back is not None:
            return Link(other, back, subject)
    return Link(subject, relation, other)


def counted(form: Form) -> Form:
    """The form with equal mentions put together: "two cubes" for "a cube and a cube". For forms without relations."""
    numbers: dict[Mention, int] = {}
    for mention in form.objects:
        numbers[mention] = numbers.get(mention, 0) + 1
    return replace(form, objects=tuple(replace(mention, count=n) for mention, n in numbers.items()))
