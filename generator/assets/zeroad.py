"""Installs the animals of the game 0 A.D. as the asset set `0ad`, from its public.zip or a folder
of its meshes."""

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
"""Where Debian's package of the game has its meshes."""
LICENCE = (
    "CC BY-SA 3.0 (https://creativecommons.org/licenses/by-sa/3.0/), 0 A.D. by Wildfire Games "
    "(https://www.wildfiregames.com/)"
)
_MOST_BYTES = 32 << 20  # of a mesh
_HEADER = struct.Struct("<4sII")  # magic, version, bytes that follow
_VERSIONS = (3, 4)
"""Versions of the format PMD; older ones hold no bind pose."""


@dataclass(frozen=True)
class _MeshFile:
    """The file of a mesh in the game."""

    path: str
    """Its path in the zip or on disk."""
    data: bytes
    """Its content."""


@dataclass(frozen=True)
class _GameFiles:
    """What is read of the game."""

    meshes: dict[str, _MeshFile]
    """The mesh of each animal that is there."""
    licence: bytes | None
    """The text of the licence; None if it is missing."""


def install(source: Path | None) -> tuple[list[str], list[str]]:
    """Install the animals of the game as the set `0ad`.

    Args:
        source: The game's public.zip or a folder of its meshes; None takes Debian's package.

    Returns:
        The names of the animals that are installed and of those that are missing, sorted.

    Raises:
        UserError: The source does not exist, holds no animal, or has a damaged mesh. The set then
            stays unchanged.
    """
    source = source or DEFAULT_SOURCE
    if not source.exists():
        raise UserError(
            f"There is no {source}; apt-get install 0ad-data, or give the game's public.zip or a "
            f"folder of its .pmd files with --from PATH."
        )
    stems_by_animal = read_toml(resource("blender_assets/0ad.toml"), "list of animals")
    files = _read_source(source, stems_by_animal)
    if not files.meshes:
        raise UserError(
            f"{source} holds no animals of 0 A.D.: expected meshes such as fox.pmd or "
            f"fox.dae.cached.pmd; give the game's public.zip, or a folder of its .pmd files."
        )

    # All meshes are read before the first is written.
    meshes = {}
    for name, file in files.meshes.items():
        try:
            vertices, faces = read_pmd(file.data)
            meshes[name], _ = cleaned(vertices, faces, facing="z", up="y")
        except UserError as error:
            raise UserError(f"Cannot install {file.path}: {error.message}") from None
    folder = set_folder(SET)
    for name, mesh in meshes.items():
        file = files.meshes[name]
        notes = {
            "licence": LICENCE,
            "source": PurePosixPath(file.path).name,
            "sha256": hashlib.sha256(file.data).hexdigest(),
        }
        write_asset(folder, name, mesh=mesh, notes=notes)
    if files.licence is not None:
        write_bytes(folder / "LICENSE.txt", files.licence)
    return sorted(meshes), sorted(stems_by_animal.keys() - meshes.keys())


def _read_source(source: Path, stems_by_animal: Mapping[str, Sequence[str]]) -> _GameFiles:
    """Read the files of the animals.

    Args:
        source: A folder or a zip file.
        stems_by_animal: For each animal the names of its mesh in versions of the game, without
            suffixes.
    """
    if source.is_dir():
        paths = sorted(map(str, source.rglob("*")))
        # As texts, since a zip file names its members so.
        return _read_animals(
            stems_by_animal, paths, lambda path: _read_from_folder(source, Path(path))
        )
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.namelist()
            starts = ("art/meshes/", "art/LICENSE")
            paths = sorted(name for name in members if name.startswith(starts))
            return _read_animals(
                stems_by_animal, paths, lambda path: _read_from_zip(source, archive, path)
            )
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"{source} is not a whole zip file ({error}); fetch it again.") from None


def _read_animals(
    stems_by_animal: Mapping[str, Sequence[str]], paths: Iterable[str], read: Callable[[str], bytes]
) -> _GameFiles:
    """Choose the mesh of each animal among paths, and read it with `read`."""
    path_by_stem: dict[str, str] = {}
    licence = None
    for path in paths:
        name = PurePosixPath(path).name
        if name.endswith(".pmd"):
            # The list has lower case. Of two files with one stem the first by name is taken.
            stem = name.split(".")[0].lower()
            path_by_stem.setdefault(stem, path)
        elif name == "LICENSE.txt" and not licence:
            licence = read(path)
    meshes = {}
    for animal, known_stems in stems_by_animal.items():
        for stem in known_stems:
            if stem in path_by_stem:
                path = path_by_stem[stem]
                meshes[animal] = _MeshFile(path, read(path))
                break
    return _GameFiles(meshes, licence)


def _read_from_folder(source: Path, path: Path) -> bytes:
    if not path.resolve().is_relative_to(source.resolve()):
        raise UserError(f"{path} is a link that leads out of {source}; give a folder of files.")
    return read_bytes(path, _MOST_BYTES)


def _read_from_zip(source: Path, archive: zipfile.ZipFile, member: str) -> bytes:
    with archive.open(member) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UserError(
            f"{source} has a member '{member}' of more than {_MOST_BYTES >> 20} MB, which no mesh "
            f"of 0 A.D. has; give the game's own file."
        )
    return data


def read_pmd(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read PMD, the game's format: a header, vertices and triangles; bones and props are skipped.

    Args:
        data: The file.

    Returns:
        Vertices float64 [n, 3] (x to the right, y up, z backward; in the file z points ahead) and
        triangles int32 [m, 3] of the mesh in its bind pose.

    Raises:
        UserError: The bytes are damaged or not a PMD mesh of version 3 or 4.
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
        positions, faces = _read_arrays(data, version)
    except (struct.error, ValueError) as error:
        raise _damaged(str(error)) from None
    if len(faces) == 0:
        raise UserError("it has no faces, so there is nothing to show: take it from 0 A.D. again.")
    if faces.max() >= len(positions):
        raise _damaged(f"a face has vertex {faces.max():,} of {len(positions):,}")
    backward = (1, 1, -1)
    return positions * backward, faces


def _read_arrays(data: bytes, version: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions float64 [n, 3] and triangles int32 [m, 3] of a PMD file.

    Raises struct.error or ValueError if the file is too short.
    """
    offset = _HEADER.size
    (n_vertices,) = struct.unpack_from("<I", data, offset)
    offset += 4
    uv_sets = 1
    if version == 4:
        (uv_sets,) = struct.unpack_from("<I", data, offset)
        offset += 4
    vertex = np.dtype(
        [
            ("position", "<f4", 3),  # y up, z ahead, x to the right
            ("normal", "<f4", 3),
            ("uv", "<f4", (uv_sets, 2)),
            ("bones", "V20"),  # four of one byte, and their weights as floats
        ]
    )
    vertices = np.frombuffer(data, vertex, n_vertices, offset)
    offset += n_vertices * vertex.itemsize
    (n_faces,) = struct.unpack_from("<I", data, offset)
    offset += 4
    faces = np.frombuffer(data, "<u2", 3 * n_faces, offset)
    return vertices["position"].astype(np.float64), faces.reshape(n_faces, 3).astype(np.int32)


def _damaged(why: str) -> UserError:
    return UserError(f"it is a damaged PMD mesh ({why}): take it from 0 A.D. again.")
