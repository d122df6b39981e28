"""Reads and decides what a text says of two images (protocol `views`): that they show one world,
how far the camera moved from the first to the second, or on which side of an object it stood."""

import cmath
import math
import re
from itertools import combinations

import numpy as np

from generator.judge.geometry import SceneGeometry

_QUARTER_TURNS = {
    "by one quarter turn to the right": 1,
    "by two quarter turns": 2,
    "by one quarter turn to the left": 3,
}
"""By statement, the quarter turns of the camera counter-clockwise as seen from above: a camera that
moves to its right moves so."""
_SAME, _FIRST = "the same scene", "the first image"
_SIDE = re.compile(
    r"from (?:in (?P<front>front) of|(?P<behind>behind)) the (?P<object>.+)"
    r"|from the (?P<owner>.+)'s (?P<hand>left|right)"
)
_QUARTERS_TO_LEFT = {"front": 0, "left": 1, "behind": 2, "right": 3}
"""Quarter turns to the left from the front of an object to each side."""
_MARGIN = math.radians(10)
"""How near to the border of two sides a camera is on neither."""
_METRES = 1e-4
"""Largest difference of positions that are recorded to the micrometre."""
_LEAST_TURN = 0.01
"""Radians by which two sides of a world differ at least."""


def decide_view(text: str, first: SceneGeometry, second: SceneGeometry) -> bool | None:
    """Decide what a text says of two images.

    Args:
        text: The words.
        first: The scene of the first image.
        second: That of the second.

    Returns:
        Whether it is true; None if it is undecided, or no such statement.
    """
    if text == _FIRST:
        return second is first
    turn = turn_between(first, second)
    if text == _SAME:
        return second is first or turn is not None
    # Of two different worlds no movement of the camera can be said.
    if turn is None:
        return None
    if text in _QUARTER_TURNS:
        said_turn = _QUARTER_TURNS[text] * math.pi / 2
        off = math.remainder(turn - said_turn, 2 * math.pi)
        return abs(off) < _LEAST_TURN
    match = _SIDE.fullmatch(text)
    if match is None:
        return None
    # Front and back are said in one way, left and right in another.
    side = match["hand"] or match["front"] or match["behind"]
    return _is_on_side(second, match["object"] or match["owner"], side)


def _is_on_side(scene: SceneGeometry, category: str, side: str) -> bool | None:
    """Whether the camera is on a side of the only object of a category."""
    places = [i for i, (name, _) in enumerate(scene.objects) if name == category]
    # "The lion" has to mean one object.
    if len(places) != 1:
        return None
    front = complex(*scene.facing[places[0]])
    if front == 0:
        return None
    towards_camera = complex(0, -1)
    quarter = _QUARTERS_TO_LEFT[side] * math.pi / 2
    angle = cmath.phase(towards_camera / front)
    off = abs(math.remainder(angle - quarter, 2 * math.pi))
    if abs(off - math.pi / 4) < _MARGIN:
        return None
    return off < math.pi / 4


def turn_between(first: SceneGeometry, second: SceneGeometry) -> float | None:
    """Measure the turn of the camera between two scenes.

    Args:
        first: A scene.
        second: Another one.

    Returns:
        Radians, counter-clockwise as seen from above; None unless the scenes have the same objects
        at the same places of the ground, seen in different directions.
    """
    if first.objects != second.objects:
        return None
    if not np.allclose(first.feet, second.feet, atol=_METRES):
        return None
    # On the ground as complex numbers, a turn of the camera multiplies all directions by one number
    # of length 1, whose angle is the opposite of the camera's turn.
    before, after = _directions_on_ground(first), _directions_on_ground(second)
    if not before:
        return None
    # The longest direction gives the angle with the least rounding.
    longest = max(range(len(before)), key=lambda i: abs(before[i]))
    if abs(before[longest]) < _METRES:
        return None
    factor = after[longest] / before[longest]
    agrees = np.allclose(np.array(before) * factor, after, atol=_METRES)
    turn = -cmath.phase(factor)
    if not agrees or abs(abs(factor) - 1) > _METRES or abs(turn) < _LEAST_TURN:
        return None
    return turn


def _directions_on_ground(scene: SceneGeometry) -> list[complex]:
    """From each object to each later one, and to the front of each object, as complex numbers."""
    places = [complex(right, away) for right, away in scene.ground]
    directions = [second - first for first, second in combinations(places, 2)]
    fronts = [complex(right, away) for right, away in scene.facing]
    return directions + fronts
