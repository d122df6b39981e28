"""Render qualities, as declared in blender_assets/quality.toml."""

import tomllib
from typing import Literal

from pydantic import BaseModel, ConfigDict

from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.resources import resource


class Quality(BaseModel):
    """What Cycles does for a pixel, and the samples of EEVEE.

    `samples` are the most that a pixel takes; with a `noise` above 0 it takes none after a multiple of sixteen at which
    Cycles finds less noise than that. Away from the objects a pixel takes `floor` samples where there is nothing but a
    floor, `landscape` where there is more; `samples` where that is 0. About objects without metal it takes `matt` samples
    where that is more than all around, elsewhere as about metal. `denoise`: how OpenImageDenoise cleans the result, if
    at all; `bounces` of light; `microseconds` of one core.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    samples: int
    noise: float = 0.0
    floor: int = 0
    landscape: int = 0
    matt: int = 0
    denoise: Literal["", "fast"]
    bounces: int
    microseconds: float
    eevee_samples: int = 16


def qualities() -> dict[str, Quality]:
    """Every declared quality by name."""
    declared = tomllib.loads(resource("blender_assets/quality.toml").read_text(encoding="utf-8"))
    return {name: Quality.model_validate(values) for name, values in declared.items()}


def read_quality(name: str) -> Quality:
    """The quality of that name. Raises UserError when there is none."""
    known = qualities()
    if name not in known:
        raise UserError(f"Unknown quality '{name}': {did_you_mean(name, list(known))}")
    return known[name]
