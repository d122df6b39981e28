"""States what the licences of meshes require from the publisher of images that show them."""

import re
from collections.abc import Mapping
from typing import Any

SHIPPED = ("builtin", "panoramas", "things")
"""The asset sets that come with the project, folders of `blender_assets/`; `builtin` is `animals`
there."""
UNDECLARED = "not declared"
"""The licence of a mesh that was imported without one."""
OWN = "Apache-2.0, part of Jackalope"
"""The licence of the meshes that come with the project."""
PHOTOS = "CC0 1.0, from Blender and @pmndrs/assets"
"""The licence of the panoramas that come with the project."""
_CREATIVE_COMMONS = re.compile(r"\bCC[ -]?(0|BY((?:-(?:NC|SA|ND))*))\b", re.IGNORECASE)


def requirement_of(licence: str) -> str:
    """One or two sentences on what a licence requires for images; `licence`: the line that a mesh
    records.

    >>> requirement_of("CC BY-ND 4.0, A. Smith")
    'Images of them are adaptations, which it lets nobody share.'
    """
    if licence == UNDECLARED:
        return (
            "No licence was given at import: find out the licence before you share images of them."
        )
    if licence == OWN:
        return "It asks nothing of images."
    found = _CREATIVE_COMMONS.search(licence)
    if not found:
        return "Before you share images of them, check whether it allows that, and do what it asks."
    if found[1] == "0":
        return "It asks nothing of images."
    parts = (found[2] or "").upper().split("-")
    if "ND" in parts:
        return "Images of them are adaptations, which it lets nobody share."
    asked = ["to share them, name the authors and what was changed"]
    asked += ["keep this licence"] if "SA" in parts else []
    asked += ["have no commercial aims"] if "NC" in parts else []
    *first, last = asked
    return f"Images of them are adaptations: {', '.join(first)}{', and ' if first else ''}{last}."


def licences_of_others(assets: Mapping[str, Any] | None) -> list[str]:
    """A line for each licence of a world's meshes, with what it requires; empty if all meshes are
    the project's own.

    `assets` is the entry of that name in the world's manifest (docs/assets.md).
    """
    others = (
        {}
        if assets is None
        else {name: each for name, each in assets["licences"].items() if each != OWN}
    )
    lines = []
    for licence in dict.fromkeys(others.values()):
        names = ", ".join(name for name, each in others.items() if each == licence)
        lines.append(f"- {names}: {licence.rstrip('.')}. {requirement_of(licence)}")
    return lines
