"""Primitives: closed where they should be, of the size that is asked for."""

from collections import Counter
from typing import Any

import numpy as np


def shapes() -> dict[str, Any]:
    from generator.base.streams import Stream
    from generator.render.blender.meshes import box, lump, moved, revolved

    return {
        "box": box((1.0, 2.0, 3.0), (2.0, 4.0, 6.0)), "lump": lump(Stream("a"), (0, 0, 1), (1.0, 2.0, 0.5), 0.2),
        "cone": revolved([(1.0, 0.0), (0.5, 2.0)], 8, [(0.0, 0.0), (0.3, 0.0)]),
        "moved": moved(box((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), (5.0, 6.0, 7.0), 2.0, np.pi / 2),
    }  # fmt: skip


def test_primitives_are_where_they_should_be(in_blender: Any) -> None:
    found = in_blender(shapes)
    vertices = {name: np.array(mesh[0]) for name, mesh in found.items()}
    np.testing.assert_allclose([vertices["box"].min(0), vertices["box"].max(0)], [[0, 0, 0], [2, 4, 6]])
    distance = np.linalg.norm((vertices["lump"] - [0, 0, 1]) / [1, 2, 0.5], axis=1)
    assert 0.8 <= distance.min() < 0.95 < distance.max() <= 1
    np.testing.assert_allclose(vertices["cone"][8:, 0].mean(), 0.3)
    np.testing.assert_allclose(vertices["moved"], [[5, 8, 7]] * 8, atol=1e-12)
    for name in ("box", "lump"):
        edges = Counter((face[i - 1], face[i]) for face in found[name][1] for i in range(len(face)))
        assert all(edges[b, a] == n == 1 for (a, b), n in edges.items()), name
