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
Colored = tuple[PolygonMesh, Rgb]
_SHADES = 0.25  # by how much props of one type differ in brightness


def build_prop(prop_type: str, colors: Sequence[str], stream: Stream) -> list[Colored]:
    """The meshes of a prop, each with its colour (linear RGB, 0..1); the stream decides proportions
    and shade.

    `colors` are one or two sRGB colours "#rrggbb".
    """
    shade = 1 - _SHADES * stream.uniform(0, 1)
    first, *others = [_shaded(color_of(color), shade) for color in colors]
    return list(_BUILDERS[prop_type](stream, first, others[0] if others else first))


def _shaded(color: Rgb, shade: float) -> Rgb:
    return color[0] * shade, color[1] * shade, color[2] * shade


def _rock(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    wide, deep = stream.uniform(0.7, 1.1), stream.uniform(0.6, 0.9)
    yield lump(stream, (0, 0, 0.3), (wide, deep, 0.7), 0.35), color


def _bush(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    for at in ((-0.35, 0.0, 0.4), (0.3, 0.1, 0.45), (0.0, -0.15, 0.6)):
        yield lump(stream, at, (0.5, 0.45, 0.45), 0.3, 4), _shaded(color, stream.uniform(0.8, 1))


def _tree(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    yield revolved([(0.07, 0), (0.045, 0.5)], 6), bark
    for _ in range(4):
        at = (stream.uniform(-0.16, 0.16), stream.uniform(-0.16, 0.16), stream.uniform(0.5, 0.82))
        yield lump(stream, at, (0.24, 0.24, 0.2), 0.3, 4), _shaded(color, stream.uniform(0.75, 1))


def _fir(stream: Stream, color: Rgb, tips: Rgb) -> Iterator[Colored]:
    yield revolved([(0.04, 0), (0.03, 0.25)], 5), (0.06, 0.035, 0.02)
    for foot, radius, top in ((0.15, 0.24, 0.6), (0.38, 0.18, 0.8), (0.6, 0.12, 1.0)):
        middle = foot + 0.55 * (top - foot)
        yield (
            revolved([(radius, foot), (radius * 0.4, middle)], 8),
            _shaded(color, stream.uniform(0.8, 1)),
        )
        yield revolved([(radius * 0.45, middle - 0.02), (0.005, top)], 8), tips


def _palm(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    bend, heights = stream.uniform(-0.2, 0.2), [0.0, 0.25, 0.5, 0.72, 0.88]
    lean = [(bend * h * h, 0.0) for h in heights]
    yield revolved([(0.035 - 0.015 * h, h) for h in heights], 6, lean), bark
    crown, start = lean[-1][0], stream.uniform(0, 1)
    for leaf in range(9):
        turn = 2 * math.pi * (leaf + start) / 9
        yield (
            _frond(crown, turn, stream.uniform(0.3, 0.42), stream.uniform(0.05, 0.16)),
            _shaded(color, stream.uniform(0.7, 1)),
        )


def _frond(crown: float, turn: float, length: float, rise: float) -> PolygonMesh:
    """A leaf that rises from the crown, spreads and hangs down."""
    vertices = []
    for out, width, up in (
        (0.0, 0.02, 0.0),
        (0.35, 0.07, rise),
        (0.7, 0.06, rise * 0.6),
        (1.0, 0.01, -0.1),
    ):
        x, y = crown + math.cos(turn) * out * length, math.sin(turn) * out * length
        dx, dy = -math.sin(turn) * width, math.cos(turn) * width
        vertices += [(x - dx, y - dy, 0.86 + up), (x + dx, y + dy, 0.86 + up)]
    return vertices, [[i, i + 1, i + 3, i + 2] for i in (0, 2, 4)]


def _cactus(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    yield revolved([(0.1, 0), (0.11, 0.5), (0.1, 0.92), (0.05, 1.0)], 8), color
    for side in (-1, 1):
        low, high = stream.uniform(0.3, 0.5), stream.uniform(0.65, 0.9)
        yield box((side * 0.17, 0, low), (0.2, 0.1, 0.1)), color
        arm = revolved(
            [(0.06, low - 0.05), (0.065, high - 0.06), (0.03, high)], 8, [(side * 0.25, 0.0)] * 3
        )
        yield arm, _shaded(color, 0.9)


def _tuft(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    for _blade in range(7):
        turn, out = stream.uniform(0, 2 * math.pi), stream.uniform(0.2, 0.6)
        dx, dy, high = math.cos(turn), math.sin(turn), stream.uniform(0.6, 1)
        blade = [
            (-0.07 * dy, 0.07 * dx, 0.0),
            (0.07 * dy, -0.07 * dx, 0.0),
            (out * dx, out * dy, high),
        ]
        yield (blade, [[0, 1, 2]]), _shaded(color, stream.uniform(0.7, 1))


def _flower(stream: Stream, color: Rgb, leaf: Rgb) -> Iterator[Colored]:
    yield revolved([(0.06, 0), (0.04, 0.7)], 3), leaf
    yield lump(stream, (0, 0, 0.8), (0.28, 0.28, 0.16), 0.2, 3), color


def _crate(stream: Stream, color: Rgb, frame: Rgb) -> Iterator[Colored]:
    yield box((0, 0, 0.5), (0.94, 0.94, 0.94)), color
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
    wide, floors, columns = stream.uniform(0.35, 0.6), 6 + stream.below(4), 4 + stream.below(3)
    yield box((0, 0, 0.5), (wide, 0.4, 1.0)), color
    for floor in range(floors):
        for column in range(columns):
            x = wide * ((column + 0.5) / columns - 0.5)
            size = (0.55 * wide / columns, 0.02, 0.55 * 0.94 / floors)
            yield (
                box((x, -0.2, 0.04 + 0.94 * (floor + 0.5) / floors), size),
                _shaded(glass, stream.uniform(0.5, 1)),
            )


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


_PANEL = 2.0  # metres
_GAP = 0.08
_SILL, _LINTEL, _REVEAL = 0.28, 0.85, 0.1  # of the window: shares of the height and of the breadth
_STRIP = (0.85, 0.95, 1.0)


def build_room(room: RoomSpec, behind: float, stream: Stream) -> Iterator[Colored]:
    """The room's meshes with their colours, in metres to the right, ahead and up of the origin. The
    room begins `behind` metres behind the origin.
    """
    dark, light = (color_of(color) for color in room.colors)
    half, height = room.breadth / 2, room.height
    length = room.distance + behind
    for side in (-1, 1):
        yield (
            box(
                (side * (half + 0.3), room.distance - length / 2, height / 2), (0.4, length, height)
            ),
            dark,
        )
        for n in range(int(length / _PANEL)):
            ahead = room.distance - _PANEL * (n + 0.5)
            yield from _panels(side * half, ahead, height, light, stream)
            yield (
                box((side * (half - 0.1), ahead + _PANEL / 2, height / 2), (0.35, 0.18, height)),
                dark,
            )
    yield from _back(room, dark, light, stream)


def _panels(
    right: float, ahead: float, height: float, color: Rgb, stream: Stream
) -> Iterator[Colored]:
    """The panels of a side wall above one another, and a strip of light between them."""
    for low, high in ((0.0, 0.3), (0.3, 0.62), (0.68, 1.0)):
        shade = stream.uniform(0.75, 1)
        size = (0.1, _PANEL - _GAP, (high - low) * height - _GAP)
        yield box((right, ahead, (low + high) / 2 * height), size), _shaded(color, shade)
    yield box((right, ahead, 0.65 * height), (0.12, _PANEL - 4 * _GAP, 0.03 * height)), _STRIP


def _back(room: RoomSpec, dark: Rgb, light: Rgb, stream: Stream) -> Iterator[Colored]:
    sill, lintel, height, ahead = (
        _SILL * room.height,
        _LINTEL * room.height,
        room.height,
        room.distance,
    )
    inner = room.breadth * (1 - 2 * _REVEAL)
    yield box((0, ahead + 0.3, sill / 2), (room.breadth, 0.4, sill)), dark
    yield box((0, ahead + 0.3, (lintel + height) / 2), (room.breadth, 0.4, height - lintel)), dark
    for side in (-1, 1):
        right = side * room.breadth * (1 - _REVEAL) / 2
        yield box((right, ahead + 0.3, height / 2), (room.breadth * _REVEAL, 0.4, height)), dark
    n = int(room.breadth / _PANEL)
    for i in range(n):
        right, shade = room.breadth * ((i + 0.5) / n - 0.5), stream.uniform(0.75, 1)
        size = (room.breadth / n - _GAP, 0.1, sill - _GAP)
        yield box((right, ahead + 0.05, sill / 2), size), _shaded(light, shade)
    for i in range(5):
        yield (
            box(
                (inner * (i / 4 - 0.5), ahead + 0.1, (sill + lintel) / 2),
                (0.25, 0.3, lintel - sill),
            ),
            light,
        )
    yield box((0, ahead + 0.05, sill), (room.breadth, 0.3, 0.12)), _STRIP


_COLUMNS = 72
_NEAR_STEP, _NEAR_END, _GROWTH, _FAR = 0.7, 12.0, 1.055, 500.0
_OPENING = 0.8  # half the breadth of the sheet, over the distance from the camera
_MARGIN = 8.0  # metres added to that half breadth, and the length of the sheet behind the camera
_WATER = -0.12  # height of its surface, metres
_OCTAVES = 5
_ASIDE = 17.3  # metres to the right for each degree: hills so far apart are unrelated


class Terrain:
    """Heights and colours of the ground at places: metres to the right of the origin and ahead, as
    the camera looks.

    `distance`: of the camera from the origin, metres. `yaw`: the viewing direction, degrees; each
    has other hills.
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
        places = [
            (self.half_breadth(y) * (2 * i / _COLUMNS - 1), y)
            for y in rows
            for i in range(_COLUMNS + 1)
        ]
        found = [self.at(x, y) for x, y in places]
        vertices = [(x, y, height) for (x, y), (height, _) in zip(places, found, strict=True)]
        return (vertices, _quads(len(rows), _COLUMNS + 1)), [color for _, color in found]

    def water(self) -> tuple[PolygonMesh, list[Color]]:
        """The mesh of the water's surface, and a colour for each vertex; empty where there is no
        water."""
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
    """The colour at a share 0..1 of the way from the first colour to the last; None without
    colours."""
    if not colors:
        return None
    at = min(max(share, 0.0), 1.0) * (len(colors) - 1)
    low = min(int(at), len(colors) - 2) if len(colors) > 1 else 0
    first, second = color_of(colors[low]), color_of(colors[min(low + 1, len(colors) - 1)])
    t = _smooth((at - low - 0.3) / 0.4)
    return tuple(a + t * (b - a) for a, b in zip(first, second, strict=True))  # type: ignore[return-value]


def _over(under: Color, color: tuple[float, float, float] | None, share: float) -> Color:
    """Alpha blending: `color` covers a share of `under`."""
    if color is None or share <= 0:
        return under
    cover = share + under[3] * (1 - share)
    mixed = [
        (share * c + (1 - share) * under[3] * u) / cover for c, u in zip(color, under, strict=False)
    ]
    return mixed[0], mixed[1], mixed[2], cover


def _smooth(t: float) -> float:
    t = min(max(t, 0.0), 1.0)
    return t * t * (3 - 2 * t)
