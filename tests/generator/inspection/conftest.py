"""A small rendered dataset, and scenes without a render."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def own(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of a rendered dataset of 28 scenes that a test may damage."""
    return Path(shutil.copytree(undisturbed, tmp_path / "dataset"))
