"""Draws the plan of a world: objects, attributes, layout and environment of each scene, without
positions."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice, product

import numpy as np

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.class_lists import OBJECTS, THREE_OBJECTS, ClassRule, list_of
from generator.holdout.designs.base import GRID
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import (
    UNSEEN_ATOMS,
    Arrangement,
    Rule,
    SplitPlan,
    arrangements,
    cluster_of,
)
from generator.holdout.possible import splits_without_scenes
from generator.holdout.request import WorldPart, design_of
from generator.plan.arrangements import Arrangements, UnshownError, no_scene
from generator.plan.balance import Cells, Counts, choose
from generator.scene.layouts import Layout, consistent, draw_layout, facts
from generator.scene.planned import Planned, scene_id
from generator.vocabulary.environments import Environment
from generator.vocabulary.materials import AttributeValue, linear_of
from generator.vocabulary.schema import Vocabulary

_BLOCK = 5_000  # scenes completed at a time; each time the counts are made even
_LAYOUTS = 400


def plan_scenes(
    vocabulary: Vocabulary,
    rule: Rule,
    counts: Mapping[str, int],
    seed: int,
    objects: tuple[int, int] = (2, 2),
) -> list[Planned]:
    """The plan of a world for a single holdout, see `plan_parts`."""
    return plan_parts(vocabulary, [WorldPart(rule.holdout, counts)], seed, objects)


def plan_parts(
    vocabulary: Vocabulary,
    parts: Sequence[WorldPart],
    seed: int,
    objects: tuple[int, int] = (2, 2),
    to_have_twins: Set[tuple[int, str]] = frozenset(),
) -> list[Planned]:
    """Draw the contents of each scene: `counts[split]` scenes for each split of each part.

    `objects`: the least and the most per scene. Scenes of one object occur only in training: they
    pose no question of
    binding. Training scenes show every binding of the other scenes that is not held out; for splits
    `to_have_twins`, as
    (number of the part, split), also the bindings that twins could have. Within each split these
    counts differ by at
    most one: numbers of objects; values and objects (see Arrangements); environments; and, for
        every value, object and
    place, the values of each untested attribute kind and which of two objects is in front. Scenes
    of all splits are
    shuffled together, so that scene ids reveal nothing; only a grid keeps its order. Raises
    UserError when a split has
    no scene, or training scenes are too few.
    """
    for part in parts:
        _check_possible(vocabulary, part, objects)
    made: list[Planned] = []
    for number, part in enumerate(parts):
        design = design_of(part.holdout)
        rule = design.rule(vocabulary, part.holdout)
        if part.counts is None:
            stream = Stream("plan", seed, GRID)
            made += _dressed(_grid(rule, stream), number, rule, stream)
            continue
        splits: dict[str, list[Planned]] = {}
        needed: set[Binding] = set()
        for split in sorted(rule.splits, key=lambda split: split == "train"):
            if split not in part.counts:
                continue
            stream = Stream("plan", seed, *((split,) if number == 0 else (split, number)))
            try:
                drafts = _drafts(rule, split, part.counts[split], objects, stream, needed)
                splits[split] = [*_dressed(drafts, number, rule, stream)]
            except UserError:
                if split not in design.may_lack(part.holdout):
                    raise
                continue
            if split != UNSEEN_ATOMS:
                needed |= _familiar(splits[split], rule.holdout, (number, split) in to_have_twins)
            if design.shares_scenes:
                # Evaluation scenes that are planned for other holdouts may show any binding.
                needed |= _not_held_out(vocabulary, part.holdout)
        for split in rule.splits:  # not in the order of the counts, which a manifest does not keep
            made += splits.get(split, ())
    if all(part.counts is not None for part in parts):
        made = Stream("order", seed).shuffled(made)
    return [each._replace(scene_id=scene_id(number)) for number, each in enumerate(made)]


def count_splits(scenes: Iterable[Planned], rule: Rule) -> dict[str, int]:
    """The number of scenes in each split of a rule, whatever split they were planned for."""
    counts = dict.fromkeys(rule.splits, 0)
    for scene in scenes:
        relations = facts(scene, rule.vocabulary) if rule.holdout.triples else ()
        split = rule.place(scene.arrangement(rule.holdout.kind), relations).split
        if split is not None:
            counts[split] += 1
    return counts


def _check_possible(vocabulary: Vocabulary, part: WorldPart, objects: tuple[int, int]) -> None:
    """Raise UserError if a split can have no scene of some number of objects, from counts of the
    held-out bindings.

    Drawing scenes would say the same after many failed attempts. Designs with a rule of their own
    are not checked.
    """
    design = design_of(part.holdout)
    if part.counts is None or not isinstance(design.rule(vocabulary, part.holdout), SplitPlan):
        return
    least, most = max(objects[0], 2), objects[1]
    values, names = vocabulary.values(part.holdout.kind), list(vocabulary.objects)
    for n in range(least, most + 1):
        for split in splits_without_scenes(part.holdout, values, names, n):
            # With fewer scenes than numbers of objects, this number might not occur.
            if part.counts.get(split, 0) > most - least and split not in design.may_lack(
                part.holdout
            ):
                raise no_scene(split, n)


def _familiar(scenes: Sequence[Planned], holdout: Holdout, of_twins: bool) -> set[Binding]:
    """The bindings of scenes that are not held out; with `of_twins` also the bindings that twins
    could have."""
    shown = {scene.arrangement(holdout.kind) for scene in scenes}
    found = {
        each
        for arrangement in shown
        for each in (product(*zip(*arrangement, strict=True)) if of_twins else arrangement)
    }
    return {binding for binding in found if not holdout.holds_out(*binding)}


def _not_held_out(vocabulary: Vocabulary, holdout: Holdout) -> set[Binding]:
    every_binding = product(vocabulary.values(holdout.kind), vocabulary.objects)
    return {binding for binding in every_binding if not holdout.holds_out(*binding)}


def _drafts(
    rule: Rule, split: str, n: int, objects: tuple[int, int], stream: Stream, needed: Set[Binding]
) -> Iterator[Planned]:
    """Draft scenes of a split: they have only values of the tested kind, no id and no environment.
    Training scenes show the `needed` bindings."""
    if isinstance(rule, ClassRule):
        if objects != (2, 2):
            raise UserError(
                f"--objects "
                f"{objects[0] if objects[0] == objects[1] else f'{objects[0]}..{objects[1]}'}: "
                f"the datasets of the design gzsl have their own numbers of objects; leave "
                f"--objects out, and give --holdout {THREE_OBJECTS} for a dataset of three."
            )
        return class_scenes(rule, split, n, stream)
    least, most = objects
    if most < 2:
        raise UserError(
            "--objects 1: one object alone poses no question of which attribute belongs to which "
            "object, so there "
            "would be nothing to evaluate; take 2 or more, or a range such as 1..3."
        )
    numbers = stream.balanced(range(least if split == "train" else max(least, 2), most + 1), n)
    return split_scenes(rule, split, numbers, stream, needed)


def _draft(
    rule: Rule,
    arrangement: Arrangement,
    layout: Layout,
    split: str | None,
    named: tuple[int, ...] = (),
) -> Planned:
    objects = tuple((category, {rule.holdout.kind: value}) for value, category in arrangement)
    orders = layout.depth_order, "", layout.rests_on, layout.clumps
    return Planned("", cluster_of(arrangement), objects, *orders, split=split, named=named)


def _grid(rule: Rule, stream: Stream) -> Iterator[Planned]:
    for arrangement in arrangements(rule.vocabulary, rule.holdout.kind):
        layout = draw_layout([category for _, category in arrangement], stream, rule.vocabulary)
        yield _draft(rule, arrangement, layout, None)


def split_scenes(
    rule: Rule,
    split: str,
    numbers: Sequence[int],
    stream: Stream,
    needed: Set[Binding] = frozenset(),
) -> Iterator[Planned]:
    """Yield a scene of a split for each number of objects in `numbers`; training scenes show the
    `needed` bindings. Raises UserError when there is none."""
    drawn = Arrangements(rule)
    try:
        yield from _laid_out(rule, split, drawn.draw(split, numbers, stream, needed), stream)
    except UnshownError:
        enough = drawn.enough(needed, numbers)
        raise UserError(
            f"{len(numbers):,} training scenes cannot show the {len(needed):,} bindings that "
            f"evaluation scenes need as "
            f"seen bindings; take --scenes train={enough:,} or more, or fewer evaluation scenes."
        ) from None


def _laid_out(
    rule: Rule, split: str, drawn: Iterator[Arrangement], stream: Stream
) -> Iterator[Planned]:
    for arrangement in drawn:
        categories = [category for _, category in arrangement]
        for _ in range(_LAYOUTS):
            layout = draw_layout(categories, stream, rule.vocabulary)
            if (
                not rule.holdout.triples
                or rule.place(arrangement, facts(layout, rule.vocabulary)).split == split
            ):
                yield _draft(rule, arrangement, layout, split)
                break
        else:
            raise no_scene(split, len(arrangement))


def class_scenes(rule: ClassRule, split: str, n: int, stream: Stream) -> Iterator[Planned]:
    """`n` scenes of a split of class lists: counts of labels differ by at most one.

    The object that a label names first is at each place from left to right equally often.
    """
    if rule.holdout.task == "relational":
        related = stream.shuffled(rule.listed(list_of(split)))
        for i in range(n):
            yield _related_scene(rule, related[i % len(related)], split, stream)
        return
    labels = stream.shuffled(rule.scenes(list_of(split)))
    if not labels:
        raise no_scene(split, OBJECTS[str(rule.holdout.task)])
    for i in range(n):
        rounds, which = divmod(i, len(labels))
        label = labels[which]
        order = tuple((place + which + rounds) % len(label) for place in range(len(label)))
        arrangement = tuple(label[order.index(place)] for place in range(len(label)))
        layout = draw_layout([category for _, category in arrangement], stream, rule.vocabulary)
        yield _draft(rule, arrangement, layout, split, order)


def _related_scene(rule: ClassRule, label: Sequence[str], split: str, stream: Stream) -> Planned:
    subject, relation, other = label
    values = stream.shuffled(rule.vocabulary.values(rule.holdout.kind))[:2]
    for ends, order in (((subject, other), (0, 1)), ((other, subject), (1, 0))):
        for _ in range(100):
            layout = draw_layout(ends, stream, rule.vocabulary)
            if (order[0], relation, order[1]) in facts(layout, rule.vocabulary):
                return _draft(rule, tuple(zip(values, ends, strict=True)), layout, split, order)
    raise no_scene(split, 2)


def _dressed(drafts: Iterator[Planned], part: int, rule: Rule, stream: Stream) -> Iterator[Planned]:
    """Complete the drafts of a split, some thousands at a time."""
    dresser = _Dresser(rule, part, stream)
    while block := list(islice(drafts, _BLOCK)):
        yield from dresser.dress(block)


class _Dresser:
    """Draws the untested contents, balanced so that they reveal nothing about values, objects,
    places and orders."""

    def __init__(self, rule: Rule, part: int, stream: Stream):
        self._rule, self._part, self._vocabulary, self._stream = rule, part, rule.vocabulary, stream
        self._tested = rule.holdout.kind
        self._kinds = [kind for kind in rule.vocabulary.attributes if kind != self._tested]
        self._counts = {kind: Counts() for kind in (*self._kinds, "environment", "sector", "rank")}
        places = rule.vocabulary.environments.items()
        self._hidden = {
            (kind, name): {where for where, place in places if vanishes(value, place)}
            for kind, values in rule.vocabulary.attributes.items()
            for name, value in values.items()
        }
        self._known: dict[
            tuple[str, ...], tuple[str, dict[str, str]]
        ] = {}  # few are distinct: each is stored once

    def dress(self, block: Sequence[Planned]) -> Iterator[Planned]:
        """Yield the scenes with all attributes, an environment, a viewing direction and a depth
        order.

        In every split, a scene avoids environments where one of its objects would vanish on the
        ground.
        """
        shown = [each.arrangement(self._tested) for each in block]
        things = [
            (place, *binding) for arrangement in shown for place, binding in enumerate(arrangement)
        ]
        drawn = {kind: iter(self._draw(kind, things)) for kind in self._kinds}
        contents = [
            tuple(
                self._object(category, value, [next(drawn[kind]) for kind in self._kinds])
                for value, category in arrangement
            )
            for arrangement in shown
        ]
        orders = self._orders(block)
        places = [self._places(objects) for objects in contents]
        options = [self._environment_options(*each) for each in zip(shown, places, strict=True)]
        picks = choose(options, self._counts["environment"], self._stream)
        environments = [among[pick] for among, pick in zip(places, picks, strict=True)]
        yaws = self._yaws(shown, environments)
        for each, objects, order, where, yaw in zip(
            block, contents, orders, environments, yaws, strict=True
        ):
            yield each._replace(
                objects=objects, depth_order=order, environment=where, yaw=yaw, part=self._part
            )

    def _places(self, objects: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
        """The environments where none of the objects vanishes; all environments if there are
        none."""
        hidden = set[str]().union(
            *(self._hidden[pair] for _, attributes in objects for pair in attributes.items())
        )
        places = list(self._vocabulary.environments)
        return [place for place in places if place not in hidden] or places

    def _object(
        self, category: str, value: str, others: Sequence[str]
    ) -> tuple[str, dict[str, str]]:
        attributes = {self._tested: value, **dict(zip(self._kinds, others, strict=True))}
        return self._known.setdefault((category, value, *others), (category, attributes))

    def _draw(self, kind: str, things: Sequence[tuple[int, str, str]]) -> list[str]:
        """A value of the kind for each object, balanced overall and for each place, tested value
        and object."""
        values, cell = self._vocabulary.values(kind), self._counts[kind].cell
        options: dict[tuple[int, str, str], list[Cells]] = {}
        for thing in things:
            if thing not in options:
                among = ("all", ("place", thing[0]), ("value", thing[1]), ("object", thing[2]))
                options[thing] = [tuple(cell(each, name) for each in among) for name in values]
        return [
            values[pick]
            for pick in choose(
                [options[thing] for thing in things], self._counts[kind], self._stream
            )
        ]

    def _orders(self, block: Sequence[Planned]) -> list[tuple[int, ...]]:
        """The drafted depth orders; of two objects that are not stacked, each is in front equally
        often."""
        options = [self._order_options(each) for each in block]
        free = [i for i, orders in enumerate(options) if len(orders) == 2]
        cells = [[self._ranks(block[i], order) for order in options[i]] for i in free]
        picks = dict(zip(free, choose(cells, self._counts["rank"], self._stream), strict=True))
        return [orders[picks.get(i, 0)] for i, orders in enumerate(options)]

    def _order_options(self, draft: Planned) -> list[tuple[int, ...]]:
        """The depth order and, for two unstacked objects, the reversed one if it is possible in the
        same split."""
        if len(draft.objects) != 2 or any(lower is not None for lower in draft.rests_on):
            return [draft.depth_order]
        turned = draft._replace(depth_order=draft.depth_order[::-1])
        categories = [category for category, _ in draft.objects]
        if consistent(turned, categories, self._vocabulary) and self._fits(turned):
            return sorted([draft.depth_order, turned.depth_order])
        return [draft.depth_order]

    def _fits(self, draft: Planned) -> bool:
        if not self._rule.holdout.triples or draft.split is None:
            return True
        shown = facts(draft, self._vocabulary)
        return self._rule.place(draft.arrangement(self._tested), shown).split == draft.split

    def _ranks(self, draft: Planned, order: tuple[int, ...]) -> Cells:
        cell = self._counts["rank"].cell
        return tuple(
            cell(among, rank)
            for place, ((value, category), rank) in enumerate(
                zip(draft.arrangement(self._tested), order, strict=True)
            )
            for among in (("place", place), ("value", value), ("object", category))
        )

    def _environment_options(self, arrangement: Arrangement, places: Sequence[str]) -> list[Cells]:
        cell = self._counts["environment"].cell
        return [tuple(cell(each, place) for each in _among(arrangement)) for place in places]

    def _yaws(self, shown: Sequence[Arrangement], places: Sequence[str]) -> list[float]:
        """A viewing direction for each scene, degrees; the sectors of an environment are seen
        equally often."""
        sectors = [self._vocabulary.environments[place].sectors for place in places]
        if all(each == ((0.0, 0.0),) for each in sectors):
            return [0.0] * len(sectors)
        cell = self._counts["sector"].cell
        options = [
            [
                tuple(cell((place, each), i) for each in _among(arrangement))
                for i in range(len(among))
            ]
            for arrangement, place, among in zip(shown, places, sectors, strict=True)
        ]
        picks = choose(options, self._counts["sector"], self._stream)
        return [
            round(self._stream.uniform(*among[i]) % 360, 3)
            for among, i in zip(sectors, picks, strict=True)
        ]


def _among(arrangement: Arrangement) -> list[Hashable]:
    """The classes that count environments and sectors: all scenes, and scenes with each value and
    each object."""
    return [
        "all",
        *(
            each
            for binding in arrangement
            for each in zip(("value", "object"), binding, strict=True)
        ),
    ]


Colors = tuple[tuple[float, float, float], ...]
"""Linear red, green and blue, 0..255."""
# Least CIEDE2000 between a value and the ground. In renders of a lion at 128 pixels, of the values
# below these limits a third or more of the pixels are near the ground's colour. Marks of a texture
# break an outline up, so a texture needs a larger distance than a plain colour.
_LEAST_DISTANCE = 15.0
_LEAST_TEXTURE_DISTANCE = 19.3
# Factors on the light of a surface: its sides get more light than the ground, or less.
_SHADES = (0.67, 0.74, 0.82, 0.9, 1.0, 1.1, 1.22, 1.35, 1.5)


def vanishes(value: AttributeValue, place: Environment) -> bool:
    """Whether the colours of this value are close to the ground's; False if either has no colours.

    Close: over its colours, the mean CIEDE2000 to the nearest ground colour is below 15 (19.3 for
    a texture) in some light that is up to one and a half times brighter or darker than the
    ground's.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> pug = read_vocabulary("pug")
    >>> [name for name, place in pug.environments.items()
    ...  if vanishes(pug.attributes["texture"]["wood"], place)]
    ['desert', 'forest']
    """
    if place.ground is None:
        return False
    ground = tuple(map(linear_of, place.ground.colors))
    if value.texture is not None and value.texture.colors:
        marks = tuple(map(linear_of, value.texture.colors))
        return _distance(marks, ground) < _LEAST_TEXTURE_DISTANCE
    return value.color is not None and _distance((value.color,), ground) < _LEAST_DISTANCE


@cache
def _distance(colors: Colors, ground: Colors) -> float:
    """Mean over `colors` of the CIEDE2000 to the nearest colour of `ground`, in the light in which
    it is smallest."""
    from skimage.color import deltaE_ciede2000, xyz2lab  # takes a while to import
    from skimage.color.colorconv import xyz_from_rgb

    def lab(linear: np.ndarray) -> np.ndarray:
        return np.asarray(xyz2lab(linear / 255 @ xyz_from_rgb.T))

    beside = lab(np.array(ground))[None]
    distances = []
    for shade in _SHADES:
        shaded = lab(shade * np.array(colors))[:, None]
        distances.append(float(deltaE_ciede2000(shaded, beside).min(1).mean()))
    return min(distances)
