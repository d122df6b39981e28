"""How many scenes, clusters and bindings a split has over rendered images."""

from collections.abc import Iterator

from generator.dataset.reader import World
from generator.describe.placed_scene import place_scene
from generator.describe.rendered_scenes import rendered_scenes
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Arrangement, cluster_of
from generator.holdout.request import design_of
from generator.plan.power import SplitSize, told_split
from generator.vocabulary.schema import parse_vocabulary


def rendered_size(world: World, holdout: Holdout) -> SplitSize:
    """Of the split whose accuracy is the claim (`told_split`), the scenes that a holdout gives it over a world."""
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    rule = design_of(holdout).rule(vocabulary, holdout)
    split = told_split(rule)

    def shown() -> Iterator[tuple[str, Arrangement]]:
        for scene_id, _, scene, _ in rendered_scenes(world, with_salience=False):
            placed = place_scene(scene, scene_id, rule)
            if placed.placing.split == split:
                yield cluster_of(placed.arrangement, placed.placing.triples), placed.arrangement

    return SplitSize.of(split, shown())
