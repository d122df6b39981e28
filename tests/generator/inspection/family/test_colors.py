"""Colours under the lights of a family, against Lambert's law."""

import math

import pytest

from generator.inspection.family.colors import light_on_ball, too_close
from generator.vocabulary.schema import read_vocabulary


def test_light_from_the_camera_falls_on_a_ball_as_lambert_says() -> None:
    clevr = read_vocabulary("clevr")
    sun = clevr.lamps["sun"].model_copy(update={"energy": math.pi, "color": (1.0, 1.0, 1.0)})
    away = tuple(p - t for p, t in zip(clevr.camera.position, clevr.camera.target, strict=True))
    lit = clevr.model_copy(update={"sky": 0.0, "lamps": {"sun": sun.model_copy(update={"position": away})}})
    assert light_on_ball(lit, "studio").mean() == pytest.approx(2 / 3, rel=0.02)


def test_colours_are_closer_in_the_dark() -> None:
    clevr = read_vocabulary("clevr")
    assert not list(too_close(clevr))
    dark = clevr.model_copy(update={"sky": 0.001, "lamps": {}})
    assert len(list(too_close(dark))) > 20
