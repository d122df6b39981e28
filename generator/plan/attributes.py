"""Completes drafts of scenes: values of the untested kinds, depth orders, on which own side of an
object another stands, environments, and the directions in which the camera looks."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from generator.base.streams import Stream
from generator.dataset.relations import AXIS_OF
from generator.holdout.membership import Arrangement, Rule
from generator.plan.balance import CellCounts, Cells, choose
from generator.scene.layouts import certain_relations, is_consistent
from generator.scene.own_side import OwnSide
from generator.scene.planned import Attributes, Planned
from generator.vocabulary.environments import Environment
from generator.vocabulary.materials import AttributeValue, linear_of
from generator.vocabulary.schema import Vocabulary

# Scenes completed at a time. Counts carry over from one portion to the next.
_PORTION = 5_000

# Least CIEDE2000 between a value and the ground, chosen by hand: wood in the desert and the forest
# has to be below, and wider limits left the places too unevenly filled. They follow renders only
# roughly. In one render of a lion at 128 pixels, 14% (brown, forest) to 83% (gray, spaceship) of
# the pixels of what is excluded are within CIEDE2000 12 of the ground beside it; gray in the forest
# (44%) and marble in the desert (41%) are not excluded. docs/worlds.md lists what is.
_VANISHING_DISTANCE = 15.0
_VANISHING_TEXTURE_DISTANCE = 19.3
# Factors on the light of a surface: its sides get more light than the ground, or less.
_SHADES = (0.67, 0.74, 0.82, 0.9, 1.0, 1.1, 1.22, 1.35, 1.5)

Colors = tuple[tuple[float, float, float], ...]
"""Linear red, green and blue, 0..255."""

_Object = tuple[str, Attributes]
"""Category, and attribute values by kind."""
_Contents = tuple[_Object, ...]
"""The objects of a scene, from left to right."""
_DepthOrder = tuple[int, ...]
"""The rank of each object of a scene from front to behind."""
_OwnSides = tuple[OwnSide, ...]
"""Where others stand in the own frames of a scene's objects."""


class _Tested(NamedTuple):
    """What is tested about an object. Its untested values must not predict any of it."""

    place: int
    value: str
    category: str


class AttributeSampler:
    """Draws the untested contents of scenes, balanced so that they reveal nothing about tested
    values, objects, places and orders."""

    def __init__(self, rule: Rule, part: int, stream: Stream):
        """
        Args:
            rule: of the part of the world.
            part: its number, which completed scenes record.
            stream: draws everything.
        """
        self._rule = rule
        self._part = part
        self._vocabulary = rule.vocabulary
        self._stream = stream
        self._tested = rule.holdout.kind
        self._untested = [kind for kind in rule.vocabulary.attributes if kind != self._tested]
        self._attribute_counts = {kind: CellCounts() for kind in self._untested}
        self._environment_counts = CellCounts()
        self._sector_counts = CellCounts()
        self._depth_counts = CellCounts()
        self._own_side_counts = CellCounts()
        # The environments in which each value (kind, name) vanishes.
        self._hidden_in: dict[tuple[str, str], set[str]] = {}
        for kind, values in rule.vocabulary.attributes.items():
            for name, value in values.items():
                self._hidden_in[kind, name] = _environments_that_hide(value, rule.vocabulary)
        # Few objects are distinct, so scenes share them: a plan has millions.
        self._shared_objects: dict[tuple[str, ...], _Object] = {}

    def complete(self, drafts: Iterator[Planned]) -> Iterator[Planned]:
        """Yield the completed scenes. Drafts are drawn some thousands at a time."""
        while portion := list(islice(drafts, _PORTION)):
            yield from self.fill(portion)

    def fill(self, drafts: Sequence[Planned]) -> Iterator[Planned]:
        """Yield the scenes with all attributes, an environment, a viewing direction, a depth order
        and own directions.

        In every split, a scene avoids environments where one of its objects would vanish on the
        ground.
        """
        arrangements = [draft.arrangement(self._tested) for draft in drafts]
        contents = self._draw_contents(arrangements)
        # Own sides are balanced over depths, environments depend on the colours of the objects, and
        # directions on the environment.
        depth_orders = self._choose_depth_orders(drafts)
        own_sides = self._choose_own_sides(drafts, depth_orders)
        environments = self._choose_environments(arrangements, contents)
        yaws = self._draw_yaws(arrangements, environments)
        for draft, objects, depth_order, sides, environment, yaw in zip(
            drafts, contents, depth_orders, own_sides, environments, yaws, strict=True
        ):
            yield draft._replace(
                objects=objects,
                depth_order=depth_order,
                own_sides=sides,
                environment=environment,
                yaw=yaw,
                part=self._part,
            )

    def _draw_contents(self, arrangements: Sequence[Arrangement]) -> list[_Contents]:
        """The objects of each scene, with values of all kinds."""
        tested = []
        for arrangement in arrangements:
            for place, (value, category) in enumerate(arrangement):
                tested.append(_Tested(place, value, category))
        # For each kind, a value for each object of all scenes in turn.
        values_of_kind = [iter(self._choose_values(kind, tested)) for kind in self._untested]
        contents = []
        for arrangement in arrangements:
            objects = []
            for tested_value, category in arrangement:
                values = [next(of_kind) for of_kind in values_of_kind]
                objects.append(self._object(category, tested_value, values))
            contents.append(tuple(objects))
        return contents

    def _object(self, category: str, tested_value: str, untested_values: Sequence[str]) -> _Object:
        attributes = {
            self._tested: tested_value,
            **dict(zip(self._untested, untested_values, strict=True)),
        }
        key = (category, tested_value, *untested_values)
        return self._shared_objects.setdefault(key, (category, attributes))

    def _choose_values(self, kind: str, objects: Sequence[_Tested]) -> list[str]:
        """A value of an untested kind for each object, balanced overall and for each place, tested
        value and category.

        A value of weight w is w options with a cell each. All options are equally frequent, so the
        value is w times as frequent as one of weight 1.
        """
        counts = self._attribute_counts[kind]
        values: list[tuple[str, int]] = []
        for name, value in self._vocabulary.attributes[kind].items():
            values += [(name, number) for number in range(value.weight)]
        # Few objects differ in what is tested, so those that do not share their options.
        options_of: dict[_Tested, list[Cells]] = {}
        for tested in objects:
            if tested in options_of:
                continue
            by_place = ("place", tested.place)
            by_value = ("value", tested.value)
            by_category = ("object", tested.category)
            classes = ("all", by_place, by_value, by_category)
            options_of[tested] = _options(counts, classes, values)
        choices = choose([options_of[tested] for tested in objects], counts, self._stream)
        names = [name for name, _ in values]
        return [names[choice] for choice in choices]

    def _choose_depth_orders(self, drafts: Sequence[Planned]) -> list[_DepthOrder]:
        """The drafted depth orders; of two objects that are not stacked, each is in front equally
        often."""
        possible = [self._possible_depth_orders(draft) for draft in drafts]
        reversible = [row for row, orders in enumerate(possible) if len(orders) == 2]
        options = []
        for row in reversible:
            options.append([self._depth_cells(drafts[row], order) for order in possible[row]])
        choices = choose(options, self._depth_counts, self._stream)

        chosen = [orders[0] for orders in possible]
        for row, choice in zip(reversible, choices, strict=True):
            chosen[row] = possible[row][choice]
        return chosen

    def _possible_depth_orders(self, draft: Planned) -> list[_DepthOrder]:
        """The depth order and, for two unstacked objects, the reversed one if it is possible in the
        same split."""
        is_stacked = any(lower is not None for lower in draft.rests_on)
        if len(draft.objects) != 2 or is_stacked:
            return [draft.depth_order]
        reversed_draft = draft._replace(depth_order=draft.depth_order[::-1])
        categories = [category for category, _ in draft.objects]
        is_possible = is_consistent(reversed_draft, categories, self._vocabulary)
        if is_possible and self._is_in_its_split(reversed_draft):
            return sorted([draft.depth_order, reversed_draft.depth_order])
        return [draft.depth_order]

    def _is_in_its_split(self, draft: Planned) -> bool:
        # Without held-out relations, the layout does not matter.
        if not self._rule.holdout.triples or draft.split is None:
            return True
        relations = certain_relations(draft, self._vocabulary)
        return self._rule.place(draft.arrangement(self._tested), relations).split == draft.split

    def _depth_cells(self, draft: Planned, depth_order: _DepthOrder) -> Cells:
        cells = []
        for place, (value, category) in enumerate(draft.arrangement(self._tested)):
            rank = depth_order[place]
            for class_key in (("place", place), ("value", value), ("object", category)):
                cells.append(self._depth_counts.cell(class_key, rank))
        return tuple(cells)

    def _choose_own_sides(
        self, drafts: Sequence[Planned], depth_orders: Sequence[_DepthOrder]
    ) -> list[_OwnSides]:
        """The drafted own sides, or the opposite ones: each of two opposites is equally frequent
        for every category, place and depth of the object that looks."""
        if not any(draft.own_sides for draft in drafts):
            return [()] * len(drafts)
        possible = [self._possible_own_sides(draft) for draft in drafts]
        options: list[list[Cells]] = []
        for draft, depth_order, choices_of_draft in zip(
            drafts, depth_orders, possible, strict=True
        ):
            options.append(
                [self._own_side_cells(draft, depth_order, sides) for sides in choices_of_draft]
            )
        choices = choose(options, self._own_side_counts, self._stream)
        return [sides[choice] for sides, choice in zip(possible, choices, strict=True)]

    def _possible_own_sides(self, draft: Planned) -> list[_OwnSides]:
        """The own sides of a draft and their opposites, in all combinations that are in the same
        split."""
        # For each side, the drafted one or its opposite.
        alternatives = []
        for side in draft.own_sides:
            opposite = AXIS_OF[side.relation].opposite(side.relation)
            alternatives.append((side, side._replace(relation=opposite)))
        possible = []
        for sides in product(*alternatives):
            changed = draft._replace(own_sides=sides)
            if sides == draft.own_sides or self._is_in_its_split(changed):
                possible.append(sides)
        # Sorted, so that the draft does not come first more often than others.
        return sorted(possible)

    def _own_side_cells(
        self, draft: Planned, depth_order: _DepthOrder, sides: Sequence[OwnSide]
    ) -> Cells:
        cells = []
        for side in sides:
            axis = AXIS_OF[side.relation].rules
            category, _ = draft.objects[side.object]
            place_and_depth = (side.object, depth_order[side.object])
            by_category = (axis, "object", category)
            by_position = (axis, "position", place_and_depth)
            for class_key in (axis, by_category, by_position):
                cells.append(self._own_side_counts.cell(class_key, side.relation))
        return tuple(cells)

    def _choose_environments(
        self, arrangements: Sequence[Arrangement], contents: Sequence[_Contents]
    ) -> list[str]:
        """An environment for each scene, balanced overall and for each tested value and
        category."""
        counts = self._environment_counts
        possible = [self._possible_environments(objects) for objects in contents]
        options: list[list[Cells]] = []
        for arrangement, environments in zip(arrangements, possible, strict=True):
            options.append(_options(counts, _scene_classes(arrangement), environments))
        choices = choose(options, counts, self._stream)
        return [
            environments[choice] for environments, choice in zip(possible, choices, strict=True)
        ]

    def _possible_environments(self, objects: Sequence[_Object]) -> list[str]:
        """The environments where none of the objects vanishes; all environments if there are
        none."""
        hidden: set[str] = set()
        for _, attributes in objects:
            for kind_and_value in attributes.items():
                hidden |= self._hidden_in[kind_and_value]
        environments = list(self._vocabulary.environments)
        visible_in = [name for name in environments if name not in hidden]
        return visible_in or environments

    def _draw_yaws(
        self, arrangements: Sequence[Arrangement], environments: Sequence[str]
    ) -> list[float]:
        """A viewing direction for each scene, degrees; the sectors of an environment are seen
        equally often."""
        sectors_of_scene = [
            self._vocabulary.environments[environment].sectors for environment in environments
        ]
        # A world that looks in one direction only draws no numbers for it.
        if all(sectors == ((0.0, 0.0),) for sectors in sectors_of_scene):
            return [0.0] * len(sectors_of_scene)
        counts = self._sector_counts
        options: list[list[Cells]] = []
        for arrangement, environment, sectors in zip(
            arrangements, environments, sectors_of_scene, strict=True
        ):
            # Sectors of different environments have nothing in common but their numbers.
            classes = [(environment, class_key) for class_key in _scene_classes(arrangement)]
            options.append(_options(counts, classes, range(len(sectors))))
        choices = choose(options, counts, self._stream)

        yaws = []
        for sectors, choice in zip(sectors_of_scene, choices, strict=True):
            yaw = self._stream.uniform(*sectors[choice])
            # A sector may end beyond 360.
            yaws.append(round(yaw % 360, 3))
        return yaws


def _options(
    counts: CellCounts, classes: Sequence[Hashable], names: Iterable[Hashable]
) -> list[Cells]:
    """For each name that may be chosen, its cell in each of the classes."""
    options = []
    for name in names:
        options.append(tuple(counts.cell(class_key, name) for class_key in classes))
    return options


def _scene_classes(arrangement: Arrangement) -> list[Hashable]:
    """The classes in which environments and sectors are counted: all scenes, and scenes with each
    value and each category."""
    classes: list[Hashable] = ["all"]
    for value, category in arrangement:
        classes += [("value", value), ("object", category)]
    return classes


def _environments_that_hide(value: AttributeValue, vocabulary: Vocabulary) -> set[str]:
    """The environments on whose ground a value vanishes."""
    hiding = set()
    for name, environment in vocabulary.environments.items():
        if vanishes(value, environment):
            hiding.add(name)
    return hiding


def vanishes(value: AttributeValue, environment: Environment) -> bool:
    """Whether the colours of a value are close to those of the ground; False if either has no
    colours.

    Close: over its colours, the mean CIEDE2000 to the nearest ground colour is below 15 (19.3 for
    a texture) in some light that is up to one and a half times brighter or darker than the
    ground's.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> pug = read_vocabulary("pug")
    >>> gray = pug.attributes["color"]["gray"]
    >>> [name for name, place in pug.environments.items() if vanishes(gray, place)]
    ['mountains', 'spaceship', 'city']
    """
    if environment.ground is None:
        return False
    ground_colors = tuple(map(linear_of, environment.ground.colors))
    if value.texture is not None and value.texture.colors:
        texture_colors = tuple(map(linear_of, value.texture.colors))
        distance = _mean_color_distance(texture_colors, ground_colors)
        return distance < _VANISHING_TEXTURE_DISTANCE
    if value.color is None:
        return False
    return _mean_color_distance((value.color,), ground_colors) < _VANISHING_DISTANCE


@cache
def _mean_color_distance(colors: Colors, ground_colors: Colors) -> float:
    """Mean over `colors` of the CIEDE2000 to the nearest colour of the ground, in the light in
    which it is smallest."""
    # Here, since these take a while to import.
    from skimage.color import deltaE_ciede2000, xyz2lab
    from skimage.color.colorconv import xyz_from_rgb

    def lab(linear: np.ndarray) -> np.ndarray:
        return np.asarray(xyz2lab(linear / 255 @ xyz_from_rgb.T))

    # Axes: colours, ground colours, Lab.
    ground_lab = lab(np.array(ground_colors))[None]
    mean_distances = []
    for shade in _SHADES:
        shaded = lab(shade * np.array(colors))[:, None]
        distances = deltaE_ciede2000(shaded, ground_lab)
        to_nearest = distances.min(axis=1)
        mean_distances.append(float(to_nearest.mean()))
    return min(mean_distances)
