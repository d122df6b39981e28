"""Attribute kinds and their values: which inputs of a material or object each value sets."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from generator.base.declarations import Positive, Share
from generator.vocabulary.materials import Brushed, Colored, Glaze, Texture


class AttributeValue(Colored):
    """One value of an attribute kind: the words for it and the inputs of material or object that it sets."""

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

    def inputs(self) -> dict[str, Any]:
        """The inputs that this value sets, by name; `srgb` comes as the `linear` that it means."""
        given = self.model_dump(exclude={"synonyms", "article", "srgb", "linear"}, exclude_none=True)
        return given if self.color is None else {"linear": self.color, **given}


Attributes = Mapping[str, Mapping[str, AttributeValue]]
"""Attribute values by kind and name."""


def check_inputs(attributes: Attributes, paints: Sequence[str]) -> None:
    """Raise ValueError unless each input that an object needs is set by exactly one attribute kind.

    Of the kinds in `paints` a world has one; each has to fit the other kinds.
    """
    for kept in paints or (None,):
        _check_inputs({kind: values for kind, values in attributes.items() if kind == kept or kind not in paints})


def _check_inputs(attributes: Attributes) -> None:
    setters: dict[str, str] = {}
    for kind, values in attributes.items():
        if len({value.texture.colors is not None for value in values.values() if value.texture}) == 2:
            raise ValueError(f"of the textures of '{kind}' some have colors; give them to all or none.")
        given = {frozenset(_needed(value)) for value in values.values()}
        names = frozenset[str]().union(*(value.inputs() for value in values.values()))
        if len(given) != 1 or not names:
            raise ValueError(f"values of '{kind}' set different inputs, or none; let each value set the same ones.")
        for name in sorted(names):
            if name in setters:
                alike = get_close_matches(kind, [setters[name]])
                mend = f"did you mean '{alike[0]}'?" if alike else "let one kind set it."
                raise ValueError(f"'{setters[name]}' and '{kind}' both set '{name}'; {mend}")
            setters[name] = kind
    covered = _covered(attributes, setters)
    for name in ("linear", "metallic", "roughness", "scale"):
        if name not in setters and not (name == "linear" and covered):
            raise ValueError(f"no attribute kind sets '{name}'; declare one, with a single value if it shall not vary.")


def _needed(value: AttributeValue) -> set[str]:
    """The inputs that all values of a kind have to set alike: a texture may be missing, and its colours be a plain one."""
    needed = value.inputs().keys() - {"texture"}
    return needed | {"linear"} if value.texture is not None and value.texture.colors else needed


def _covered(attributes: Attributes, setters: Mapping[str, str]) -> bool:
    """Whether textures bring their own colours. Raises ValueError where they hide the values of another kind."""
    values = attributes[setters["texture"]].values() if "texture" in setters else ()
    covering = any(value.texture and value.texture.colors for value in values)
    hidden = setters.get("linear")
    if covering and hidden not in (None, setters["texture"]) and len(attributes[hidden]) > 1:
        raise ValueError(
            f"the textures of '{setters['texture']}' have colors, so that '{hidden}' would not be seen; leave out their "
            f"colors, or name both kinds in paints, of which a world has one."
        )
    return covering
