"""The model of a world family: attributes, objects, relations and stage, read from TOML
(docs/vocabularies.md)."""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import tomli_w
from pydantic import ValidationError, model_validator

from generator.assets.sets import unknown_mesh
from generator.assets.shapes import SHAPES, reach
from generator.base.declarations import caught, refuse, sentence_of, table_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_toml
from generator.vocabulary.consistency import CHECKS, check_names
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.tables import Tables


class Vocabulary(Tables):
    """A world family, as declared in `scenes/NAME.toml` or in a file of the user's."""

    @model_validator(mode="after")
    def _consistent(self) -> "Vocabulary":
        check_names(self)
        if mistake := unknown_mesh([*self.meshes.values(), *self.panoramas], self.assets):
            raise ValueError(mistake)
        refuse(mistake for check in CHECKS for mistake in caught(partial(check, self)))
        return self

    @property
    def adjective_order(self) -> tuple[str, ...]:
        """Attribute kinds in caption order: kinds with adjectives, then kinds with a phrase after
        the noun."""
        return tuple(
            sorted(self.adjectives or self.attributes, key=lambda kind: kind in self.phrases)
        )

    @property
    def meshes(self) -> dict[str, str]:
        """The mesh of every category."""
        return {name: spec.mesh or name for name, spec in self.objects.items()}

    @property
    def asset_meshes(self) -> list[str]:
        """Sorted names of the meshes that are no shapes: from the asset set, or as SET/NAME from
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
        kept = next((each for each in (kind, self.tested) if each in self.paints), self.paints[0])
        dropped = [each for each in self.paints if each != kept]
        changes: dict[str, Any] = {
            "attributes": {
                each: values for each, values in self.attributes.items() if each not in dropped
            },
            "kinds": {
                each: phrasing for each, phrasing in self.kinds.items() if each not in dropped
            },
            "adjectives": tuple(each for each in self.adjectives if each not in dropped),
            "tested": kept if self.tested in dropped else self.tested,
            "paints": (),
        }
        return self._changed(changes)

    def placed_in(self, environments: Sequence[str]) -> "Vocabulary":
        """This family with only these environments, in the order of the file. Raises UserError for
        an unknown one."""
        for name in environments:
            if name not in self.environments:
                raise UserError(
                    f"The family '{self.name}' has no environment '{name}'; "
                    f"{did_you_mean(name, list(self.environments))}"
                )
        kept = {name: each for name, each in self.environments.items() if name in environments}
        return self._changed({"environments": kept})

    @cached_property
    def text(self) -> str:
        """The TOML that this family was parsed from; `toml()` if it was changed since."""
        return self.toml()

    def _changed(self, changes: Mapping[str, Any]) -> "Vocabulary":
        """A copy with other tables."""
        changed = self.model_copy(update=changes)
        # A copy shares what was computed, and the text is that of the original.
        changed.__dict__.pop("text", None)
        return changed

    def toml(self) -> str:
        """This family as the text of a TOML file, without keys that have their default."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_defaults=True))

    def values(self, kind: str) -> list[str]:
        """Names of the values of an attribute kind, in the order of the file."""
        return list(self.attributes[kind])

    def scale(self, category: str, attributes: Mapping[str, str]) -> float:
        """The scale of an object with these attribute values, by kind: the radius of its footprint,
        metres."""
        scales = (self.attributes[kind][value].scale for kind, value in attributes.items())
        return self.objects[category].size * next(scale for scale in scales if scale is not None)

    def reach(self, category: str, attributes: Mapping[str, str]) -> float:
        """How far an object extends from its vertical axis, metres: its scale, and more for CLEVR's
        cube."""
        return reach(self.objects[category].mesh or category) * self.scale(category, attributes)

    def facing(self, category: str, camera: tuple[float, float, float]) -> float:
        """The mean heading (radians) of an object at the origin; an object that shows a side looks
        to the right.

        `camera` is the camera's position, metres.
        """
        towards = math.atan2(camera[1], camera[0])
        return towards + math.pi / 2 if self.objects[category].shows == "side" else towards

    def top(self, category: str, attributes: Mapping[str, str]) -> tuple[float, float] | None:
        """Height and radius (metres) of the flat top of an object; None without a top."""
        top = self.objects[category].top
        if top is None:
            return None
        scale = self.scale(category, attributes)
        return top.height * scale, top.radius * scale


def read_vocabulary(family: str) -> Vocabulary:
    """Read the family of that name, or the TOML file at that path.

    Raises UserError when there is no such family or file, when it is not TOML, or when a
    declaration is wrong.
    """
    return parse_vocabulary(vocabulary_text(family), family)


def with_assets(text: str, assets: str) -> str:
    """The TOML `text` of a family with another asset set; all other lines stay as they are."""
    head, tables, rest = re.split(r"(^\s*\[|\Z)", text, maxsplit=1, flags=re.MULTILINE)
    line = tomli_w.dumps({"assets": assets}).strip()
    head, found = re.subn(
        r"^[ \t]*assets[ \t]*=.*$", lambda _: line, head, count=1, flags=re.MULTILINE
    )
    return ("" if found else f"{line}\n") + head + tables + rest


def parse_vocabulary(text: str, origin: str) -> Vocabulary:
    """Parse the TOML `text` of a family; `origin` names it in errors. Raises UserError, naming the
    first mistake."""
    try:
        vocabulary = Vocabulary.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{origin}' is not valid TOML: {error}.") from None
    except ValidationError as error:
        raise UserError(f"'{origin}': {mistakes_of(error)[0]}") from None
    # In place of what the cached property would compute.
    vocabulary.__dict__["text"] = text
    return vocabulary


def mistakes_of(error: ValidationError) -> list[str]:
    """Every mistake of a declaration, as a sentence. Checks across tables run only if each table is
    valid by itself."""
    # a misspelt key is also reported as missing, which says less
    ranked = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    return [line for mistake in ranked for line in _mistake(mistake).split("\n")]


def _mistake(mistake: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        model = table_of(Vocabulary, mistake["loc"][:-1])
        return (
            f"unknown key '{place}'; "
            f"{did_you_mean(str(mistake['loc'][-1]), list(model.model_fields))}"
        )
    if mistake["type"] == "missing" and len(mistake["loc"]) == 1:
        return (
            f'{place} is missing; declare it, or begin the file with extends = "clevr" to add to a '
            f"family."
        )
    return sentence_of(mistake)
