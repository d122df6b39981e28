"""Reads PMD, the mesh format of the game 0 A.D.: a header, vertices, triangles, then bones and props, which are left alone."""

import struct

import numpy as np

from generator.dataset.errors import UserError

_HEADER = struct.Struct("<4sII")  # magic, version, bytes that follow
_VERSIONS = (3, 4)
_SETS = 16
# A place and a normal (y up, z ahead, x to the right), then texture coordinates, then bones and their weights.
_PLACE, _UV, _BLEND = 6 * 4, 2 * 4, 4 + 4 * 4


def read_pmd(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices float64 [n, 3] (x ahead, y to the left, z up) and triangles int32 [m, 3] of a mesh, in its bind pose.

    Raises UserError where the bytes are no such mesh, of another version (2 and older hold no bind pose), or cut short.
    """
    if len(data) < _HEADER.size:
        raise _damaged("it is cut short")
    magic, version, size = _HEADER.unpack_from(data)
    if magic != b"PSMD":
        raise UserError("it is no PMD mesh: expected a file of 0 A.D. that begins with PSMD.")
    if version not in _VERSIONS:
        raise UserError(
            f"it is a PMD mesh of version {version}, and 3 and 4 are read: take it from 0 A.D. alpha 24 or later."
        )
    if size != len(data) - _HEADER.size:
        raise _damaged(f"{len(data) - _HEADER.size:,} bytes follow the header, expected {size:,}")
    n, at = _number(data, _HEADER.size)
    sets, at = _number(data, at) if version == 4 else (1, at)
    if sets > _SETS:
        raise _damaged(f"{sets:,} sets of texture coordinates")
    stride = _PLACE + sets * _UV + _BLEND
    block = _taken(data, at, n * stride, f"{n:,} vertices")
    places = np.frombuffer(block, np.uint8).reshape(n, stride)[:, :12].copy().view("<f4").astype(np.float64)
    m, at = _number(data, at + n * stride)
    faces = np.frombuffer(_taken(data, at, m * 6, f"{m:,} faces"), "<u2").reshape(m, 3).astype(np.int32)
    if m == 0:
        raise UserError("it has no faces, so there is nothing to show: take it from 0 A.D. again.")
    if faces.max() >= n:
        raise _damaged(f"a face has vertex {faces.max():,} of {n:,}")
    return places[:, [2, 0, 1]] * (1, -1, 1), faces


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A count, and where what follows it begins."""
    return struct.unpack("<I", _taken(data, at, 4, "a count"))[0], at + 4


def _taken(data: bytes, at: int, size: int, what: str) -> memoryview:
    if at + size > len(data):
        raise _damaged(f"{what} do not fit into it")
    return memoryview(data)[at : at + size]


def _damaged(why: str) -> UserError:
    return UserError(f"it is a damaged PMD mesh ({why}): take it from 0 A.D. again.")
