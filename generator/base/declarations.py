"""Base model and field types for declarations in TOML; parsers of numbers, sizes and times in
text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from generator.base.errors import UserError

Positive = Annotated[float, Field(ge=1e-6, le=1e6)]
Amount = Annotated[float, Field(ge=0, le=1e6)]
Finite = Annotated[float, Field(ge=-1e6, le=1e6)]
"""Numbers of worlds, bounded so that their products do not overflow."""
Share = Annotated[float, Field(ge=0, le=1)]
Words = Annotated[str, Field(pattern=r"^[a-z][a-z' -]*[a-z]$")]

_HEX = r"^#[0-9a-fA-F]{6}$"
Hex = Annotated[str, Field(pattern=_HEX)]
"""A colour as sRGB, such as "#c9a06a"."""


class Declared(BaseModel):
    """An immutable table of a declaration. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def whole_number(text: str) -> int | None:
    """Parse a text of 1 to 12 digits 0 to 9; returns None for any other text.

    >>> whole_number("300"), whole_number("-5"), whole_number("²"), whole_number("9" * 5000)
    (300, None, None, None)
    """
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def refuse(mistakes: Iterable[str]) -> None:
    """Raise a ValueError with one line for each mistake, if there are any."""
    if lines := "\n".join(mistakes):
        raise ValueError(lines)


def caught(check: Callable[[], None]) -> list[str]:
    """Run a check and return the lines of the ValueError that it raises; empty if it raises
    none."""
    try:
        check()
    except ValueError as error:
        return str(error).split("\n")
    return []


def sentence_of(mistake: Mapping[str, Any]) -> str:
    """Returns an error that pydantic found in a declaration as a sentence: what was expected, and
    what came."""
    place = ".".join(str(part) for part in mistake["loc"])
    given = mistake["input"]
    if mistake["type"] == "missing":
        return f"{place} is missing; declare it."
    if mistake["type"] in ("dict_type", "model_type", "model_attributes_type"):
        return f"{place}: expected a table such as [{place}], got {given!r}."
    if mistake["type"] == "string_pattern_mismatch" and mistake["ctx"]["pattern"] == _HEX:
        written = f"#{given}" if re.fullmatch(_HEX, f"#{given}") else "#0b7a75"
        told = "write" if written == f"#{given}" else "expected a color such as"
        return f'{place}: {told} "{written}", got "{given}".'
    message = mistake["msg"].removeprefix("Value error, ")
    return f"{place}: {message}." if place else str(message)


def table_of(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    """The model of the table at a place such as ("environments", "desert", "sky") in a declaration
    of `model`."""
    names = 0  # number of next parts that are the user's names, not keys
    for part in place:
        if names:
            names -= 1
        elif str(part) in model.model_fields:
            model, names = _within(model.model_fields[str(part)].annotation) or (model, 0)
    return model


def _within(annotation: Any) -> tuple[type[BaseModel], int] | None:
    """The model inside a type such as dict[str, Model] | None, and how many dicts enclose it; None
    without a model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, 0
    for inner in get_args(annotation):
        if found := _within(inner):
            return found[0], found[1] + (get_origin(annotation) is dict)
    return None


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def parse_size(spec: str) -> int:
    """Bytes from `256MB`, `1GB` or `500KB`, in powers of 1000. Raises UserError if malformed.

    >>> parse_size("256MB")
    256000000
    """
    found = re.fullmatch(r"([0-9]+)\s*([KMG]?)B?", spec.strip().upper())
    if not found or int(found[1]) == 0:
        raise UserError(f"Expected a size such as 256MB, 1GB or 500KB, got '{spec}'.")
    return int(found[1]) * _UNITS[found[2]]


def parse_time(spec: str) -> int:
    """Minutes, from `90`, `2:30:00` or `1-12:00:00`, as Slurm writes times. Raises UserError if
    malformed.

    >>> parse_time("90"), parse_time("2:30:00"), parse_time("1-12:00:00")
    (90, 150, 2160)
    """
    found = re.fullmatch(
        r"(?:(?:([0-9]{1,3})-)?([0-9]{1,3}):([0-5][0-9]):[0-5][0-9])|([0-9]{1,6})", spec
    )
    minutes = 0
    if found:
        days, hours, rest, alone = (int(part or 0) for part in found.groups())
        minutes = alone or (days * 24 + hours) * 60 + rest
    if not minutes:
        raise UserError(
            f"Expected --time to be minutes, H:MM:SS or D-HH:MM:SS, such as 2:00:00, got '{spec}'."
        )
    return minutes
