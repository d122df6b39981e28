"""Declared tops and feet against the meshes: true ones pass, others are named (more in tests/generator/scene/test_stacks.py)."""

from typing import Any

import pytest


def refused(top: tuple[float, float] | None, foot: float | None, shape: str) -> str | None:
    from types import SimpleNamespace

    from generator.base.errors import UserError
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import RayMesh, check_flat_tops

    disc = SimpleNamespace(height=top[0], radius=top[1]) if top else None
    vocabulary = SimpleNamespace(objects={"thing": SimpleNamespace(top=disc, foot=foot)})
    try:
        check_flat_tops(vocabulary, {"thing": RayMesh(build_mesh(shape))})  # type: ignore[arg-type]
    except UserError as error:
        return str(error.message)
    return None


@pytest.mark.parametrize(
    ("top", "foot", "shape", "said"),
    [
        ((1.7, 0.9), 0.9, "cylinder", None),
        ((1.7, 0.99), None, "cylinder", "within that radius as low as"),  # where the edge is round
        ((1.6, 0.5), None, "cylinder", "where the mesh is 1.70000 high"),
        ((2.0, 0.1), None, "sphere", "objects.thing.top"),
        (None, 0.1, "arch", "objects.thing.foot = 0.1: the mesh does not touch the ground"),
        (None, 0.9, "arch", None),
    ],
)
def test_discs_are_found_on_the_mesh_or_refused(
    in_blender: Any, top: tuple[float, float] | None, foot: float | None, shape: str, said: str | None
) -> None:
    found = in_blender(refused, top, foot, shape)
    assert (found is None) == (said is None)
    assert said is None or said in found
