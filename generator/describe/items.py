"""What every protocol writes items with: words, walks, foils, and the tally of what was dropped and why."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from generator.dataset.streams import Stream
from generator.holdout.holdout import Holdout
from generator.language.complexity import Cell, Walker
from generator.language.familiarity import alike, link_held_out, named_held_out
from generator.language.foils import Foil, Foils
from generator.language.form import Form
from generator.language.grammar import NATURAL, TEMPLATES, Grammar, Place
from generator.language.truth import Facts, Truth, decide
from generator.vocabulary.schema import Vocabulary


@dataclass(frozen=True)
class Text:
    """A form in the words of a template, synonyms included."""

    form: Form
    template: str
    wording: tuple[tuple[Place, str], ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A text in its role: slot, whether it is true, and for a false one its kind, what was changed, and of which text;
    `of_twin` where it is judged by the image of the scene's twin."""

    text: Text
    slot: str
    truth: bool
    kind: str | None = None
    changed: tuple[str, ...] = ()
    of: Text | None = None
    of_twin: bool = False


@dataclass(frozen=True)
class Item:
    """A question about one scene, or a training example."""

    protocol: str
    kind: str
    skill: str | None
    candidates: tuple[Candidate, ...]
    pool: str | None = None


@dataclass
class Subject:
    """A scene as items are asked about it; decisions are kept, since many items share their captions. `twin` is the scene
    of which this one is the twin."""

    scene_id: str
    facts: Facts
    split: str
    held_out: tuple[bool, ...]
    salience: tuple[float, ...] = ()
    twin: "Subject | None" = None
    related: frozenset[tuple[int, str, int]] | None = None
    """The held-out relations that the scene shows, where relations are held out and its split is not a familiar one."""
    named: tuple[int, ...] = ()
    """The objects in the order of the label that the scene was made for (design gzsl)."""
    decided: dict[Form, Truth] = field(default_factory=dict)

    @cached_property
    def lone(self) -> tuple[int, ...]:
        """Places of the objects that are the only ones of their category: captions can say which is meant."""
        numbers = Counter(self.facts.categories)
        return tuple(i for i, category in enumerate(self.facts.categories) if numbers[category] == 1)

    def decide(self, form: Form) -> Truth:
        """Whether a form is true of the scene."""
        if form not in self.decided:
            self.decided[form] = decide(form, self.facts)
        return self.decided[form]

    def suits(self, things: Sequence[int]) -> bool:
        """Whether a caption about these objects is as familiar as its split says: some, not all, held out in `partial`."""
        if self.split != "partial" or not any(self.held_out):
            return True
        return 0 < sum(self.held_out[thing] for thing in things) < len(things)

    def suits_relation(self, i: int, name: str, j: int) -> bool:
        """Whether a caption that names this relation is as familiar as its split says."""
        return self.related is None or (i, name, j) in self.related


Maker = Callable[[Subject, Cell, Stream], list[Item]]


class Grid:
    """Cells of complexity, given out so that each is filled as often as the scenes allow."""

    def __init__(self, cells: Sequence[Cell]):
        self.cells = list(cells)
        self.filled = [0] * len(self.cells)
        self._queue = [(0.0, i) for i in range(len(self.cells))]

    def offer(self, most: int, objects: int) -> list[tuple[float, int]]:
        """Up to `most` of the least filled cells of no more than `objects` objects, to be handed back by `settle`.

        A cell that is filled far more often than the others waits for them, so that what is easy does not prevail.
        """
        used = sum(n > 0 for n in self.filled)
        most_filled = _EXCESS * sum(self.filled) / used + _EXCESS if used else _EXCESS
        found: list[tuple[float, int]] = []
        too_large: list[tuple[float, int]] = []
        while self._queue and len(found) < most:
            entry = heapq.heappop(self._queue)
            fits = self.cells[entry[1]].n_objects <= objects and self.filled[entry[1]] <= most_filled
            (found if fits else too_large).append(entry)
        for entry in too_large:
            heapq.heappush(self._queue, entry)
        return found

    def settle(self, offered: Iterable[tuple[float, int]], tried: int, filled: int | None) -> None:
        """Hand cells back: the first `tried` were tried and `filled` (a cell's index) was filled."""
        for n, (weight, i) in enumerate(offered):
            if i == filled:
                self.filled[i] += 1
                weight += 1
            elif n < tried:
                weight += _FAILURE
            heapq.heappush(self._queue, (weight, i))


_FAILURE = 0.02
_EXCESS = 2


@dataclass
class Language:
    """The words, walks and foils of one benchmark, and what became of what was tried.

    `dropped` counts, by protocol and kind, items that could not be made; `refused` counts foils by why they were not
    used: true of the scene, undecided, true of no scene at all, or of another familiarity than their caption.
    """

    vocabulary: Vocabulary
    holdout: Holdout
    equal_familiarity: bool = True
    template: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.grammar = Grammar(self.vocabulary)
        self.walker = Walker(self.vocabulary)
        self.foils = Foils(self.vocabulary, self.holdout if self.equal_familiarity else None)

    def familiarity(self, form: Form) -> int:
        """Held-out bindings and relation triples that a form names."""
        return named_held_out(form, self.holdout)

    def fits(self, form: Form, subject: Subject) -> bool:
        """Whether the relations that a caption names are as familiar as its split says: all held out in `unseen`, some in
        `partial`."""
        if subject.related is None or not form.relations:
            return True
        known = [link_held_out(form, link, self.holdout) for link in form.relations]
        return all(known) if subject.split == "unseen" else any(known) or self.familiarity(form) > 0

    def admits(self, caption: Form, foil: Form, subject: Subject) -> bool:
        """Whether a foil is false of the scene, could be true of another, and is as familiar as its caption; counts why not."""
        truth = subject.decide(foil)
        if truth is not False:
            self.refused["true" if truth else "undecided"] += 1
            return False
        if not self.foils.possible(foil):
            self.refused["never true"] += 1
            return False
        if self.equal_familiarity and not alike(foil, caption, self.holdout):
            self.refused["other familiarity"] += 1
            return False
        return True

    def kept(self, what: str, made: Item | None) -> Iterator[Item]:
        """The item, where it could be made; else nothing, counted as dropped."""
        if made is None:
            self.dropped[what] += 1
        else:
            yield made

    def style(self, forms: Sequence[Form], stream: Stream, among: Sequence[str] = NATURAL) -> str | None:
        """A template that can say all the forms: the one asked for, else one by chance; None where there is none."""
        names = [self.template] if self.template else stream.shuffled(among)
        return next((name for name in names if all(TEMPLATES[name].fits(form) for form in forms)), None)

    def draw(self, subject: Subject, grid: Grid, stream: Stream, make: Maker, tries: int = 12) -> list[Item]:
        """What `make` makes of the first of the least filled cells from which it can make something; else nothing."""
        offered = grid.offer(tries, len(subject.lone))
        for n, (_, i) in enumerate(offered):
            made = make(subject, grid.cells[i], stream)
            if made:
                grid.settle(offered, n, i)
                return made
        grid.settle(offered, len(offered), None)
        return []


def one_of(protocol: str, kind: str, skill: str | None, caption: Text, foils: Iterable[Foil]) -> Item:
    """An item of one caption and its foils, all in the caption's template."""
    candidates = [Candidate(caption, "c", True)]
    candidates += [
        Candidate(Text(foil.form, caption.template), "n", False, foil.kind, foil.changed, caption) for foil in foils
    ]
    return Item(protocol, kind, skill, tuple(candidates))
