"""A world and the images of a benchmark of others are read alike."""

from pathlib import Path

from evaluator.benchmarks.pictures import FileBytes, Picture, Pictures
from generator.dataset.reader import Images, World


def test_worlds_and_pictures_give_images_and_digests(world: World, tmp_path: Path) -> None:
    scene = world.scenes["scene_id"][0].as_py()
    path = world.image_path(scene)
    both: list[Images] = [world, Pictures(tmp_path, {scene: Picture(FileBytes(path))})]
    first, second = both
    assert first.image(scene).tobytes() == second.image(scene).tobytes()
    assert first.image_digest(scene) == second.image_digest(scene)
    assert first.digest != second.digest
