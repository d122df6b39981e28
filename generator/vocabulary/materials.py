"""Materials of objects and of the floor, as a family declares them (docs/vocabularies.md)."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from generator.base.declarations import Declared, Finite, Hex, Positive, Share

Channel = Annotated[float, Field(ge=0, le=255)]
Pattern = Literal[
    "noise", "blades", "cobbles", "rings", "brick", "veins", "stripes", "checker", "dots", "scales"
]
_FLOOR_GRAY = (204.0, 204.0, 204.0)


_LINEAR_PART = 0.04045  # below this an sRGB channel is linear (IEC 61966-2-1)


def linear_of(srgb: str) -> tuple[float, float, float]:
    """Red, green and blue of "#rrggbb" without the sRGB curve, 0..255, to four decimals.

    >>> linear_of("#ff8000")
    (255.0, 55.0444, 0.0)
    """
    red, green, blue = (_decoded(int(srgb[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return red, green, blue


def _decoded(channel: float) -> float:
    """An sRGB channel (0..1) as linear light, 0..255."""
    linear = channel / 12.92 if channel <= _LINEAR_PART else ((channel + 0.055) / 1.055) ** 2.4
    return round(255 * linear, 4)


class Colored(Declared):
    """Something of one colour: linear red, green and blue, 0..255, or the same as sRGB
    "#rrggbb"."""

    linear: tuple[Channel, Channel, Channel] | None = None
    srgb: Hex | None = None

    @model_validator(mode="after")
    def _one_color(self) -> "Colored":
        if self.linear is not None and self.srgb is not None:
            raise ValueError("linear and srgb are two ways to give one colour; give one of them")
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
    """A second lobe of a metal's reflection: its share of the reflection, its roughness and its
    stretch, 0..1."""

    share: Share
    roughness: Share
    stretch: Share


class Glaze(Declared):
    """A white gloss over a surface: its index of refraction, 1 for none, and its roughness."""

    ior: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    roughness: Share


class Texture(Declared):
    """A solid pattern through the body of an object, fixed to the object.

    `scale` is the size of its marks in metres. Without `colors` it has the object's own colour and
    a darker shade.
    `relief` is how far the marks seem to stand out; 0 leaves the surface even.
    """

    pattern: Pattern
    colors: Annotated[tuple[Hex, ...], Field(min_length=2, max_length=4)] | None = None
    scale: Positive
    relief: Share = 0


class WallSpec(Declared):
    """Where the floor bends up into a wall: a direction in degrees from +x towards +y, and lengths
    in metres."""

    direction: Finite
    distance: Positive
    bend: Positive
    rise: Positive
    height: Positive
    breadth: Positive


class FloorSpec(Colored):
    """The floor: its colour (by default light gray), strength (`specular`) and roughness of its
    gloss, and its wall."""

    specular: Share = 0.5
    roughness: Share = 0.9
    wall: WallSpec | None = None

    def inputs(self) -> dict[str, object]:
        """The inputs of the floor's material, by name."""
        return {
            "linear": self.color or _FLOOR_GRAY,
            "metallic": 0.0,
            "roughness": self.roughness,
            "specular": self.specular,
        }


class AttributeValue(Colored):
    """One value of an attribute kind: the words for it and the inputs of material or object that it
    sets."""

    synonyms: tuple[str, ...] = ()
    article: Literal["a", "an"] | None = None
    metallic: Share | None = None
    roughness: Share | None = None
    specular: Share | None = None
    albedo: Share | None = None
    brushed: Brushed | None = None
    glaze: Glaze | None = None
    texture: Texture | None = None
    scale: Positive | None = None
    weight: Annotated[int, Field(ge=1, le=100)] = 1
    """How often objects have this value, relative to the others of its kind. It has no effect on
    the kind under test, whose values the design balances."""

    def inputs(self) -> dict[str, Any]:
        """The inputs that this value sets, by name; `srgb` is converted to `linear`."""
        given = self.model_dump(
            exclude={"synonyms", "article", "srgb", "linear", "weight"}, exclude_none=True
        )
        return given if self.color is None else {"linear": self.color, **given}


Attributes = Mapping[str, Mapping[str, AttributeValue]]
"""Attribute values by kind and name."""


def check_inputs(attributes: Attributes, paints: Sequence[str]) -> None:
    """Raise ValueError unless each input that an object needs is set by exactly one attribute kind.

    A world uses one of the kinds in `paints`; each has to fit the other kinds.
    """
    for kept in paints or (None,):
        _check_inputs(
            {
                kind: values
                for kind, values in attributes.items()
                if kind == kept or kind not in paints
            }
        )


def _check_inputs(attributes: Attributes) -> None:
    setters: dict[str, str] = {}
    for kind, values in attributes.items():
        if (
            len({value.texture.colors is not None for value in values.values() if value.texture})
            == 2
        ):
            raise ValueError(
                f"only some textures of '{kind}' have colors; give them to all or none."
            )
        given = {frozenset(_needed(value)) for value in values.values()}
        names = frozenset[str]().union(*(value.inputs() for value in values.values()))
        if len(given) != 1 or not names:
            said = [
                f"{name} sets {', '.join(sorted(_needed(value))) or 'none'}"
                for name, value in values.items()
            ]
            raise ValueError(
                f"values of '{kind}' set different inputs, or none: {'; '.join(said)}. Let each "
                f"value set the same ones."
            )
        for name in sorted(names):
            if name in setters:
                alike = get_close_matches(kind, [setters[name]])
                mend = f"did you mean '{alike[0]}'?" if alike else "let one kind set it."
                raise ValueError(f"'{setters[name]}' and '{kind}' both set '{name}'; {mend}")
            setters[name] = kind
    covered = _covered(attributes, setters)
    for name in ("linear", "metallic", "roughness", "scale"):
        if name not in setters and not (name == "linear" and covered):
            raise ValueError(
                f"no attribute kind sets '{name}'; declare one, with a single value if it shall "
                f"not vary."
            )


def _needed(value: AttributeValue) -> set[str]:
    """The inputs that all values of a kind have to share: a value may lack a texture, and the
    colours of a texture count as `linear`."""
    needed = value.inputs().keys() - {"texture"}
    return needed | {"linear"} if value.texture is not None and value.texture.colors else needed


def _covered(attributes: Attributes, setters: Mapping[str, str]) -> bool:
    """Whether textures have their own colours. Raises ValueError if these hide the values of
    another kind."""
    values = attributes[setters["texture"]].values() if "texture" in setters else ()
    covering = any(value.texture and value.texture.colors for value in values)
    hidden = setters.get("linear")
    if covering and hidden not in (None, setters["texture"]) and len(attributes[hidden]) > 1:
        raise ValueError(
            f"the textures of '{setters['texture']}' have colors, so '{hidden}' would not be seen; "
            f"leave out their "
            "colors, or name both kinds in paints: a world uses one of these."
        )
    return covering
