"""The designs by name. A module is loaded when its design is first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

from generator.dataset.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from generator.holdout.designs.base import Design

_FOLDER = "generator.holdout.designs"
_PLACES = {name: f"{_FOLDER}.{name}:DESIGN" for name in ("bindsplit", "coverage", "systematicity", "gzsl")}


def register(name: str, place: str) -> None:
    """Add a design: `place` is `module:object`, the object an instance of designs.base.Design.

    Raises ValueError when the name is taken.
    """
    if name in _PLACES:
        raise ValueError(f"the design '{name}' is already registered as {_PLACES[name]}")
    _PLACES[name] = place


def design_names() -> list[str]:
    """Names of all designs, in the order of their registration."""
    return list(_PLACES)


def find_design(name: str) -> "Design":
    """The design of that name. Raises UserError when there is none."""
    if name not in _PLACES:
        raise UserError(f"Unknown design '{name}'; {did_you_mean(name, design_names())}")
    module, _, attribute = _PLACES[name].partition(":")
    design: Design = getattr(import_module(module), attribute)
    return design
