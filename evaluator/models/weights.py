"""A digest of a network's weights, and the check of their files before they are loaded."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from generator.base.errors import UserError
from generator.base.limits import check_file

_SUFFIXES = {".bin", ".ckpt", ".pt", ".pth", ".safetensors", ".tar"}


def check_weights_file(path: Path) -> None:
    """Raise UserError where a file of weights is no regular file, is sparse, or is an archive that unpacks to more than twice
    its size: PyTorch stores tensors as they are. It need not exist."""
    check_file(path)
    if path.exists() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > 2 * path.stat().st_size:
            raise UserError(
                f"{path} has {path.stat().st_size:,} bytes and unpacks to {unpacked:,}, which no checkpoint does; take it from "
                "someone you trust."
            )


def check_weights_folder(folder: Path) -> None:
    """As `check_weights_file`, for every file of weights in a folder of a model."""
    for path in folder.rglob("*"):
        if path.suffix in _SUFFIXES:
            check_weights_file(path)


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 (hex) over the names, dtypes, shapes and bytes of all parameters and buffers of the state dict.

    The digest does not depend on the file format that the weights came in.
    """
    digest = hashlib.sha256()
    for name, tensor in (part for named in sorted(model.state_dict().items()) for part in _plain(*named)):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if tensor.numel():
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _plain(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a quantised tensor of torchao holds, by name; another tensor itself."""
    if not is_traceable_wrapper_subclass(tensor):
        yield name, tensor
        return
    for inner in tensor.__tensor_flatten__()[0]:
        yield from _plain(f"{name}.{inner}", getattr(tensor, inner))


_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
_POINTER = b"version https://git-lfs"
_HEADER = 8  # bytes of a safetensors file that give the length of its header
_LONGEST = 100_000_000  # bytes of a header that safetensors itself reads


def damage_in(place: Path) -> str | None:
    """The first damaged file of weights, at `place` or in that folder, and why: a clause. None where all seem whole.

    It reads the files whole, so it is for files that have failed already.
    """
    files = sorted(file for kind in _WEIGHTS for file in place.glob(kind)) if place.is_dir() else [place]
    for file in files:
        if file.is_file() and (reason := _damage_of(file)):
            return f"'{file}' is damaged: {reason}"
    return None


def _damage_of(file: Path) -> str | None:
    size = file.stat().st_size
    with file.open("rb") as opened:
        head = opened.read(64)
    if size == 0:
        return "it is empty"
    if head.startswith(_POINTER):
        return "it is a pointer of Git LFS in place of the weights (`git lfs pull` fetches them)"
    if file.suffix == ".safetensors":
        return _damaged_safetensors(file, size)
    if head.startswith(b"PK"):
        return _damaged_zip(file)
    return None if head.startswith(b"\x80") else "it does not begin as torch.save writes it"


def _damaged_zip(file: Path) -> str | None:
    """torch.save writes zip archives, with a checksum of each tensor that torch.load does not look at."""
    try:
        with zipfile.ZipFile(file) as archive:
            part = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError):
        return "it is cut short, or its table of contents has other bytes than it was written with"
    return f"its part {part} has other bytes than it was written with" if part else None


def _damaged_safetensors(file: Path, size: int) -> str | None:
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(_HEADER), "little")
        header = opened.read(length) if length <= min(size - _HEADER, _LONGEST) else b""
    try:
        tensors = {name: each for name, each in json.loads(header).items() if name != "__metadata__"}
        expected = _HEADER + length + max((each["data_offsets"][1] for each in tensors.values()), default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return "its header is cut short, or has other bytes than it was written with"
    return f"it has {size:,} bytes of {expected:,}" if size != expected else None
