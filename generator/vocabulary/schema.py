"""The model of a world family: attributes, objects, relations and stage, read from TOML
(docs/vocabularies.md)."""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import tomli_w
from pydantic import PrivateAttr, ValidationError, model_validator

from generator.assets.sets import unknown_mesh
from generator.assets.shapes import SHAPES, reach
from generator.base.declarations import error_lines, raise_all, sentence_of, table_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_toml
from generator.vocabulary.consistency import CHECKS, check_names
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.tables import FamilyTables

T = TypeVar("T")


class Vocabulary(FamilyTables):
    """A world family, as declared in `scenes/NAME.toml` or in a file of the user's. It knows its
    text."""

    _text: str | None = PrivateAttr(None)
    """The TOML that it was parsed from; None for a family that the code has changed."""

    @property
    def text(self) -> str:
        """The TOML that it was parsed from, to the byte. Of a family that `painted_with` or
        `placed_in` has changed: that of `toml`."""
        return self.toml() if self._text is None else self._text

    def __eq__(self, other: object) -> bool:
        """Whether two families declare the same, in any words of TOML."""
        return isinstance(other, Vocabulary) and self.model_dump() == other.model_dump()

    @model_validator(mode="after")
    def _consistent(self) -> "Vocabulary":
        """Check what no table can check by itself. Names come first, since other checks look them
        up."""
        check_names(self)
        # Before the checks across tables, some of which look meshes up.
        mistake = unknown_mesh([*self.meshes.values(), *self.panoramas], self.assets)
        if mistake:
            raise ValueError(mistake)
        mistakes: list[str] = []
        for check in CHECKS:
            mistakes += error_lines(partial(check, self))
        raise_all(mistakes)
        return self

    def _changed(self, **tables: Any) -> "Vocabulary":
        """This family with other tables, and so without its text."""
        changed = self.model_copy(update=tables)
        changed._text = None
        return changed

    @property
    def adjective_order(self) -> tuple[str, ...]:
        """Attribute kinds in caption order: kinds with adjectives, then kinds with a phrase after
        the noun."""
        kinds = self.adjectives or self.attributes
        # The sort is stable: kinds keep their order before and after the noun.
        return tuple(sorted(kinds, key=lambda kind: kind in self.phrases))

    @property
    def meshes(self) -> dict[str, str]:
        """The mesh of every category."""
        return {name: spec.mesh or name for name, spec in self.objects.items()}

    @property
    def asset_meshes(self) -> list[str]:
        """Sorted names of the meshes that are not shapes: from the asset set, or as SET/NAME from
        another."""
        return sorted(set(self.meshes.values()) - SHAPES.keys())

    @property
    def panoramas(self) -> list[str]:
        """Sorted names, SET/NAME, of the panoramas of its places."""
        return sorted({place.photo.panorama for place in self.environments.values() if place.photo})

    def painted_with(self, kind: str) -> "Vocabulary":
        """This family with one of the attribute kinds in `paints`: `kind`, else `tested`, else the
        first of them."""
        if not self.paints:
            return self
        used = self.paints[0]
        for paint in (kind, self.tested):
            if paint in self.paints:
                used = paint
                break
        # A dropped kind goes from every table, or captions would name what no object has.
        dropped = [paint for paint in self.paints if paint != used]
        return self._changed(
            attributes=_without(self.attributes, dropped),
            kinds=_without(self.kinds, dropped),
            adjectives=tuple(kind for kind in self.adjectives if kind not in dropped),
            tested=used if self.tested in dropped else self.tested,
            paints=(),
        )

    def placed_in(self, environments: Sequence[str]) -> "Vocabulary":
        """This family with only these environments, in the order of the file. Raises UserError for
        an unknown one."""
        for name in environments:
            if name not in self.environments:
                raise UserError(
                    f"The family '{self.name}' has no environment '{name}'; "
                    f"{did_you_mean(name, list(self.environments))}"
                )
        places = {name: place for name, place in self.environments.items() if name in environments}
        return self._changed(environments=places)

    def seen_from(self, viewpoints: int, turns: Sequence[float]) -> "Vocabulary":
        """This family with only the places that can be seen from all these sides.

        A landscape has to go `around`, and the family's floor to have no wall. A photographed place
        turns with any viewpoint; for turns, its sectors are narrowed to those from which the camera
        may turn.

        Args:
            viewpoints: the number of azimuths.
            turns: turns of the camera between a scene and its twin, degrees.

        Returns:
            The family itself if all its places stay as they are. It may be left without places.
        """
        one_side = viewpoints == 1 and not turns
        places = {}
        for name, place in self.environments.items():
            has_open_floor = place.bare and self.floor.wall is None
            if place.photo is not None:
                narrowed = place.seen_after(turns)
                if narrowed is not None:
                    places[name] = narrowed
            # A wall would hide the objects from some sides, and a landscape that does not go around
            # has nothing to show there.
            elif one_side or has_open_floor or place.around:
                places[name] = place
        return self if places == self.environments else self._changed(environments=places)

    def toml(self) -> str:
        """This family as the text of a TOML file, without keys that have their default."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_defaults=True))

    def values(self, kind: str) -> list[str]:
        """Names of the values of an attribute kind, in the order of the file."""
        return list(self.attributes[kind])

    def scale(self, category: str, attributes: Mapping[str, str]) -> float:
        """The scale of an object: the radius of its footprint, metres.

        Args:
            category: its category, a name of `objects`.
            attributes: its value of each attribute kind.
        """
        scales = (self.attributes[kind][value].scale for kind, value in attributes.items())
        # One attribute kind of an object sets the scale (`materials.check_inputs`).
        scale = next(scale for scale in scales if scale is not None)
        return self.objects[category].size * scale

    def reach(self, category: str, attributes: Mapping[str, str]) -> float:
        """How far an object extends from its vertical axis, metres: its scale, and more for CLEVR's
        cube.

        Args:
            category: its category, a name of `objects`.
            attributes: its value of each attribute kind.
        """
        return reach(self.objects[category].mesh or category) * self.scale(category, attributes)

    def facing(self, category: str, camera: tuple[float, float, float]) -> float:
        """The mean heading of an object at the origin.

        Args:
            category: its category, a name of `objects`.
            camera: the camera's position, metres.

        Returns:
            The heading in radians: towards the camera, or to the camera's right for an object that
            shows a side.
        """
        towards = math.atan2(camera[1], camera[0])
        return towards + math.pi / 2 if self.objects[category].shows == "side" else towards

    def top(self, category: str, attributes: Mapping[str, str]) -> tuple[float, float] | None:
        """The flat top of an object.

        Args:
            category: its category, a name of `objects`.
            attributes: its value of each attribute kind.

        Returns:
            Its height and its radius, metres; None without a top.
        """
        top = self.objects[category].top
        if top is None:
            return None
        scale = self.scale(category, attributes)
        return top.height * scale, top.radius * scale


def read_vocabulary(family: str) -> Vocabulary:
    """Read the family of that name, or the TOML file at that path.

    Raises:
        UserError: there is no such family or file, it is not TOML, or a declaration is wrong.

    >>> read_vocabulary("clevr").values("material")
    ['rubber', 'metal']
    """
    return parse_vocabulary(vocabulary_text(family), family)


def with_assets(text: str, assets: str) -> str:
    """The TOML `text` of a family with another asset set; all other lines stay as they are.

    >>> with_assets('name = "zoo"\\n[objects]\\n', "mine")
    'assets = "mine"\\nname = "zoo"\\n[objects]\\n'
    """
    # Keys of the family itself stand before its first table.
    head, bracket, tables = re.split(r"(^\s*\[|\Z)", text, maxsplit=1, flags=re.MULTILINE)
    line = tomli_w.dumps({"assets": assets}).strip()
    # A function, because backslashes of a string would be read as groups.
    head, n_replaced = re.subn(
        r"^[ \t]*assets[ \t]*=.*$", lambda _: line, head, count=1, flags=re.MULTILINE
    )
    if not n_replaced:
        head = f"{line}\n{head}"
    return head + bracket + tables


def parse_vocabulary(text: str, origin: str) -> Vocabulary:
    """Parse the TOML of a family.

    Args:
        text: the TOML, without `extends`.
        origin: names it in errors, such as the path of its file.

    Returns:
        The family, whose `text` is the text.

    Raises:
        UserError: names the first mistake.
    """
    try:
        vocabulary = Vocabulary.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{origin}' is not valid TOML: {error}.") from None
    except ValidationError as error:
        raise UserError(f"'{origin}': {mistakes_of(error)[0]}") from None
    vocabulary._text = text
    return vocabulary


def _without(table: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    return {name: entry for name, entry in table.items() if name not in names}


def mistakes_of(error: ValidationError) -> list[str]:
    """Every mistake of a declaration, as a sentence. Checks across tables run only if each table is
    valid by itself."""
    # A misspelt key is also reported as missing, which says less.
    ranked = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    sentences: list[str] = []
    for mistake in ranked:
        # Checks across tables report several mistakes at once, one a line.
        sentences += _describe_mistake(mistake).split("\n")
    return sentences


def _describe_mistake(mistake: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        *table, key = mistake["loc"]
        known_keys = list(table_of(Vocabulary, table).model_fields)
        return f"unknown key '{place}'; {did_you_mean(str(key), known_keys)}"
    if mistake["type"] == "missing" and len(mistake["loc"]) == 1:
        return (
            f'{place} is missing; declare it, or begin the file with extends = "clevr" to add to a '
            f"family."
        )
    return sentence_of(mistake)
