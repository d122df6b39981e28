"""The animals of 0 A.D.: installed from a folder or a zip, and what is refused of either."""

import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.assets.sets import asset_licence, asset_mesh, asset_names
from generator.assets.zeroad import LICENCE, install, read_pmd
from generator.base.errors import UserError
from tests.conftest import succeed
from tests.generator.assets.solids import solid
from tests.paths import SHARED

# A wedge of 0 A.D. (y up) that looks along -z, its back wall at z = 1.
PLACES = [(-1, 0, -3), (1, 0, -3), (1, 0, 1), (-1, 0, 1), (-1, 2, 1), (1, 2, 1)]


FACES = [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 1), (2, 5, 4), (2, 4, 3), (0, 3, 4), (1, 5, 2)]


places = st.lists(st.tuples(*[st.floats(-1e6, 1e6, width=32)] * 3), min_size=1, max_size=20)


def pmd(places: list, faces: list, version: int = 4, sets: int = 1) -> bytes:
    """A PMD file without bones, as the game's own description of the format has it."""
    vertices = b"".join(
        struct.pack("<6f", *place, 0, 1, 0) + bytes(8 * sets) + b"\xff" * 4 + bytes(16)
        for place in places
    )
    head = struct.pack("<I", len(places)) + (struct.pack("<I", sets) if version >= 4 else b"")
    triangles = struct.pack("<I", len(faces)) + b"".join(
        struct.pack("<3H", *face) for face in faces
    )
    props = struct.pack("<II4s7fB", 1, 4, b"root", *[0.0] * 7, 255)
    body = head + vertices + triangles + struct.pack("<I", 0) + props
    return b"PSMD" + struct.pack("<II", version, len(body)) + body


@given(places, st.data(), st.sampled_from([3, 4]), st.integers(1, 3))
def test_a_written_mesh_is_read_as_it_was(
    places: list, data: st.DataObject, version: int, sets: int
) -> None:
    corner = st.integers(0, len(places) - 1)
    faces = data.draw(st.lists(st.tuples(corner, corner, corner), min_size=1, max_size=20))
    vertices, triangles = read_pmd(pmd(places, faces, version, sets if version == 4 else 1))
    assert triangles.tolist() == [list(face) for face in faces]
    assert vertices.tolist() == [[x, y, -z] for x, y, z in places]


@given(st.integers(0, len(pmd(PLACES, FACES)) - 1))
def test_a_file_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(UserError, match=r"cut short|bytes follow the header"):
        read_pmd(pmd(PLACES, FACES)[:end])


@given(st.integers(0, 2**32 - 1), st.sampled_from([12, 16, 20 + 6 * 52]))
def test_no_count_makes_it_read_beyond_the_file(count: int, at: int) -> None:
    data = bytearray(pmd(PLACES, FACES))
    data[at : at + 4] = struct.pack("<I", count)
    with suppress(UserError):
        vertices, faces = read_pmd(bytes(data))
        assert faces.max() < len(vertices) <= len(data) / 52


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04" + bytes(20), "it is no PMD mesh"),
        (pmd(PLACES, FACES, 2), "version 2"),
        (pmd(PLACES, []), "no faces"),
        (pmd(PLACES, [(0, 1, 6)]), "a face has vertex 6 of 6"),
        (pmd(PLACES, FACES) + b"x", "bytes follow the header"),
    ],
)
def test_damaged_files_are_named_with_their_fault(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_pmd(data)


REAL = SHARED / "assets" / "0ad"


def game(folder: Path) -> Path:
    """A folder with a fox, a rhinoceros by the game's name, and what no animal is."""
    folder.mkdir()
    for name in ("fox", "rhino", "catapult"):
        (folder / f"{name}.pmd").write_bytes(pmd(PLACES, FACES))
    (folder / "LICENSE.txt").write_text("CC BY-SA")
    return folder


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_folder_and_zip_give_the_same_set(sets: Path, tmp_path: Path) -> None:
    succeed("gen assets install 0ad --from", game(tmp_path / "game"))
    assert asset_names("0ad") == ["fox", "rhinoceros"]
    assert asset_licence("0ad") == LICENCE
    assert (sets / "0ad" / "LICENSE.txt").read_text() == "CC BY-SA"
    fox = asset_mesh("0ad", "fox")
    xs, _, zs = zip(*fox.vertices, strict=True)
    assert max(z for x, z in zip(xs, zs, strict=True) if x > 0.1) < max(
        zs
    )  # low in front, as it looks along +x
    members = {
        "art/meshes/skeletal/fox.dae.cached.pmd": pmd(PLACES, FACES),
        "art/LICENSE.txt": b"text",
        "other/rhino.pmd": b"",
    }
    assert install(zipped(tmp_path / "public.zip", **members))[0] == ["fox"]
    assert asset_mesh("0ad", "fox") == fox
    assert (sets / "0ad" / "LICENSE.txt").read_text() == "text"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"/etc/fox.pmd": b"x"}, "holds no animals"),
        ({"art/meshes/fox.pmd": bytes(33 << 20)}, "more than 32 MB"),
        ({"art/meshes/boat.pmd": b"x"}, "holds no animals"),
        (
            {"art/meshes/fox.pmd": b"x"},
            "Cannot install art/meshes/fox.pmd: it is a damaged PMD mesh",
        ),
    ],
)
def test_a_zip_that_is_not_the_games_is_refused(
    sets: Path, tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        install(zipped(tmp_path / "public.zip", **members))
    assert not sets.exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.pmd").write_bytes(pmd(PLACES, FACES))
    folder = game(tmp_path / "game")
    (folder / "wolf.pmd").symlink_to(tmp_path / "secret.pmd")
    with pytest.raises(UserError, match=r"wolf\.pmd is a link that leads out of"):
        install(folder)


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    whole = zipped(
        tmp_path / "public.zip", **{"art/meshes/fox.pmd": pmd(PLACES, FACES)}
    ).read_bytes()
    for data in (b"", whole[:60], whole[:-30]):
        (tmp_path / "public.zip").write_bytes(data)
        with pytest.raises(UserError, match="not a whole zip file"):
            install(tmp_path / "public.zip")
    with pytest.raises(UserError, match="There is no"):
        install(tmp_path / "nothing")


def test_a_damaged_zip_is_refused_or_read(sets: Path, tmp_path: Path) -> None:
    whole = zipped(
        tmp_path / "public.zip", **{"art/meshes/fox.pmd": pmd(PLACES, FACES)}
    ).read_bytes()
    refused = 0
    for at in range(0, len(whole), 7):
        (tmp_path / "public.zip").write_bytes(
            whole[:at] + bytes([whole[at] ^ 0xA5]) + whole[at + 1 :]
        )
        try:
            install(tmp_path / "public.zip")
        except UserError:
            refused += 1
    assert refused > 10


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the meshes of 0 A.D. in ../shared/assets/0ad")
def test_the_games_own_animals_stand_and_look_ahead() -> None:
    installed, missing = install(REAL)
    assert (len(installed), missing) == (18, [])
    for name in installed:
        mesh = solid(asset_mesh("0ad", name))
        vertices, (low, high) = mesh.vertices, mesh.bounds
        assert mesh.volume > 0.005, f"{name} is inside out"
        if name != "crow":  # which flies, with spread wings
            assert high[0] - low[0] > 1.5 * (high[1] - low[1]), name
        if name in ("giraffe", "camel", "horse", "deer_doe", "deer_stag", "zebra", "wolf"):
            assert vertices[vertices[:, 2] > 0.9 * high[2], 0].mean() > 0.1, (
                f"the head of {name} is not in front"
            )
