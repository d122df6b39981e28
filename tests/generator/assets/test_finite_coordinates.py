"""Coordinates that are not finite, in the text of OBJ and PLY files and in binary PLY files."""

import struct
from pathlib import Path

import pytest

from generator.assets.finite_coordinates import check_obj, check_ply
from generator.base.errors import UserError

HEADER = "ply\nformat {} 1.0\nelement vertex 2\nproperty uchar red\nproperty float x\nproperty float y\nproperty float z\nend_header\n"


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "one", ""])
def test_what_is_no_finite_number_is_refused(tmp_path: Path, word: str) -> None:
    (tmp_path / "mesh.obj").write_text(f"v 0 0 0\nv 1 2 {word}\n")
    with pytest.raises(UserError, match="not finite"):
        check_obj(str(tmp_path / "mesh.obj"))
    (tmp_path / "mesh.ply").write_text(HEADER.format("ascii") + f"0 0 0 0\n0 1 2 {word}\n")
    if word:
        with pytest.raises(UserError, match="not finite"):
            check_ply(str(tmp_path / "mesh.ply"))


@pytest.mark.parametrize(("form", "order"), [("binary_little_endian", "<"), ("binary_big_endian", ">")])
def test_binary_files_are_read_in_their_order(tmp_path: Path, form: str, order: str) -> None:
    path = tmp_path / "mesh.ply"
    vertices = [(0, 0.0, 0.0, 0.0), (255, 1.0, 2.0, 3e38)]
    path.write_bytes(HEADER.format(form).encode() + b"".join(struct.pack(f"{order}B3f", *each) for each in vertices))
    check_ply(str(path))
    path.write_bytes(path.read_bytes()[:-4] + struct.pack(f"{order}f", float("nan")))
    with pytest.raises(UserError, match="not finite"):
        check_ply(str(path))


def test_finite_files_and_other_things_pass(tmp_path: Path) -> None:
    path = tmp_path / "mesh"
    for text in ("v 0 0 0\nv 1 2 3.5 0.1 0.2 0.3\nvn nan nan nan\n", "no mesh at all"):
        path.write_text(text)
        check_obj(str(path))
        check_ply(str(path))
