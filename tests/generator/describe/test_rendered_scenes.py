from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.describe.scenes import _salience, most_objects, rendered_scenes


def test_every_rendered_scene_is_read_in_the_order_of_the_table(rendered: Path) -> None:
    world = Dataset.open(rendered).world
    found = list(rendered_scenes(world, with_salience=True))
    assert [scene.scene_id for scene in found] == world.scenes["scene_id"].to_pylist()
    assert all(len(scene.salience) == len(scene.scene.objects) for scene in found)
    assert {scene.salience for scene in rendered_scenes(world, with_salience=False)} == {()}
    assert most_objects(world) == 2


def test_large_central_visible_objects_are_salient() -> None:
    def salience(box: list[int], visible: float = 1.0) -> float:
        return _salience(
            {"width": 100, "height": 100, "objects": [{"amodal_box": box, "visible_fraction_estimate": visible}]}
        )[0]

    assert salience([0, 0, 100, 100]) == pytest.approx(1.0)
    assert salience([25, 25, 75, 75]) == pytest.approx(0.5)
    assert salience([25, 25, 75, 75], 0.25) == pytest.approx(0.25)
    assert salience([100, 100, 100, 100]) == pytest.approx(-1.0)
