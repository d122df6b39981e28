"""What declarations in TOML are made of: a model that knows all its keys, and the types of its values."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Words = Annotated[str, Field(pattern=r"^[a-z][a-z' -]*[a-z]$")]


class Declared(BaseModel):
    """A declaration: no unknown key, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
