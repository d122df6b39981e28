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
    ood_val: tuple[str, ...]
    ood_test: tuple[str, ...]


class Preset(BaseModel):
    """A preset: values for the options of `gen render` with these names, and class lists of the
    design gzsl."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    family: str
    design: str
    holdout: Annotated[tuple[str, ...], Field(min_length=1)]
    block_seed: str = "0"
    scenes: str | None = None
    environments: tuple[str, ...] = ()
    bindings: Lists | None = None
    relations: Lists | None = None


def preset_names() -> list[str]:
    """Names of the presets that are shipped."""
    return sorted(path.stem for path in resource("scenes/presets").glob("*.toml"))


def read_preset(name: str) -> Preset:
    """The preset of that name. Raises UserError when there is none."""
    if name not in preset_names():
        raise UserError(f"Unknown preset '{name}'; {did_you_mean(name, preset_names())}")
    return Preset.model_validate(
        tomllib.loads(resource(f"scenes/presets/{name}.toml").read_text(encoding="utf-8"))
    )
