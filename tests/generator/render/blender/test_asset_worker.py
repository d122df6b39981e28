"""The asset worker's answers: cleaned meshes, and refusals as sentences (through its process: tests/generator/assets)."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.generator.render.blender.test_cleaning import CUBE, TRIANGLES


def answered(folder: str, vertices: list[Any], faces: list[Any]) -> dict[str, Any]:
    from generator.base.errors import UserError
    from generator.render.blender.asset_worker import answer

    np.savez(f"{folder}/in.npz", vertices=np.array(vertices, float), faces=np.array(faces))
    try:
        return answer({"clean": f"{folder}/in.npz", "facing": "x", "up": "z", "out": f"{folder}/out.npz"})
    except UserError as error:
        return {"refused": error.message}


def test_a_mesh_is_cleaned_and_brought_to_unit_size(in_blender: Any, tmp_path: Path) -> None:
    assert in_blender(answered, str(tmp_path), [*CUBE, (50, 50, 50)], TRIANGLES) == {"mended": []}
    with np.load(tmp_path / "out.npz") as arrays:
        vertices = arrays["vertices"]
        assert (vertices.dtype, arrays["faces"].dtype) == (np.float32, np.int32)
    assert abs(np.hypot(vertices[:, 0], vertices[:, 1]).max() - 1) < 1e-6  # the loose vertex counts for nothing
    assert vertices[:, 2].min() == 0


def test_lines_are_refused(in_blender: Any, tmp_path: Path) -> None:
    line = [(0, 0, 0), (1, 0, 0), (2, 0, 1e-7)]
    assert "nothing to show" in in_blender(answered, str(tmp_path), line, [(0, 1, 2)])["refused"]
