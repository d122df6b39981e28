"""Registry of the designs (ways to hold combinations out of training). To add a design, write a
file with an instance of a subclass of `Design`, and enter it here."""

from typing import TYPE_CHECKING

from generator.base.registry import Registry

if TYPE_CHECKING:  # `gen --help` lists the designs and must not load them
    from generator.holdout.designs.base import Design


_HERE = "generator.holdout.designs"
_REGISTRY: Registry["Design"] = Registry(
    "design",
    {
        "bindsplit": f"{_HERE}.bindsplit:BINDSPLIT",
        "coverage": f"{_HERE}.coverage:DESIGN",
        "systematicity": f"{_HERE}.bindsplit:SYSTEMATICITY",
        "gzsl": f"{_HERE}.gzsl:DESIGN",
        "rotation": f"{_HERE}.rotation:DESIGN",
    },
)
design_names, register, find_design = _REGISTRY.names, _REGISTRY.register, _REGISTRY.find
