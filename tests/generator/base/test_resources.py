"""Data files that ship with the package."""

from pathlib import Path

import pytest

from generator.base import registry as resources
from generator.base.errors import UserError
from generator.base.registry import resource


def test_families_and_animals_are_found() -> None:
    assert resource("scenes/clevr.toml").is_file()
    assert resource("blender_assets/animals").is_dir()


def test_a_wheel_s_own_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package" / "_data" / "scenes").mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "package")
    assert resource("scenes") == tmp_path / "package" / "_data" / "scenes"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UserError, match=r"scenes/nothing\.toml is missing, so this installation is not whole"):
        resource("scenes/nothing.toml")
