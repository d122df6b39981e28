"""Render qualities, as declared in blender_assets/quality.toml."""

import tomllib
from typing import Literal

from pydantic import BaseModel, ConfigDict

from generator.base.errors import UserError, did_you_mean
from generator.base.registry import resource


class Quality(BaseModel):
    """Settings of Cycles for each pixel, and the samples of EEVEE.

    `samples`: the most samples of a pixel. `noise`: if above 0, sampling stops at the first multiple of 16 where the
    estimated noise is below it. Away from the objects a pixel takes `floor` samples if the scene has only a floor,
    `landscape` samples if it has more; 0 means `samples`. Around objects without metal a pixel takes `matt` samples if
    that is more than elsewhere in the image; 0 treats them like metal. `denoise`: the mode of OpenImageDenoise, or none.
    `bounces`: of light. `microseconds`: of one core for a pixel, for estimates.
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
    """The quality of that name. Raises UserError if there is none."""
    known = qualities()
    if name not in known:
        raise UserError(f"Unknown quality '{name}': {did_you_mean(name, list(known))}")
    return known[name]
