"""Finds objects by name in a registry, which imports them on first use, and data files that ship
with the package."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Generic, TypeVar

from generator.base.errors import UserError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects by name."""

    def __init__(self, noun: str, places: Mapping[str, str]):
        """Make the registry.

        Args:
            noun: What the objects are, for messages.
            places: Where each object is, as `module:object`.
        """
        self._noun = noun
        self._places = dict(places)

    def names(self) -> tuple[str, ...]:
        """List all names.

        Returns:
            The names, in the order of their registration.

        Example:
            >>> Registry("color", {"red": "colors:RED"}).names()
            ('red',)
        """
        return tuple(self._places)

    def register(self, name: str, place: str) -> None:
        """Add an object.

        Args:
            name: Its name.
            place: Where it is, as `module:object`.

        Raises:
            ValueError: The name is taken.
        """
        if name in self._places:
            raise ValueError(
                f"The {self._noun} '{name}' is already registered as {self._places[name]}."
            )
        self._places[name] = place

    def check(self, name: str) -> None:
        """Check that a name is known. Loads nothing.

        Args:
            name: What the user wrote.

        Raises:
            UserError: It is unknown.
        """
        if name not in self._places:
            raise UserError(
                f"Unknown {self._noun} '{name}'; {did_you_mean(name, list(self._places))}"
            )

    def find(self, name: str) -> T:
        """Find an object; its module is imported now.

        Args:
            name: Its name.

        Returns:
            The object.

        Raises:
            UserError: The name is unknown.
        """
        self.check(name)
        # Not at start: the module may import torch, which takes seconds.
        registered: T = resolve_name(self._places[name])
        return registered


_PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Find a file or folder that ships with the package.

    Args:
        name: Its path, such as `scenes/clevr.toml`.

    Returns:
        Where it is, in a wheel or in a checkout.

    Raises:
        UserError: It is not there.
    """
    # A wheel has these folders below the package; a checkout has them beside it.
    bundled = _PACKAGE / "_data"
    path = (bundled if bundled.is_dir() else _PACKAGE.parent) / name
    if not path.exists():
        raise UserError(
            f"{path} is missing, so this installation is not whole; install Jackalope again."
        )
    return path
