"""A rendered scene as a rule sees it."""

from pathlib import Path

from generator.dataset.reader import Dataset
from generator.describe.scenes import place_scene, rendered_scenes
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.vocabulary.schema import parse_vocabulary


def test_a_scene_is_placed_by_its_bindings_from_left_to_right(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    holdout = Holdout.from_dict(dataset.benchmark().holdout or {})
    rule = design_of(holdout).rule(vocabulary, holdout)
    recorded = {row["scene_id"]: row for row in dataset.world.scenes.to_pylist()}
    for scene_id, _, scene, _ in rendered_scenes(dataset.world, with_salience=False):
        placed = place_scene(scene, scene_id, rule)
        objects = recorded[scene_id]["objects"]
        assert list(placed.arrangement) == [(dict(each["attributes"])["color"], each["category"]) for each in objects]
        assert (0, "left", 1) in placed.relations
        assert (1, "left", 0) not in placed.relations
        assert placed.placing == rule.place(placed.arrangement, placed.relations, scene_id)
        assert len(placed.facts) == 2
