"""Environments as a family declares them (docs/worlds.md): light, sky, ground, hills, water, a
room, props."""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from generator.base.declarations import Amount, Declared, Finite, Hex, Positive, Share, Words
from generator.vocabulary.materials import linear_of

Vector = tuple[Finite, Finite, Finite]
Colors = Annotated[tuple[Hex, ...], Field(min_length=1)]
PropType = Literal[
    "rock", "bush", "tree", "fir", "palm", "cactus", "tuft", "flower", "crate", "barrel", "house"
]


class LampSpec(Declared):
    """A lamp that shines at the origin: energy in watts (area) or watts per square metre (sun),
    lengths in metres."""

    type: Literal["area", "sun"]
    energy: Positive
    size: Positive | None = None
    color: Vector
    position: Vector
    jitter: Amount = 0


class SkySpec(Declared):
    """The sky as the camera sees it: a gradient, with clouds or stars. It gives no light.

    `haze` is the distance in metres at which the ground has taken on most of the colour of the
    horizon.
    """

    horizon: Hex
    zenith: Hex
    clouds: Share = 0
    stars: bool = False
    haze: Positive | None = None


class ReliefSpec(Declared):
    """Hills of a height and breadth (metres) that rise between two distances from the origin
    (metres).

    `ridges` 0 makes dunes and hills, 1 peaks with sharp crests. The colours go from the foot to the
    top.
    """

    height: Positive
    breadth: Positive
    begins: Positive
    full: Positive
    ridges: Share = 0
    colors: tuple[Hex, ...] = ()

    @model_validator(mode="after")
    def _rising(self) -> "ReliefSpec":
        if self.full <= self.begins:
            raise ValueError(f"full = {self.full} should be farther than begins = {self.begins}")
        return self


class GroundSpec(Declared):
    """The ground: spots of two colours, or paving stones or square plates of the first with joints
    of the second.

    `grain` is the size of the spots or stones, metres; `bumps` is how uneven the ground looks.
    """

    colors: tuple[Hex, Hex]
    pattern: Literal["spots", "paving", "plates"] = "spots"
    grain: Positive = 1.0
    bumps: Share = 0.3


class WaterSpec(Declared):
    """Water that begins at a distance (metres) behind the origin; the ground dips below it."""

    color: Hex
    begins: Positive


class RoomSpec(Declared):
    """A room around the ground: walls of panels, with a window to the sky in the back wall. Lengths
    in metres."""

    distance: Positive
    breadth: Positive
    height: Positive
    colors: tuple[Hex, Hex]


class PropSpec(Declared):
    """Props scattered behind the objects: how many, and between which distances and sizes,
    metres."""

    type: PropType
    count: Annotated[int, Field(ge=1, le=1000)]
    between: tuple[Positive, Positive]
    size: tuple[Positive, Positive]
    colors: Colors

    @model_validator(mode="after")
    def _rising(self) -> "PropSpec":
        for name, (low, high) in (("between", self.between), ("size", self.size)):
            if high < low:
                raise ValueError(f"{name} = {[low, high]} should have the lesser number first")
        return self


Degrees = Annotated[float, Field(ge=-360, le=720)]


class PhotoSpec(Declared):
    """A photographed place: a panorama that lights the scene, is its backdrop, and is projected
    onto the ground.

    `panorama`: its asset set and name, as SET/NAME. `sectors`: the directions in which the camera
    may look, degrees to
    the right of the panorama's left edge. `height`: of the panorama's camera above the ground,
    metres; by default the
    height of the scene's camera. `exposure`: in stops. `even`: the share of the panorama's light
    that is spread evenly over all directions.
    """

    panorama: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}$")]
    sectors: Annotated[tuple[tuple[Degrees, Degrees], ...], Field(min_length=1)] = ((0, 360),)
    height: Positive | None = None
    exposure: Annotated[float, Field(ge=-8, le=8)] = 0
    even: Share = 0

    @model_validator(mode="after")
    def _rising(self) -> "PhotoSpec":
        for low, high in self.sectors:
            if not low <= high <= low + 360:
                raise ValueError(
                    f"expected a sector [from, to] of 0 to 360 degrees, got {[low, high]}"
                )
        return self


_HOURS = ((0, 1.0, (1.0, 1.0, 1.0)), (-75, 0.55, (1.0, 0.93, 0.82)), (75, 0.55, (1.0, 0.9, 0.76)))
"""For noon, morning and evening: turn of a sun about the vertical, degrees; factors on its height
and colour."""


class Environment(Declared):
    """Where a scene is: its phrase in captions, such as "in a desert under a cloudy sky", and its
    look.

    `light` is the strength of even white light from all around, by default the family's `sky`.
    `lamps` replace the
    family's lamps of the same names. An environment without a `ground` has the family's floor.
    `views`: the number of
    viewing directions of a landscape; with `hours` its suns are low and warm in two of three
    directions.
    """

    phrase: Words
    light: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    lamps: dict[str, LampSpec] = Field(default_factory=dict)
    sky: SkySpec | None = None
    ground: GroundSpec | None = None
    reliefs: dict[str, ReliefSpec] = Field(default_factory=dict)
    water: WaterSpec | None = None
    room: RoomSpec | None = None
    props: dict[str, PropSpec] = Field(default_factory=dict)
    photo: PhotoSpec | None = None
    views: Annotated[int, Field(ge=1, le=36)] = 1
    hours: bool = False

    @property
    def sectors(self) -> tuple[tuple[float, float], ...]:
        """The directions in which the camera may look, from and to, degrees."""
        if self.photo:
            return self.photo.sectors
        return tuple((360 * i / self.views,) * 2 for i in range(self.views))

    def at_hour(self, lamp: LampSpec, yaw: float) -> LampSpec:
        """A lamp at the time of day of the direction `yaw`, degrees: noon, morning or evening."""
        turn, height, tint = (
            _HOURS[round(yaw * self.views / 360) % len(_HOURS)] if self.hours else _HOURS[0]
        )
        if lamp.type != "sun" or not turn:
            return lamp
        (x, y, z), cos, sin = (
            lamp.position,
            math.cos(math.radians(turn)),
            math.sin(math.radians(turn)),
        )
        color = tuple(share * each for share, each in zip(tint, lamp.color, strict=True))
        position = (x * cos - y * sin, x * sin + y * cos, z * height)
        return lamp.model_copy(update={"position": position, "color": color})

    @property
    def bare(self) -> bool:
        """Whether the environment has only the family's floor."""
        return self.ground is None and self.photo is None

    @model_validator(mode="after")
    def _on_a_ground(self) -> "Environment":
        without = [name for name in ("reliefs", "water", "room", "props") if getattr(self, name)]
        if self.ground is None and without:
            raise ValueError(f"{without[0]} needs a ground; declare one")
        if self.ground is None and self.views > 1:
            raise ValueError(
                "views need a landscape with a ground; declare a ground, or leave out views"
            )
        if self.hours and self.views == 1:
            raise ValueError("hours need more than one view; raise views, or leave out hours")
        beside = [name for name in ("light", "sky", "ground") if getattr(self, name) is not None]
        if self.photo and beside:
            raise ValueError(f"a photo has its own light, sky and ground; leave out {beside[0]}")
        return self


def color_of(srgb: str) -> tuple[float, float, float]:
    """Linear red, green and blue, 0..1, of "#rrggbb"."""
    red, green, blue = linear_of(srgb)
    return red / 255, green / 255, blue / 255
