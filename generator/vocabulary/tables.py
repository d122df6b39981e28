"""Models of the tables that a family's file declares: objects, phrases, placement, camera, and the
whole file."""

import math
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from generator.assets.sets import BUILTIN, NAME
from generator.base.declarations import Amount, Declared, Positive, Words
from generator.vocabulary.environments import Environment, LampSpec, Vector
from generator.vocabulary.materials import AttributeValue, FloorSpec
from generator.vocabulary.relations import Relation


class Top(Declared):
    """A flat top on which other objects can rest: its height above the foot, and the radius of its
    flat disc.

    Both are in units of the object's scale.
    """

    height: Positive
    radius: Positive


class ObjectSpec(Declared):
    """A category of objects: its words, its mesh (by default the mesh of its name) and size, and
    how it stands.

    `size` is a factor on the scale from its attributes, and on the marks of its texture.

    `turn` is the range of its random heading in degrees, around the direction that shows the camera
    its front or
    either side (`shows`). `top` is where other objects can rest on it. `foot`, in units of its
    scale, is the radius
    of the disc about its axis that has to be supported when it rests on an object; None if it never
    does.
    """

    mesh: str | None = None
    size: Annotated[float, Field(ge=0.25, le=4)] = 1
    synonyms: tuple[str, ...] = ()
    article: Literal["a", "an"] | None = None
    plural: str | None = None
    turn: Annotated[float, Field(ge=0, le=360)] = 360
    shows: Literal["front", "side"] = "front"
    top: Top | None = None
    foot: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


ADJECTIVE = "{value}"
TEMPLATE_NAMES = (
    "a-and-a",
    "that-is",
    "photo",
    "this-photo",
    "spare",
    "crepe",
    "there-is",
    "there-is-each",
    "in-image",
    "clauses",
    "there-is-that",
    "list-then-relate",
    "then-attributes",
    "not-true",
)
"""Names of the grammar's own templates (generator/language/grammar.py)."""
GRAMMAR = ("a", "an", "and", "the", "is", "are", "that", "not", "no", "there", "it", "in the image")


class Phrasing(Declared):
    """How captions say the values of an attribute kind.

    The phrase "{value}" alone makes adjectives: "a red fox". Any other phrase stands after the noun
    and after "is": "made of {value}" gives "a fox made of wood" and "the fox is made of wood".
    """

    phrase: Annotated[str, Field(pattern=r"^([a-z][a-z'-]* )*\{value\}( [a-z][a-z'-]*)*$")] = (
        ADJECTIVE
    )

    def of(self, value: str) -> str:
        """A value in the phrase.

        >>> Phrasing(phrase="made of {value}").of("wood")
        'made of wood'
        """
        return self.phrase.replace(ADJECTIVE, value)


def check_phrasing(kind: str, phrasing: Phrasing) -> None:
    """Raise ValueError if the phrase of an attribute kind begins with a grammar word of
    captions."""
    first = phrasing.phrase.split()[0]
    if first in GRAMMAR:
        raise ValueError(
            f"kinds.{kind}: the phrase '{phrasing.phrase}' begins with '{first}', a grammar word "
            f"of captions; begin "
            f'with another word, as in "made of {ADJECTIVE}".'
        )


class Placement(Declared):
    """Where objects may stand and how much of each has to be visible (docs/vocabularies.md,
    placement).

    `tallest`: least height of the tallest object, as a share of the image height, if one of 30
    placements reaches it.
    """

    extent: Positive
    frame: Literal["image", "square"]
    orders: Literal["planned", "free"] = "planned"
    gap: Amount
    clearance: Amount
    min_pixels: Amount
    min_visible: Annotated[float, Field(ge=0, le=1)]
    tallest: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    objects: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] = (2, 2)
    """The fewest and the most objects of a scene, unless `--objects` says otherwise."""
    most: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _rising(self) -> "Placement":
        if self.objects[0] > self.objects[1]:
            raise ValueError(f"objects = {list(self.objects)} should have the lesser number first")
        return self


class CameraSpec(Declared):
    """The camera: position and target in metres, lens and sensor width in millimetres, jitter in
    metres.

    `close`: the largest factor on the focal length where the objects leave room; 1 keeps the camera
    in its place.
    """

    position: Vector
    target: Vector
    lens: Positive
    sensor: Positive
    jitter: Amount
    close: Annotated[float, Field(ge=1, le=4)] = 1


_TOLD_APART = 0.95


class Tables(Declared):
    """All tables that a family's file declares."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    category: str
    generic: Words = "object"
    tested: str
    adjectives: tuple[str, ...] = ()
    assets: Annotated[str, Field(pattern=f"^{NAME.pattern}$")] = BUILTIN
    paints: tuple[str, ...] = ()
    kinds: dict[str, Phrasing] = Field(default_factory=dict)
    templates: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=64)] = (
        Field(default_factory=dict)
    )
    drawn_templates: tuple[str, ...] = ()
    attributes: dict[str, dict[str, AttributeValue]]
    objects: dict[str, ObjectSpec]
    relations: dict[str, Relation]
    environments: dict[str, Environment]
    placement: Placement
    camera: CameraSpec
    sky: Amount
    caustics: bool = False
    floor: FloorSpec = FloorSpec()
    lamps: dict[str, LampSpec]

    @field_validator("relations", mode="before")
    @classmethod
    def _named(cls, relations: Any) -> Any:
        """Add to each relation its name, which selects its rule."""
        if not isinstance(relations, dict):
            return relations
        return {
            name: {**told, "name": name} if isinstance(told, dict) else told
            for name, told in relations.items()
        }

    @property
    def pair_relations(self) -> dict[str, Relation]:
        """The relations of two objects, which plans decide, holdouts hold out and captions
        combine."""
        return {
            name: relation for name, relation in self.relations.items() if relation.axis.arity == 2
        }

    @property
    def varied_kinds(self) -> list[str]:
        """The attribute kinds that graded captions name: those with several values. A value that
        all objects share says nothing: "a matt wolf" where every animal is matt."""
        return [kind for kind, values in self.attributes.items() if len(values) > 1]

    @property
    def scales(self) -> list[float]:
        """All scales that attributes give an object, metres."""
        return [
            value.scale
            for values in self.attributes.values()
            for value in values.values()
            if value.scale
        ]

    @property
    def radii(self) -> list[float]:
        """The scales of objects, with their own `size`, metres."""
        return [spec.size * scale for spec in self.objects.values() for scale in self.scales]

    @property
    def closest(self) -> float:
        """The largest factor on the focal length: `camera.close`, or less, so that no size looks
        like the next."""
        scales = sorted(set(self.scales))
        ratios = (large / small for small, large in pairwise(scales))
        return max(1.0, min(self.camera.close, _TOLD_APART * min(ratios, default=math.inf)))

    @property
    def phrases(self) -> dict[str, Phrasing]:
        """The phrasing of each attribute kind that captions say after the noun."""
        return {
            kind: phrasing for kind, phrasing in self.kinds.items() if phrasing.phrase != ADJECTIVE
        }
