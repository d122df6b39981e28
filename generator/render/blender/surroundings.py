"""Landscapes that go all around the objects, for cameras that stand on any side.

The ground is a disc, flat as far out as the cameras stand; hills and water begin behind them. A
tall prop between a camera and the objects would hide them, so it stands behind the cameras too. A
low one may stand nearer, where the line of sight over its top meets the ground before the objects.
"""

import math
from typing import NamedTuple

from generator.base.streams import Stream
from generator.render.blender.meshes import Color, PolygonMesh
from generator.render.blender.terrain import FAR, WATER_LEVEL, Terrain, row_distances
from generator.vocabulary.environments import Environment, PropSpec
from generator.vocabulary.schema import Vocabulary

_SECTORS = 300
"""Faces around the disc. At 1.2 degrees they are about as wide as those of a landscape that is seen
from one side (72 over some 80 degrees)."""
_FLAT_RING = 0.85
"""Radius of the flat middle of the disc, over the distance of the cameras."""
_SHORE = 9.0
"""Least distance of the shore behind the cameras, metres: trees need land there."""
_CLEAR = 2.0
"""Least distance between the cameras and the crown of a tall prop, metres."""
_CROWN = 0.5
"""Breadth of a crown from its trunk, over the prop's height."""
_LOW_PROP = 0.6
"""Metres. A higher prop would fill the lower edge of images where it is just before the camera."""
PROPS_FACTOR = 4
"""Times as many props stand all around as behind the objects alone. The same density would take six
times as many, which take long to build."""


class Sun(NamedTuple):
    """A sun, in the coordinates of `Terrain`."""

    right: float
    """Component of the unit vector to the sun along the ground."""
    ahead: float
    """The other component."""
    slope: float
    """The least height of the sun in any scene, over its distance along the ground."""
    drift: float
    """The tangent of the largest angle along the ground by which its direction in a scene differs
    from this one; infinite if it may come from all sides."""


class Sight(NamedTuple):
    """What cameras on all sides have to see, in which light."""

    distance: float
    """From the origin to the cameras, metres along the ground."""
    height: float
    """The least height of the cameras, metres."""
    reach: float
    """How far from the origin objects reach, metres."""
    suns: tuple[Sun, ...]
    """The suns of the place."""

    @classmethod
    def in_place(cls, vocabulary: Vocabulary, place: Environment, yaw: float) -> "Sight":
        """Return the sight of a family's camera and objects in a place.

        Args:
            vocabulary: The family.
            place: One of its environments.
            yaw: The direction of the scene, which decides the time of day, degrees.
        """
        camera = vocabulary.camera
        placement = vocabulary.placement
        across = camera.position[0] - camera.target[0]
        ahead = camera.position[1] - camera.target[1]
        # Objects stand on a square, whose corners are farthest from the origin.
        reach = math.sqrt(2) * placement.extent + max(vocabulary.radii)
        distance = math.hypot(across, ahead)
        suns = []
        for family_spec in {**vocabulary.lamps, **place.lamps}.values():
            lamp = place.at_hour(family_spec, yaw)
            x, y, z = lamp.position
            length = math.hypot(x, y)
            # Components along the camera's axes, by scalar and cross product with its direction.
            # A sun at the zenith casts no shadow to the side.
            if lamp.type == "sun" and length > 0:
                right = (across * y - ahead * x) / distance / length
                towards = -(across * x + ahead * y) / distance / length
                slope, drift = _lowest_and_widest(length, z, lamp.jitter)
                suns.append(Sun(right, towards, slope, drift))
        return cls(distance, camera.position[2] - camera.jitter, reach, tuple(suns))

    def is_shaded_by(self, right: float, ahead: float, size: float) -> bool:
        """Return whether the shadow of a prop reaches where objects stand.

        Args:
            right: Of the origin, metres.
            ahead: Of the origin, metres.
            size: Its height, metres; it is taken for half as wide.
        """
        for sun in self.suns:
            towards = right * sun.right + ahead * sun.ahead
            aside = abs(right * sun.ahead - ahead * sun.right)
            # On the other side from the sun, its shadow falls away from the objects.
            in_line = towards > 0 and aside < self.reach + _CROWN * size + sun.drift * towards
            # The top of the shadow is at most `size / slope` behind the prop.
            if in_line and (towards - self.reach) * sun.slope < size:
                return True
        return False

    def nearest_prop(self, size: float) -> float:
        """Return the least distance from the origin, metres, at which a prop hides no object.

        Args:
            size: Its height, metres.
        """
        if size > min(_LOW_PROP, 0.9 * self.height):
            return self.distance + _CLEAR + _CROWN * size
        # The line of sight over the top of the prop drops by `height - size` on the way to it.
        before_objects = max(0.0, self.distance - self.reach)
        return self.distance - before_objects * (self.height - size) / self.height


class Surroundings(Terrain):
    """Heights and colours of a ground that goes all around, at places as those of `Terrain`."""

    def __init__(self, environment: Environment, sight: Sight, yaw: float = 0.0):
        """Describe the ground of an environment.

        Args:
            environment: The environment.
            sight: What must not be hidden.
            yaw: Each has other hills, degrees.
        """
        super().__init__(environment, sight.distance, yaw)
        self._sight = sight

    def at(self, right: float, ahead: float) -> tuple[float, Color]:
        """Compute the ground at a place; see `Terrain.at`."""
        return self._at(right, ahead, math.hypot(right, ahead))

    def relief_begins(self, declared: float) -> float:
        """Return where a relief begins, metres from the origin: not before the cameras."""
        return max(declared, self._sight.distance)

    def shore_begins(self, declared: float) -> float:
        """Return where water begins, metres from the origin: not before the cameras."""
        return max(declared, self._sight.distance + _SHORE)

    def sheet(self) -> tuple[PolygonMesh, list[Color]]:
        """Build the mesh of the ground, and a colour for each vertex."""
        rings = row_distances(_FLAT_RING * self._sight.distance)
        vertices = []
        colors = []
        for radius in rings:
            for x, y in _circle(radius):
                height, color = self.at(x, y)
                vertices.append((x, y, height))
                colors.append(color)
        middle = list(range(_SECTORS))
        return (vertices, [middle, *_ring_faces(len(rings))]), colors

    def water(self) -> tuple[PolygonMesh, list[Color]]:
        """Build the mesh of the water's surface, and a colour for each vertex; empty where there is
        no water."""
        if self._environment.water is None:
            return ([], []), []
        first = self.shore_begins(self._environment.water.begins) - 4
        rings = row_distances(first)
        vertices = []
        colors = []
        for radius in rings:
            for x, y in _circle(radius):
                vertices.append((x, y, WATER_LEVEL))
                colors.append(self._water_color(radius))
        return (vertices, _ring_faces(len(rings))), colors


def draw_place(
    props: PropSpec, size: float, *, sight: Sight, stream: Stream
) -> tuple[float, float, float]:
    """Draw a place for a prop, on any side.

    Args:
        props: What the vocabulary declares of it.
        size: Its height, metres.
        sight: What it must not hide.
        stream: Draws the place.

    Returns:
        Metres to the right of the origin and ahead, and the turn (radians) with which it faces the
        origin.
    """
    least, most = props.between
    near = max(least, sight.nearest_prop(size))
    far = min(max(most, near + most - least), FAR)
    # The square root makes the density the same everywhere.
    distance = math.sqrt(stream.uniform(near * near, far * far))
    angle = stream.uniform(0, 2 * math.pi)
    right, ahead = distance * math.cos(angle), distance * math.sin(angle)
    return right, ahead, angle - math.pi / 2


def _lowest_and_widest(length: float, height: float, jitter: float) -> tuple[float, float]:
    """How low and how far to the side a sun comes in any scene; `slope` and `drift` of a `Sun`.

    Args:
        length: of its declared position from the origin, along the ground, metres.
        height: of its declared position, metres.
        jitter: how far each coordinate may be moved, metres.
    """
    # Two coordinates move it along the ground.
    sideways = math.sqrt(2) * jitter
    slope = max(0.0, height - jitter) / (length + sideways)
    if sideways >= length:
        return slope, math.inf
    return slope, math.tan(math.asin(sideways / length))


def _circle(radius: float) -> list[tuple[float, float]]:
    """Points of a circle about the origin, counter-clockwise."""
    points = []
    for i in range(_SECTORS):
        angle = 2 * math.pi * i / _SECTORS
        points.append((radius * math.cos(angle), radius * math.sin(angle)))
    return points


def _ring_faces(rings: int) -> list[list[int]]:
    """The faces between neighbouring circles of vertices, numbered circle by circle from the
    middle."""
    faces = []
    for ring in range(rings - 1):
        first = ring * _SECTORS
        for i in range(_SECTORS):
            following = (i + 1) % _SECTORS
            outer = first + _SECTORS + i
            outer_following = first + _SECTORS + following
            faces.append([first + i, outer, outer_following, first + following])
    return faces
