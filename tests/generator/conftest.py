"""Shared fixtures: an empty place for asset sets, Blender in a process of its own, a world of all
relations."""

from pathlib import Path

import pytest

from tests.conftest import once
from tests.generator.blender_process import in_blender
from tests.generator.relations import make_relations_world

__all__ = ["in_blender"]


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's asset sets, which holds none yet."""
    monkeypatch.setenv("JACKALOPE_ASSETS", str(tmp_path / "sets"))
    return tmp_path / "sets"


@pytest.fixture(scope="session")
def relations_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of scenes with all eight relations and one benchmark; nothing is rendered. Not to
    be changed."""
    return once(tmp_path_factory, "relations", make_relations_world)
