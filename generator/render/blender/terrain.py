"""Builds the ground of a landscape: a sheet, flat where objects stand, with hills and water behind."""

import math
from collections.abc import Sequence

from mathutils import noise

from generator.render.blender.meshes import Color, PolygonMesh
from generator.vocabulary.environments import Environment, ReliefSpec, color_of

_COLUMNS = 72
_NEAR_STEP, _NEAR_END, _GROWTH, _FAR = 0.7, 12.0, 1.055, 500.0
_OPENING = 0.8  # half the breadth of the sheet, over the distance from the camera
_MARGIN = 8.0  # metres added to that half breadth, and the length of the sheet behind the camera
_WATER = -0.12  # height of its surface, metres
_OCTAVES = 5
_ASIDE = 17.3  # metres to the right for each degree: hills that far apart have nothing in common


class Terrain:
    """Heights and colours of the ground by place: metres to the right of the origin and ahead of it, as the camera
    looks.

    `distance` is that of the camera from the origin, metres. In each direction `yaw`, degrees, the hills are others.
    """

    def __init__(self, environment: Environment, distance: float, yaw: float = 0.0):
        self._environment, self._distance, self._elsewhere = environment, distance, _ASIDE * yaw

    def half_breadth(self, ahead: float) -> float:
        """Half the breadth of the sheet at a distance ahead of the origin, metres."""
        return _MARGIN + _OPENING * max(0.0, ahead + self._distance)

    def at(self, right: float, ahead: float) -> tuple[float, Color]:
        """Height in metres, and colour; transparent where the ground shows its own colour."""
        height, color = 0.0, (0.0, 0.0, 0.0, 0.0)
        for relief in self._environment.reliefs.values():
            rise = _smooth((ahead - relief.begins) / (relief.full - relief.begins))
            if rise:
                shape = _shape(relief, right + self._elsewhere, ahead)
                height += relief.height * rise * shape
                color = _over(color, _colored(relief.colors, shape), rise)
        if self._environment.water:
            shore = self._environment.water.begins + 1.5 * noise.noise(
                (0.15 * (right + self._elsewhere), 0.1 * ahead, 0.0)
            )
            height -= 0.6 * _smooth((ahead - shore + 2) / 4) * (height < 0.5)
        return height, self._hazy(color, ahead)

    def sheet(self) -> tuple[PolygonMesh, list[Color]]:
        """The mesh of the ground, and a colour for each vertex."""
        rows = _rows(-self._distance - _MARGIN)
        places = [(self.half_breadth(y) * (2 * i / _COLUMNS - 1), y) for y in rows for i in range(_COLUMNS + 1)]
        found = [self.at(x, y) for x, y in places]
        vertices = [(x, y, height) for (x, y), (height, _) in zip(places, found, strict=True)]
        return (vertices, _quads(len(rows), _COLUMNS + 1)), [color for _, color in found]

    def water(self) -> tuple[PolygonMesh, list[Color]]:
        """The mesh of the water's surface, and a colour for each vertex; empty where there is no water."""
        if self._environment.water is None:
            return ([], []), []
        rows = [y for y in _rows(-self._distance) if y > self._environment.water.begins - 4]
        own = (*color_of(self._environment.water.color), 1.0)
        vertices = [(side * self.half_breadth(y), y, _WATER) for y in rows for side in (-1, 1)]
        colors = [self._hazy(own, y) for y in rows for _ in (-1, 1)]
        return (vertices, _quads(len(rows), 2)), colors

    def _hazy(self, color: Color, ahead: float) -> Color:
        sky = self._environment.sky
        if sky is None or sky.haze is None or ahead <= 0:
            return color
        return _over(color, color_of(sky.horizon), 1 - math.exp(-ahead / sky.haze))


def _rows(first: float) -> list[float]:
    rows = [first]
    while rows[-1] < _FAR:
        rows.append(rows[-1] + _NEAR_STEP * max(1.0, rows[-1] * (_GROWTH - 1) / _NEAR_STEP))
    return rows


def _quads(rows: int, columns: int) -> list[list[int]]:
    return [
        [i, i + 1, i + columns + 1, i + columns]
        for row in range(rows - 1)
        for i in range(row * columns, (row + 1) * columns - 1)
    ]


def _shape(relief: ReliefSpec, right: float, ahead: float) -> float:
    """Height of a relief over its greatest height, about 0..1."""
    place = (right / relief.breadth, ahead / relief.breadth, relief.height)
    round_one = 0.5 + 0.5 * noise.noise(place)
    if not relief.ridges:
        return round_one
    sharp = 1 - abs(noise.fractal(place, 1.0, 2.0, _OCTAVES))
    return (1 - relief.ridges) * round_one + relief.ridges * sharp * sharp


def _colored(colors: Sequence[str], share: float) -> tuple[float, float, float] | None:
    """The colour at a share 0..1 of the way from the first colour to the last; None without colours."""
    if not colors:
        return None
    at = min(max(share, 0.0), 1.0) * (len(colors) - 1)
    low = min(int(at), len(colors) - 2) if len(colors) > 1 else 0
    first, second = color_of(colors[low]), color_of(colors[min(low + 1, len(colors) - 1)])
    t = _smooth((at - low - 0.3) / 0.4)
    return tuple(a + t * (b - a) for a, b in zip(first, second, strict=True))  # type: ignore[return-value]


def _over(under: Color, color: tuple[float, float, float] | None, share: float) -> Color:
    """Alpha blending: a colour that covers a share of what is under it."""
    if color is None or share <= 0:
        return under
    cover = share + under[3] * (1 - share)
    mixed = [(share * c + (1 - share) * under[3] * u) / cover for c, u in zip(color, under, strict=False)]
    return mixed[0], mixed[1], mixed[2], cover


def _smooth(t: float) -> float:
    t = min(max(t, 0.0), 1.0)
    return t * t * (3 - 2 * t)
