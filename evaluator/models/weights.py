"""A digest of a network's weights, and the check of their files before they are loaded."""

import hashlib
import zipfile
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
