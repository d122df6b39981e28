"""What declarations in TOML are made of: a model that knows all its keys, and the types of its values."""

from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Words = Annotated[str, Field(pattern=r"^[a-z][a-z' -]*[a-z]$")]


class Declared(BaseModel):
    """A declaration: no unknown key, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def refuse(mistakes: Iterable[str]) -> None:
    """Raise a ValueError of all mistakes, a line each, if there are any."""
    if lines := "\n".join(mistakes):
        raise ValueError(lines)


def caught(check: Callable[[], None]) -> list[str]:
    """The mistakes that a check raises as a ValueError."""
    try:
        check()
    except ValueError as error:
        return str(error).split("\n")
    return []
