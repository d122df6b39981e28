"""A worker process that reads, cleans and draws users' meshes. A file that crashes Blender crashes nothing else.

Each line on stdin is a request in JSON; a line of JSON answers it:

- {"read": file, "facing", "up", "out": npz}: reads a mesh file, cleans the mesh, writes it; answers {"mended": [sentences]}
- {"clean": npz of vertices and faces, "facing", "up", "out": npz}: the same for a mesh that is read already
- {"show": names, "assets", "side", "out": png}: draws meshes of an asset set from eight sides; answers {}

A request that cannot be met is answered by {"refused": sentence}.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from generator.assets.normalise import check_coordinates, far_away, normalise
from generator.assets.sheet import draw_sheet
from generator.base.errors import UserError

_LEAST_AREA = 1e-4  # of a mesh of unit size
_MOST_MEMORY = 8 << 30  # bytes; a mesh of MAX_FACES takes less, and a small file may state a far larger one


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Meet a request and return its answer. Raises UserError where it cannot be met."""
    if "show" in request:
        return _draw(request)
    from generator.render.blender.cleaning import clean
    from generator.render.blender.reading import read_file

    if "read" in request:
        vertices, faces, mended = read_file(Path(request["read"]))
    else:
        with np.load(request["clean"], allow_pickle=False) as arrays:
            vertices, faces, mended = arrays["vertices"], arrays["faces"], []
    vertices, faces = _without_loose_vertices(vertices, faces)
    check_coordinates(vertices)
    mended += filter(None, [far_away(vertices)])
    arrays, cleaned = clean(normalise(vertices, request["facing"], request["up"]), faces)
    if _area(**arrays) < _LEAST_AREA:
        raise UserError("all its faces are lines or points, so there is nothing to show: export the mesh again.")
    arrays["vertices"] = normalise(arrays["vertices"], "x", "z").astype(np.float32)
    np.savez(request["out"], **arrays)
    return {"mended": mended + cleaned}


def _area(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray) -> float:
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=-1).sum() / 2)


def _without_loose_vertices(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop the vertices that no face has: they would count in the mesh's size."""
    kept, faces = np.unique(faces, return_inverse=True)
    return vertices[kept], faces.reshape(-1, 3)


def _draw(request: dict[str, Any]) -> dict[str, Any]:
    from generator.render.blender.turntable import Turntable

    table = Turntable(request["side"])
    rows = {name: table.views(name, request["assets"]) for name in request["show"]}
    draw_sheet(rows).save(request["out"])
    return {}


def main() -> None:
    """Answer requests until stdin ends. Blender's own output goes to stderr."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answered = answer(json.loads(line))
        except UserError as error:
            answered = {"refused": error.message}
        except (ImportError, MemoryError) as error:
            from generator.render.blender.system import load_fault

            answered = {"refused": load_fault(error) + "."}
        answers.write(json.dumps(answered) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
