"""Builds the ground of a landscape: a sheet, flat where objects stand, with hills and water
behind."""

import math
from collections.abc import Sequence

from mathutils import noise

from generator.render.blender.meshes import Color, PolygonMesh, Rgb
from generator.vocabulary.environments import Environment, ReliefSpec, color_of

_COLUMNS = 72
"""Faces across the sheet of the ground."""
FAR = 500.0
"""Where the ground ends, metres ahead of the origin."""
_NEAR_STEP = 0.7
"""Length of a row of faces where objects stand, metres."""
_GROWTH = 1.055
"""Growth of rows far away, from row to row, since the camera sees them smaller."""
_OPENING = 0.8
"""Half the breadth of the sheet, over the distance from the camera."""
_MARGIN = 8.0
"""Metres added to that half breadth, and the length of the sheet behind the camera."""
WATER_LEVEL = -0.12
"""Height of the surface of water, metres."""
_OCTAVES = 5
"""Octaves of the noise of ridges."""
_ASIDE = 17.3
"""By how many metres the hills move to the right for each degree of the viewing direction. Hills so
far apart are unrelated, so that a model cannot learn a place as one picture."""


class Terrain:
    """Heights and colours of the ground at places: metres to the right of the origin and ahead, as
    the camera looks."""

    def __init__(self, environment: Environment, distance: float, yaw: float = 0.0):
        """Describe the ground of an environment.

        Args:
            environment: The environment.
            distance: Of the camera from the origin, metres.
            yaw: The viewing direction, degrees; each has other hills.
        """
        self._environment = environment
        self._distance = distance
        self._aside = _ASIDE * yaw

    def half_breadth(self, ahead: float) -> float:
        """Return half the breadth of the sheet at a distance ahead of the origin, metres."""
        return _MARGIN + _OPENING * max(0.0, ahead + self._distance)

    def at(self, right: float, ahead: float) -> tuple[float, Color]:
        """Compute the ground at a place.

        Args:
            right: Of the origin, metres.
            ahead: Of the origin, metres.

        Returns:
            Its height in metres, and its colour, which is transparent where the ground shows its
            own colour.
        """
        return self._at(right, ahead, ahead)

    def relief_begins(self, declared: float) -> float:
        """Return where a relief begins, metres."""
        return declared

    def shore_begins(self, declared: float) -> float:
        """Return where water begins, metres."""
        return declared

    def _at(self, right: float, ahead: float, away: float) -> tuple[float, Color]:
        """The ground at a place that counts as `away` metres from the objects."""
        height = 0.0
        color: Color = (0.0, 0.0, 0.0, 0.0)
        place_right = right + self._aside
        for relief in self._environment.reliefs.values():
            # A relief rises between `begins` and `full`.
            begins = self.relief_begins(relief.begins)
            rise = _smooth_step((away - begins) / (relief.full - relief.begins))
            if rise:
                shape = _relief_shape(relief, place_right, ahead)
                height += relief.height * rise * shape
                relief_color = _color_at(relief.colors, shape)
                color = _blend_over(color, relief_color, rise)
        if self._environment.water and height < 0.5:
            # The ground dips below the water behind a winding shore.
            bend = noise.noise((0.15 * place_right, 0.1 * ahead, 0.0))
            shore = self.shore_begins(self._environment.water.begins) + 1.5 * bend
            # From 2 metres before the shore to 2 metres behind it, by 0.6 metres.
            height -= 0.6 * _smooth_step((away - shore + 2) / 4)
        return height, self._add_haze(color, away)

    def sheet(self) -> tuple[PolygonMesh, list[Color]]:
        """Build the mesh of the ground, and a colour for each vertex."""
        rows = row_distances(-self._distance - _MARGIN)
        vertices = []
        colors = []
        for y in rows:
            half_breadth = self.half_breadth(y)
            for i in range(_COLUMNS + 1):
                # From one edge of the sheet to the other.
                x = half_breadth * (2 * i / _COLUMNS - 1)
                height, color = self.at(x, y)
                vertices.append((x, y, height))
                colors.append(color)
        return (vertices, _quads(len(rows), _COLUMNS + 1)), colors

    def water(self) -> tuple[PolygonMesh, list[Color]]:
        """Build the mesh of the water's surface, and a colour for each vertex; empty where there is
        no water."""
        if self._environment.water is None:
            return ([], []), []
        # The shore winds, and the ground hides the water before it.
        first = self._environment.water.begins - 4
        rows = [y for y in row_distances(-self._distance) if y > first]
        vertices = []
        colors = []
        for y in rows:
            color = self._water_color(y)
            for side in (-1, 1):
                x = side * self.half_breadth(y)
                vertices.append((x, y, WATER_LEVEL))
                colors.append(color)
        return (vertices, _quads(len(rows), 2)), colors

    def _water_color(self, away: float) -> Color:
        """The colour of the water at a distance from the objects, metres."""
        assert self._environment.water is not None
        return self._add_haze((*color_of(self._environment.water.color), 1.0), away)

    def _add_haze(self, color: Color, ahead: float) -> Color:
        """A colour blended with that of the horizon, more with the distance."""
        sky = self._environment.sky
        if sky is None or sky.haze is None or ahead <= 0:
            return color
        # What reaches the camera through haze decays exponentially.
        share_of_haze = 1 - math.exp(-ahead / sky.haze)
        return _blend_over(color, color_of(sky.horizon), share_of_haze)


def row_distances(first: float) -> list[float]:
    """Return the places of the rows of vertices ahead of the origin, metres, from `first` on."""
    rows = [first]
    while rows[-1] < FAR:
        last = rows[-1]
        growing_step = last * (_GROWTH - 1)
        rows.append(last + _NEAR_STEP * max(1.0, growing_step / _NEAR_STEP))
    return rows


def _quads(rows: int, columns: int) -> list[list[int]]:
    """The faces between neighbours of a grid of vertices, numbered row by row."""
    faces = []
    for row in range(rows - 1):
        for column in range(columns - 1):
            i = row * columns + column
            faces.append([i, i + 1, i + columns + 1, i + columns])
    return faces


def _relief_shape(relief: ReliefSpec, right: float, ahead: float) -> float:
    """Height of a relief over its greatest height, about 0..1."""
    place = (right / relief.breadth, ahead / relief.breadth, relief.height)
    hills = 0.5 + 0.5 * noise.noise(place)
    if not relief.ridges:
        return hills
    # Where fractal noise changes its sign, 1 - |noise| has a crease: a ridge.
    ridges = 1 - abs(noise.fractal(place, 1.0, 2.0, _OCTAVES))
    return (1 - relief.ridges) * hills + relief.ridges * ridges * ridges


def _color_at(colors: Sequence[str], share: float) -> Rgb | None:
    """The colour at a share 0..1 of the way from the first colour to the last; None without
    colours."""
    if not colors:
        return None
    last = len(colors) - 1
    position = min(max(share, 0.0), 1.0) * last
    # The last colour itself counts as the end of the last stretch.
    low = min(int(position), max(last - 1, 0))
    high = min(low + 1, last)
    # Colours stay pure near their own place.
    t = _smooth_step((position - low - 0.3) / 0.4)
    low_color, high_color = color_of(colors[low]), color_of(colors[high])
    red, green, blue = (
        start + t * (end - start) for start, end in zip(low_color, high_color, strict=True)
    )
    return red, green, blue


def _blend_over(under: Color, color: Rgb | None, share: float) -> Color:
    """Alpha blending: `color` covers a share of `under`."""
    if color is None or share <= 0:
        return under
    *under_color, under_cover = under
    cover = share + under_cover * (1 - share)
    red, green, blue = (
        (share * above + (1 - share) * under_cover * below) / cover
        for above, below in zip(color, under_color, strict=True)
    )
    return red, green, blue, cover


def _smooth_step(t: float) -> float:
    """0 for t <= 0, 1 for t >= 1, and smooth in between."""
    t = min(max(t, 0.0), 1.0)
    return t * t * (3 - 2 * t)
