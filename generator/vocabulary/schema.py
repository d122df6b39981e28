"""What a world can hold: attribute kinds and their values, objects, relations, stage. Read from TOML."""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, ValidationError, model_validator

from generator.assets.lookup import unknown_mesh
from generator.assets.sets import BUILTIN, NAME
from generator.assets.shapes import SHAPES, reach
from generator.dataset.declarations import Declared, Hex, Positive, Share, Words, caught, refuse, table_of
from generator.dataset.errors import UserError, did_you_mean
from generator.vocabulary.colors import linear_of
from generator.vocabulary.environments import Environment, LampSpec, Vector
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.materials import Brushed, FloorSpec, Glaze, Texture
from generator.vocabulary.phrases import ADJECTIVE, KindSpec, check_phrase
from generator.vocabulary.relation_rules import DIRECTIONS, Relation, check_relations

Channel = Annotated[float, Field(ge=0, le=255)]


class AttributeValue(Declared):
    """One value of an attribute kind: the words for it and the inputs of material or object that it sets."""

    synonyms: tuple[str, ...] = ()
    article: Literal["a", "an"] | None = None
    linear: tuple[Channel, Channel, Channel] | None = None
    srgb: Hex | None = None
    metallic: Share | None = None
    roughness: Share | None = None
    specular: Share | None = None
    albedo: Share | None = None
    brushed: Brushed | None = None
    glaze: Glaze | None = None
    texture: Texture | None = None
    scale: Positive | None = None

    @model_validator(mode="after")
    def _one_color(self) -> "AttributeValue":
        if self.linear is not None and self.srgb is not None:
            raise ValueError("linear and srgb are two ways to give one colour; give one of them")
        return self

    def inputs(self) -> dict[str, Any]:
        """The inputs that this value sets, by name; `srgb` as the `linear` that it means."""
        given = self.model_dump(exclude={"synonyms", "article", "srgb"}, exclude_none=True)
        return given if self.srgb is None else {"linear": linear_of(self.srgb), **given}


class Top(Declared):
    """A flat top on which others can rest: its height above the foot, and the radius of the disc on which it is flat."""

    height: Positive
    radius: Positive


class ObjectKind(Declared):
    """A category of objects: its words, its mesh (by default that of its name), and how it stands.

    `turn` is the range of its random heading in degrees about the direction in which it `shows` the camera its front, or
    either side. `top` is where others can rest on it; `foot` is the radius of
    the disc that has to be under it, about its axis, when it rests on another. Both are in units of its scale.
    """

    mesh: str | None = None
    synonyms: tuple[str, ...] = ()
    article: Literal["a", "an"] | None = None
    plural: str | None = None
    turn: Annotated[float, Field(ge=0, le=360)] = 360
    shows: Literal["front", "side"] = "front"
    top: Top | None = None
    foot: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class Placement(Declared):
    extent: Positive
    frame: Literal["image", "square"]
    orders: Literal["planned", "free"] = "planned"
    gap: Annotated[float, Field(ge=0)]
    clearance: Annotated[float, Field(ge=0)]
    min_pixels: Annotated[float, Field(ge=0)]
    min_visible: Annotated[float, Field(ge=0, le=1)]
    most: Annotated[int, Field(ge=1)] | None = None


class CameraSpec(Declared):
    position: Vector
    target: Vector
    lens: Positive
    sensor: Positive
    jitter: Annotated[float, Field(ge=0)]


class Vocabulary(Declared):
    """A world family, as declared in `scenes/NAME.toml` or in a file of the user's."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    category: str
    generic: Words = "object"
    tested: str
    adjectives: tuple[str, ...] = ()
    assets: Annotated[str, Field(pattern=f"^{NAME.pattern}$")] = BUILTIN
    paints: tuple[str, ...] = ()
    kinds: dict[str, KindSpec] = Field(default_factory=dict)
    attributes: dict[str, dict[str, AttributeValue]]
    objects: dict[str, ObjectKind]
    relations: dict[str, Relation]
    environments: dict[str, Environment]
    placement: Placement
    camera: CameraSpec
    sky: Annotated[float, Field(ge=0)]
    caustics: bool = False
    floor: FloorSpec = FloorSpec()
    lamps: dict[str, LampSpec]

    @model_validator(mode="after")
    def _consistent(self) -> "Vocabulary":
        self._check_references()
        refuse(
            said
            for check in (
                self._check_lamps, self._check_paints, self._check_kinds, self._check_setters, self._check_words,
                lambda: check_relations(self.relations), self._check_distances, self._check_stacks, self._check_orders,
            )
            for said in caught(check)
        )  # fmt: skip
        return self

    def _check_references(self) -> None:
        if self.tested not in self.attributes:
            raise ValueError(
                f"tested = '{self.tested}' is no attribute kind; {did_you_mean(self.tested, list(self.attributes))}"
            )
        if self.category in self.attributes:
            raise ValueError(f"category = '{self.category}' is also an attribute kind; give one of them another name.")
        if mistake := unknown_mesh(self.meshes.values(), self.assets):
            raise ValueError(mistake)
        if len(self.objects) < 2:
            raise ValueError("expected at least two objects; add some to [objects].")
        if self.adjectives and sorted(self.adjectives) != sorted(self.attributes):
            raise ValueError(
                f"adjectives = {list(self.adjectives)} should name every attribute kind once: {', '.join(self.attributes)}."
            )
        if not self.environments:
            raise ValueError("expected at least one environment; add one to [environments].")

    @property
    def scales(self) -> list[float]:
        """All scales that an object may have, metres."""
        return [value.scale for values in self.attributes.values() for value in values.values() if value.scale]

    def _check_distances(self) -> None:
        side_by_side = 2 * max(self.scales, default=0) + self.placement.gap
        for name, relation in self.relations.items():
            if relation.distance is not None and relation.distance - relation.margin <= side_by_side:
                raise ValueError(
                    f"relation '{name}' has distance = {relation.distance} and margin = {relation.margin}, and large objects "
                    f"side by side are {side_by_side:.3g} m apart, so that they could not be near; take a larger distance."
                )

    def _check_stacks(self) -> None:
        resting = [relation.margin for relation in self.relations.values() if relation.rule == "on"]
        if not resting or not self.scales:
            return
        least = min(self.scales)
        for name, kind in self.objects.items():
            if kind.top and kind.top.radius * least <= max(resting):
                raise ValueError(
                    f"the top of '{name}' has a radius of {kind.top.radius * least:.3g} m where it is smallest, no more than "
                    f"the margin of 'on' ({max(resting)} m); lessen the margin, or declare no top."
                )
        if not any(kind.top for kind in self.objects.values()):
            raise ValueError(
                "the rule 'on' needs an object to rest on; declare the top of one, or leave out the relation."
            )
        if not any(kind.foot is not None for kind in self.objects.values()):
            raise ValueError(
                "the rule 'on' needs an object that rests; declare the foot of one, or leave out the relation."
            )

    def _check_lamps(self) -> None:
        for place, where in self.environments.items():
            for name, lamp in where.lamps.items():
                if name not in self.lamps:
                    raise ValueError(
                        f"environments.{place}.lamps.{name} stands in for no lamp; {did_you_mean(name, list(self.lamps))}"
                    )
                if lamp.kind != self.lamps[name].kind:
                    raise ValueError(
                        f"environments.{place}.lamps.{name} should be of the kind of the lamp '{name}', {self.lamps[name].kind}."
                    )

    def _check_orders(self) -> None:
        others = [name for name, relation in self.relations.items() if relation.rule not in DIRECTIONS]
        if self.placement.orders == "free" and others:
            raise ValueError(
                f"relation '{others[0]}' is planned with the orders of the objects; take orders = \"planned\" in [placement]."
            )

    def _check_kinds(self) -> None:
        for kind, spec in self.kinds.items():
            if kind not in self.attributes:
                raise ValueError(
                    f"kinds.{kind} is about no attribute kind; {did_you_mean(kind, list(self.attributes))}"
                )
            check_phrase(kind, spec)

    def _check_paints(self) -> None:
        unknown = [kind for kind in self.paints if kind not in self.attributes]
        if unknown:
            raise ValueError(
                f"paints names '{unknown[0]}', which is no attribute kind; {did_you_mean(unknown[0], list(self.attributes))}"
            )
        if self.paints and len(set(self.paints)) != max(2, len(self.paints)):
            raise ValueError(
                f"paints = {list(self.paints)} should name two or more attribute kinds, each once, of which a world has one."
            )

    def _check_setters(self) -> None:
        for kind in self.paints or (None,):
            self._check_inputs([other for other in self.paints if other != kind])

    def _check_inputs(self, without: Sequence[str]) -> None:
        setters: dict[str, str] = {}
        for kind, values in self.attributes.items():
            if kind in without:
                continue
            given = {frozenset(value.inputs()) for value in values.values()}
            if len(given) != 1 or not (names := next(iter(given))):
                raise ValueError(f"values of '{kind}' set different inputs, or none; let each value set the same ones.")
            for name in sorted(names):
                if name in setters:
                    raise ValueError(f"'{setters[name]}' and '{kind}' both set '{name}'; let one kind set it.")
                setters[name] = kind
        covered = self._covering(setters)
        for name in ("linear", "metallic", "roughness", "scale"):
            if name not in setters and not (name == "linear" and covered):
                raise ValueError(
                    f"no attribute kind sets '{name}'; declare one, with a single value if it shall not vary."
                )

    def _covering(self, setters: Mapping[str, str]) -> bool:
        """Whether textures have all colours themselves. Raises ValueError where they hide the values of another kind."""
        values = self.attributes[setters["texture"]].values() if "texture" in setters else ()
        covering = {value.texture.colors is not None for value in values if value.texture}
        if len(covering) == 2:
            raise ValueError(f"of the textures of '{setters['texture']}' some have colors; give them to all or none.")
        hidden = setters.get("linear")
        if True in covering and hidden is not None and len(self.attributes[hidden]) > 1:
            raise ValueError(
                f"the textures of '{setters['texture']}' have colors, so that '{hidden}' would not be seen; leave out their "
                f"colors, or name both kinds in paints, of which a world has one."
            )
        return True in covering

    def _check_words(self) -> None:
        taken: dict[str, str] = {}
        values = [(v, f"{k}.{v}", a.synonyms) for k, vs in self.attributes.items() for v, a in vs.items()]
        nouns = [(o, f"{self.category}.{o}", kind.synonyms) for o, kind in self.objects.items()]
        relations = [(r.phrase, f"relations.{name}", r.synonyms) for name, r in self.relations.items()]
        generic = [(self.generic, "generic", ())]
        phrases = [
            (self.phrases[kind].said(word), place, ())
            for word, place, synonyms in values
            for kind in [place.partition(".")[0]]
            if kind in self.phrases
            for word in (word, *synonyms)
        ]
        places = [(place.phrase, f"environments.{name}", ()) for name, place in self.environments.items()]
        mistakes = []
        for name, place, synonyms in values + nouns + relations + generic + phrases + places:
            for word in (name, *synonyms):
                if word in taken:
                    mistakes.append(
                        f"the word '{word}' means both {taken[word]} and {place}; choose another for one of them."
                    )
                taken.setdefault(word, place)
        refuse(mistakes)

    @property
    def adjective_order(self) -> tuple[str, ...]:
        """Attribute kinds in the order in which they are said: before a noun, then those with a phrase after it."""
        return tuple(sorted(self.adjectives or self.attributes, key=lambda kind: kind in self.phrases))

    @property
    def phrases(self) -> dict[str, KindSpec]:
        """The kinds that are said after the noun, with their phrase."""
        return {kind: spec for kind, spec in self.kinds.items() if spec.phrase != ADJECTIVE}

    @property
    def meshes(self) -> dict[str, str]:
        """The mesh of every category."""
        return {name: kind.mesh or name for name, kind in self.objects.items()}

    @property
    def asset_meshes(self) -> list[str]:
        """Names of the meshes that come from the asset set, or as SET/NAME from another, sorted; the others are shapes."""
        return sorted(set(self.meshes.values()) - SHAPES.keys())

    def painted_with(self, kind: str) -> "Vocabulary":
        """This family with one of the kinds that paint objects: `kind`, or `tested` where `kind` is none of them."""
        if not self.paints:
            return self
        kept = next((each for each in (kind, self.tested) if each in self.paints), self.paints[0])
        dropped = [each for each in self.paints if each != kept]
        changes: dict[str, Any] = {
            "attributes": {each: values for each, values in self.attributes.items() if each not in dropped},
            "kinds": {each: spec for each, spec in self.kinds.items() if each not in dropped},
            "adjectives": tuple(each for each in self.adjectives if each not in dropped),
            "tested": kept if self.tested in dropped else self.tested,
            "paints": (),
        }
        return self.model_copy(update=changes)

    def toml(self) -> str:
        """This family as a TOML file, what is as usual left out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_defaults=True))

    def values(self, kind: str) -> list[str]:
        """Names of the values of an attribute kind, in the order of the file."""
        return list(self.attributes[kind])

    def scale(self, attributes: Mapping[str, str]) -> float:
        """The scale of an object with these attribute values, by kind: the radius of its footprint, metres."""
        scales = (self.attributes[kind][value].scale for kind, value in attributes.items())
        return next(scale for scale in scales if scale is not None)

    def reach(self, category: str, attributes: Mapping[str, str]) -> float:
        """How far an object reaches from its vertical axis, metres: its scale, and more for CLEVR's cube."""
        return reach(self.meshes[category]) * self.scale(attributes)

    def facing(self, category: str, camera: tuple[float, float, float]) -> float:
        """The heading (radians) about which an object in the middle turns; what shows a side looks to the right."""
        towards = math.atan2(camera[1], camera[0])
        return towards + math.pi / 2 if self.objects[category].shows == "side" else towards

    def top(self, category: str, attributes: Mapping[str, str]) -> tuple[float, float] | None:
        """Height and radius (metres) of the flat top of an object; None where it has none."""
        top, scale = self.objects[category].top, self.scale(attributes)
        return (top.height * scale, top.radius * scale) if top else None


def read_vocabulary(family: str) -> Vocabulary:
    """Read the family of that name, or the TOML file at that path.

    Raises UserError when there is no such family or file, when it is not TOML, or when a declaration is wrong.
    """
    return parse_vocabulary(vocabulary_text(family), family)


def with_assets(text: str, assets: str) -> str:
    """The TOML `text` of a family, as it is with another asset set; its other lines stay as they are."""
    head, tables, rest = re.split(r"(^\s*\[|\Z)", text, maxsplit=1, flags=re.MULTILINE)
    line = f'assets = "{assets}"'
    head, found = re.subn(r"^[ \t]*assets[ \t]*=.*$", line, head, count=1, flags=re.MULTILINE)
    return ("" if found else f"{line}\n") + head + tables + rest


def parse_vocabulary(text: str, origin: str) -> Vocabulary:
    """Parse the TOML `text` of a family; `origin` names it in errors. Raises UserError, naming the first mistake."""
    try:
        return Vocabulary.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{origin}' is not valid TOML: {error}.") from None
    except ValidationError as error:
        raise UserError(f"'{origin}': {mistakes_of(error)[0]}") from None


def mistakes_of(error: ValidationError) -> list[str]:
    """Every mistake of a declaration, a sentence each. Whether tables fit together is looked at when each is right in itself."""
    # a key that is written wrongly is also missing, which says less
    ranked = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    return [line for mistake in ranked for line in _mistake(mistake).split("\n")]


def _mistake(mistake: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        model = table_of(Vocabulary, mistake["loc"][:-1])
        return f"unknown key '{place}'; {did_you_mean(str(mistake['loc'][-1]), list(model.model_fields))}"
    message = mistake["msg"].removeprefix("Value error, ")
    return f"{place}: {message}." if place else message
