"""What objects and the floor are made of, as a vocabulary declares it (docs/vocabularies.md)."""

from typing import Annotated, Literal

from pydantic import Field

from generator.dataset.declarations import Declared, Finite, Hex, Positive, Share

Pattern = Literal["noise", "blades", "cobbles", "rings", "brick", "veins", "stripes", "checker", "dots", "scales"]


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
    """A pattern that goes through a body, fixed to it: the size of its marks in metres, its colours, how far it stands out.

    Without `colors` it is in the object's own colour and a darker shade of it. `relief` is 0 where the surface is even.
    """

    pattern: Pattern
    colors: Annotated[tuple[Hex, ...], Field(min_length=2, max_length=4)] | None = None
    scale: Positive
    relief: Share = 0


class WallSpec(Declared):
    """Where the floor bends up into a wall: degrees from +x towards +y, and metres."""

    direction: Finite
    distance: Positive
    bend: Positive
    rise: Positive
    height: Positive
    breadth: Positive


class FloorSpec(Declared):
    specular: Share = 0.5
    wall: WallSpec | None = None
