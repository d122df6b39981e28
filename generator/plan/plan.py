"""The plan of a world: what each of its scenes holds, before anything has a place."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.class_lists import THREE_OBJECTS, ClassRule
from generator.holdout.designs.base import GRID
from generator.holdout.membership import Rule, arrangements
from generator.holdout.request import WorldPart, design_of
from generator.plan.balance import Cells, Counts, choose
from generator.plan.packed import Codec, Plan
from generator.plan.split_scenes import ClassScenes, Content, split_scenes
from generator.scene.layouts import Layout, consistent, draw_layout, facts
from generator.vocabulary.schema import Vocabulary

_BLOCK = 2_000


def plan_scenes(
    vocabulary: Vocabulary, rule: Rule, counts: Mapping[str, int], seed: int, objects: tuple[int, int] = (2, 2)
) -> Plan:
    """The plan of a world that is made for one holdout alone, see `plan_parts`."""
    return plan_parts(vocabulary, [WorldPart(rule.holdout, counts)], seed, objects)


def plan_parts(
    vocabulary: Vocabulary, parts: Sequence[WorldPart], seed: int, objects: tuple[int, int] = (2, 2)
) -> Plan:
    """Draw what each scene holds: `counts[split]` scenes for each split of each part, each of so many `objects` (least,
    most).

    Scenes of one object only train: they pose no question of binding. Within a split are balanced, up to one: the
    number of objects, values and objects (see Arrangements), the environment, and for every value, object and place the
    values of every attribute kind that is not under test, and of two objects which is in front. Scenes of all splits
    are shuffled together, so that a number says nothing; the grid alone stands in order. Raises UserError when a split
    has no scene.
    """
    designs = [design_of(part.holdout) for part in parts]
    rules = [design.rule(vocabulary, part.holdout) for design, part in zip(designs, parts, strict=True)]
    splits = dict.fromkeys(split for rule in rules for split in rule.splits)
    codec = Codec(vocabulary, parts[0].holdout.kind, list(splits))
    rows: list[bytes] = []
    for number, (part, design, rule) in enumerate(zip(parts, designs, rules, strict=True)):
        if part.counts is None:
            stream = Stream("plan", seed, GRID)
            rows += _encoded(_grid(vocabulary, part.holdout.kind, stream), number, rule, codec, vocabulary, stream)
            continue
        for split in rule.splits:  # not in the order of the counts, which a manifest does not keep
            if split not in part.counts:
                continue
            n, key = part.counts[split], (split,) if number == 0 else (split, number)
            stream = Stream("plan", seed, *key)
            try:
                contents = _contents(rule, split, n, objects, stream)
                rows += _encoded(contents, number, rule, codec, vocabulary, stream)
            except UserError:
                if split not in design.may_lack(part.holdout):
                    raise
    if all(part.counts is not None for part in parts):
        rows = Stream("order", seed).shuffled(rows)
    return Plan(codec, rows)


def _contents(rule: Rule, split: str, n: int, objects: tuple[int, int], stream: Stream) -> Iterator[Content]:
    if isinstance(rule, ClassRule):
        if objects != (2, 2):
            raise UserError(
                f"--objects {objects[0] if objects[0] == objects[1] else f'{objects[0]}..{objects[1]}'}: the datasets "
                f"of the "
                f"design gzsl have their own numbers of objects; leave --objects out, and give --holdout "
                f"{THREE_OBJECTS} for "
                f"a dataset of three."
            )
        return ClassScenes(rule).draw(split, n, stream)
    least, most = objects
    if most < 2:
        raise UserError(
            "--objects 1: one object alone poses no question of which attribute belongs to which object, so there "
            "would be "
            "nothing to evaluate; take 2 or more, or a range such as 1..3."
        )
    numbers = stream.balanced(range(least if split == "train" else max(least, 2), most + 1), n)
    return split_scenes(rule, split, numbers, stream)


def _grid(vocabulary: Vocabulary, kind: str, stream: Stream) -> Iterator[Content]:
    for arrangement in arrangements(vocabulary, kind):
        yield Content(arrangement, draw_layout([thing for _, thing in arrangement], stream, vocabulary), GRID)


def _encoded(
    contents: Iterator[Content], part: int, rule: Rule, codec: Codec, vocabulary: Vocabulary, stream: Stream
) -> Iterator[bytes]:
    """The scenes of a split with all that they hold, dressed some thousands at a time."""
    dresser = _Dresser(vocabulary, rule, stream)
    while block := list(islice(contents, _BLOCK)):
        for content, attributes, layout, environment in dresser.dress(block):
            split = None if content.split == GRID else content.split
            yield codec.pack(content, attributes, layout, environment, part, split)


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
        options: dict[tuple[int, str, str], list[Cells]] = {}
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

    def _ranks(self, content: Content, layout: Layout) -> Cells:
        cell = self._counts["rank"].cell
        return tuple(
            cell(among, rank)
            for place, ((value, thing), rank) in enumerate(zip(content.arrangement, layout.depth_order, strict=True))
            for among in (("place", place), ("value", value), ("object", thing))
        )

    def _environment_options(self, content: Content, places: Sequence[str]) -> list[Cells]:
        cell = self._counts["environment"].cell
        among = [
            "all",
            *(each for binding in content.arrangement for each in zip(("value", "object"), binding, strict=True)),
        ]
        return [tuple(cell(each, place) for each in among) for place in places]
