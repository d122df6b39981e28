"""Where the declarations that ship with the package lie: `scenes/` and `blender_assets/`."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource(name: str) -> Path:
    """Path of a shipped file or folder such as `scenes/clevr.toml`, in a wheel or in a checkout."""
    bundled = _PACKAGE / "_data"
    return (bundled if bundled.is_dir() else _PACKAGE.parent) / name
