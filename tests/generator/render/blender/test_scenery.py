"""Landscapes: ground, water, rooms and props where they are declared, and what they are built
from."""

from typing import Any, get_args

import numpy as np
import pytest

from generator.vocabulary.environments import PropType, color_of
from generator.vocabulary.materials import FloorSpec, WallSpec
from generator.vocabulary.schema import read_vocabulary

PUG = read_vocabulary("pug")


def sheets(name: str) -> list[Any]:
    from generator.render.blender.terrain import Terrain

    terrain = Terrain(PUG.environments[name], 10.0)
    (ground, faces), colors = terrain.sheet()
    return [ground, faces, colors, terrain.water()[0][0], terrain.half_breadth(20.0)]


def test_the_ground_is_flat_near_the_origin_and_hilly_behind(in_blender: Any) -> None:
    ground, faces, colors, _, half = in_blender(sheets, "mountains")
    vertices = np.array(ground)
    near = np.abs(vertices[:, 1]) < 5
    assert near.sum() > 100
    assert np.abs(vertices[near, 2]).max() < 1e-9
    assert vertices[:, 2].max() > 1
    assert len(colors) == len(vertices)
    assert np.max(faces) == len(vertices) - 1
    assert half == 8 + 0.8 * 30


def relief_colors(colors: list[str]) -> list[Any]:
    from generator.render.blender.terrain import _color_at

    return [_color_at(colors, share) for share in (-1.0, 0.0, 0.25, 0.5, 1.0, 2.0)]


def test_a_relief_goes_through_its_colors_from_the_lowest_place_to_the_highest(
    in_blender: Any,
) -> None:
    first, second, third = map(color_of, names := ("#101010", "#5080c0", "#ffffff"))
    between = tuple((a + b) / 2 for a, b in zip(first, second, strict=True))
    colors_by_share = in_blender(relief_colors, names)
    np.testing.assert_allclose(colors_by_share, [first, first, between, second, third, third])
    assert in_blender(relief_colors, names[:1]) == [list(first)] * 6
    assert in_blender(relief_colors, []) == [None] * 6


def test_water_lies_below_the_ground(in_blender: Any) -> None:
    name = next(name for name, environment in PUG.environments.items() if environment.water)
    water = np.array(in_blender(sheets, name)[3])
    assert (water[:, 2] < 0).all()
    dry = next(name for name, environment in PUG.environments.items() if not environment.water)
    assert in_blender(sheets, dry)[3] == []


ROOM = {"distance": 9.0, "breadth": 16.0, "height": 6.0, "colors": ["#59626e", "#b4bdc8"]}


def panels() -> list[Any]:
    from generator.base.streams import Stream
    from generator.render.blender.room import build_room
    from generator.vocabulary.environments import RoomSpec

    return [mesh[0] for mesh, _ in build_room(RoomSpec.model_validate(ROOM), 12.0, Stream("room"))]


def test_walls_stand_where_they_are_declared(in_blender: Any) -> None:
    vertices_by_panel = [np.array(panel) for panel in in_blender(panels)]
    vertices = np.concatenate(vertices_by_panel)
    assert abs(vertices[:, 2].max() - 6) < 0.1
    assert abs(np.abs(vertices[:, 0]).max() - 8.5) < 0.1
    assert vertices[:, 1].min() > -12 - 0.1
    middle = [
        panel
        for panel in vertices_by_panel
        if panel[:, 0].min() < 0.5 < panel[:, 0].max()
        and panel[:, 2].min() < 3.3 < panel[:, 2].max()
    ]
    assert not middle  # one looks through the window there


def built(prop_type: str, seed: int) -> list[Any]:
    from generator.base.streams import Stream
    from generator.render.blender.props import build_prop

    return build_prop(prop_type, ["#808080", "#404040"], Stream(seed))


@pytest.mark.parametrize("prop_type", get_args(PropType))
def test_a_prop_is_about_a_metre_high_and_stands_on_the_ground(
    in_blender: Any, prop_type: str
) -> None:
    one, same, other = (in_blender(built, prop_type, seed) for seed in (0, 0, 1))
    assert one == same != other
    vertices = np.concatenate([mesh[0] for mesh, _ in one])
    assert 0.5 < vertices[:, 2].max() < 1.4
    assert -0.5 < vertices[:, 2].min() < 0.2
    assert all(0 <= channel <= 1 for _, color in one for channel in color)


WALL = WallSpec(distance=10.0, direction=90.0, breadth=30.0, bend=4.0, rise=2.0, height=8.0)


def floor(spec: dict[str, Any]) -> list[Any]:
    """Vertices and area of a floor."""
    from generator.render.blender.landscape import build_floor

    mesh = build_floor(FloorSpec.model_validate(spec))
    assert len(mesh.materials) == 1
    return [[list(v.co) for v in mesh.vertices], sum(face.area for face in mesh.polygons)]


def test_a_plane_lies_at_the_height_of_the_ground(in_blender: Any) -> None:
    vertices, area = in_blender(floor, FloorSpec().model_dump())
    plane = np.array(vertices)
    assert area == pytest.approx(100 * 100)
    assert plane[:, 2].tolist() == [0] * 4
    assert np.ptp(plane, axis=0).tolist() == [100, 100, 0]


def test_a_wall_rises_where_it_is_declared(in_blender: Any) -> None:
    vertices, area = in_blender(floor, FloorSpec(wall=WALL).model_dump())
    sheet = np.array(vertices)
    np.testing.assert_allclose(
        area, 30 * np.linalg.norm(np.diff(sheet[::2, 1:], axis=0), axis=1).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(sheet[:, 1].max(), 10, atol=1e-5)
    np.testing.assert_allclose(sheet[:, 2].max(), 10, atol=1e-5)  # rise and height
    np.testing.assert_allclose(np.ptp(sheet[:, 0]), 30, atol=1e-5)
    assert np.abs(sheet[sheet[:, 1] < 6 - 1e-4, 2]).max() < 1e-6  # flat up to the bend
    assert (np.diff(sheet[::2, 2]) >= 0).all()
