"""Imports a mesh file of the user into an asset set."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from generator.assets.animals import build_animal
from generator.assets.sets import NAME, set_folder, write_asset
from generator.assets.shapes import SHAPES, UnitMesh
from generator.base import limits
from generator.base.errors import UserError, did_you_mean
from generator.base.files import check_output, sha256
from generator.base.process import AnsweringProcess, ProcessEndError

MESHES = (".glb", ".gltf", ".obj", ".ply", ".stl", ".fbx", ".blend")
SUFFIXES = (*MESHES, ".toml")
_MOST_BYTES = 1 << 30
_TIMEOUT = 600.0  # seconds for one answer of the worker


@dataclass(frozen=True)
class Imported:
    """An imported mesh: its file, the picture of it from eight sides, and a sentence for each repair."""

    path: Path
    picture: Path
    mended: list[str]


class AssetWorker(AnsweringProcess):
    """The process that reads and draws users' meshes; generator/render/blender/asset_worker.py lists its requests."""

    def __init__(self) -> None:
        super().__init__("generator.render.blender.asset_worker")

    def ask(self, message: dict[str, Any], timeout: float = _TIMEOUT) -> dict[str, Any]:  # type: ignore[override]
        """Send a request and return its answer.

        Raises UserError where it is refused, and where the process ends over it.
        """
        try:
            answer = super().ask(message, timeout)
        except ProcessEndError as ended:
            raise UserError(f"Blender {ended} over it: the file is damaged or too heavy; export it again.") from None
        if "refused" in answer:
            raise UserError(answer["refused"])
        return answer


def import_asset(file: Path, name: str, assets: str, licence: str, facing: str, up: str, replace: bool) -> Imported:
    """Import the meshes of `file`, joined, as `name` into the set `assets`.

    `facing` and `up` are directions of the file as in `normalise`. A TOML file declares an animal (docs/animals.md),
    for which both are known. Raises UserError where the name is invalid, or taken without `replace`, and where the file
    holds no mesh that can be shown; the set stays as it was then.
    """
    folder = _check_name(name, assets, replace)
    check_file(file)
    with AssetWorker() as worker:
        mended: list[str] = []
        if file.suffix.lower() == ".toml":
            mesh, facing, up = build_animal(file), "x", "z"
        else:
            mesh, mended = _read(file, facing, up, worker)
        notes = {"licence": licence, "source": file.name, "sha256": sha256(file), "facing": facing, "up": up}
        write_asset(folder, name, mesh, notes)
        picture = folder / f"{name}.png"
        show([name], assets, picture, worker)
    return Imported(folder / f"{name}.npz", picture, mended)


def _read(file: Path, facing: str, up: str, worker: AssetWorker) -> tuple[UnitMesh, list[str]]:
    """The joined mesh of a file, and a sentence for each repair."""
    with tempfile.TemporaryDirectory(prefix="jackalope-") as scratch:
        out = Path(scratch) / "mesh.npz"
        try:
            mended = worker.ask({"read": str(file.resolve()), "facing": facing, "up": up, "out": str(out)})["mended"]
        except UserError as error:
            raise UserError(f"Cannot import {file}: {error.message}") from None
        with np.load(out, allow_pickle=False) as arrays:
            return UnitMesh(*(arrays[key].tolist() for key in UnitMesh._fields)), mended


def show(names: list[str], assets: str, out: Path, worker: AssetWorker, side: int = 128) -> None:
    """Draw meshes of a set from eight sides, one row each, into the PNG file `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.stem}.{os.getpid()}.png")
    try:
        worker.ask({"show": names, "assets": assets, "side": side, "out": str(draft.resolve())})
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)


def _check_name(name: str, assets: str, replace: bool) -> Path:
    """The folder of the set. Raises UserError where no mesh can have that name there."""
    folder = set_folder(assets)
    if not NAME.fullmatch(name):
        raise UserError(
            f"Expected --name in lower-case letters, digits, - and _, such as pug or toy_car, got '{name}'."
        )
    if name in SHAPES:
        raise UserError(f"--name {name} is a shape, which would be found first; choose another.")
    if (folder / f"{name}.npz").exists() and not replace:
        raise UserError(f"The asset set '{assets}' has a mesh '{name}'; add --replace, or choose another --name.")
    check_output(folder, "set JACKALOPE_ASSETS to another folder")
    return folder


def check_file(file: Path) -> None:
    """Raises UserError where the file is missing, empty, too large, or of a format that is not read."""
    if not file.is_file():
        reason = "it is not a file" if file.exists() else "there is no such file"
        raise UserError(f"Cannot import {file}: {reason}; give a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file.")
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"Cannot import {file}: '{file.suffix}' is not a format that is read; "
            f"{did_you_mean(suffix, list(SUFFIXES))}"
        )
    limits.check_file(file)
    size = file.stat().st_size
    if size == 0:
        raise UserError(f"Cannot import {file}: it is empty; export the mesh again.")
    if size > _MOST_BYTES:
        raise UserError(
            f"Cannot import {file}: it has {size / 1e9:.1f} GB, and at most {_MOST_BYTES / 1e9:.1f} GB are read; "
            "export "
            f"fewer faces."
        )
