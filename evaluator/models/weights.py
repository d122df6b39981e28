"""A digest of a network's weights."""

import hashlib

import torch


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
