"""The animals of 0 A.D.: installed from a folder or a zip, and what is refused of either."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from generator.assets.importing import AssetWorker
from generator.assets.sets import asset_licence, asset_mesh, asset_names
from generator.assets.zeroad import LICENCE, install
from generator.base.errors import UserError
from tests.conftest import run_command
from tests.generator.assets.test_pmd import FACES, PLACES, pmd
from tests.paths import SHARED

pytestmark = pytest.mark.usefixtures("sets")

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


def test_folder_and_zip_give_the_same_set(worker: AssetWorker, sets: Path, tmp_path: Path) -> None:
    done = run_command("gen", "assets", "install", "0ad", "--from", game(tmp_path / "game"))
    assert done.returncode == 0, done.stderr
    assert asset_names("0ad") == ["fox", "rhinoceros"]
    assert asset_licence("0ad") == LICENCE
    assert (sets / "0ad" / "LICENSE.txt").read_text() == "CC BY-SA"
    fox = asset_mesh("0ad", "fox")
    xs, _, zs = zip(*fox.vertices, strict=True)
    assert max(z for x, z in zip(xs, zs, strict=True) if x > 0.1) < max(zs)  # low in front, as it looks along +x
    members = {
        "art/meshes/skeletal/fox.dae.cached.pmd": pmd(PLACES, FACES),
        "art/LICENSE.txt": b"text",
        "other/rhino.pmd": b"",
    }
    assert install(zipped(tmp_path / "public.zip", **members), worker)[0] == ["fox"]
    assert asset_mesh("0ad", "fox") == fox
    assert (sets / "0ad" / "LICENSE.txt").read_text() == "text"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"art/meshes/../../../fox.pmd": b"x"}, "climbs out of its folder"),
        ({"/etc/fox.pmd": b"x"}, "climbs out of its folder"),
        ({"..\\fox.pmd": b"x"}, "climbs out of its folder"),
        ({"art/meshes/fox.pmd": bytes(33 << 20)}, "more than 32 MB"),
        ({"art/meshes/boat.pmd": b"x"}, "holds no animals"),
        ({"art/meshes/fox.pmd": b"x"}, "Cannot install art/meshes/fox.pmd: it is a damaged PMD mesh"),
    ],
)
def test_a_zip_that_is_not_the_games_is_refused(
    worker: AssetWorker, sets: Path, tmp_path: Path, members: dict[str, bytes], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        install(zipped(tmp_path / "public.zip", **members), worker)
    assert not sets.exists()


def test_links_are_refused(worker: AssetWorker, tmp_path: Path) -> None:
    (tmp_path / "secret.pmd").write_bytes(pmd(PLACES, FACES))
    folder = game(tmp_path / "game")
    (folder / "wolf.pmd").symlink_to(tmp_path / "secret.pmd")
    with pytest.raises(UserError, match=r"wolf\.pmd is a link that leads out of"):
        install(folder, worker)
    link = zipfile.ZipInfo("art/meshes/fox.pmd")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "public.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="has a link"):
        install(tmp_path / "public.zip", worker)


def test_a_file_that_is_no_zip_and_a_package_are_refused(worker: AssetWorker, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "public.zip", **{"art/meshes/fox.pmd": pmd(PLACES, FACES)}).read_bytes()
    for data in (b"", whole[:60], whole[:-30]):
        (tmp_path / "public.zip").write_bytes(data)
        with pytest.raises(UserError, match="not a whole zip file"):
            install(tmp_path / "public.zip", worker)
    (tmp_path / "0ad-data.deb").write_bytes(b"!<arch>\n")
    with pytest.raises(UserError, match="unpack it with dpkg-deb -x"):
        install(tmp_path / "0ad-data.deb", worker)
    with pytest.raises(UserError, match="There is no"):
        install(tmp_path / "nothing", worker)


def test_a_damaged_zip_is_refused_or_read(worker: AssetWorker, sets: Path, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "public.zip", **{"art/meshes/fox.pmd": pmd(PLACES, FACES)}).read_bytes()
    refused = 0
    for at in range(0, len(whole), 7):
        (tmp_path / "public.zip").write_bytes(whole[:at] + bytes([whole[at] ^ 0xA5]) + whole[at + 1 :])
        try:
            install(tmp_path / "public.zip", worker)
        except UserError:
            refused += 1
    assert refused > 10


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the meshes of 0 A.D. in ../shared/assets/0ad")
def test_the_games_own_animals_stand_and_look_ahead(worker: AssetWorker) -> None:
    found, missing = install(REAL, worker)
    assert (len(found), missing) == (18, [])
    for name in found:
        mesh = asset_mesh("0ad", name)
        vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        assert abs(low[2]) < 1e-6
        assert max(np.hypot(*vertices[:, :2].T).max(), high[2] / 2) == pytest.approx(1, abs=1e-5)
        a, b, c = np.moveaxis(vertices[faces], 1, 0)
        assert np.einsum("nx,nx->", a, np.cross(b, c)) / 6 > 0.005, f"{name} is inside out"
        if name != "crow":  # which flies, with spread wings
            assert high[0] - low[0] > 1.5 * (high[1] - low[1]), name
        if name in ("giraffe", "camel", "horse", "deer_doe", "deer_stag", "zebra", "wolf"):
            assert vertices[vertices[:, 2] > 0.9 * high[2], 0].mean() > 0.1, f"the head of {name} is not in front"
