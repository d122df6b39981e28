"""Wrong calls of every command: one sentence, exit code 2, no traceback, and nothing is written."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import refuse, succeed
from tests.evaluator.conftest import build_dataset
from tests.paths import CHECKOUT

MODEL = """
import numpy as np
class Model:
    key = "mistakes"
    def encode_images(self, images):
        return np.stack([np.asarray(i, np.float64).mean((0, 1)) + 1 for i in images])
    def encode_texts(self, texts):
        return np.array([[len(t), t.count("r"), 1] for t in texts], np.float64)
"""
NOISE = bytes(range(256)) * 40
FILES: dict[str, str | bytes] = {
    "file": "hello\n",
    "mistakes_model.py": MODEL,
    "broken.py": "class Model(:\n",
    "empty.toml": "",
    "lone.toml": 'name = "x"\n',
    "tables.toml": 'extends = "clevr"\nattributes = []\n',
    "number.toml": 'extends = "clevr"\nattributes = 3\n',
    "place.toml": 'extends = "clevr"\nplace = ["photo"]\n',
    "list.toml": 'extends = ["clevr"]\n',
    "deep.toml": "a = " + "[" * 50_000,
    "srgb.toml": 'extends = "clevr"\n[attributes.color]\nteal = { srgb = "0b7a75" }\n',
    "colour.toml": 'extends = "clevr"\n[attributes.colour]\nteal = { srgb = "#0b7a75" }\n',
    "spelt.toml": 'extends = "clevr"\n[attributes.color]\nteal = { rgb = "#0b7a75" }\n',
    "template.toml": 'extends = "clevr"\n[templates]\nplain = "seen here {a} and {b}"\n',
    "list.json": "[]",
    "cut.json": '{"a": [1, 2',
    "deep.json": "[" * 50_000,
    "deeper.json": '{"a":' * 50_000,
    "three.json": "3",
    "half.json": '{"kind": "color"}',
    "typed.json": '{"kind": ["color"], "bindings": 3}',
    "nested.json": '{"a":{"b":{"c":{"d":["x"]}}}}',
    "deep.jsonl": "[" * 50_000 + "\n",
    "list.jsonl": "[]\n3\n",
    "void.csv": "",
    "void.jsonl": "",
    "lacking.csv": "a,b\n1,2\n",
    "answers.csv": "item,correct,cluster\n1,1,1\n",
    "labels.csv": (
        "filename,world_name,character_name,character2_name,character_texture,character2_texture\n"
        "0.png,Desert,Crow,Fox,Blue,Red\n"
    ),
    "corpus.txt": "a red car\na blue bus\n",
    "corpus.jsonl": json.dumps(
        {
            "image": "d/world/images/000000.png",
            "caption": "a red car and a cube",
            "negatives": {"swap": ["a cube and a car"]},
        }
    ),
    "swap_att.json": json.dumps(
        {
            "0": {
                "filename": "a.jpg",
                "caption": "A red car and a blue bus.",
                "negative_caption": "A blue car and a red bus.",
            }
        }
    ),
    "words.csv": "item,protocol,score,slot\nx,binary,high,c\nx,binary,low,n\n",
    **{
        f"noise{ending}": NOISE
        for ending in ("", ".toml", ".json", ".csv", ".parquet", ".jsonl", ".obj", ".py")
    },
}
RUN = "score run d --model python:mistakes_model:Model"

# Wrong calls, each with a part of what is said. d is a dataset, p a plan, run and other are runs,
# empty is a folder.
CALLS = dict(
    line.replace("RUN ", f"{RUN} ").split(" => ")
    for line in (CHECKOUT / "tests/mistakes.txt").read_text("utf-8").splitlines()
)
CALLS |= {
    f"gen plan --out {'x' * 300}": "file name too long",
    f"gen plan --scenes {'9' * 5000}": "Expected --scenes",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory of all calls. Not to be changed, since a wrong call writes nothing."""
    here = tmp_path_factory.mktemp("mistakes") / "here"
    here.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("XDG_CACHE_HOME", str(here.parent / "cache"))
        patch.setenv("JACKALOPE_ASSETS", str(here.parent / "sets"))
        patch.setattr("sys.dont_write_bytecode", True)
        patch.setattr("sys.path", [*sys.path])
        for name, content in FILES.items():
            (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
        (here / "empty").mkdir()
        build_dataset(here / "d", {"train": 24, "val": 4, "seen": 6, "partial": 6, "unseen": 6})
        manifest = json.loads((here / "d/world/manifest.json").read_text())
        manifest["request"] |= {"objects": [2, 2], "outputs": []}
        (here / "d/world/manifest.json").write_text(json.dumps(manifest))
        scenes = "train=4,val=1,seen=1,partial=1,unseen=1"
        for call in (
            f"gen plan --scenes {scenes} --out p",
            f"{RUN} --protocol binary --out run",
            f"{RUN} --protocol binary --out other",
        ):
            succeed(call)
        yield here


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call if len(call) < 100 else call[:100])
def test_a_wrong_call_is_one_sentence_and_writes_nothing(folder: Path, call: str) -> None:
    before = _stamps(folder)
    sentence = refuse(CALLS[call], call)
    assert sentence[-1] in ".?)" or "A set of your own: gen assets import" in sentence
    assert _stamps(folder) == before


def _stamps(folder: Path) -> dict[Path, int]:
    """When each file was written, and which folders there are."""
    return {path: 0 if path.is_dir() else path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_cache_that_cannot_be_made_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/proc/nowhere")
    refuse("set XDG_CACHE_HOME to another folder", RUN, "--out", folder.parent / "out")
    monkeypatch.delenv("JACKALOPE_ASSETS")
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    refuse("set JACKALOPE_ASSETS to another folder", "gen assets import noise.obj --name x")
