"""Models of the tables that a family's file declares: objects, phrases, placement, camera, and the
whole file."""

import math
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from generator.assets.sets import BUILTIN, NAME
from generator.base.declarations import Amount, Declared, Positive, Words
from generator.dataset.relations import OWN
from generator.vocabulary.environments import Environment, LampSpec, Vector
from generator.vocabulary.materials import AttributeValue, FloorSpec
from generator.vocabulary.relations import Relation


class Top(Declared):
    """A flat top on which other objects can rest, in units of the object's scale."""

    height: Positive
    """Above the foot."""
    radius: Positive
    """Of its flat disc."""


class ObjectSpec(Declared):
    """A category of objects: its words, its mesh and size, and how it stands."""

    mesh: str | None = None
    """A shape, a mesh of the asset set, or SET/NAME; None for the mesh of its name."""
    size: Annotated[float, Field(ge=0.25, le=4)] = 1
    """Factor on the scale from its attributes, and on the marks of its texture."""
    synonyms: tuple[str, ...] = ()
    """Other words for it."""
    article: Literal["a", "an"] | None = None
    """Its article, if the first letter suggests the wrong one."""
    plural: str | None = None
    """Its plural, if it is irregular."""
    turn: Annotated[float, Field(ge=0, le=360)] = 360
    """Range of its random heading, degrees, around the direction of `shows`."""
    shows: Literal["front", "side"] = "front"
    """What the camera sees in the middle of that range; with "side", either side."""
    front: Annotated[float, Field(ge=-180, le=360)] | None = None
    """The direction of its front (a face, a seat, a nose) in the frame of its mesh: degrees from
    +x, counter-clockwise seen from above. None if it has no natural front, as a ball."""
    top: Top | None = None
    """Where other objects can rest on it; None if none can."""
    foot: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Radius, in units of its scale, of the disc about its axis that has to be supported when it
    rests on an object; 0 if its centre is enough, None if it never rests on one."""


ADJECTIVE = "{value}"
"""The phrase of attribute kinds whose values are adjectives."""
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
# Words that other words may not contain, or captions would have two readings.
GRAMMAR = ("a", "an", "and", "the", "is", "are", "that", "not", "no", "there", "it", "in the image")


class Phrasing(Declared):
    """How captions say the values of an attribute kind.

    The phrase "{value}" alone makes adjectives: "a red fox". Any other phrase stands after the noun
    and after "is": "made of {value}" gives "a fox made of wood" and "the fox is made of wood".
    """

    phrase: Annotated[str, Field(pattern=r"^([a-z][a-z'-]* )*\{value\}( [a-z][a-z'-]*)*$")] = (
        ADJECTIVE
    )
    """Words with one {value} among them."""

    def insert(self, value: str) -> str:
        """Insert a value into the phrase.

        >>> Phrasing(phrase="made of {value}").insert("wood")
        'made of wood'
        """
        return self.phrase.replace(ADJECTIVE, value)


def check_phrasing(kind: str, phrasing: Phrasing) -> None:
    """Check that the phrase of an attribute kind can be told from the words around it.

    Args:
        kind: the attribute kind, for the message.
        phrasing: how captions say its values.

    Raises:
        ValueError: the phrase begins with a grammar word of captions.
    """
    first = phrasing.phrase.split()[0]
    if first in GRAMMAR:
        raise ValueError(
            f"kinds.{kind}: the phrase '{phrasing.phrase}' begins with '{first}', a grammar word "
            f'of captions; begin with another word, as in "made of {ADJECTIVE}".'
        )


class Placement(Declared):
    """Where objects may stand and how much of each has to be visible (docs/vocabularies.md,
    placement)."""

    extent: Positive
    """Object centres are within -extent..extent in x and y, metres."""
    frame: Literal["image", "square"]
    """Whether objects are wholly in the image, or in its central square."""
    orders: Literal["planned", "free"] = "planned"
    """Whether the planned depth order is kept, or drawn again if it leaves no room, as in CLEVR."""
    gap: Amount
    """Least distance between two footprints, metres."""
    clearance: Amount
    """Least distance along left-right and front-behind, metres."""
    min_pixels: Amount
    """Least visible area of an object, pixels of an image of 320x240; scaled with the image."""
    min_visible: Annotated[float, Field(ge=0, le=1)]
    """Least visible fraction of an object."""
    tallest: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Least height of the tallest object, as a share of the image height, if one of 30 placements
    reaches it."""
    objects: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] = (2, 2)
    """The fewest and the most objects of a scene, unless `--objects` says otherwise."""
    most: Annotated[int, Field(ge=1)] | None = None
    """Largest number of objects in a scene; None for no limit of its own."""

    @model_validator(mode="after")
    def _rising(self) -> "Placement":
        if self.objects[0] > self.objects[1]:
            raise ValueError(f"objects = {list(self.objects)} should have the lesser number first")
        return self


class CameraSpec(Declared):
    """The camera."""

    position: Vector
    """Metres."""
    target: Vector
    """The point that it looks at, metres."""
    lens: Positive
    """Focal length, millimetres."""
    sensor: Positive
    """Sensor width, which spans the longer side of the image, millimetres."""
    jitter: Amount
    """In each scene, each coordinate of the position moves by a uniform random -jitter..jitter,
    metres."""
    close: Annotated[float, Field(ge=1, le=4)] = 1
    """The largest factor on the focal length where the objects leave room; 1 keeps the camera in
    its place."""


_CLOSEST_SHARE = 0.95
"""The largest factor on the focal length, as a share of the smallest ratio of two sizes: a small
object then never looks as large as a large one."""


class FamilyTables(Declared):
    """All tables that a family's file declares."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Name of the family."""
    category: str
    """The word for categories, such as "shape"; the kind of categories in holdouts and foils."""
    generic: Words = "object"
    """The noun of an object without a category."""
    tested: str
    """The attribute kind whose values are held out unless a holdout says otherwise."""
    adjectives: tuple[str, ...] = ()
    """The attribute kinds in the order in which captions name them; empty for the order of the
    file."""
    assets: Annotated[str, Field(pattern=f"^{NAME.pattern}$")] = BUILTIN
    """The asset set of its meshes."""
    paints: tuple[str, ...] = ()
    """Attribute kinds of which a world uses one, such as colours and textures."""
    kinds: dict[str, Phrasing] = Field(default_factory=dict)
    """How captions say the values of attribute kinds that are not adjectives."""
    templates: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=64)] = (
        Field(default_factory=dict)
    )
    """The family's own templates of captions, by name (templates.py)."""
    drawn_templates: tuple[str, ...] = ()
    """Names of those that are drawn besides the grammar's if no template is requested."""
    attributes: dict[str, dict[str, AttributeValue]]
    """The values of each attribute kind, by name."""
    objects: dict[str, ObjectSpec]
    """The categories, by name."""
    relations: dict[str, Relation]
    """The relations, by the name of their rule."""
    environments: dict[str, Environment]
    """The places of scenes, by name."""
    placement: Placement
    """Where objects may stand, and how far apart."""
    camera: CameraSpec
    """Where the camera stands and what it sees."""
    sky: Amount
    """Strength of even white light from all around."""
    caustics: bool = False
    """Whether light that mirrors and glass focus is rendered."""
    floor: FloorSpec = FloorSpec()
    """The floor of the environments without a ground of their own."""
    lamps: dict[str, LampSpec]
    """The lamps, by name."""

    @field_validator("relations", mode="before")
    @classmethod
    def _named(cls, relations: Any) -> Any:
        """Add to each relation its name, which selects its rule."""
        if not isinstance(relations, dict):
            return relations
        return {
            # Values of other types are refused afterwards, with the place of the mistake.
            name: {**table, "name": name} if isinstance(table, dict) else table
            for name, table in relations.items()
        }

    @property
    def pair_relations(self) -> dict[str, Relation]:
        """The relations of two objects, which plans decide, holdouts hold out and captions
        combine."""
        return {
            name: relation for name, relation in self.relations.items() if relation.axis.arity == 2
        }

    @property
    def axes_of_both_frames(self) -> tuple[tuple[str, str], ...]:
        """The two directions of the viewer on each axis that the object's own frame has too, such
        as left and right."""
        axes = []
        for axis in (("left", "right"), ("front", "behind")):
            if all({rule, OWN[rule]} <= self.relations.keys() for rule in axis):
                axes.append(axis)
        return tuple(axes)

    @property
    def varied_kinds(self) -> list[str]:
        """The attribute kinds that graded captions name: those with several values. A value that
        all objects share says nothing: "a matt wolf" where every animal is matt."""
        return [kind for kind, values in self.attributes.items() if len(values) > 1]

    @property
    def scales(self) -> list[float]:
        """All scales that attributes give an object, metres."""
        scales: list[float] = []
        for values in self.attributes.values():
            scales += [value.scale for value in values.values() if value.scale]
        return scales

    @property
    def radii(self) -> list[float]:
        """The scales of objects, with their own `size`, metres."""
        return [spec.size * scale for spec in self.objects.values() for scale in self.scales]

    @property
    def closest(self) -> float:
        """The largest factor on the focal length: `camera.close`, or less, so that no size looks
        like the next."""
        scales = sorted(set(self.scales))
        # Neighbouring sizes are the ones that could be confused.
        ratios = (large / small for small, large in pairwise(scales))
        limit = _CLOSEST_SHARE * min(ratios, default=math.inf)
        return max(1.0, min(self.camera.close, limit))

    @property
    def phrases(self) -> dict[str, Phrasing]:
        """The phrasing of each attribute kind that captions say after the noun."""
        return {
            kind: phrasing for kind, phrasing in self.kinds.items() if phrasing.phrase != ADJECTIVE
        }
