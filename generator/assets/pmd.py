"""Reads PMD, the mesh format of the game 0 A.D.: a header, vertices and triangles; bones and props are skipped."""

import struct

import numpy as np

from generator.base.errors import UserError

_HEADER = struct.Struct("<4sII")  # magic, version, bytes that follow
_VERSIONS = (3, 4)
_MAX_UV_SETS = 16
# Bytes of a vertex: position and normal (y up, z ahead, x to the right), texture coordinates, bones and their weights.
_POSITION, _UV, _BONES = 6 * 4, 2 * 4, 4 + 4 * 4


def read_pmd(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices float64 [n, 3] (x ahead, y to the left, z up) and triangles int32 [m, 3] of a mesh in its bind pose.

    Raises UserError where the bytes are not a PMD mesh of version 3 or 4 (older ones hold no bind pose), or are damaged.
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
    if sets > _MAX_UV_SETS:
        raise _damaged(f"{sets:,} sets of texture coordinates")
    stride = _POSITION + sets * _UV + _BONES
    block = _slice(data, at, n * stride, f"{n:,} vertices")
    places = np.frombuffer(block, np.uint8).reshape(n, stride)[:, :12].copy().view("<f4").astype(np.float64)
    m, at = _number(data, at + n * stride)
    faces = np.frombuffer(_slice(data, at, m * 6, f"{m:,} faces"), "<u2").reshape(m, 3).astype(np.int32)
    if m == 0:
        raise UserError("it has no faces, so there is nothing to show: take it from 0 A.D. again.")
    if faces.max() >= n:
        raise _damaged(f"a face has vertex {faces.max():,} of {n:,}")
    return places[:, [2, 0, 1]] * (1, -1, 1), faces


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The count at an offset, and the offset behind it."""
    return struct.unpack("<I", _slice(data, at, 4, "a count"))[0], at + 4


def _slice(data: bytes, at: int, size: int, what: str) -> memoryview:
    if at + size > len(data):
        raise _damaged(f"{what} do not fit into it")
    return memoryview(data)[at : at + size]


def _damaged(why: str) -> UserError:
    return UserError(f"it is a damaged PMD mesh ({why}): take it from 0 A.D. again.")
