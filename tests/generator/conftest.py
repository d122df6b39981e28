"""What tests of asset sets share: an empty place for sets, and Blender in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.assets.process import AssetWorker


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's asset sets, which holds none yet."""
    monkeypatch.setenv("JACKALOPE_ASSETS", str(tmp_path / "sets"))
    return tmp_path / "sets"


@pytest.fixture(scope="module")
def worker() -> Iterator[AssetWorker]:
    """A Blender that reads and draws meshes."""
    with AssetWorker() as started:
        yield started
