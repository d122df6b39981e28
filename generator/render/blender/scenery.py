"""Builds the ground of a landscape and its props, such as rocks, plants and crates: each prop is
about 1 metre high and stands at the origin; the ground is a sheet, flat where objects stand, with
hills and water behind."""

import math
from collections.abc import Callable, Iterator, Sequence

from mathutils import noise

from generator.base.streams import Stream
from generator.render.blender.meshes import Color, PolygonMesh, box, lump, revolved
from generator.vocabulary.environments import Environment, ReliefSpec, RoomSpec, color_of

Rgb = tuple[float, float, float]
"""Linear red, green and blue, 0..1."""
Colored = tuple[PolygonMesh, Rgb]
"""A mesh and its colour."""

_SHADES = 0.25
"""By how much props of one type differ in brightness, so that a row of them is not a pattern."""


def build_prop(prop_type: str, colors: Sequence[str], stream: Stream) -> list[Colored]:
    """Build a prop.

    Args:
        prop_type: One of `generator.vocabulary.environments.PropType`.
        colors: One or two sRGB colours "#rrggbb".
        stream: Decides the proportions and the shade.

    Returns:
        Its meshes, each with its colour.
    """
    shade = 1 - _SHADES * stream.uniform(0, 1)
    first, *others = [_shade(color_of(color), shade) for color in colors]
    second = others[0] if others else first
    build = _BUILDERS[prop_type]
    return list(build(stream, first, second))


def _shade(color: Rgb, factor: float) -> Rgb:
    """A colour times a factor."""
    return color[0] * factor, color[1] * factor, color[2] * factor


def _rock(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    wide = stream.uniform(0.7, 1.1)
    deep = stream.uniform(0.6, 0.9)
    rock = lump(stream, center=(0, 0, 0.3), radii=(wide, deep, 0.7), rough=0.35)
    yield rock, color


def _bush(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    for center in ((-0.35, 0.0, 0.4), (0.3, 0.1, 0.45), (0.0, -0.15, 0.6)):
        leaves = lump(stream, center=center, radii=(0.5, 0.45, 0.45), rough=0.3, steps=4)
        yield leaves, _shade(color, stream.uniform(0.8, 1))


def _tree(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    yield revolved([(0.07, 0), (0.045, 0.5)], 6), bark
    for _ in range(4):
        x = stream.uniform(-0.16, 0.16)
        y = stream.uniform(-0.16, 0.16)
        z = stream.uniform(0.5, 0.82)
        leaves = lump(stream, center=(x, y, z), radii=(0.24, 0.24, 0.2), rough=0.3, steps=4)
        yield leaves, _shade(color, stream.uniform(0.75, 1))


def _fir(stream: Stream, color: Rgb, tips: Rgb) -> Iterator[Colored]:
    """Three cones on a trunk: of each the lower part in its colour, the upper part in that of the
    tips."""
    brown = (0.06, 0.035, 0.02)
    yield revolved([(0.04, 0), (0.03, 0.25)], 5), brown
    for foot, radius, top in ((0.15, 0.24, 0.6), (0.38, 0.18, 0.8), (0.6, 0.12, 1.0)):
        middle = foot + 0.55 * (top - foot)
        lower = revolved([(radius, foot), (radius * 0.4, middle)], 8)
        yield lower, _shade(color, stream.uniform(0.8, 1))
        # A little wider and lower than the end of the lower part, so that no gap shows.
        upper = revolved([(radius * 0.45, middle - 0.02), (0.005, top)], 8)
        yield upper, tips


def _palm(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    bend = stream.uniform(-0.2, 0.2)
    heights = [0.0, 0.25, 0.5, 0.72, 0.88]
    # The trunk bends more and more, as a parabola.
    lean = [(bend * height * height, 0.0) for height in heights]
    trunk = [(0.035 - 0.015 * height, height) for height in heights]
    yield revolved(trunk, 6, lean), bark
    crown, _ = lean[-1]
    start = stream.uniform(0, 1)
    for leaf in range(9):
        turn = 2 * math.pi * (leaf + start) / 9
        length = stream.uniform(0.3, 0.42)
        rise = stream.uniform(0.05, 0.16)
        frond = _frond(crown, turn=turn, length=length, rise=rise)
        yield frond, _shade(color, stream.uniform(0.7, 1))


def _frond(crown: float, *, turn: float, length: float, rise: float) -> PolygonMesh:
    """A leaf that rises from the crown, spreads and hangs down."""
    cos, sin = math.cos(turn), math.sin(turn)
    # Distance from the crown over the length, half the width, and height above the crown.
    stations = [(0.0, 0.02, 0.0), (0.35, 0.07, rise), (0.7, 0.06, rise * 0.6), (1.0, 0.01, -0.1)]
    vertices = []
    for out, half_width, up in stations:
        x, y = crown + cos * out * length, sin * out * length
        dx, dy = -sin * half_width, cos * half_width
        vertices += [(x - dx, y - dy, 0.86 + up), (x + dx, y + dy, 0.86 + up)]
    return vertices, [[i, i + 1, i + 3, i + 2] for i in (0, 2, 4)]


def _cactus(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    yield revolved([(0.1, 0), (0.11, 0.5), (0.1, 0.92), (0.05, 1.0)], 8), color
    for side in (-1, 1):
        low = stream.uniform(0.3, 0.5)
        high = stream.uniform(0.65, 0.9)
        elbow = box((side * 0.17, 0, low), (0.2, 0.1, 0.1))
        yield elbow, color
        profile = [(0.06, low - 0.05), (0.065, high - 0.06), (0.03, high)]
        arm = revolved(profile, 8, [(side * 0.25, 0.0)] * 3)
        yield arm, _shade(color, 0.9)


def _tuft(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    for _blade in range(7):
        turn = stream.uniform(0, 2 * math.pi)
        out = stream.uniform(0.2, 0.6)
        dx, dy = math.cos(turn), math.sin(turn)
        height = stream.uniform(0.6, 1)
        left = (-0.07 * dy, 0.07 * dx, 0.0)
        right = (0.07 * dy, -0.07 * dx, 0.0)
        tip = (out * dx, out * dy, height)
        blade = ([left, right, tip], [[0, 1, 2]])
        yield blade, _shade(color, stream.uniform(0.7, 1))


def _flower(stream: Stream, color: Rgb, leaf: Rgb) -> Iterator[Colored]:
    yield revolved([(0.06, 0), (0.04, 0.7)], 3), leaf
    blossom = lump(stream, center=(0, 0, 0.8), radii=(0.28, 0.28, 0.16), rough=0.2, steps=3)
    yield blossom, color


def _crate(stream: Stream, color: Rgb, frame: Rgb) -> Iterator[Colored]:
    yield box((0, 0, 0.5), (0.94, 0.94, 0.94)), color
    # The twelve edges of the crate, along z, y and x.
    for a in (-0.45, 0.45):
        for b in (-0.45, 0.45):
            yield box((a, b, 0.5), (0.12, 0.12, 1.0)), frame
            yield box((a, 0, 0.5 + b), (0.12, 1.0, 0.12)), frame
            yield box((0, a, 0.5 + b), (1.0, 0.12, 0.12)), frame


def _barrel(stream: Stream, color: Rgb, band: Rgb) -> Iterator[Colored]:
    yield revolved([(0.32, 0), (0.38, 0.5), (0.32, 1.0)], 12), color
    for low in (0.2, 0.7):
        yield revolved([(0.38, low), (0.39, low + 0.1)], 12), band


def _house(stream: Stream, color: Rgb, glass: Rgb) -> Iterator[Colored]:
    """A house whose windows face the camera."""
    width = stream.uniform(0.35, 0.6)
    floors = 6 + stream.below(4)
    columns = 4 + stream.below(3)
    yield box((0, 0, 0.5), (width, 0.4, 1.0)), color
    window_size = (0.55 * width / columns, 0.02, 0.55 * 0.94 / floors)
    for floor in range(floors):
        for column in range(columns):
            x = width * ((column + 0.5) / columns - 0.5)
            z = 0.04 + 0.94 * (floor + 0.5) / floors
            window = box((x, -0.2, z), window_size)
            yield window, _shade(glass, stream.uniform(0.5, 1))


_BUILDERS: dict[str, Callable[[Stream, Rgb, Rgb], Iterator[Colored]]] = {
    "rock": _rock,
    "bush": _bush,
    "tree": _tree,
    "fir": _fir,
    "palm": _palm,
    "cactus": _cactus,
    "tuft": _tuft,
    "flower": _flower,
    "crate": _crate,
    "barrel": _barrel,
    "house": _house,
}
FACING_CAMERA = ("house",)
"""Types that are not turned at random, since they show their front to the camera."""


_PANEL = 2.0
"""Length of a panel of the walls, metres."""
_GAP = 0.08
"""Gap between two panels, metres."""
_SILL = 0.28
"""Height of the window's lower edge, over that of the room."""
_LINTEL = 0.85
"""Height of the window's upper edge, over that of the room."""
_REVEAL = 0.1
"""Breadth of the wall on either side of the window, over that of the room."""
_BARS = 5
"""Bars in the window."""
_STRIP = (0.85, 0.95, 1.0)
"""Colour of the strips of light."""


def build_room(room: RoomSpec, behind: float, stream: Stream) -> Iterator[Colored]:
    """Build a room around the ground.

    Args:
        room: What the vocabulary declares of it.
        behind: How far behind the origin it begins, metres.
        stream: Decides the shades of the panels.

    Yields:
        Its meshes with their colours, in metres to the right, ahead and up of the origin.
    """
    dark, light = (color_of(color) for color in room.colors)
    half, height = room.breadth / 2, room.height
    length = room.distance + behind
    for side in (-1, 1):
        center = (side * (half + 0.3), room.distance - length / 2, height / 2)
        yield box(center, (0.4, length, height)), dark
        for n in range(int(length / _PANEL)):
            ahead = room.distance - _PANEL * (n + 0.5)
            yield from _panels(side * half, ahead, height=height, color=light, stream=stream)
            # A pillar covers the gap to the next panels.
            pillar_center = (side * (half - 0.1), ahead + _PANEL / 2, height / 2)
            yield box(pillar_center, (0.35, 0.18, height)), dark
    yield from _back_wall(room, dark=dark, light=light, stream=stream)


def _panels(
    right: float, ahead: float, *, height: float, color: Rgb, stream: Stream
) -> Iterator[Colored]:
    """The panels of a side wall above one another, and a strip of light between them."""
    for low, high in ((0.0, 0.3), (0.3, 0.62), (0.68, 1.0)):
        shade = stream.uniform(0.75, 1)
        center = (right, ahead, (low + high) / 2 * height)
        size = (0.1, _PANEL - _GAP, (high - low) * height - _GAP)
        yield box(center, size), _shade(color, shade)
    strip_size = (0.12, _PANEL - 4 * _GAP, 0.03 * height)
    yield box((right, ahead, 0.65 * height), strip_size), _STRIP


def _back_wall(room: RoomSpec, *, dark: Rgb, light: Rgb, stream: Stream) -> Iterator[Colored]:
    """The wall at the end of the room, with its window."""
    breadth, height, ahead = room.breadth, room.height, room.distance
    sill = _SILL * height
    lintel = _LINTEL * height

    # The wall below, above and beside the window. Its middle is a little farther away than the
    # panels, so that these stand out from it.
    wall = ahead + 0.3
    below = box((0, wall, sill / 2), (breadth, 0.4, sill))
    above = box((0, wall, (lintel + height) / 2), (breadth, 0.4, height - lintel))
    yield below, dark
    yield above, dark
    for side in (-1, 1):
        right = side * breadth * (1 - _REVEAL) / 2
        beside = box((right, wall, height / 2), (breadth * _REVEAL, 0.4, height))
        yield beside, dark

    # Panels below the sill.
    n_panels = int(breadth / _PANEL)
    for i in range(n_panels):
        right = breadth * ((i + 0.5) / n_panels - 0.5)
        shade = stream.uniform(0.75, 1)
        panel = box((right, ahead + 0.05, sill / 2), (breadth / n_panels - _GAP, 0.1, sill - _GAP))
        yield panel, _shade(light, shade)

    # The bars of the window, and a strip of light on the sill.
    window_breadth = breadth * (1 - 2 * _REVEAL)
    for i in range(_BARS):
        right = window_breadth * (i / (_BARS - 1) - 0.5)
        bar = box((right, ahead + 0.1, (sill + lintel) / 2), (0.25, 0.3, lintel - sill))
        yield bar, light
    strip = box((0, ahead + 0.05, sill), (breadth, 0.3, 0.12))
    yield strip, _STRIP


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
                color = _blend_over(color, _color_at(relief.colors, shape), rise)
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
            for i in range(_COLUMNS + 1):
                # From one edge of the sheet to the other.
                x = self.half_breadth(y) * (2 * i / _COLUMNS - 1)
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
            for side in (-1, 1):
                vertices.append((side * self.half_breadth(y), y, WATER_LEVEL))
                colors.append(self._water_color(y))
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
        return _blend_over(color, color_of(sky.horizon), 1 - math.exp(-ahead / sky.haze))


def row_distances(first: float) -> list[float]:
    """Return the places of the rows of vertices ahead of the origin, metres, from `first` on."""
    rows = [first]
    while rows[-1] < FAR:
        growing_step = rows[-1] * (_GROWTH - 1)
        rows.append(rows[-1] + _NEAR_STEP * max(1.0, growing_step / _NEAR_STEP))
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
    red, green, blue = (
        start + t * (end - start)
        for start, end in zip(color_of(colors[low]), color_of(colors[high]), strict=True)
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
