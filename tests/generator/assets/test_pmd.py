"""PMD meshes: what is written is read, and damaged bytes are refused."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.assets.zeroad import read_pmd
from generator.base.errors import UserError

# A wedge of 0 A.D. (y up) that looks along -z, its back wall at z = 1.
PLACES = [(-1, 0, -3), (1, 0, -3), (1, 0, 1), (-1, 0, 1), (-1, 2, 1), (1, 2, 1)]
FACES = [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 1), (2, 5, 4), (2, 4, 3), (0, 3, 4), (1, 5, 2)]
places = st.lists(st.tuples(*[st.floats(-1e6, 1e6, width=32)] * 3), min_size=1, max_size=20)


def pmd(places: list, faces: list, version: int = 4, sets: int = 1) -> bytes:
    """A PMD file without bones, as the game's own description of the format has it."""
    vertices = b"".join(
        struct.pack("<6f", *place, 0, 1, 0) + bytes(8 * sets) + b"\xff" * 4 + bytes(16) for place in places
    )
    head = struct.pack("<I", len(places)) + (struct.pack("<I", sets) if version >= 4 else b"")
    triangles = struct.pack("<I", len(faces)) + b"".join(struct.pack("<3H", *face) for face in faces)
    props = struct.pack("<II4s7fB", 1, 4, b"root", *[0.0] * 7, 255)
    body = head + vertices + triangles + struct.pack("<I", 0) + props
    return b"PSMD" + struct.pack("<II", version, len(body)) + body


@given(places, st.data(), st.sampled_from([3, 4]), st.integers(1, 3))
def test_what_is_written_is_read(places: list, data: st.DataObject, version: int, sets: int) -> None:
    corner = st.integers(0, len(places) - 1)
    faces = data.draw(st.lists(st.tuples(corner, corner, corner), min_size=1, max_size=20))
    vertices, triangles = read_pmd(pmd(places, faces, version, sets if version == 4 else 1))
    assert triangles.tolist() == [list(face) for face in faces]
    assert vertices.tolist() == [[z, -x, y] for x, y, z in places]


@given(st.integers(0, len(pmd(PLACES, FACES)) - 1))
def test_a_file_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(UserError, match=r"cut short|bytes follow the header"):
        read_pmd(pmd(PLACES, FACES)[:end])


@given(st.binary(max_size=400), st.sampled_from([3, 4]))
def test_any_bytes_are_read_or_refused(junk: bytes, version: int) -> None:
    data = b"PSMD" + struct.pack("<II", version, len(junk)) + junk
    with suppress(UserError):
        vertices, faces = read_pmd(data)
        assert len(faces)
        assert faces.max() < len(vertices)


@given(st.integers(0, 2**32 - 1), st.sampled_from([12, 16, 20 + 6 * 52]))
def test_no_count_makes_it_read_beyond_the_file(count: int, at: int) -> None:
    data = bytearray(pmd(PLACES, FACES))
    data[at : at + 4] = struct.pack("<I", count)
    with suppress(UserError):
        vertices, faces = read_pmd(bytes(data))
        assert faces.max() < len(vertices) <= len(data) / 52


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cut short"),
        (b"PK\x03\x04" + bytes(20), "it is no PMD mesh"),
        (pmd(PLACES, FACES, 2), "version 2"),
        (pmd(PLACES, []), "no faces"),
        (pmd(PLACES, [(0, 1, 6)]), "a face has vertex 6 of 6"),
        (pmd(PLACES, FACES) + b"x", "bytes follow the header"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(data: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_pmd(data)
