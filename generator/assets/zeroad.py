"""Installs the animals of the game 0 A.D. as the asset set `0ad`, from its public.zip or a folder
of its meshes."""

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from generator.assets.importing import cleaned
from generator.assets.sets import set_folder, write_asset
from generator.base.errors import UserError
from generator.base.files import read_toml, write_bytes
from generator.base.limits import read_bytes
from generator.base.registry import resource

SET = "0ad"
DEFAULT_SOURCE = Path("/usr/share/games/0ad/mods/public/public.zip")
LICENCE = (
    "CC BY-SA 3.0 (https://creativecommons.org/licenses/by-sa/3.0/), 0 A.D. by Wildfire Games "
    "(https://www.wildfiregames.com/)"
)
_MOST_BYTES = 32 << 20
_HEADER = struct.Struct("<4sII")  # magic, version, bytes that follow
_VERSIONS = (3, 4)


def install(source: Path | None) -> tuple[list[str], list[str]]:
    """Install the animals found in `source`, by default in Debian's package of the game.

    Returns the names of the animals that were found and of the missing animals. Raises UserError if
    the source does not exist, holds no animal, or has a damaged mesh; the set then stays unchanged.
    """
    source = source or DEFAULT_SOURCE
    if not source.exists():
        raise UserError(
            f"There is no {source}; apt-get install 0ad-data, or give the game's public.zip or a "
            f"folder of its .pmd files with --from PATH."
        )
    stems = read_toml(resource("blender_assets/0ad.toml"), "list of animals")
    files, licence = _read(source, stems)
    if not files:
        raise UserError(
            f"{source} holds no animals of 0 A.D.: expected meshes such as fox.pmd or "
            f"fox.dae.cached.pmd; give the game's public.zip, or a folder of its .pmd files."
        )
    folder, meshes = set_folder(SET), {}
    for name, (place, data) in files.items():
        try:
            meshes[name], _ = cleaned(*read_pmd(data), "z", "y")
        except UserError as error:
            raise UserError(f"Cannot install {place}: {error.message}") from None
    for name, mesh in meshes.items():
        place, data = files[name]
        notes = {
            "licence": LICENCE,
            "source": PurePosixPath(place).name,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        write_asset(folder, name, mesh, notes)
    if licence is not None:
        write_bytes(folder / "LICENSE.txt", licence)
    return sorted(meshes), sorted(stems.keys() - meshes.keys())


Found = tuple[dict[str, tuple[str, bytes]], bytes | None]
"""By animal, path and bytes of its mesh; and the text of the licence, if any."""


def _read(source: Path, stems: Mapping[str, Sequence[str]]) -> Found:
    if source.is_dir():
        places = sorted(map(str, source.rglob("*")))
        return _animals(stems, places, lambda place: _from_folder(source, Path(place)))
    try:
        with zipfile.ZipFile(source) as archive:
            places = sorted(
                name
                for name in archive.namelist()
                if name.startswith(("art/meshes/", "art/LICENSE"))
            )
            return _animals(stems, places, lambda place: _from_zip(source, archive, place))
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"{source} is not a whole zip file ({error}); fetch it again.") from None


def _animals(
    stems: Mapping[str, Sequence[str]], places: Iterable[str], read: Callable[[str], bytes]
) -> Found:
    meshes: dict[str, str] = {}
    licence = None
    for place in places:
        name = PurePosixPath(place).name
        if name.endswith(".pmd"):
            meshes.setdefault(name.split(".")[0].lower(), place)
        elif name == "LICENSE.txt":
            licence = licence or read(place)
    chosen = {
        name: next((meshes[stem] for stem in known if stem in meshes), None)
        for name, known in stems.items()
    }
    return {
        name: (place, read(place)) for name, place in chosen.items() if place is not None
    }, licence


def _from_folder(source: Path, path: Path) -> bytes:
    if not path.resolve().is_relative_to(source.resolve()):
        raise UserError(f"{path} is a link that leads out of {source}; give a folder of files.")
    return read_bytes(path, _MOST_BYTES)


def _from_zip(source: Path, archive: zipfile.ZipFile, place: str) -> bytes:
    with archive.open(place) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UserError(
            f"{source} has a member '{place}' of more than {_MOST_BYTES >> 20} MB, which no mesh "
            f"of 0 A.D. has; give the game's own file."
        )
    return data


def read_pmd(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read PMD, the game's format: a header, vertices and triangles; bones and props are skipped.

    Returns vertices float64 [n, 3] (x to the right, y up, z backward; in the file z points ahead)
    and triangles int32 [m, 3] of the mesh in its bind pose. Raises UserError if the bytes are
    damaged or not a PMD mesh of version 3 or 4 (older versions hold no bind pose).
    """
    if len(data) < _HEADER.size:
        raise _damaged("it is cut short")
    magic, version, size = _HEADER.unpack_from(data)
    if magic != b"PSMD":
        raise UserError("it is no PMD mesh: expected a file of 0 A.D. that begins with PSMD.")
    if version not in _VERSIONS:
        raise UserError(
            f"expected a PMD mesh of version 3 or 4, got version {version}: take it from 0 A.D. "
            f"alpha 24 or later."
        )
    if size != len(data) - _HEADER.size:
        raise _damaged(f"{len(data) - _HEADER.size:,} bytes follow the header, expected {size:,}")
    try:
        at = _HEADER.size
        n, uv_sets = (
            struct.unpack_from("<II", data, at)
            if version == 4
            else (*struct.unpack_from("<I", data, at), 1)
        )
        at += 8 if version == 4 else 4
        # position and normal (y up, z ahead, x to the right), texture coordinates, bones and their
        # weights
        vertex = np.dtype(
            [
                ("position", "<f4", 3),
                ("normal", "<f4", 3),
                ("uv", "<f4", (uv_sets, 2)),
                ("bones", "V20"),
            ]
        )
        positions = np.frombuffer(data, vertex, n, at)["position"].astype(np.float64)
        at += n * vertex.itemsize
        (m,) = struct.unpack_from("<I", data, at)
        faces = np.frombuffer(data, "<u2", 3 * m, at + 4).reshape(m, 3).astype(np.int32)
    except (struct.error, ValueError) as error:
        raise _damaged(str(error)) from None
    if m == 0:
        raise UserError("it has no faces, so there is nothing to show: take it from 0 A.D. again.")
    if faces.max() >= n:
        raise _damaged(f"a face has vertex {faces.max():,} of {n:,}")
    return positions * (1, 1, -1), faces


def _damaged(why: str) -> UserError:
    return UserError(f"it is a damaged PMD mesh ({why}): take it from 0 A.D. again.")
