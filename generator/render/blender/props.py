"""Builds the props of landscapes, such as rocks, plants and crates.

Each is about 1 metre high and stands at the origin, so that it can be scaled, turned and moved.
Lengths in this module are therefore shares of a prop's height. Proportions and shades are drawn, so
that a row of props is not a pattern.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from generator.base.streams import Stream
from generator.render.blender.meshes import Colored, PolygonMesh, Rgb, box, lump, revolved, shaded
from generator.vocabulary.environments import color_of

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
    shades = [shaded(color_of(color), shade) for color in colors]
    first, *others = shades
    second = others[0] if others else first
    build = _BUILDERS[prop_type]
    return list(build(stream, first, second))


def _rock(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    wide = stream.uniform(0.7, 1.1)
    deep = stream.uniform(0.6, 0.9)
    rock = lump(stream, center=(0, 0, 0.3), radii=(wide, deep, 0.7), rough=0.35)
    yield rock, color


def _bush(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    # Three lumps that overlap, the highest between the others.
    for center in ((-0.35, 0.0, 0.4), (0.3, 0.1, 0.45), (0.0, -0.15, 0.6)):
        leaves = lump(stream, center=center, radii=(0.5, 0.45, 0.45), rough=0.3, steps=4)
        yield leaves, shaded(color, stream.uniform(0.8, 1))


def _tree(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    trunk = revolved([(0.07, 0), (0.045, 0.5)], 6)
    yield trunk, bark
    # A crown of four lumps about the end of the trunk.
    for _ in range(4):
        x = stream.uniform(-0.16, 0.16)
        y = stream.uniform(-0.16, 0.16)
        z = stream.uniform(0.5, 0.82)
        leaves = lump(stream, center=(x, y, z), radii=(0.24, 0.24, 0.2), rough=0.3, steps=4)
        yield leaves, shaded(color, stream.uniform(0.75, 1))


def _fir(stream: Stream, color: Rgb, tips: Rgb) -> Iterator[Colored]:
    """Three cones on a trunk: of each the lower part in its colour, the upper part in that of the
    tips."""
    brown = (0.06, 0.035, 0.02)
    trunk = revolved([(0.04, 0), (0.03, 0.25)], 5)
    yield trunk, brown
    # Each cone begins inside the one below it.
    for foot, radius, top in ((0.15, 0.24, 0.6), (0.38, 0.18, 0.8), (0.6, 0.12, 1.0)):
        middle = foot + 0.55 * (top - foot)
        lower = revolved([(radius, foot), (radius * 0.4, middle)], 8)
        yield lower, shaded(color, stream.uniform(0.8, 1))
        # A little wider and lower than the end of the lower part, so that no gap shows.
        upper = revolved([(radius * 0.45, middle - 0.02), (0.005, top)], 8)
        yield upper, tips


_PALM_LEAVES = 9


def _palm(stream: Stream, color: Rgb, bark: Rgb) -> Iterator[Colored]:
    bend = stream.uniform(-0.2, 0.2)
    heights = [0.0, 0.25, 0.5, 0.72, 0.88]
    # The trunk bends more and more, as a parabola, and becomes thinner.
    lean = [(bend * height * height, 0.0) for height in heights]
    profile = [(0.035 - 0.015 * height, height) for height in heights]
    trunk = revolved(profile, 6, lean)
    yield trunk, bark

    # The leaves, in all directions from its end.
    crown, _ = lean[-1]
    start = stream.uniform(0, 1)
    for leaf in range(_PALM_LEAVES):
        turn = 2 * math.pi * (leaf + start) / _PALM_LEAVES
        length = stream.uniform(0.3, 0.42)
        rise = stream.uniform(0.05, 0.16)
        frond = _frond(crown, turn=turn, length=length, rise=rise)
        yield frond, shaded(color, stream.uniform(0.7, 1))


def _frond(crown: float, *, turn: float, length: float, rise: float) -> PolygonMesh:
    """A leaf that rises from the crown, spreads and hangs down."""
    cos, sin = math.cos(turn), math.sin(turn)
    # Distance from the crown over the length, half the width, and height above the crown.
    stations = [(0.0, 0.02, 0.0), (0.35, 0.07, rise), (0.7, 0.06, rise * 0.6), (1.0, 0.01, -0.1)]
    vertices = []
    for out, half_width, up in stations:
        # The middle of the leaf, and from there half its width to the side.
        x = crown + cos * out * length
        y = sin * out * length
        dx = -sin * half_width
        dy = cos * half_width
        # From a little below the end of the trunk.
        z = 0.86 + up
        vertices += [(x - dx, y - dy, z), (x + dx, y + dy, z)]
    # A face between each station and the next.
    faces = [[i, i + 1, i + 3, i + 2] for i in (0, 2, 4)]
    return vertices, faces


def _cactus(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    trunk = revolved([(0.1, 0), (0.11, 0.5), (0.1, 0.92), (0.05, 1.0)], 8)
    yield trunk, color
    # On each side an arm: out from the trunk, then up.
    for side in (-1, 1):
        low = stream.uniform(0.3, 0.5)
        high = stream.uniform(0.65, 0.9)
        elbow = box((side * 0.17, 0, low), (0.2, 0.1, 0.1))
        yield elbow, color
        profile = [(0.06, low - 0.05), (0.065, high - 0.06), (0.03, high)]
        aside = (side * 0.25, 0.0)
        arm = revolved(profile, 8, [aside] * len(profile))
        yield arm, shaded(color, 0.9)


def _tuft(stream: Stream, color: Rgb, _: Rgb) -> Iterator[Colored]:
    # Blades of one triangle each, which lean out from the middle.
    for _blade in range(7):
        turn = stream.uniform(0, 2 * math.pi)
        out = stream.uniform(0.2, 0.6)
        dx, dy = math.cos(turn), math.sin(turn)
        height = stream.uniform(0.6, 1)
        left = (-0.07 * dy, 0.07 * dx, 0.0)
        right = (0.07 * dy, -0.07 * dx, 0.0)
        tip = (out * dx, out * dy, height)
        blade = ([left, right, tip], [[0, 1, 2]])
        yield blade, shaded(color, stream.uniform(0.7, 1))


def _flower(stream: Stream, color: Rgb, leaf: Rgb) -> Iterator[Colored]:
    stalk = revolved([(0.06, 0), (0.04, 0.7)], 3)
    yield stalk, leaf
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
    staves = revolved([(0.32, 0), (0.38, 0.5), (0.32, 1.0)], 12)
    yield staves, color
    for low in (0.2, 0.7):
        # Wider than the staves, so that it is in front of them.
        hoop = revolved([(0.38, low), (0.39, low + 0.1)], 12)
        yield hoop, band


def _house(stream: Stream, color: Rgb, glass: Rgb) -> Iterator[Colored]:
    """A house whose windows face the camera."""
    width = stream.uniform(0.35, 0.6)
    floors = 6 + stream.below(4)
    columns = 4 + stream.below(3)
    yield box((0, 0, 0.5), (width, 0.4, 1.0)), color
    # A window fills 55% of its share of the front, each way.
    window_size = (0.55 * width / columns, 0.02, 0.55 * 0.94 / floors)
    for floor in range(floors):
        z = 0.04 + 0.94 * (floor + 0.5) / floors
        for column in range(columns):
            x = width * ((column + 0.5) / columns - 0.5)
            window = box((x, -0.2, z), window_size)
            yield window, shaded(glass, stream.uniform(0.5, 1))


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
