"""Says what is wrong with a file of weights that no library could read: empty, cut short, changed bytes, a placeholder."""

import json
import zipfile
import zlib
from pathlib import Path

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
