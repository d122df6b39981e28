"""Builds a room around a ground: walls of panels, and a window at its end."""

from collections.abc import Iterator

from generator.base.streams import Stream
from generator.render.blender.meshes import Colored, Rgb, box, shaded
from generator.vocabulary.environments import RoomSpec, color_of

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
        # The wall is a little farther out than the panels, so that these stand out from it.
        center = (side * (half + 0.3), room.distance - length / 2, height / 2)
        yield box(center, (0.4, length, height)), dark
        n_panels = int(length / _PANEL)
        for n in range(n_panels):
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
    # Lower and upper edge over the height of the room. The strip is between the upper two.
    for low, high in ((0.0, 0.3), (0.3, 0.62), (0.68, 1.0)):
        shade = stream.uniform(0.75, 1)
        center = (right, ahead, (low + high) / 2 * height)
        size = (0.1, _PANEL - _GAP, (high - low) * height - _GAP)
        yield box(center, size), shaded(color, shade)
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
    panel_size = (breadth / n_panels - _GAP, 0.1, sill - _GAP)
    for i in range(n_panels):
        right = breadth * ((i + 0.5) / n_panels - 0.5)
        shade = stream.uniform(0.75, 1)
        panel = box((right, ahead + 0.05, sill / 2), panel_size)
        yield panel, shaded(light, shade)

    # The bars of the window, and a strip of light on the sill.
    window_breadth = breadth * (1 - 2 * _REVEAL)
    middle = (sill + lintel) / 2
    bar_size = (0.25, 0.3, lintel - sill)
    for i in range(_BARS):
        # From one edge of the window to the other.
        right = window_breadth * (i / (_BARS - 1) - 0.5)
        bar = box((right, ahead + 0.1, middle), bar_size)
        yield bar, light
    strip = box((0, ahead + 0.05, sill), (breadth, 0.3, 0.12))
    yield strip, _STRIP
