"""Environments as a family declares them (docs/worlds.md): light, sky, ground, hills, water, a
room, props."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from generator.base.declarations import Amount, Declared, Finite, Hex, Positive, Share, Words
from generator.vocabulary.materials import linear_of

Vector = tuple[Finite, Finite, Finite]
"""World coordinates in metres, z up; or linear red, green and blue."""
Colors = Annotated[tuple[Hex, ...], Field(min_length=1)]
PropType = Literal[
    "rock", "bush", "tree", "fir", "palm", "cactus", "tuft", "flower", "crate", "barrel", "house"
]


class LampSpec(Declared):
    """A lamp that shines at the origin."""

    type: Literal["area", "sun"]
    """area: a square at its position, which spreads its light; sun: parallel rays."""
    energy: Positive
    """Watts for an area, watts per square metre for a sun."""
    size: Positive | None = None
    """The side of an area lamp, metres; None for the renderer's own."""
    color: Vector
    """Linear red, green and blue."""
    position: Vector
    """Metres; of a sun only the direction counts."""
    jitter: Amount = 0
    """In each scene, each coordinate of the position moves by a uniform random -jitter..jitter,
    metres."""


class SkySpec(Declared):
    """The sky as the camera sees it: a gradient, with clouds or stars. It gives no light."""

    horizon: Hex
    """Colour at the horizon."""
    zenith: Hex
    """Colour from about twenty degrees above the horizon upward."""
    clouds: Share = 0
    """How much of the sky is covered, 0..1."""
    stars: bool = False
    """Whether stars are seen."""
    haze: Positive | None = None
    """The distance in metres at which the ground has taken on most of the colour of the horizon;
    None for clear air."""


class ReliefSpec(Declared):
    """Hills that rise between two distances from the origin."""

    height: Positive
    """Of the highest hill, metres."""
    breadth: Positive
    """Approximate breadth of one hill, metres."""
    begins: Positive
    """The distance behind the origin at which they begin to rise, metres."""
    full: Positive
    """The distance behind the origin from which they have their height, metres."""
    ridges: Share = 0
    """0 makes dunes and hills, 1 peaks with sharp crests."""
    colors: tuple[Hex, ...] = ()
    """From the foot to the top; empty for the colours of the ground."""

    @model_validator(mode="after")
    def _rising(self) -> "ReliefSpec":
        if self.full <= self.begins:
            raise ValueError(f"full = {self.full} should be farther than begins = {self.begins}")
        return self


class GroundSpec(Declared):
    """The ground: spots of two colours, or paving stones or square plates of the first with joints
    of the second."""

    colors: tuple[Hex, Hex]
    """Of two types of spots, or of stones and joints."""
    pattern: Literal["spots", "paving", "plates"] = "spots"
    """spots: of both colours; paving: irregular stones; plates: squares."""
    grain: Positive = 1.0
    """The size of the spots or stones, metres."""
    bumps: Share = 0.3
    """How uneven the ground looks, 0..1."""


class WaterSpec(Declared):
    """Water behind the objects; the ground dips below it."""

    color: Hex
    """Of the water, seen from above."""
    begins: Positive
    """The distance of the shore, metres."""


class RoomSpec(Declared):
    """A room around the ground: walls of panels, with a window to the sky in the back wall."""

    distance: Positive
    """From the origin to the back wall, metres."""
    breadth: Positive
    """Distance between the side walls, metres."""
    height: Positive
    """Of the walls, metres."""
    colors: tuple[Hex, Hex]
    """Of the frames, and of the panels."""


class PropSpec(Declared):
    """Props scattered behind the objects."""

    type: PropType
    """What they are."""
    count: Annotated[int, Field(ge=1, le=1000)]
    """How many; props that do not fit on land without touching others are left out."""
    between: tuple[Positive, Positive]
    """Least and greatest distance from the origin, metres."""
    size: tuple[Positive, Positive]
    """Least and greatest height, metres."""
    colors: Colors
    """Of the main part, then of another part: bark, tips, frame, band, windows, leaf."""

    @model_validator(mode="after")
    def _rising(self) -> "PropSpec":
        ranges = {"between": self.between, "size": self.size}
        for name, (low, high) in ranges.items():
            if high < low:
                raise ValueError(f"{name} = {[low, high]} should have the lesser number first")
        return self


Degrees = Annotated[float, Field(ge=-360, le=720)]


class PhotoSpec(Declared):
    """A photographed place: a panorama that lights the scene, is its backdrop, and is projected
    onto the ground."""

    panorama: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}$")]
    """Its asset set and name, as SET/NAME."""
    sectors: Annotated[tuple[tuple[Degrees, Degrees], ...], Field(min_length=1)] = ((0, 360),)
    """The directions in which the camera may look, from and to, degrees to the right of the
    panorama's left edge."""
    height: Positive | None = None
    """Of the panorama's camera above the ground, metres; None for the height of the scene's
    camera."""
    exposure: Annotated[float, Field(ge=-8, le=8)] = 0
    """Brighter or darker, in stops."""
    even: Share = 0
    """The share of the panorama's light that is spread evenly over all directions."""

    @model_validator(mode="after")
    def _rising(self) -> "PhotoSpec":
        for low, high in self.sectors:
            if not low <= high <= low + 360:
                raise ValueError(
                    f"expected a sector [from, to] of 0 to 360 degrees, got {[low, high]}"
                )
        return self


_HOURS = (
    (0, 1.0, (1.0, 1.0, 1.0)),
    (-75, 0.55, (1.0, 0.93, 0.82)),
    (75, 0.55, (1.0, 0.9, 0.76)),
)
"""For noon, morning and evening: turn of a sun about the vertical, degrees; factors on its height
and colour."""


class Environment(Declared):
    """Where a scene is: its phrase in captions, such as "in a desert under a cloudy sky", and its
    look."""

    phrase: Words
    """The words of captions that name it."""
    light: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The strength of even white light from all around; None for the family's `sky`."""
    lamps: dict[str, LampSpec] = Field(default_factory=dict)
    """They replace the family's lamps of the same names."""
    sky: SkySpec | None = None
    """What the camera sees above the ground; None for the even light."""
    ground: GroundSpec | None = None
    """The ground of a landscape; None for the family's floor."""
    reliefs: dict[str, ReliefSpec] = Field(default_factory=dict)
    """Hills by name; several add up."""
    water: WaterSpec | None = None
    """A lake or sea."""
    room: RoomSpec | None = None
    """Walls around the ground."""
    props: dict[str, PropSpec] = Field(default_factory=dict)
    """Props by name."""
    photo: PhotoSpec | None = None
    """A panorama in place of light, sky and ground."""
    views: Annotated[int, Field(ge=1, le=36)] = 1
    """The number of viewing directions of a landscape."""
    hours: bool = False
    """Whether its suns are low and warm in two of three directions."""
    around: bool = False
    """Whether a landscape goes all around the objects, so that the camera may stand on any side;
    it does where a scene has an azimuth."""

    @property
    def sectors(self) -> tuple[tuple[float, float], ...]:
        """The directions in which the camera may look, from and to, degrees."""
        if self.photo:
            return self.photo.sectors
        # A landscape has single directions, each a sector of no width.
        return tuple((360 * i / self.views,) * 2 for i in range(self.views))

    def seen_after(self, turns: Sequence[float]) -> "Environment | None":
        """Narrow the directions of a photographed place to those from which the camera may also
        turn.

        Args:
            turns: Turns of the camera, degrees, counter-clockwise as seen from above.

        Returns:
            The place, with its sectors narrowed to those that are in a sector after each turn;
            None if there are none.
        """
        assert self.photo is not None
        sectors = self.photo.sectors
        for turn in turns:
            # A camera that turns to the left looks at what is further left in the panorama.
            before_turn = [(low + turn, high + turn) for low, high in self.photo.sectors]
            sectors = tuple(_common_sectors(sectors, before_turn))
        if not sectors:
            return None
        photo = self.photo.model_copy(update={"sectors": sectors})
        return self.model_copy(update={"photo": photo})

    def at_hour(self, lamp: LampSpec, yaw: float) -> LampSpec:
        """A lamp at the time of day of a direction of the camera.

        Args:
            lamp: at noon.
            yaw: the direction, degrees, which numbers the views of the place.

        Returns:
            The lamp at noon, in the morning or in the evening; itself if it is no sun, or if the
            place has no `hours`.
        """
        # Views are even parts of a turn, so the direction numbers the view.
        view = round(yaw * self.views / 360)
        turn, height, tint = _HOURS[view % len(_HOURS)] if self.hours else _HOURS[0]
        # A lamp of a room stays as it is.
        if lamp.type != "sun" or not turn:
            return lamp
        x, y, z = lamp.position
        angle = math.radians(turn)
        cos, sin = math.cos(angle), math.sin(angle)
        color = tuple(share * channel for share, channel in zip(tint, lamp.color, strict=True))
        position = (x * cos - y * sin, x * sin + y * cos, z * height)
        return lamp.model_copy(update={"position": position, "color": color})

    @property
    def bare(self) -> bool:
        """Whether the environment has only the family's floor."""
        return self.ground is None and self.photo is None

    @model_validator(mode="after")
    def _on_a_ground(self) -> "Environment":
        """Landscapes need a ground, and a photograph replaces light, sky and ground."""
        on_ground = [name for name in ("reliefs", "water", "room", "props") if getattr(self, name)]
        if self.ground is None and on_ground:
            raise ValueError(f"{on_ground[0]} needs a ground; declare one")
        if self.ground is None and self.views > 1:
            raise ValueError(
                "views need a landscape with a ground; declare a ground, or leave out views"
            )
        if self.hours and self.views == 1:
            raise ValueError("hours need more than one view; raise views, or leave out hours")
        own = [name for name in ("light", "sky", "ground") if getattr(self, name) is not None]
        if self.around and (self.ground is None or self.room):
            raise ValueError(
                "around needs a landscape with a ground and without a room, whose walls would hide "
                "the objects; leave out around"
            )
        if self.photo and own:
            raise ValueError(f"a photo has its own light, sky and ground; leave out {own[0]}")
        return self


def _common_sectors(
    sectors: Iterable[tuple[float, float]], others: Iterable[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """The directions, degrees, that are in one of the first sectors and in one of the others."""
    for low, high in sectors:
        for other_low, other_high in others:
            # The same direction has several numbers, a whole turn apart.
            for whole_turns in (-720, -360, 0, 360, 720):
                common_low = max(low, other_low + whole_turns)
                common_high = min(high, other_high + whole_turns)
                if common_low < common_high:
                    yield common_low, common_high


def color_of(srgb: str) -> tuple[float, float, float]:
    """Linear red, green and blue, 0..1, of "#rrggbb"."""
    red, green, blue = linear_of(srgb)
    return red / 255, green / 255, blue / 255
