"""Positions of planned objects: on the ground, and near the middle of the top that carries them."""

from generator.base.streams import Stream
from generator.placement.ground import Ground
from generator.placement.scenes import draw_positions
from generator.scene.layouts import Layout, slip
from generator.scene.scene import Camera
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr-relations")
CAMERA = Camera(VOCABULARY.camera.position, VOCABULARY.camera.target, VOCABULARY.camera.lens, VOCABULARY.camera.sensor)
VALUES = {"color": "red", "material": "rubber", "size": "small"}
GROUND = Ground(CAMERA, VOCABULARY, 320, 240)


def test_an_object_that_rests_stands_on_the_top_of_its_carrier() -> None:
    objects = [("cube", VALUES), ("sphere", VALUES), ("cone", VALUES)]
    top = VOCABULARY.top("cube", VALUES)
    assert top is not None
    for n in range(20):
        found = draw_positions(objects, Layout((0, 1, 2), (None, 0, None), (0, 0, 1)), GROUND, Stream("positions", n))
        assert found is not None
        cube, sphere, cone = found
        assert (cube[2], sphere[2], cone[2]) == (0, round(top[0], 6), 0)
        # the camera looks along y, so both ground directions are axes of the world
        assert max(abs(sphere[0] - cube[0]), abs(sphere[1] - cube[1])) <= slip(VOCABULARY) + 1e-6


def test_a_full_ground_has_no_positions() -> None:
    objects = [("cube", {**VALUES, "size": "large"})] * 40
    assert draw_positions(objects, Layout(tuple(range(40))), GROUND, Stream("positions", 0)) is None
