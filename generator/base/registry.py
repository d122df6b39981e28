"""Finds objects by name in a registry, which imports them on first use, and data files that ship
with the package."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Generic, TypeVar

from generator.base.errors import UserError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects by name. `noun` says what they are, for messages; `places` says where each is, as
    `module:object`."""

    def __init__(self, noun: str, places: Mapping[str, str]):
        self._noun, self._places = noun, dict(places)

    def names(self) -> tuple[str, ...]:
        """All names, in the order of their registration."""
        return tuple(self._places)

    def register(self, name: str, place: str) -> None:
        """Add an object by name and `module:object`. Raises ValueError if the name is taken."""
        if name in self._places:
            raise ValueError(
                f"The {self._noun} '{name}' is already registered as {self._places[name]}."
            )
        self._places[name] = place

    def check(self, name: str) -> None:
        """Raise UserError for an unknown name. Loads nothing."""
        if name not in self._places:
            raise UserError(
                f"Unknown {self._noun} '{name}'; {did_you_mean(name, list(self._places))}"
            )

    def find(self, name: str) -> T:
        """The object of a name. Raises UserError for an unknown name."""
        self.check(name)
        found: T = resolve_name(self._places[name])
        return found


_PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Path of a shipped file or folder such as `scenes/clevr.toml`, in a wheel or in a checkout.

    Raises UserError when it is not there.
    """
    bundled = _PACKAGE / "_data"
    path = (bundled if bundled.is_dir() else _PACKAGE.parent) / name
    if not path.exists():
        raise UserError(
            f"{path} is missing, so this installation is not whole; install Jackalope again."
        )
    return path
