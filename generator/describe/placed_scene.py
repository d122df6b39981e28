"""Where a rendered scene goes: its arrangement and relations, and the split that a rule gives it."""

from typing import NamedTuple

from generator.holdout.membership import Arrangement, Fact, Placing, Rule
from generator.language.truth import Facts
from generator.scene.scene import Scene


class PlacedScene(NamedTuple):
    """A scene as a rule sees it: its bindings, left object first, the relations that hold, and where it goes."""

    arrangement: Arrangement
    facts: Facts
    relations: list[Fact]
    placing: Placing


def place_scene(scene: Scene, scene_id: str, rule: Rule) -> PlacedScene:
    """Apply a rule to a scene."""
    arrangement = tuple((thing.attributes[rule.holdout.kind], thing.category) for thing in scene.objects)
    facts = Facts(scene, rule.vocabulary)
    objects = range(len(facts))
    relations = [
        (i, name, j) for name in rule.vocabulary.relations for i in objects for j in objects if facts.holds[name][i][j]
    ]
    return PlacedScene(arrangement, facts, relations, rule.place(arrangement, relations, scene_id))
