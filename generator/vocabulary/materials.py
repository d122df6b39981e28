"""Materials of objects and of the floor, as a family declares them (docs/vocabularies.md)."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from generator.base.declarations import Declared, Finite, Hex, Positive, Share
from generator.base.srgb import decode_srgb

Channel = Annotated[float, Field(ge=0, le=255)]
"""A channel of a colour."""
Pattern = Literal[
    "noise", "blades", "cobbles", "rings", "brick", "veins", "stripes", "checker", "dots", "scales"
]
_FLOOR_GRAY = (204.0, 204.0, 204.0)
"""Linear red, green and blue of a floor without a colour of its own, 0..255."""


@cache
def linear_of(srgb: str) -> tuple[float, float, float]:
    """Red, green and blue of "#rrggbb" without the sRGB curve, 0..255, to four decimals.

    >>> linear_of("#ff8000")
    (255.0, 55.0444, 0.0)
    """
    channels = [int(srgb[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (255 * decode_srgb(channels)).tolist()
    return round(red, 4), round(green, 4), round(blue, 4)


class Colored(Declared):
    """Something of one colour, which is given in one of two ways."""

    linear: tuple[Channel, Channel, Channel] | None = None
    """Red, green and blue without the sRGB curve, 0..255; None if `srgb` gives the colour, or if
    there is none."""
    srgb: Hex | None = None
    """The same as colour pickers show it, "#rrggbb"; None if `linear` gives the colour, or if there
    is none."""

    @model_validator(mode="after")
    def _one_color(self) -> "Colored":
        if self.linear is not None and self.srgb is not None:
            raise ValueError("linear and srgb are two ways to give one colour; give one of them")
        # Other tools give linear colours as 0..1, which would be black here.
        if self.linear is not None and 0 < max(self.linear) <= 1:
            scaled = ", ".join(f"{255 * channel:g}" for channel in self.linear)
            raise ValueError(
                f"linear is from 0 to 255, and this is black; if it is meant from 0 to 1, give "
                f"[{scaled}]"
            )
        return self

    @property
    def color(self) -> tuple[float, float, float] | None:
        """Linear red, green and blue, 0..255; None where no colour is given."""
        return self.linear if self.srgb is None else linear_of(self.srgb)


class Brushed(Declared):
    """A second lobe of a metal's reflection."""

    share: Share
    """Its share of the reflection."""
    roughness: Share
    """0 mirror, 1 matt."""
    stretch: Share
    """How far it is stretched along one direction."""


class Glaze(Declared):
    """A white gloss over a surface."""

    ior: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    """Index of refraction; 1 for no gloss."""
    roughness: Share
    """0 mirror, 1 matt."""


class Texture(Declared):
    """A solid pattern through the body of an object, fixed to the object."""

    pattern: Pattern
    """What the marks are."""
    colors: Annotated[tuple[Hex, ...], Field(min_length=2, max_length=4)] | None = None
    """Its colours; None for the object's own colour and a darker shade."""
    scale: Positive
    """The size of its marks, metres."""
    relief: Share = 0
    """How far the marks seem to stand out; 0 leaves the surface even."""


class WallSpec(Declared):
    """Where the floor bends up into a wall."""

    direction: Finite
    """Direction to the wall, degrees from +x towards +y."""
    distance: Positive
    """From the origin to the wall, metres."""
    bend: Positive
    """How far before the wall the floor begins to rise, metres."""
    rise: Positive
    """The height at which the sheet becomes vertical, metres."""
    height: Positive
    """Of the vertical part, metres."""
    breadth: Positive
    """Width of the whole sheet, metres."""


class FloorSpec(Colored):
    """The floor; without a colour it is light gray."""

    specular: Share = 0.5
    """Strength of its gloss; 0 for none."""
    roughness: Share = 0.9
    """Roughness of its gloss: 0 mirror, 1 matt."""
    wall: WallSpec | None = None
    """Where the floor bends up; None for a plane."""

    def inputs(self) -> dict[str, object]:
        """The inputs of the floor's material, by name."""
        return {
            "linear": self.color or _FLOOR_GRAY,
            "metallic": 0.0,
            "roughness": self.roughness,
            "specular": self.specular,
        }


class AttributeValue(Colored):
    """One value of an attribute kind: the words for it, and the inputs of material or object that
    it sets. None leaves an input to another kind."""

    synonyms: tuple[str, ...] = ()
    """Other words for it."""
    article: Literal["a", "an"] | None = None
    """Its article, if the first letter suggests the wrong one."""
    metallic: Share | None = None
    """0 dielectric, 1 metal."""
    roughness: Share | None = None
    """0 mirror, 1 matt."""
    specular: Share | None = None
    """Reflection of a non-metal; 0.5 as plastic, 0 none."""
    albedo: Share | None = None
    """Factor on the light that the surface reflects; None for 1."""
    brushed: Brushed | None = None
    """Spreads a part of a metal's reflection."""
    glaze: Glaze | None = None
    """A white gloss over the surface."""
    texture: Texture | None = None
    """A pattern on the whole object."""
    scale: Positive | None = None
    """Radius of the footprint, metres."""
    weight: Annotated[int, Field(ge=1, le=100)] = 1
    """How often objects have this value, relative to the others of its kind. It has no effect on
    the kind under test, whose values the design balances."""

    def inputs(self) -> dict[str, Any]:
        """The inputs that this value sets, by name; `srgb` is converted to `linear`."""
        inputs = self.model_dump(
            exclude={"synonyms", "article", "srgb", "linear", "weight"}, exclude_none=True
        )
        # Blender takes linear light.
        return inputs if self.color is None else {"linear": self.color, **inputs}


Attributes = Mapping[str, Mapping[str, AttributeValue]]
"""Attribute values by kind and name."""


def check_inputs(attributes: Attributes, paints: Sequence[str]) -> None:
    """Check that each input that an object needs is set by exactly one attribute kind.

    Args:
        attributes: the values of all kinds.
        paints: the kinds of which a world uses one; each has to fit the other kinds.

    Raises:
        ValueError: an input is set twice, or not at all, or not by all values of a kind.
    """
    # A world has one of the paints, so each is checked with the kinds that are no paint.
    for paint in paints or (None,):
        kinds_of_world = {}
        for kind, values in attributes.items():
            if kind == paint or kind not in paints:
                kinds_of_world[kind] = values
        _check_inputs(kinds_of_world)


def _check_inputs(attributes: Attributes) -> None:
    """Check the kinds of one world."""
    # No input is set by two kinds.
    kind_of_input: dict[str, str] = {}
    for kind, values in attributes.items():
        _check_values_agree(kind, values)
        inputs: set[str] = set()
        for value in values.values():
            inputs.update(value.inputs())
        for name in sorted(inputs):
            if name in kind_of_input:
                other = kind_of_input[name]
                alike = get_close_matches(kind, [other])
                fix = f"did you mean '{alike[0]}'?" if alike else "let one kind set it."
                raise ValueError(f"'{other}' and '{kind}' both set '{name}'; {fix}")
            kind_of_input[name] = kind

    # Every input that a material needs is set.
    textures_have_colors = _check_textures(attributes, kind_of_input)
    for name in ("linear", "metallic", "roughness", "scale"):
        # A texture with colours of its own needs no colour below it.
        if name == "linear" and textures_have_colors:
            continue
        if name not in kind_of_input:
            raise ValueError(
                f"no attribute kind sets '{name}'; declare one, with a single value if it shall "
                f"not vary."
            )


def _check_values_agree(kind: str, values: Mapping[str, AttributeValue]) -> None:
    """Check that all values of a kind set the same inputs."""
    textures = [value.texture for value in values.values() if value.texture]
    if len({texture.colors is not None for texture in textures}) == 2:
        raise ValueError(f"only some textures of '{kind}' have colors; give them to all or none.")
    sets_of_inputs = {frozenset(_needed(value)) for value in values.values()}
    sets_nothing = not any(value.inputs() for value in values.values())
    if len(sets_of_inputs) != 1 or sets_nothing:
        phrases = [
            f"{name} sets {', '.join(sorted(_needed(value))) or 'none'}"
            for name, value in values.items()
        ]
        raise ValueError(
            f"values of '{kind}' set different inputs, or none: {'; '.join(phrases)}. Let each "
            f"value set the same ones."
        )


def _needed(value: AttributeValue) -> set[str]:
    """The inputs that all values of a kind have to share: a value may lack a texture, and the
    colours of a texture count as `linear`."""
    needed = value.inputs().keys() - {"texture"}
    if value.texture is not None and value.texture.colors:
        needed |= {"linear"}
    return needed


def _check_textures(attributes: Attributes, kind_of_input: Mapping[str, str]) -> bool:
    """Whether textures have their own colours. Raises ValueError if these hide the values of
    another kind."""
    texture_kind = kind_of_input.get("texture")
    if texture_kind is None:
        return False
    values = attributes[texture_kind].values()
    have_colors = any(value.texture and value.texture.colors for value in values)
    color_kind = kind_of_input.get("linear")
    if have_colors and color_kind not in (None, texture_kind) and len(attributes[color_kind]) > 1:
        raise ValueError(
            f"the textures of '{texture_kind}' have colors, so '{color_kind}' would not be seen; "
            f"leave out their colors, or name both kinds in paints: a world uses one of these."
        )
    return have_colors
