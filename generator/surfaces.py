"""What objects and the floor are made of, as a vocabulary declares it (docs/vocabularies.md)."""

from typing import Annotated

from pydantic import Field

from generator.declared import Declared, Finite, Positive, Share


class Brushed(Declared):
    """A second lobe of a metal's reflection: its `share` of it, its roughness, and how far it is stretched, 0..1."""

    share: Share
    roughness: Share
    stretch: Share


class Glaze(Declared):
    """A white gloss over a surface: its index of refraction, 1 for none, and its roughness."""

    ior: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    roughness: Share


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
