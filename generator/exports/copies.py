"""Copies parts of this project into exports, so that other tools run them without it."""

from pathlib import Path
from types import ModuleType

from generator.base.files import write_text

_SUFFIXES = (".py", ".toml")
"""Files of a package that its code needs."""


def copy_package(package: ModuleType, folder: Path) -> None:
    """Copy a package that imports nothing else of this project except by relative names.

    Args:
        package: The package.
        folder: Folder to copy it into, as a folder with its own name.
    """
    (source,) = package.__path__
    destination = folder / Path(source).name
    destination.mkdir()
    for path in sorted(Path(source).iterdir()):
        if path.suffix in _SUFFIXES:
            # The very bytes, so that other tools read answers as this project does.
            write_text(destination / path.name, path.read_text(encoding="utf-8"))


def copy_module(module: ModuleType, folder: Path) -> None:
    """Copy a module that imports nothing else of this project.

    Args:
        module: The module.
        folder: Folder to copy it into.
    """
    path = Path(str(module.__file__))
    write_text(folder / path.name, path.read_text(encoding="utf-8"))
