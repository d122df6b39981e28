"""Tiny models on disk, code in them that must not run, and modules of a user's own."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.tiny_models import make_blip, make_gpt2, make_vilt


@pytest.fixture(scope="session")
def vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny ViLT that reads 12 tokens and patches of 16 pixels. Not to be
    changed."""
    return make_vilt(tmp_path_factory.mktemp("vilt"))


@pytest.fixture(scope="session")
def blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BLIP with retrieval heads. Not to be changed."""
    return make_blip(tmp_path_factory.mktemp("blip"))


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny GPT-2. Not to be changed."""
    return make_gpt2(tmp_path_factory.mktemp("gpt2"))


def change_json(path: Path, **changes: Any) -> None:
    """Change entries of an object in a file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


OTHERS = ("preprocessor_config.json", "processor_config.json")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Path]]:
    """Puts code into a folder, which every file that may name code names. It must not run, not even
    where transformers asks and whoever is asked says yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    names = (
        "AutoConfig",
        "AutoModel",
        "AutoTokenizer",
        "AutoImageProcessor",
        "AutoProcessor",
        "AutoFeatureExtractor",
    )
    auto = {name: ["own.Own", None] if name == "AutoTokenizer" else "own.Own" for name in names}
    trace = tmp_path / "trace"

    def put(folder: Path) -> Path:
        (folder / "own.py").write_text(f"open({str(trace)!r}, 'w')\nclass Own: pass\n")
        for path in {*folder.glob("*config.json"), *(folder / name for name in OTHERS)}:
            settings = json.loads(path.read_text()) if path.exists() else {}
            for part in (settings, settings.get("image_processor"), settings.get("tokenizer")):
                if part is not None:
                    part["auto_map"] = auto
            for key in (
                "tokenizer_class",
                "image_processor_type",
                "processor_class",
                "feature_extractor_type",
            ):
                if key in settings:
                    settings[key] = "Own"
            path.write_text(json.dumps(settings))
        return folder

    yield put
    assert not trace.exists()


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
