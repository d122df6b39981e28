"""Reads the rendered scenes of a world for describing."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from generator.dataset.reader import World
from generator.holdout.doses import parse_doses, with_doses
from generator.holdout.holdout import Binding, Holdout, Triple
from generator.holdout.membership import Arrangement, Fact, Placing, Rule, cluster_of, named_triples
from generator.holdout.request import design_of
from generator.language.form import FIRST_IMAGE, SAME_SCENE, Form
from generator.language.truth import Facts, Truth, decide
from generator.language.walk import Subgraph
from generator.plan.evaluated import EvaluatedScenes, design_name, empty_scenes
from generator.plan.store import Assigned
from generator.scene.scene import Rung, Scene
from generator.vocabulary.schema import Vocabulary


class RenderedScene(NamedTuple):
    """A scene whose image was rendered."""

    scene_id: str
    """Id of the scene in the world."""
    twin_of: str | None
    """The scene_id of the scene whose twin it is; None for other scenes."""
    scene: Scene
    """Its objects, camera and lamps."""
    salience: tuple[float, ...]
    """The salience of each object; empty unless requested."""


def rendered_scenes(world: World, with_salience: bool) -> Iterator[RenderedScene]:
    """Yield every rendered scene of a world.

    Args:
        world: The world.
        with_salience: Whether to compute the salience of objects, which needs their boxes.

    Yields:
        The scenes in the order of the table; a twin comes right after its scene.
    """
    columns = ["scene_id", "twin_of", "scene", "status", "width", "height"]
    if with_salience:
        columns.append("objects")
    for batch in world.batches("scenes", columns):
        for row in batch.to_pylist():
            if row["status"] != "ok":
                continue
            salience = _salience(row) if with_salience else ()
            scene = Scene.from_json(row["scene"])
            yield RenderedScene(row["scene_id"], row["twin_of"], scene, salience)


def most_objects(world: World) -> int:
    """The largest number of objects in a rendered scene; 1 if no scene is rendered (the check of
    splits reports that)."""
    most = 1
    for batch in world.batches("scenes", ["objects", "status"], 500):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                most = max(most, len(row["objects"]))
    return most


def _salience(row: Mapping[str, Any]) -> tuple[float, ...]:
    """The salience of each object: the square root of its visible share of the image, minus its
    distance from the middle (1 in a corner)."""
    width, height = row["width"], row["height"]
    salience = []
    for obj in row["objects"]:
        left, top, right, bottom = obj["amodal_box"]
        # A box outside the image has no area.
        box_area = max(0, right - left) * max(0, bottom - top)
        visible_share = box_area * obj["visible_fraction"] / (width * height)
        # The middle of the box, from -1 to 1 along each side of the image.
        x = (left + right) / width - 1
        y = (top + bottom) / height - 1
        distance = ((x * x + y * y) / 2) ** 0.5
        salience.append(visible_share**0.5 - distance)
    return tuple(salience)


class PlacedScene(NamedTuple):
    """A scene and the split to which a rule assigns it."""

    arrangement: Arrangement
    """The binding of each object, left object first."""
    facts: Facts
    """What is true of the scene."""
    relations: list[Fact]
    """The relations that hold between two objects."""
    placing: Placing
    """The split, and what the scene shows that is held out."""


def place_scene(scene: Scene, scene_id: str, rule: Rule) -> PlacedScene:
    """Apply a rule to a scene.

    Args:
        scene: Objects, camera and lamps.
        scene_id: Id of the scene in the world.
        rule: The rule that assigns scenes to splits.

    Returns:
        The scene's bindings and relations, and its split.
    """
    arrangement = _arrangement_of(scene, rule.holdout.kind)
    facts = Facts(scene, rule.vocabulary)
    relations = []
    for name in rule.vocabulary.pair_relations:
        holds = facts.holds[name]
        for i, j in product(range(len(facts)), repeat=2):
            if holds[i][j]:
                relations.append((i, name, j))
    placing = rule.place(arrangement, relations, scene_id)
    return PlacedScene(arrangement, facts, relations, placing)


def _arrangement_of(scene: Scene, kind: str) -> Arrangement:
    """The value of a kind and the category of each object."""
    return tuple((obj.attributes[kind], obj.category) for obj in scene.objects)


class TrainingContent(NamedTuple):
    """What training scenes show."""

    bindings: frozenset[Binding]
    """The bindings of all objects, as (value, category)."""
    triples: frozenset[Triple]
    """The relations between categories, as (category, relation, category)."""
    names: frozenset[tuple[str, str]]
    """All values and categories, as (kind, name)."""


def collect_training_content(
    world: World, rule: Rule, assigned: Mapping[str, Assigned] | None
) -> TrainingContent:
    """Read what the training scenes of a benchmark show.

    Args:
        world: the world; all of its rendered scenes are read.
        rule: assigns scenes to splits.
        assigned: the splits for which scenes were made, by scene_id; None to follow the rule.

    Returns:
        The content of all scenes of the split `train`.
    """
    bindings = set[Binding]()
    triples = set[Triple]()
    names = set[tuple[str, str]]()
    for scene_id, _, scene, _ in rendered_scenes(world, with_salience=False):
        if assigned is not None:
            # A scene whose assigned split is not `train` need not be placed.
            assignment = assigned.get(scene_id)
            if assignment is None or assignment.split != "train":
                continue
        placed = place_scene(scene, scene_id, rule)
        if assigned is None and placed.placing.split != "train":
            continue
        bindings.update(placed.arrangement)
        triples.update(named_triples(placed.arrangement, placed.relations))
        for category in placed.facts.categories:
            names.add((rule.vocabulary.category, category))
        for values in placed.facts.values:
            names.update(values.items())
    return TrainingContent(frozenset(bindings), frozenset(triples), frozenset(names))


@dataclass
class DescribedScene:
    """A scene of a benchmark. Objects are numbered from 0, from left to right."""

    scene_id: str
    """Id of the scene in the world."""
    facts: Facts
    """What is true of the scene."""
    split: str
    """The split of the benchmark that the scene is in."""
    held_out: tuple[bool, ...]
    """For each object, whether its binding is held out."""
    salience: tuple[float, ...] = ()
    """The salience of each object; empty if no protocol needs it."""
    twin: "DescribedScene | None" = None
    """The scene whose twin this scene is; None for other scenes."""
    tested_relations: frozenset[tuple[int, str, int]] | None = None
    """The held-out relations that the scene shows, as (object, relation, object); in the split
    `seen` of a rotation, those that another turn holds out. None if there are none: captions may
    then name any relation."""
    label_order: tuple[int, ...] = ()
    """The objects in the order of the label that the scene was made for (design gzsl); empty in
    other designs."""
    cluster: str = ""
    """The name of its cluster (`membership.cluster_of`)."""
    rung: Rung | None = None
    """Its step of a ladder; None in other worlds."""
    subgraph: Subgraph | None = None
    """The subgraph that contains all captions of the scene, for protocols that request this
    (COMPASS, section 3.1); None until it is drawn."""
    truths: dict[Form, Truth] = field(default_factory=dict)
    """Cache of `decide`: many items share their captions."""

    @cached_property
    def unique_objects(self) -> tuple[int, ...]:
        """The objects that are the only ones of their category, which captions can name without
        ambiguity."""
        categories = self.facts.categories
        n_objects = Counter(categories)
        return tuple(i for i, category in enumerate(categories) if n_objects[category] == 1)

    def decide(self, form: Form) -> Truth:
        """Whether a form is true of the scene: True, False, or None for undecided."""
        if form not in self.truths:
            self.truths[form] = decide(form, self.facts)
        return self.truths[form]

    def objects_fit_split(self, objects: Sequence[int]) -> bool:
        """Whether a caption about these objects is as familiar as the scene's split.

        Only `partial` restricts objects: some of them must be held out and some not.
        """
        if self.split != "partial" or not any(self.held_out):
            return True
        n_held_out = sum(self.held_out[i] for i in objects)
        return 0 < n_held_out < len(objects)


def changed_objects(scene: DescribedScene, twin: DescribedScene) -> list[int]:
    """Find the objects that differ between a scene and its twin.

    Args:
        scene: The scene.
        twin: The scene whose twin it is, or its twin.

    Returns:
        Their numbers; empty for a turn twin.
    """
    here, there = scene.facts, twin.facts
    changed = []
    for i in range(len(here)):
        is_same_category = here.categories[i] == there.categories[i]
        if not is_same_category or here.values[i] != there.values[i]:
            changed.append(i)
    return changed


def decide_view(form: Form, first: DescribedScene | None, second: DescribedScene) -> Truth:
    """Decide what a form says of two images.

    Args:
        form: A form with a view.
        first: The scene of the first image; None for a scene without a twin.
        second: The scene of the second image.

    Returns:
        True, False, or None if the camera is within VIEW_MARGIN of the border of two sides, or if
        the images do not have what the form needs.
    """
    if first is None:
        return None
    is_one_world = second is first or second.twin is first
    if form.view == FIRST_IMAGE:
        return second is first
    if form.view == SAME_SCENE:
        return is_one_world
    kind, _, value = str(form.view).partition(" ")
    here, there = first.facts.azimuth, second.facts.azimuth
    if not is_one_world or here is None or there is None:
        return None
    if kind == "turn":
        return (there - here) % 360 == float(value)
    # Several objects of the category have sides of their own, and one without a front has none.
    objects = second.facts.fitting(form.objects[0])
    if len(objects) != 1:
        return None
    bearing = second.facts.camera_bearings[objects[0]]
    if bearing is None:
        return None
    # How far the camera is from the middle of the side, which is 90 degrees broad.
    off = abs(math.remainder(bearing - _BEARING_OF_SIDE[value], 360))
    if abs(off - 45) < VIEW_MARGIN:
        return None
    return off < 45


VIEW_MARGIN = 10.0
"""Degrees around the border of two sides of an object within which a camera is on neither."""
_BEARING_OF_SIDE = {"front": 0, "left": 90, "behind": 180, "right": -90}
"""Degrees from the front of an object to each of its sides, to the left."""


def dosed_holdouts(
    world: World, vocabulary: Vocabulary, *, holdouts: Sequence[Holdout], dose_option: str
) -> list[Holdout]:
    """Give the turns of a rotation the doses of `--dose`, chosen among the rendered scenes of a
    world.

    Args:
        world: the world.
        vocabulary: of the world.
        holdouts: the turns.
        dose_option: the value of `--dose`, such as "0,1,3,10".

    Returns:
        The turns with doses.

    Raises:
        UserError: the doses are malformed, the design is another one, or the world has too few
            training scenes.
    """
    doses = parse_doses(dose_option)
    kind = holdouts[0].kind
    scenes: list[tuple[str, Arrangement]] = []
    for row in rendered_scenes(world, with_salience=False):
        scenes.append((row.scene_id, _arrangement_of(row.scene, kind)))
    return [
        with_doses(holdout=holdout, doses=doses, vocabulary=vocabulary, scenes=scenes)
        for holdout in holdouts
    ]


def evaluated_scenes(
    world: World, vocabulary: Vocabulary, holdouts: Sequence[Holdout]
) -> list[EvaluatedScenes]:
    """Read the rendered scenes on which the main result of each design rests.

    Args:
        world: the world.
        vocabulary: of the world.
        holdouts: the holdouts of one or several designs.

    Returns:
        For each design, the scenes of the split that decides its main result.
    """
    rules = [design_of(holdout).rule(vocabulary, holdout) for holdout in holdouts]
    designs: dict[str, EvaluatedScenes] = {}
    for holdout in holdouts:
        designs.setdefault(design_name(holdout), empty_scenes(holdout, vocabulary))
    for scene_id, _, scene, _ in rendered_scenes(world, with_salience=False):
        for block, rule in enumerate(rules):
            design = designs[design_name(rule.holdout)]
            placed = place_scene(scene, scene_id, rule)
            if placed.placing.split == design.split:
                cluster = cluster_of(placed.arrangement, placed.placing.triples)
                design.add(block, cluster, placed.arrangement)
    return list(designs.values())
