"""Base model and field types for declarations in TOML; parsers of numbers, sizes and times in
text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from generator.base.errors import UserError

# Numbers of worlds are bounded, so that their products do not overflow.
Positive = Annotated[float, Field(ge=1e-6, le=1e6)]
"""A number above 0, such as a length in metres."""
Amount = Annotated[float, Field(ge=0, le=1e6)]
"""A number from 0 on."""
Finite = Annotated[float, Field(ge=-1e6, le=1e6)]
"""Any number."""
Share = Annotated[float, Field(ge=0, le=1)]
"""A number in 0..1."""
Words = Annotated[str, Field(pattern=r"^[a-z][a-z' -]*[a-z]$")]
"""Words of a caption, in lower case."""

_HEX = r"^#[0-9a-fA-F]{6}$"
Hex = Annotated[str, Field(pattern=_HEX)]
"""A colour as sRGB, such as "#c9a06a"."""


class Declared(BaseModel):
    """An immutable table of a declaration. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def whole_number(text: str) -> int | None:
    """Parse a whole number.

    Args:
        text: What the user wrote.

    Returns:
        The number if the text has 1 to 12 digits 0 to 9; None for any other text.

    Example:
        >>> whole_number("300"), whole_number("-5"), whole_number("²"), whole_number("9" * 5000)
        (300, None, None, None)
    """
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def raise_all(mistakes: Iterable[str]) -> None:
    """Raise one error for all mistakes of a declaration, so that the user sees them at once.

    Args:
        mistakes: A line for each mistake.

    Raises:
        ValueError: There are mistakes; its message has their lines.
    """
    lines = "\n".join(mistakes)
    if lines:
        raise ValueError(lines)


def error_lines(check: Callable[[], None]) -> list[str]:
    """Run a check.

    Args:
        check: A function that raises ValueError for mistakes.

    Returns:
        The lines of the ValueError; empty if it raises none.

    Example:
        >>> error_lines(lambda: raise_all(["no red", "no blue"]))
        ['no red', 'no blue']
    """
    try:
        check()
    except ValueError as error:
        return str(error).split("\n")
    return []


def sentence_of(mistake: Mapping[str, Any]) -> str:
    """Put an error that pydantic found in a declaration into a sentence.

    Args:
        mistake: An entry of pydantic's `ValidationError.errors()`.

    Returns:
        What was expected, and what came.

    Example:
        >>> sentence_of({"type": "missing", "loc": ("sky", "color"), "input": {}, "msg": ""})
        'sky.color is missing; declare it.'
    """
    place = ".".join(str(part) for part in mistake["loc"])
    value = mistake["input"]
    if mistake["type"] == "missing":
        return f"{place} is missing; declare it."
    if mistake["type"] in ("dict_type", "model_type", "model_attributes_type"):
        return f"{place}: expected a table such as [{place}], got {value!r}."
    if mistake["type"] == "string_pattern_mismatch" and mistake["ctx"]["pattern"] == _HEX:
        with_hash = f"#{value}"
        if re.fullmatch(_HEX, with_hash):
            return f'{place}: write "{with_hash}", got "{value}".'
        return f'{place}: expected a color such as "#0b7a75", got "{value}".'
    message = mistake["msg"].removeprefix("Value error, ")
    return f"{place}: {message}." if place else str(message)


def table_of(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    """Find the model of a table within a declaration.

    Args:
        model: The model of the whole declaration.
        place: Keys and names that lead to the table, such as ("environments", "desert", "sky").

    Returns:
        The model that declares the keys of the table.
    """
    # Number of next parts that are the user's names, not keys: a dict of models has one.
    names = 0
    for part in place:
        if names:
            names -= 1
        elif str(part) in model.model_fields:
            model, names = _model_in(model.model_fields[str(part)].annotation) or (model, 0)
    return model


def _model_in(annotation: Any) -> tuple[type[BaseModel], int] | None:
    """The model inside a type such as dict[str, Model] | None, and how many dicts enclose it; None
    without a model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, 0
    for inner in get_args(annotation):
        model_and_dicts = _model_in(inner)
        if model_and_dicts:
            model, dicts = model_and_dicts
            return model, dicts + (get_origin(annotation) is dict)
    return None


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def parse_size(spec: str) -> int:
    """Parse a size.

    Args:
        spec: Such as `256MB`, `1GB` or `500KB`, in powers of 1000.

    Returns:
        Bytes, at least 1.

    Raises:
        UserError: It is malformed.

    Example:
        >>> parse_size("256MB")
        256000000
    """
    match = re.fullmatch(r"([0-9]+)\s*([KMG]?)B?", spec.strip().upper())
    if not match or int(match[1]) == 0:
        raise UserError(f"Expected a size such as 256MB, 1GB or 500KB, got '{spec}'.")
    return int(match[1]) * _UNITS[match[2]]


def parse_time(spec: str) -> int:
    """Parse a time as Slurm writes it.

    Args:
        spec: Such as `90` (minutes), `2:30:00` or `1-12:00:00`. Seconds are dropped.

    Returns:
        Minutes, at least 1.

    Raises:
        UserError: It is malformed.

    Example:
        >>> parse_time("90"), parse_time("2:30:00"), parse_time("1-12:00:00")
        (90, 150, 2160)
    """
    match = re.fullmatch(
        r"(?:(?:([0-9]{1,3})-)?([0-9]{1,3}):([0-5][0-9]):[0-5][0-9])|([0-9]{1,6})", spec
    )
    minutes = 0
    if match:
        days, hours, rest, alone = (int(part or 0) for part in match.groups())
        minutes = alone or (days * 24 + hours) * 60 + rest
    if not minutes:
        raise UserError(
            f"Expected --time to be minutes, H:MM:SS or D-HH:MM:SS, such as 2:00:00, got '{spec}'."
        )
    return minutes
