"""Finds the data files that ship with the package: `scenes/` and `blender_assets/`."""

from pathlib import Path

from generator.base.errors import UserError

_PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Path of a shipped file or folder such as `scenes/clevr.toml`, in a wheel or in a checkout.

    Raises UserError when it is not there.
    """
    bundled = _PACKAGE / "_data"
    path = (bundled if bundled.is_dir() else _PACKAGE.parent) / name
    if not path.exists():
        raise UserError(f"{path} is missing, so this installation is not whole; install Jackalope again.")
    return path
