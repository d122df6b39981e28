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
    """State what a licence requires for images.

    Args:
        licence: The line that a mesh records.

    Returns:
        One or two sentences.

    Example:
        >>> requirement_of("CC BY-ND 4.0, A. Smith")
        'Images of them are adaptations, which it lets nobody share.'
    """
    # From what is known for sure to what the publisher has to find out.
    if licence == UNDECLARED:
        return (
            "No licence was given at import: find out the licence before you share images of them."
        )
    if licence == OWN:
        return "It asks nothing of images."
    match = _CREATIVE_COMMONS.search(licence)
    if not match:
        return "Before you share images of them, check whether it allows that, and do what it asks."
    if match[1] == "0":
        return "It asks nothing of images."

    # No derivatives first: no other condition matters where nothing may be shared.
    elements = (match[2] or "").upper().split("-")
    if "ND" in elements:
        return "Images of them are adaptations, which it lets nobody share."
    conditions = ["to share them, name the authors and what was changed"]
    if "SA" in elements:
        conditions.append("keep this licence")
    if "NC" in elements:
        conditions.append("have no commercial aims")
    *first, last = conditions
    start = f"{', '.join(first)}, and " if first else ""
    return f"Images of them are adaptations: {start}{last}."


def licences_of_others(assets: Mapping[str, Any] | None) -> list[str]:
    """List the licences of a world's meshes that are not the project's own.

    Args:
        assets: The entry of that name in the world's manifest (docs/assets.md), or None.

    Returns:
        A line of Markdown for each licence: its meshes, the licence and what it requires. Empty if
        all meshes are the project's own.

    Example:
        >>> licences_of_others({"licences": {"fox": "CC0 1.0", "bear": OWN}})
        ['- fox: CC0 1.0. It asks nothing of images.']
    """
    if assets is None:
        return []
    meshes_by_licence: dict[str, list[str]] = {}
    for mesh, licence in assets["licences"].items():
        if licence != OWN:
            meshes_by_licence.setdefault(licence, []).append(mesh)
    lines = []
    for licence, meshes in meshes_by_licence.items():
        lines.append(f"- {', '.join(meshes)}: {licence.rstrip('.')}. {requirement_of(licence)}")
    return lines
