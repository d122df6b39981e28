"""Published benchmarks by name: scenes/presets/NAME.toml has the family, design, holdout and
numbers of scenes."""

import tomllib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from generator.base.errors import UserError, did_you_mean
from generator.base.registry import resource


class Lists(BaseModel):
    """Labels of each list, as "red cube", or for relations as "cube left sphere"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    train: tuple[str, ...]
    """Labels that training shows."""
    ood_val: tuple[str, ...]
    """Other labels, for validation."""
    ood_test: tuple[str, ...]
    """Other labels, for the test."""


class Preset(BaseModel):
    """A published benchmark: values for the options of `gen render`, and class lists of the design
    gzsl."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    """The paper, and what the preset takes from it."""
    family: str
    """As --family."""
    design: str
    """As --design."""
    holdout: Annotated[tuple[str, ...], Field(min_length=1)]
    """As --holdout, once or several times."""
    block_seed: str = "0"
    """As --block-seed."""
    scenes: str | None = None
    """As --scenes; None for the design's default."""
    environments: tuple[str, ...] = ()
    """As --environment, once or several times; () for all of the family."""
    bindings: Lists | None = None
    """Labels that are bindings; None unless the design is gzsl."""
    relations: Lists | None = None
    """Labels that are relations; None unless the design is gzsl."""


def preset_names() -> list[str]:
    """Names of the presets that are shipped."""
    return sorted(path.stem for path in resource("scenes/presets").glob("*.toml"))


def read_preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        UserError: there is none.
    """
    # Looked up among the shipped names, so a name cannot lead out of the folder.
    if name not in preset_names():
        raise UserError(f"Unknown preset '{name}'; {did_you_mean(name, preset_names())}")
    return Preset.model_validate(
        tomllib.loads(resource(f"scenes/presets/{name}.toml").read_text(encoding="utf-8"))
    )
