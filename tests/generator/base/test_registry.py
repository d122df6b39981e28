"""Objects by name: loaded when asked for, registered once, and unknown names told."""

import sys
from pathlib import Path

import pytest

from generator.base import registry as resources
from generator.base.errors import UserError
from generator.base.registry import Registry, resource


def numbers() -> Registry[float]:
    return Registry("number", {"pi": "math:pi", "tau": "math:tau"})


def test_names_stand_in_the_order_of_their_registration_and_each_finds_its_object() -> None:
    known = numbers()
    known.register("e", "math:e")
    assert known.names() == ("pi", "tau", "e")
    assert known.find("e") == pytest.approx(2.718281828)


def test_an_unknown_name_is_refused_with_the_nearest_or_with_all() -> None:
    with pytest.raises(UserError, match=r"^Unknown number 'taus'; did you mean 'tau'\?$"):
        numbers().find("taus")
    with pytest.raises(UserError, match=r"^Unknown number 'zzz'; expected one of: pi, tau\.$"):
        numbers().find("zzz")


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="The number 'pi' is already registered as math:pi"):
        numbers().register("pi", "math:e")


def test_a_module_is_loaded_when_its_object_is_first_asked_for() -> None:
    sys.modules.pop("this", None)
    Registry("poem", {"zen": "this:s"})
    assert "this" not in sys.modules


def test_a_wheel_s_own_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package" / "_data" / "scenes").mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "package")
    assert resource("scenes") == tmp_path / "package" / "_data" / "scenes"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(
        UserError, match=r"scenes/nothing\.toml is missing, so this installation is not whole"
    ):
        resource("scenes/nothing.toml")
