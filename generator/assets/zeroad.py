"""Installs the animals of the free game 0 A.D. as the asset set `0ad`, from its public.zip or a folder of its meshes."""

import hashlib
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np

from generator.assets.importing import read_mesh
from generator.assets.pmd import read_pmd
from generator.assets.process import AssetWorker
from generator.assets.sets import set_folder
from generator.assets.stored import write_asset
from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.limits import check_file

SET = "0ad"
DEFAULT_SOURCE = Path("/usr/share/games/0ad/mods/public/public.zip")
LICENCE = "CC BY-SA 3.0 (https://creativecommons.org/licenses/by-sa/3.0/), 0 A.D. by Wildfire Games (https://www.wildfiregames.com/)"
_STEMS = {
    "bear": ("bear",), "camel": ("camel", "camel_1"), "crocodile": ("crocodile", "croc"), "crow": ("crow",),
    "deer_doe": ("deer_doe", "deer_mesh"), "deer_stag": ("deer_stag", "temp_deer_1"),
    "elephant": ("elephant", "elephant_african_bush"), "fox": ("fox",), "giraffe": ("giraffe", "giraffe_adult"),
    "hippopotamus": ("hippopotamus", "fauna_hippopotamus"), "horse": ("horse",), "lion": ("lion", "animal_lion"),
    "lioness": ("lioness", "animal_lioness"), "rabbit": ("rabbit", "rabbit_01"), "rhinoceros": ("rhinoceros", "rhino"),
    "tiger": ("tiger",), "wolf": ("wolf",), "zebra": ("zebra",),
}  # fmt: skip
"""The animals, and the names of their meshes in versions of the game; the first that exists is taken."""
_MOST_BYTES, _MOST_MEMBERS = 32 << 20, 500_000
_Place = TypeVar("_Place")


def install(source: Path | None, worker: AssetWorker) -> tuple[list[str], list[str]]:
    """Install the animals found in `source`, by default in Debian's package of the game.

    Returns the names of the animals that were found, and of those that were not. Raises UserError where there is no source,
    where it holds no animal, or where a mesh is damaged; the set stays as it was then.
    """
    files, licence = _read(source or _default_source())
    if not files:
        raise UserError(
            f"{source or DEFAULT_SOURCE} holds no animals of 0 A.D.: expected meshes such as fox.pmd or fox.dae.cached.pmd; give the "
            f"game's public.zip, or a folder of its .pmd files."
        )
    folder, meshes = set_folder(SET), {}
    with tempfile.TemporaryDirectory(prefix="jackalope-") as scratch:
        for name, (place, data) in files.items():
            try:
                vertices, faces = read_pmd(data)
                np.savez(Path(scratch) / "in.npz", vertices=vertices, faces=faces)
                out = Path(scratch) / f"{name}.npz"
                worker.ask({"clean": str(Path(scratch) / "in.npz"), "facing": "-x", "up": "z", "out": str(out)})
                meshes[name] = read_mesh(out)
            except UserError as error:
                raise UserError(f"Cannot install {place}: {error.message}") from None
    for name, mesh in meshes.items():
        place, data = files[name]
        notes = {"licence": LICENCE, "source": PurePosixPath(place).name, "sha256": hashlib.sha256(data).hexdigest()}
        write_asset(folder, name, mesh, notes)
    if licence is not None:
        write_bytes(folder / "LICENSE.txt", licence)
    return sorted(meshes), sorted(_STEMS.keys() - meshes.keys())


def _default_source() -> Path:
    if not DEFAULT_SOURCE.exists():
        raise UserError(
            f"0 A.D. is not installed here ({DEFAULT_SOURCE}): apt-get install 0ad-data, or give its public.zip or a folder of its .pmd "
            f"files with --from PATH."
        )
    return DEFAULT_SOURCE


def _read(source: Path) -> tuple[dict[str, tuple[str, bytes]], bytes | None]:
    """Place and bytes of the mesh of each animal, and the text of the licence where there is one."""
    if source.suffix == ".deb":
        raise UserError(
            f"{source} is a Debian package: unpack it with dpkg-deb -x {source} 0ad, and give --from "
            f"0ad/usr/share/games/0ad/mods/public/public.zip."
        )
    if source.is_dir():
        return _from_folder(source)
    if not source.is_file():
        raise UserError(f"There is no {source}; give the game's public.zip, or a folder of its .pmd files.")
    try:
        with zipfile.ZipFile(source) as archive:
            return _from_zip(source, archive)
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"{source} is not a whole zip file ({error}); fetch it again.") from None


def _from_folder(source: Path) -> tuple[dict[str, tuple[str, bytes]], bytes | None]:
    files = sorted(path for path in source.rglob("*") if path.suffix == ".pmd" or path.name == "LICENSE.txt")
    for path in files:
        if not path.resolve().is_relative_to(source.resolve()):
            raise UserError(f"{path} is a link that leads out of {source}; give a folder of files.")
        check_file(path, _MOST_BYTES)
    found = {name: (str(path), path.read_bytes()) for name, path in _animals_among({str(path): path for path in files})}
    licence = next((path for path in files if path.name == "LICENSE.txt"), None)
    return found, licence.read_bytes() if licence else None


def _from_zip(source: Path, archive: zipfile.ZipFile) -> tuple[dict[str, tuple[str, bytes]], bytes | None]:
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise UserError(
            f"{source} has {len(members):,} members, which public.zip of 0 A.D. has not; give the game's own file."
        )
    for member in members:
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts:
            raise UserError(
                f"{source} has a member '{member.filename}' that climbs out of its folder; give the game's own file."
            )
    meshes = {
        each.filename: each
        for each in members
        if each.filename.startswith("art/meshes/") and each.filename.endswith(".pmd")
    }
    found = {name: (each.filename, _bytes(source, archive, each)) for name, each in _animals_among(meshes)}
    licence = next((each for each in members if each.filename == "art/LICENSE.txt"), None)
    return found, _bytes(source, archive, licence) if licence else None


def _bytes(source: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise UserError(f"{source} has a link '{member.filename}' in place of a mesh; give the game's own file.")
    with archive.open(member) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UserError(
            f"{source} has a member '{member.filename}' of more than {_MOST_BYTES >> 20} MB, which no mesh of 0 A.D. has; give the "
            f"game's own file."
        )
    return data


def _animals_among(places: Mapping[str, _Place]) -> Iterator[tuple[str, _Place]]:
    """Name and mesh of each animal whose file is among `places`."""
    by_stem: dict[str, _Place] = {}
    for place, each in sorted(places.items()):
        by_stem.setdefault(PurePosixPath(place).name.split(".")[0].lower(), each)
    for name, stems in _STEMS.items():
        for stem in stems:
            if stem in by_stem:
                yield name, by_stem[stem]
                break
