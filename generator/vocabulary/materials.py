"""Materials of objects and of the floor, as a family declares them (docs/vocabularies.md)."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from generator.base.declarations import Declared, Finite, Hex, Positive, Share
from generator.vocabulary.colors import linear_of

Channel = Annotated[float, Field(ge=0, le=255)]
Pattern = Literal["noise", "blades", "cobbles", "rings", "brick", "veins", "stripes", "checker", "dots", "scales"]
_FLOOR_GRAY = (204.0, 204.0, 204.0)


class Colored(Declared):
    """Something of one colour: linear red, green and blue, 0..255, or the same as sRGB "#rrggbb"."""

    linear: tuple[Channel, Channel, Channel] | None = None
    srgb: Hex | None = None

    @model_validator(mode="after")
    def _one_color(self) -> "Colored":
        if self.linear is not None and self.srgb is not None:
            raise ValueError("linear and srgb are two ways to give one colour; give one of them")
        return self

    @property
    def color(self) -> tuple[float, float, float] | None:
        """Linear red, green and blue, 0..255; None where no colour is given."""
        return self.linear if self.srgb is None else linear_of(self.srgb)


class Brushed(Declared):
    """A second lobe of a metal's reflection: its `share` of it, its roughness, and how far it is stretched, 0..1."""

    share: Share
    roughness: Share
    stretch: Share


class Glaze(Declared):
    """A white gloss over a surface: its index of refraction, 1 for none, and its roughness."""

    ior: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    roughness: Share


class Texture(Declared):
    """A pattern through the body of an object, which turns with it.

    `scale` is the size of its marks in metres. Without `colors` it is in the object's own colour and a darker shade of
    it. `relief` is how far the marks seem to stand out; 0 leaves the surface even.
    """

    pattern: Pattern
    colors: Annotated[tuple[Hex, ...], Field(min_length=2, max_length=4)] | None = None
    scale: Positive
    relief: Share = 0


class WallSpec(Declared):
    """Where the floor bends up into a wall: a direction in degrees from +x towards +y, and lengths in metres."""

    direction: Finite
    distance: Positive
    bend: Positive
    rise: Positive
    height: Positive
    breadth: Positive


class FloorSpec(Colored):
    """The floor: its colour (by default a light gray), how much it shines and how rough that gloss is, and its wall."""

    specular: Share = 0.5
    roughness: Share = 0.9
    wall: WallSpec | None = None

    def inputs(self) -> dict[str, object]:
        """The inputs of the floor's material, by name."""
        return {
            "linear": self.color or _FLOOR_GRAY, "metallic": 0.0, "roughness": self.roughness, "specular": self.specular
        }  # fmt: skip
