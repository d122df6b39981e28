"""Where scenes are, as a vocabulary declares it (docs/worlds.md): light, sky, ground, water, walls, what stands about."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from generator.dataset.declarations import Declared, Finite, Hex, Positive, Share, Words
from generator.vocabulary.colors import linear_of

Vector = tuple[Finite, Finite, Finite]
Colors = Annotated[tuple[Hex, ...], Field(min_length=1)]
Thing = Literal["rock", "bush", "tree", "fir", "palm", "cactus", "tuft", "flower", "crate", "barrel", "house"]


class LampSpec(Declared):
    """A lamp that shines at the origin: watts (area) or watts per square metre (sun), metres."""

    kind: Literal["area", "sun"]
    energy: Positive
    size: Positive | None = None
    color: Vector
    position: Vector
    jitter: Annotated[float, Field(ge=0)] = 0


class SkyLook(Declared):
    """What the camera sees above the ground: a gradient, with clouds or stars; it gives no light.

    `haze` is the distance in metres at which the ground has taken on most of the colour of the horizon.
    """

    horizon: Hex
    zenith: Hex
    clouds: Share = 0
    stars: bool = False
    haze: Positive | None = None


class Relief(Declared):
    """Hills of a height and breadth (metres) that rise between two distances from the origin (metres).

    `ridges` 0 makes dunes and hills, 1 peaks with sharp crests. The colours go from the foot to the top.
    """

    height: Positive
    breadth: Positive
    begins: Positive
    full: Positive
    ridges: Share = 0
    colors: tuple[Hex, ...] = ()

    @model_validator(mode="after")
    def _rising(self) -> "Relief":
        if self.full <= self.begins:
            raise ValueError(f"full = {self.full} should be farther than begins = {self.begins}")
        return self


class GroundLook(Declared):
    """The ground: two colours in spots, or paving stones or square plates of the first with joints of the second.

    `grain` is the size of either, metres; `bumps` how uneven it is.
    """

    colors: tuple[Hex, Hex]
    pattern: Literal["spots", "paving", "plates"] = "spots"
    grain: Positive = 1.0
    bumps: Share = 0.3


class Water(Declared):
    """Water from some distance behind the origin on, metres; the ground dips below it."""

    color: Hex
    begins: Positive


class Hall(Declared):
    """Walls of panels around the ground, with a window to the sky behind: metres."""

    distance: Positive
    breadth: Positive
    height: Positive
    colors: tuple[Hex, Hex]


class Scattered(Declared):
    """Things that stand about, behind the middle of the ground: how many, and between which distances and sizes, metres."""

    kind: Thing
    count: Annotated[int, Field(ge=1, le=1000)]
    between: tuple[Positive, Positive]
    size: tuple[Positive, Positive]
    colors: Colors

    @model_validator(mode="after")
    def _rising(self) -> "Scattered":
        for name, (low, high) in (("between", self.between), ("size", self.size)):
            if high < low:
                raise ValueError(f"{name} = {[low, high]} should have the lesser number first")
        return self


class Environment(Declared):
    """Where a scene is: how it is said, such as "in a desert under a cloudy sky", and how it looks.

    `light` is the strength of even white light from all around, by default the family's `sky`; `lamps` stand in for the
    family's lamps of their names. Without a `ground` it has the family's floor, under a sky of even light.
    """

    phrase: Words
    light: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    lamps: dict[str, LampSpec] = Field(default_factory=dict)
    sky: SkyLook | None = None
    ground: GroundLook | None = None
    reliefs: dict[str, Relief] = Field(default_factory=dict)
    water: Water | None = None
    hall: Hall | None = None
    things: dict[str, Scattered] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _on_a_ground(self) -> "Environment":
        without = [name for name in ("reliefs", "water", "hall", "things") if getattr(self, name)]
        if self.ground is None and without:
            raise ValueError(f"{without[0]} needs a ground to be on; declare one")
        return self


def color_of(srgb: str) -> tuple[float, float, float]:
    """Linear red, green and blue, 0..1, of "#rrggbb"."""
    red, green, blue = linear_of(srgb)
    return red / 255, green / 255, blue / 255
