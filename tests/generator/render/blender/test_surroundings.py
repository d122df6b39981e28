"""Landscapes all around: nothing stands or rises between a camera and the objects, on any side."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from generator.base.streams import Stream
from generator.vocabulary.schema import read_vocabulary

PUG = read_vocabulary("pug")
AROUND = [name for name, place in PUG.environments.items() if place.around]


def ground_and_water(name: str) -> list[Any]:
    from generator.render.blender.surroundings import Sight, Surroundings

    place = PUG.environments[name]
    terrain = Surroundings(place, Sight.in_place(PUG, place, 0.0), 0.0)
    (vertices, faces), colors = terrain.sheet()
    (water, _), _ = terrain.water()
    return [vertices, faces, len(colors), water]


@pytest.mark.parametrize("name", ["mountains", "island"])
def test_the_ground_is_a_closed_disc_flat_as_far_as_the_cameras(in_blender: Any, name: str) -> None:
    vertices, faces, n_colors, water = in_blender(ground_and_water, name)
    points = np.array(vertices)
    radii = np.hypot(points[:, 0], points[:, 1])
    assert n_colors == len(points)
    assert np.abs(points[radii < 12, 2]).max() < 1e-9
    assert points[:, 2].max() > 1
    # Every edge but those of the rim belongs to two faces, which lie counter-clockwise.
    edges = [(a, b) for face in faces for a, b in zip(face, [*face[1:], face[0]], strict=True)]
    distinct = set(edges)
    assert len(distinct) == len(edges)
    rim = {edge for edge in distinct if edge[::-1] not in distinct}
    assert all(radii[a] == pytest.approx(radii.max()) for a, _ in rim)
    assert bool(water) == (name == "island")
    if water:
        assert np.hypot(*np.array(water)[:, :2].T).min() > 12


def places(name: str) -> list[Any]:
    from generator.render.blender.surroundings import Sight, draw_place

    place = PUG.environments[name]
    sight = Sight.in_place(PUG, place, 0.0)
    props_at = []
    for group, props in place.props.items():
        stream = Stream("test", group)
        for _ in range(50):
            size = stream.uniform(*props.size)
            props_at.append([size, *draw_place(props, size, sight=sight, stream=stream)])
    return [[sight.distance, sight.height, sight.reach], props_at]


@pytest.mark.parametrize("name", AROUND)
def test_no_prop_hides_an_object_from_any_side(in_blender: Any, name: str) -> None:
    (distance, height, reach), props_at = in_blender(places, name)
    angles = []
    for size, right, ahead, facing in props_at:
        away = math.hypot(right, ahead)
        angles.append(math.atan2(ahead, right))
        # It faces the middle: at angle 90 degrees, straight ahead, it is not turned.
        assert math.cos(facing - angles[-1] + math.pi / 2) == pytest.approx(1)
        if away > distance + 1:
            continue
        assert size <= 0.6
        # From the camera before it, the line of sight over its top ends before the objects.
        lands = (distance - away) * height / (height - size)
        assert lands <= distance - reach + 1e-6
    quarters = np.histogram(angles, bins=4, range=(-math.pi, math.pi))[0]
    assert quarters.min() > len(props_at) / 8


def shades() -> list[bool]:
    from generator.render.blender.surroundings import Sight

    noon = Sight.in_place(PUG, PUG.environments["city"], 0.0)
    # The sun of pug stands at (-5, -7, 8): to the left, and behind the camera at azimuth 0.
    right, ahead = -5 / math.hypot(5, 7), -7 / math.hypot(5, 7)
    return [
        noon.is_shaded_by(away * right, away * ahead, size)
        for away, size in ((10, 10.0), (10, 0.3), (60, 10.0), (-10, 10.0))
    ]


def test_only_high_things_towards_the_sun_shade_the_objects(in_blender: Any) -> None:
    assert in_blender(shades) == [True, False, False, False]


def unshading_places(name: str, yaw: float) -> list[Any]:
    from generator.render.blender.surroundings import Sight, draw_place

    place = PUG.environments[name]
    sight = Sight.in_place(PUG, place, yaw)
    props_at = []
    for group, props in place.props.items():
        stream = Stream("test", group)
        for _ in range(100):
            size = stream.uniform(*props.size)
            right, ahead, _ = draw_place(props, size, sight=sight, stream=stream)
            if not sight.is_shaded_by(right, ahead, size):
                props_at.append([size, right, ahead])
    return [sight.reach, props_at]


@pytest.mark.parametrize("yaw", [0.0, 60.0, 120.0])
def test_no_shadow_falls_on_objects_wherever_the_sun_stands(in_blender: Any, yaw: float) -> None:
    reach, props_at = in_blender(unshading_places, "city", yaw)
    size, right, ahead = np.array(props_at).T
    sun = PUG.environments["city"].at_hour(PUG.lamps["sun"], yaw)
    assert len(props_at) > 100
    # The corners of the cube in which the position of the sun is drawn.
    for corner in product((-sun.jitter, sun.jitter), repeat=3):
        x, y, z = np.add(sun.position, corner)
        length = math.hypot(x, y)
        # From the foot of a prop, along its shadow: where it is nearest to the origin.
        along = np.clip((right * x + ahead * y) / length, 0, size * length / z)
        nearest = np.hypot(right - along * x / length, ahead - along * y / length)
        assert (nearest > reach).all()
