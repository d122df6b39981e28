"""A digest of a network's weights; the check of their files before they are loaded, and what is wrong with damaged
ones."""

import hashlib
import zipfile
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from generator.base.errors import UserError
from generator.base.limits import check_file

_SUFFIXES = {".bin", ".ckpt", ".pt", ".pth", ".safetensors", ".tar"}
_POINTER = b"version https://git-lfs"


def check_weights_file(path: Path) -> None:
    """Raise UserError where a file of weights is no regular file, is sparse, or is an archive that unpacks to more than
    twice its size: PyTorch stores tensors as they are. It need not exist."""
    check_file(path)
    if path.exists() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > 2 * path.stat().st_size:
            raise UserError(
                f"{path} has {path.stat().st_size:,} bytes and unpacks to {unpacked:,}, which no checkpoint does; "
                f"take it "
                "from someone you trust."
            )


def check_weights_folder(folder: Path) -> None:
    """As `check_weights_file`, for every file of weights in a folder of a model."""
    for path in folder.rglob("*"):
        if path.suffix in _SUFFIXES:
            check_weights_file(path)


def damage_in(place: Path) -> str | None:
    """The first damaged file of weights, at `place` or in that folder, and why: a clause. None where all seem whole.

    It reads the files whole, so it is for files that have failed already.
    """
    files = sorted(file for file in place.glob("*") if file.suffix in _SUFFIXES) if place.is_dir() else [place]
    for file in files:
        if file.is_file() and (reason := _damage_of(file)):
            return f"'{file}' is damaged: {reason}"
    return None


def _damage_of(file: Path) -> str | None:
    with file.open("rb") as opened:
        head = opened.read(64)
    if not head:
        return "it is empty"
    if head.startswith(_POINTER):
        return "it is a pointer of Git LFS in place of the weights (`git lfs pull` fetches them)"
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, "pt"):
                return None
        if not head.startswith(b"PK"):
            return None if head.startswith(b"\x80") else "it does not begin as torch.save writes it"
        with zipfile.ZipFile(file) as archive:  # torch.load does not look at the checksums
            part = archive.testzip()
        return f"its part {part} has other bytes than it was written with" if part else None
    except Exception as error:  # damage shows in any way
        return (
            f"it is cut short or changed ({error})"
            if isinstance(error, SafetensorError)
            else "it is cut short or changed"
        )


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 (hex) over the names, dtypes, shapes and bytes of all parameters and buffers of the state dict.

    The digest does not depend on the file format that the weights came in.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if tensor.numel():
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
