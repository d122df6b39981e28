"""Reads the rendered scenes of a world for describing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from generator.dataset.reader import World
from generator.holdout.doses import parse_doses, with_doses
from generator.holdout.holdout import Binding, Holdout, Triple
from generator.holdout.membership import Arrangement, Fact, Placing, Rule, cluster_of, named_triples
from generator.holdout.request import design_of
from generator.language.form import Form
from generator.language.truth import Facts, Truth, decide
from generator.language.walk import Subgraph
from generator.plan.evaluated import EvaluatedScenes, design_name, empty_scenes
from generator.plan.store import Assigned
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary, parse_vocabulary


class RenderedScene(NamedTuple):
    """A rendered scene and the salience of its objects (empty unless requested)."""

    scene_id: str
    twin_of: str | None
    scene: Scene
    salience: tuple[float, ...]


def rendered_scenes(world: World, with_salience: bool) -> Iterator[RenderedScene]:
    """Every rendered scene, in the order of the table; a twin comes right after its scene."""
    columns = [
        "scene_id",
        "twin_of",
        "scene",
        "status",
        "width",
        "height",
        *(["objects"] if with_salience else []),
    ]
    for batch in world.batches("scenes", columns):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                salience = _salience(row) if with_salience else ()
                yield RenderedScene(
                    row["scene_id"], row["twin_of"], Scene.from_json(row["scene"]), salience
                )


def most_objects(world: World) -> int:
    """The largest number of objects in a rendered scene; 1 if no scene is rendered (the check of
    splits reports that)."""
    return max(
        (
            len(row["objects"])
            for batch in world.batches("scenes", ["objects", "status"], 500)
            for row in batch.to_pylist()
            if row["status"] == "ok"
        ),
        default=1,
    )


def _salience(row: Mapping[str, Any]) -> tuple[float, ...]:
    """The salience of each object: the square root of its visible share of the image, minus its
    distance from the middle (1 in a corner)."""
    width, height = row["width"], row["height"]
    found = []
    for seen in row["objects"]:
        left, top, right, bottom = seen["amodal_box"]
        area = (
            max(0, right - left)
            * max(0, bottom - top)
            * seen["visible_fraction"]
            / (width * height)
        )
        x, y = (left + right) / width - 1, (top + bottom) / height - 1
        found.append(area**0.5 - ((x * x + y * y) / 2) ** 0.5)
    return tuple(found)


class PlacedScene(NamedTuple):
    """A scene and its split: its bindings (left object first), its facts, the relations that hold,
    and its placing."""

    arrangement: Arrangement
    facts: Facts
    relations: list[Fact]
    placing: Placing


def place_scene(scene: Scene, scene_id: str, rule: Rule) -> PlacedScene:
    """Apply a rule to a scene."""
    arrangement = tuple(
        (thing.attributes[rule.holdout.kind], thing.category) for thing in scene.objects
    )
    facts = Facts(scene, rule.vocabulary)
    objects = range(len(facts))
    relations = [
        (i, name, j)
        for name in rule.vocabulary.pair_relations
        for i in objects
        for j in objects
        if facts.holds[name][i][j]
    ]
    return PlacedScene(arrangement, facts, relations, rule.place(arrangement, relations, scene_id))


class Trained(NamedTuple):
    """What training scenes show: bindings, relation triples, and names as (kind, name)."""

    bindings: frozenset[Binding]
    triples: frozenset[Triple]
    names: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, world: World, rule: Rule, assigned: Mapping[str, Assigned] | None) -> "Trained":
        """Collect the content of the scenes that the rule assigns to `train`, or with `assigned`
        that were made for `train`."""
        bindings, triples, names = set[Binding](), set[Triple](), set[tuple[str, str]]()
        for scene_id, _, scene, _ in rendered_scenes(world, with_salience=False):
            if assigned is not None and not (
                (made_for := assigned.get(scene_id)) and made_for.split == "train"
            ):
                continue
            placed = place_scene(scene, scene_id, rule)
            if assigned is not None or placed.placing.split == "train":
                bindings.update(placed.arrangement)
                triples.update(named_triples(placed.arrangement, placed.relations))
                names.update(
                    (rule.vocabulary.category, category) for category in placed.facts.categories
                )
                names.update(pair for values in placed.facts.values for pair in values.items())
        return cls(frozenset(bindings), frozenset(triples), frozenset(names))


@dataclass
class DescribedScene:
    """A scene of a benchmark. Objects are numbered from 0, from left to right."""

    scene_id: str
    facts: Facts
    split: str
    held_out: tuple[bool, ...]
    """For each object, whether its binding is held out."""
    salience: tuple[float, ...] = ()
    """The salience of each object; empty if no protocol needs it."""
    twin: "DescribedScene | None" = None
    """The scene whose twin this scene is."""
    held_out_relations: frozenset[tuple[int, str, int]] | None = None
    """The held-out relations that the scene shows, as (object, relation, object). None if the
    holdout has no relations or the scene shows none of them."""
    label_order: tuple[int, ...] = ()
    """The objects in the order of the label that the scene was made for (design gzsl)."""
    cluster: str = ""
    subgraph: Subgraph | None = None
    """The subgraph that contains all captions of the scene, for protocols that request this
    (COMPASS, section 3.1)."""
    truths: dict[Form, Truth] = field(default_factory=dict)
    """Cache of `decide`: many items share their captions."""

    @cached_property
    def unique_objects(self) -> tuple[int, ...]:
        """The objects that are the only ones of their category, which captions can name without
        ambiguity."""
        numbers = Counter(self.facts.categories)
        return tuple(
            i for i, category in enumerate(self.facts.categories) if numbers[category] == 1
        )

    def decide(self, form: Form) -> Truth:
        """Whether a form is true of the scene: True, False, or None for undecided."""
        try:
            return self.truths[form]
        except KeyError:
            truth = self.truths[form] = decide(form, self.facts)
            return truth

    def objects_fit_split(self, objects: Sequence[int]) -> bool:
        """Whether a caption about these objects is as familiar as the scene's split.

        Only `partial` restricts objects: some of them must be held out and some not.
        """
        if self.split != "partial" or not any(self.held_out):
            return True
        return 0 < sum(self.held_out[i] for i in objects) < len(objects)


def dosed_holdouts(
    world: World, vocabulary: Vocabulary, holdouts: Sequence[Holdout], dose_option: str
) -> list[Holdout]:
    """The turns of a rotation with the doses of `--dose`, chosen among the rendered scenes of a
    world.

    Raises UserError for malformed doses, other designs, and worlds with too few training scenes.
    """
    doses = parse_doses(dose_option)
    kind = holdouts[0].kind
    scenes: list[tuple[str, Arrangement]] = []
    for rendered in rendered_scenes(world, with_salience=False):
        arrangement = tuple(
            (thing.attributes[kind], thing.category) for thing in rendered.scene.objects
        )
        scenes.append((rendered.scene_id, arrangement))
    return [
        with_doses(holdout=holdout, doses=doses, vocabulary=vocabulary, scenes=scenes)
        for holdout in holdouts
    ]


def evaluated_scenes(world: World, holdouts: Sequence[Holdout]) -> list[EvaluatedScenes]:
    """For each design of these holdouts, the rendered scenes of the split that decides its main
    result."""
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    rules = [design_of(holdout).rule(vocabulary, holdout) for holdout in holdouts]
    designs: dict[str, EvaluatedScenes] = {}
    for holdout in holdouts:
        designs.setdefault(design_name(holdout), empty_scenes(holdout, vocabulary))
    for scene_id, _, scene, _ in rendered_scenes(world, with_salience=False):
        for block, rule in enumerate(rules):
            design = designs[design_name(rule.holdout)]
            placed = place_scene(scene, scene_id, rule)
            if placed.placing.split == design.split:
                design.add(
                    block,
                    cluster_of(placed.arrangement, placed.placing.triples),
                    placed.arrangement,
                )
    return list(designs.values())
