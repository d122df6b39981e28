"""The plan of a world: what each of its scenes holds, before anything has a place."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.holdout.class_lists import ClassRule
from generator.holdout.membership import Rule, arrangements, cluster_of
from generator.holdout.request import WorldPart, design_of
from generator.holdout.scene_counts import GRID
from generator.plan.balance.counts import Counts, Option
from generator.plan.balance.options import choose
from generator.plan.class_scenes import ClassScenes
from generator.plan.content import Content
from generator.plan.record import Planned
from generator.plan.split_scenes import SplitScenes
from generator.scene.layouts import Layout, consistent, draw_layout, facts
from generator.vocabulary.schema import Vocabulary

_BLOCK = 2_000


@dataclass(frozen=True)
class Assigned:
    """What a scene is made for: its split, and for a label (design gzsl) the objects in the order of the label."""

    split: str
    named: tuple[int, ...]


class Plan(Sequence[Planned]):
    """Planned scenes by number; each is kept in some dozens of bytes and spelled out when it is asked for."""

    def __init__(self, vocabulary: Vocabulary, tested: str, rows: list[bytes]):
        self._vocabulary, self._tested, self._rows = vocabulary, tested, rows
        self._code = _Code(vocabulary)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Planned: ...
    @overload
    def __getitem__(self, index: slice) -> list[Planned]: ...
    def __getitem__(self, index: int | slice) -> Planned | list[Planned]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        return self._code.planned(self._rows[number], number, self._tested)

    def __iter__(self) -> Iterator[Planned]:
        return (self[number] for number in range(len(self)))

    def assigned(self, part: int, splits: Sequence[str]) -> dict[str, Assigned]:
        """What each scene of a part is made for, by scene_id."""
        found = {}
        for number, row in enumerate(self._rows):
            of, split, named = self._code.purpose(row)
            if of == part:
                found[f"{number:06d}"] = Assigned(splits[split], named)
        return found


def plan_scenes(
    vocabulary: Vocabulary, rule: Rule, counts: Mapping[str, int], seed: int, objects: tuple[int, int] = (2, 2)
) -> Plan:
    """The plan of a world that is made for one holdout alone, see `plan_parts`."""
    return plan_parts(vocabulary, [WorldPart(rule.holdout, counts)], seed, objects)


def plan_parts(
    vocabulary: Vocabulary, parts: Sequence[WorldPart], seed: int, objects: tuple[int, int] = (2, 2)
) -> Plan:
    """Draw what each scene holds: `counts[split]` scenes for each split of each part, each of so many `objects` (least, most).

    Scenes of one object only train: they pose no question of binding. Within a split are balanced, up to one: the number of
    objects, values and objects (see SplitScenes), the environment, and for every value, object and place the values of every
    attribute kind that is not under test, and of two objects which is in front. Scenes of all splits are shuffled together, so
    that a number says nothing; the grid alone stands in order. Raises UserError when a split has no scene.
    """
    code = _Code(vocabulary)
    rows: list[bytes] = []
    for number, part in enumerate(parts):
        design = design_of(part.holdout)
        rule = design.rule(vocabulary, part.holdout)
        if part.counts is None:
            stream = Stream("plan", seed, GRID)
            rows += _encoded(_grid(vocabulary, part.holdout.kind, stream), number, rule, code, vocabulary, stream)
            continue
        for split in rule.splits:  # not in the order of the counts, which a manifest does not keep
            if split not in part.counts:
                continue
            n, key = part.counts[split], (split,) if number == 0 else (split, number)
            stream = Stream("plan", seed, *key)
            try:
                contents = _contents(rule, split, n, objects, stream)
                rows += _encoded(contents, number, rule, code, vocabulary, stream)
            except UserError:
                if split not in design.may_lack(part.holdout):
                    raise
    if all(part.counts is not None for part in parts):
        rows = Stream("order", seed).shuffled(rows)
    return Plan(vocabulary, parts[0].holdout.kind, rows)


def _contents(rule: Rule, split: str, n: int, objects: tuple[int, int], stream: Stream) -> Iterator[Content]:
    if isinstance(rule, ClassRule):
        return ClassScenes(rule).draw(split, n, stream)
    least, most = objects
    if most < 2:
        raise UserError(
            "--objects 1: one object alone poses no question of which attribute belongs to which object, so there would be "
            "nothing to evaluate; take 2 or more, or a range such as 1..3."
        )
    numbers = stream.balanced(range(least if split == "train" else max(least, 2), most + 1), n)
    return SplitScenes(rule).draw(split, numbers, stream)


def _grid(vocabulary: Vocabulary, kind: str, stream: Stream) -> Iterator[Content]:
    for arrangement in arrangements(vocabulary, kind):
        yield Content(arrangement, draw_layout([thing for _, thing in arrangement], stream, vocabulary), GRID)


def _encoded(
    contents: Iterator[Content], part: int, rule: Rule, code: "_Code", vocabulary: Vocabulary, stream: Stream
) -> Iterator[bytes]:
    """The scenes of a split with all that they hold, dressed some thousands at a time."""
    dresser = _Dresser(vocabulary, rule, stream)
    while block := list(islice(contents, _BLOCK)):
        for content, attributes, layout, environment in dresser.dress(block):
            split = 0 if content.split == GRID else rule.splits.index(content.split)
            yield code.row(content, attributes, layout, environment, part, split)


class _Dresser:
    """Draws what is not under test, so that it says nothing about values, objects, places and orders."""

    def __init__(self, vocabulary: Vocabulary, rule: Rule, stream: Stream):
        self._vocabulary, self._rule, self._stream = vocabulary, rule, stream
        self._tested = rule.holdout.kind
        self._kinds = [kind for kind in vocabulary.attributes if kind != self._tested]
        self._counts = {kind: Counts() for kind in (*self._kinds, "environment", "rank")}

    def dress(self, block: Sequence[Content]) -> Iterator[tuple[Content, list[dict[str, str]], Layout, str]]:
        """Attributes of each object by kind, the layout, and the environment of each scene."""
        things = [(place, *binding) for content in block for place, binding in enumerate(content.arrangement)]
        drawn = {kind: iter(self._draw(kind, things)) for kind in self._kinds}
        layouts = self._orders(block)
        places = list(self._vocabulary.environments)
        options = [self._environment_options(content, places) for content in block]
        environments = choose(options, self._counts["environment"], self._stream)
        for content, layout, where in zip(block, layouts, environments, strict=True):
            attributes = [
                {self._tested: value, **{kind: next(drawn[kind]) for kind in self._kinds}}
                for value, _ in content.arrangement
            ]
            yield content, attributes, layout, places[where]

    def _draw(self, kind: str, things: Sequence[tuple[int, str, str]]) -> list[str]:
        """A value of the kind for each object: as often as every other with each tested value, object and place."""
        values, cell = self._vocabulary.values(kind), self._counts[kind].cell
        options: dict[tuple[int, str, str], list[Option]] = {}
        for thing in things:
            if thing not in options:
                among = ("all", ("place", thing[0]), ("value", thing[1]), ("object", thing[2]))
                options[thing] = [tuple(cell(each, name) for each in among) for name in values]
        return [values[pick] for pick in choose([options[thing] for thing in things], self._counts[kind], self._stream)]

    def _orders(self, block: Sequence[Content]) -> list[Layout]:
        """Layouts as drawn; of two objects side by side, which is in front as often as every other's turn."""
        free = [i for i, content in enumerate(block) if len(self._options(content)) == 2]
        options = [[self._ranks(block[i], layout) for layout in self._options(block[i])] for i in free]
        picks = dict(zip(free, choose(options, self._counts["rank"], self._stream), strict=True))
        return [self._options(content)[picks[i]] if i in picks else content.layout for i, content in enumerate(block)]

    def _options(self, content: Content) -> list[Layout]:
        """The layout and the same with the other object in front, where that belongs to the split as well."""
        layout, found = content.layout, [content.layout]
        if len(content.arrangement) == 2 and not any(lower is not None for lower in layout.rests_on):
            other = Layout(layout.depth_order[::-1], layout.rests_on, layout.clumps)
            things = [thing for _, thing in content.arrangement]
            if consistent(other, things, self._vocabulary) and self._fits(content, other):
                found.append(other)
        return sorted(found, key=lambda each: each.depth_order)

    def _fits(self, content: Content, layout: Layout) -> bool:
        if not self._rule.holdout.triples or content.split == GRID:
            return True
        shown = facts(layout, self._vocabulary)
        return self._rule.place(content.arrangement, shown).split == content.split

    def _ranks(self, content: Content, layout: Layout) -> Option:
        cell = self._counts["rank"].cell
        return tuple(
            cell(among, rank)
            for place, ((value, thing), rank) in enumerate(zip(content.arrangement, layout.depth_order, strict=True))
            for among in (("place", place), ("value", value), ("object", thing))
        )

    def _environment_options(self, content: Content, places: Sequence[str]) -> list[Option]:
        cell = self._counts["environment"].cell
        among = [
            "all",
            *(each for binding in content.arrangement for each in zip(("value", "object"), binding, strict=True)),
        ]
        return [tuple(cell(each, place) for each in among) for place in places]


class _Code:
    """Scenes as short rows of small numbers, and back."""

    def __init__(self, vocabulary: Vocabulary):
        self._things = list(vocabulary.objects)
        self._environments = list(vocabulary.environments)
        self._values = {kind: vocabulary.values(kind) for kind in vocabulary.attributes}

    def row(
        self,
        content: Content,
        attributes: Sequence[Mapping[str, str]],
        layout: Layout,
        environment: str,
        part: int,
        split: int,
    ) -> bytes:
        n = len(content.arrangement)
        numbers = [part, split, self._environments.index(environment), n, len(content.named), *content.named]
        numbers += [self._things.index(thing) for _, thing in content.arrangement]
        numbers += [self._values[kind].index(each[kind]) for each in attributes for kind in self._values]
        numbers += [*layout.depth_order, *self._marks(layout.rests_on, n), *self._marks(layout.clumps, n)]
        return array("H", numbers).tobytes()

    def purpose(self, row: bytes) -> tuple[int, int, tuple[int, ...]]:
        """Part, split by number, and the objects in the order of the label."""
        numbers = array("H", row)
        return numbers[0], numbers[1], tuple(numbers[5 : 5 + numbers[4]])

    def planned(self, row: bytes, number: int, tested: str) -> Planned:
        numbers = array("H", row)
        n, rest = numbers[3], iter(numbers[5 + numbers[4] :])
        things = [self._things[next(rest)] for _ in range(n)]
        attributes = [{kind: values[next(rest)] for kind, values in self._values.items()} for _ in range(n)]
        depth = tuple(next(rest) for _ in range(n))
        rests_on = tuple(None if mark < 2 else mark - 2 for mark in islice(rest, n))
        clumps = tuple(mark - 2 for mark in islice(rest, n))
        return Planned(
            f"{number:06d}",
            cluster_of(tuple((each[tested], thing) for each, thing in zip(attributes, things, strict=True))),
            tuple(zip(things, attributes, strict=True)),
            depth,
            self._environments[numbers[2]],
            rests_on=() if all(each is None for each in rests_on) else rests_on,
            clumps=() if -2 in clumps else clumps,
        )

    @staticmethod
    def _marks(given: Sequence[int | None], n: int) -> list[int]:
        """0 where nothing is said, 1 for None, else the number and 2."""
        return [1 if each is None else each + 2 for each in given] if given else [0] * n
