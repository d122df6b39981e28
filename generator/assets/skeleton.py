"""The declaration of an animal in TOML: limbs along joints, and rows of spikes
(docs/animals.md)."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from generator.base.declarations import Declared, Finite, sentence_of, table_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml


def _half_axes(joint: list[float]) -> list[float]:
    if min(joint[3:]) <= 0:
        raise ValueError("the half-axes of a joint, after its x, y and z, are greater than 0")
    return joint


# x, y, z of a joint and the half-axes of its cross-section, across and through the limb; one
# half-axis is a circle.
Joint = Annotated[list[Finite], Field(min_length=4, max_length=5), AfterValidator(_half_axes)]
Spike = Annotated[list[Finite], Field(min_length=5, max_length=5), AfterValidator(_half_axes)]
Direction = tuple[Finite, Finite, Finite]


class Limb(Declared):
    """A limb, trunk, ear or horn: a tube along a smooth curve through its joints.

    Cross-sections are ellipses, or plates with round edges if `flat`. `side`: the direction of
    their first half-axis.
    """

    joints: Annotated[list[Joint], Field(min_length=1)]
    side: Direction = (0, 1, 0)
    flat: bool = False
    blend: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class Teeth(Declared):
    """A row of upward spikes along a curve through the joints, which also give a spike's half-width
    and height."""

    joints: Annotated[list[Spike], Field(min_length=2)]
    count: Annotated[int, Field(ge=2, le=100)]
    lean: Finite = 0


class Skeleton(Declared):
    """An animal that faces +X and stands on z = 0; x forward, y to its left, z up, in any unit of
    length.

    A part that leaves the plane y = 0 is mirrored, so it occurs twice.
    """

    blend: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    parts: Annotated[dict[str, Limb], Field(min_length=1)]
    teeth: dict[str, Teeth] = Field(default_factory=dict)


def load_skeleton(path: Path) -> Skeleton:
    """Read an animal's declaration. Raises UserError if the file is missing or the declaration is
    invalid."""
    try:
        return Skeleton.model_validate(read_toml(path, "animal"))
    except ValidationError as error:
        raise UserError(f"In the animal {path}, {_mistake(error)}") from None


def _mistake(error: ValidationError) -> str:
    first = error.errors()[0]
    *table, key = first["loc"]
    if first["type"] == "extra_forbidden":
        known = list(table_of(Skeleton, table).model_fields)
        return f"unknown key '{'.'.join(map(str, first['loc']))}'; {did_you_mean(str(key), known)}"
    return f"{sentence_of(first).removesuffix('.')}; see docs/animals.md for the format."
