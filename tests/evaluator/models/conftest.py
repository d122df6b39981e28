"""Tiny models on disk, and modules of a user's own."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.evaluator.tiny_models import make_blip, make_gpt2, make_vilt


@pytest.fixture(scope="session")
def vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny ViLT that reads 12 tokens and patches of 16 pixels. Not to be changed."""
    return make_vilt(tmp_path_factory.mktemp("vilt"))


@pytest.fixture(scope="session")
def blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BLIP with retrieval heads. Not to be changed."""
    return make_blip(tmp_path_factory.mktemp("blip"))


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny GPT-2. Not to be changed."""
    return make_gpt2(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Writes a module into the working directory; returns the SPEC of its `Model`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: list[str] = []

    def write(source: str, name: str = "own_model", factory: str = "Model") -> str:
        (tmp_path / f"{name}.py").write_text(source)
        sys.modules.pop(name, None)
        names.append(name)
        return f"python:{name}:{factory}"

    yield write
    for name in names:
        sys.modules.pop(name, None)
