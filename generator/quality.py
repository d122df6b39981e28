"""Render qualities, as declared in blender_assets/quality.toml."""

import tomllib

from pydantic import BaseModel, ConfigDict

from generator.dataset.errors import UserError, did_you_mean
from generator.resources import resource


class Quality(BaseModel):
    """Samples a pixel, whether OpenImageDenoise cleans the result, light bounces, and microseconds a pixel and core, all of
    Cycles; and the samples of EEVEE."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    samples: int
    denoise: bool
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
