"""Builds a room of panels: two side walls, and a back wall with a window."""

from collections.abc import Iterator

from generator.base.streams import Stream
from generator.render.blender.mesh_builder import PolygonMesh
from generator.render.blender.primitives import box
from generator.vocabulary.environments import RoomSpec, color_of

_PANEL = 2.0  # metres
_GAP = 0.08
_SILL, _LINTEL, _REVEAL = 0.28, 0.85, 0.1  # of the window: shares of the height and of the breadth
_STRIP = (0.85, 0.95, 1.0)


def build_room(
    room: RoomSpec, behind: float, stream: Stream
) -> Iterator[tuple[PolygonMesh, tuple[float, float, float]]]:
    """The room's meshes with their colours, in metres to the right, ahead and up of the origin; it begins `behind` it."""
    dark, light = (color_of(color) for color in room.colors)
    half, height = room.breadth / 2, room.height
    length = room.distance + behind
    for side in (-1, 1):
        yield box((side * (half + 0.3), room.distance - length / 2, height / 2), (0.4, length, height)), dark
        for n in range(int(length / _PANEL)):
            ahead = room.distance - _PANEL * (n + 0.5)
            yield from _panels(side * half, ahead, height, light, stream)
            yield box((side * (half - 0.1), ahead + _PANEL / 2, height / 2), (0.35, 0.18, height)), dark
    yield from _back(room, dark, light, stream)


def _panels(
    right: float, ahead: float, height: float, color: tuple[float, float, float], stream: Stream
) -> Iterator[tuple[PolygonMesh, tuple[float, float, float]]]:
    """The panels of a side wall above one another, and a strip of light between them."""
    for low, high in ((0.0, 0.3), (0.3, 0.62), (0.68, 1.0)):
        shade = stream.uniform(0.75, 1)
        size = (0.1, _PANEL - _GAP, (high - low) * height - _GAP)
        yield (
            box((right, ahead, (low + high) / 2 * height), size),
            (color[0] * shade, color[1] * shade, color[2] * shade),
        )
    yield box((right, ahead, 0.65 * height), (0.12, _PANEL - 4 * _GAP, 0.03 * height)), _STRIP


def _back(
    room: RoomSpec, dark: tuple[float, float, float], light: tuple[float, float, float], stream: Stream
) -> Iterator[tuple[PolygonMesh, tuple[float, float, float]]]:
    sill, lintel, height, ahead = _SILL * room.height, _LINTEL * room.height, room.height, room.distance
    inner = room.breadth * (1 - 2 * _REVEAL)
    yield box((0, ahead + 0.3, sill / 2), (room.breadth, 0.4, sill)), dark
    yield box((0, ahead + 0.3, (lintel + height) / 2), (room.breadth, 0.4, height - lintel)), dark
    for side in (-1, 1):
        right = side * room.breadth * (1 - _REVEAL) / 2
        yield box((right, ahead + 0.3, height / 2), (room.breadth * _REVEAL, 0.4, height)), dark
    n = int(room.breadth / _PANEL)
    for i in range(n):
        right, shade = room.breadth * ((i + 0.5) / n - 0.5), stream.uniform(0.75, 1)
        own = (light[0] * shade, light[1] * shade, light[2] * shade)
        yield box((right, ahead + 0.05, sill / 2), (room.breadth / n - _GAP, 0.1, sill - _GAP)), own
    for i in range(5):
        yield box((inner * (i / 4 - 0.5), ahead + 0.1, (sill + lintel) / 2), (0.25, 0.3, lintel - sill)), light
    yield box((0, ahead + 0.05, sill), (room.breadth, 0.3, 0.12)), _STRIP
