"""Wrong calls of every command: one sentence, exit code 2, no traceback, and nothing is written."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import refuse, succeed
from tests.evaluator.conftest import build_dataset

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
    "list.toml": 'extends = ["clevr"]\n',
    "deep.toml": "a = " + "[" * 50_000,
    "srgb.toml": 'extends = "clevr"\n[attributes.color]\nteal = { srgb = "0b7a75" }\n',
    "colour.toml": 'extends = "clevr"\n[attributes.colour]\nteal = { srgb = "#0b7a75" }\n',
    "spelt.toml": 'extends = "clevr"\n[attributes.color]\nteal = { rgb = "#0b7a75" }\n',
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
    "words.csv": "item,protocol,score,slot\nx,binary,high,c\nx,binary,low,n\n",
    **{f"noise{ending}": NOISE for ending in ("", ".toml", ".json", ".csv", ".parquet", ".jsonl", ".obj", ".py")},
}
RUN = "score run d --model python:mistakes_model:Model"

# A wrong call, and a part of what is said. d is a dataset, p a plan, run and other are runs, empty is a folder.
CALLS = {
    # outputs below a file, in /proc, of another kind
    **{
        f"{call} --out {out}": "Cannot write"
        for out in ("file/x", "/proc/x")
        for call in (
            "gen plan",
            "gen render p",
            "gen render --from d",
            "gen merge d d",
            "gen export hf d",
            "gen export webdataset d",
            "gen export clevr d",
            RUN,
            "score measure --items words.csv",
            "score train scratch d",
        )
    },
    **{
        f"{call} --out {out}.{ending}": "Cannot write"
        for out in ("file/x", "/proc/x")
        for call, ending in (
            ("gen preview d", "png"),
            ("gen vocab show clevr", "png"),
            ("gen assets show fox", "png"),
            ("score report run", "html"),
            ("score compare run other", "csv"),
            ("score audit d", "json"),
        )
    },
    **{
        f"{call} --out file": "is a file"
        for call in ("gen plan", "gen render p", "gen merge d d", "gen export hf d", RUN, "score train scratch d")
    },
    **{
        f"{call} --out empty": "is a directory"
        for call in ("gen preview d", "gen vocab show clevr", "score report run", "score audit d")
    },
    **{
        f"{call} --out ''": "it is empty"
        for call in (
            "gen plan",
            "gen render p",
            "gen preview d",
            "gen export clevr d",
            RUN,
            "score report run",
            "score train scratch d",
        )
    },
    "gen preview d --out x.jpeg": "ends in .png",
    "gen preview d --out x": "ends in .png",
    "gen vocab show clevr --out x.svg": "ends in .png",
    "gen assets show fox --out x.gif": "ends in .png",
    "gen vocab new file/x.toml": "Cannot write",
    "gen vocab new /proc/x.toml": "Cannot write",
    "gen vocab new empty": "is a directory",
    "gen vocab new x": "ends in .toml",
    "gen vocab new empty.toml": "exists",
    f"gen plan --out {'x' * 300}": "its name is too long",
    "gen plan --out d": "holds something else",
    "gen export hf d --out d": "is there already",
    f"{RUN} --out d": "is not empty",
    "score train scratch d --out d": "is not empty",
    "gen render p --out exp:1": "begins like a URL",
    "gen render p --out nope://x": "Protocol not known",
    # inputs that are missing, of another kind, or damaged
    **{
        f"{call} {name}": said
        for call in ("gen verify", "gen preview", "gen split", "gen describe", "gen render --from", "score audit")
        for name, said in (("nowhere", "is no dataset"), ("empty", "is no dataset"), ("file", "is a file"))
    },
    **{
        f"score measure {name}": said
        for name, said in (("nowhere", "no finished run"), ("d", "no finished run"), ("file", "is a file"))
    },
    "gen render nowhere": "has no plan",
    "gen render d": "has no plan",
    "gen render file": "is a file",
    "gen render p --from d": "PLANNED has no effect",
    "score report nowhere": "no finished run",
    "score report run nowhere": "no finished run",
    "score compare run": "at least two models",
    "score compare run nowhere": "give one that exists",
    "score compare '' x=": "no finished run",
    "score compare run noise.csv": "no table that can be read",
    "score compare run void.csv": "no table that can be read",
    "score compare run words.csv": "lacks the column",
    **{
        f"gen plan --family {name}": said
        for name, said in (
            ("nonsense", "Unknown family"),
            ("''", "Unknown family"),
            ("'[bold]'", "Unknown family '[bold]'"),
            ("missing.toml", "Cannot read the family"),
            ("empty.toml", "is empty; begin it with extends"),
            ("lone.toml", "category is missing; declare it, or begin the file with extends"),
            ("deep.toml", "nested too deeply"),
            ("noise.toml", "not UTF-8 text"),
            ("tables.toml", "attributes: expected a table"),
            ("list.toml", "extends is the name of a family"),
            ("srgb.toml", 'write "#0b7a75", got "0b7a75"'),
            ("colour.toml", "did you mean 'color'?"),
            ("spelt.toml", "did you mean 'srgb'?"),
        )
    },
    **{
        f"gen plan --holdout {name}": said
        for name, said in (
            ("list.json", "expected a JSON object"),
            ("cut.json", "is damaged"),
            ("deep.json", "nested too deeply"),
            ("deeper.json", "nested too deeply"),
            ("noise.json", "is damaged"),
            ("half.json", "it has no 'category'"),
            ("typed.json", "kind: input should be a valid string"),
            ("missing.json", "give the path of a holdout.json"),
            ("3by3", "Expected --holdout"),
            ("²x²", "Expected --holdout"),
            ("99x99", "hold out at most"),
            ("0x0", "hold out at least"),
        )
    },
    **{
        f"gen verify --splits {name}": said
        for name, said in (
            ("nowhere.csv", "cannot be read"),
            ("empty", "is a directory"),
            ("list.json", "holds no labels"),
            ("three.json", "holds no labels"),
            ("cut.json", "is not JSON"),
            ("deep.json", "nested too deeply"),
            ("deeper.json", "nested too deeply"),
            ("nested.json", "holds no labels"),
            ("noise.json", "is not JSON"),
            ("noise.csv", "is not a CSV file"),
            ("void.csv", "is not a CSV file"),
            ("lacking.csv", "has no column"),
        )
    },
    **{
        f"score measure --items {name}": said
        for name, said in (
            ("nowhere.csv", "There is no file"),
            ("empty", "is a directory"),
            ("noise", "ends in .csv"),
            ("noise.csv", "cannot be read"),
            ("noise.jsonl", "cannot be read"),
            ("noise.parquet", "is damaged"),
            ("void.csv", "cannot be read"),
            ("void.jsonl", "has no rows"),
            ("deep.jsonl", "nested too deeply"),
            ("list.jsonl", "an object in each line"),
            ("lacking.csv", "has no column"),
            ("words.csv", "Expected numbers"),
        )
    },
    "gen assets list --set biultin": "biultin",
    "gen assets show --size 8": "32<=x<=1024",
    "gen assets import nowhere.obj": "Missing option '--name'",
    "gen assets install 1ad": "'1ad' is not '0ad'",
    "gen assets import nowhere.obj --name x": "no such file",
    "gen assets import empty --name x": "not a file",
    "gen assets import file --name x": "not a format",
    "gen assets import deep.toml --name x": "nested too deeply",
    "gen assets import lone.toml --name x": "docs/animals.md",
    "gen assets import noise.obj --name ../x": "Expected --name",
    "gen assets import noise.obj --name cube": "is a shape",
    "gen assets import noise.obj --name x --up w": "is not one of",
    "gen assets import noise.obj --name x --set builtin": "choose another --set",
    "gen assets show nonsense": "has no mesh",
    "gen assets list --set ../x": "name of an asset set",
    "gen assets install 0ad --from noise": "not a whole zip file",
    # models
    **{
        f"score run d --model {model}": said
        for model, said in (
            ("''", "Expected --model"),
            ("nonsense", "Expected --model"),
            ("nonsense:x", "Unknown model family"),
            ("'[/]:x'", "Unknown model family '[/]'"),
            ("python:m", "Expected python:"),
            ("python::M", "Expected python:"),
            ("python:..m:M", "Expected python:"),
            ("python:./m:M", "Expected python:"),
            ("python:nowhere:M", "There is no Python module"),
            ("python:nowhere.py:M", "There is no file"),
            ("python:empty:M", "There is no 'M'"),
            ("python:mistakes_model.py:Nope", "it has Model"),
            ("python:mistakes_model:Nope", "it has Model"),
            ("jackalope:nowhere", "no trained model"),
            ("jackalope:empty", "has no jackalope.json"),
            ("blind:nonsense", "Unknown blind model"),
        )
    },
    # options of the wrong kind, out of range, repeated, or that contradict one another
    **{
        f"gen plan --scenes {scenes}": said
        for scenes, said in (
            ("banana", "Expected --scenes"),
            ("-5", "Expected --scenes"),
            ("²", "Expected --scenes"),
            ("0", "leaves no scene"),
            ("train=x", "Expected --scenes"),
            ("train=4,train=5", "names a split twice"),
            ("train=0", "leaves no scene"),
            ("99999999999", "more than the"),
            ("9" * 5000, "Expected --scenes"),
        )
    },
    **{
        f"gen plan {option}": "Expected"
        for option in (
            "--objects 0",
            "--objects 1e9",
            "--objects ²",
            "--resolution 320",
            "--resolution ²x²",
            "--resolution 3x3x3",
            "--block-seed x",
            "--block-seed 5..2",
            "--block-seed 1,1",
            "--block-seed -1",
        )
    },
    "gen plan --resolution 99999999x9": "16 to 4096",
    "gen plan --objects 5..3": "runs backwards",
    "gen plan --block-seed 0..99999999": "more than 1,000",
    "gen plan --seed -1": "not in the range",
    "gen plan --seed one": "not a valid integer",
    "gen plan --nonsense": "No such option",
    "gen plan --scenes unseen=0": "leaves no scene for unseen; every split needs at least one.",
    "gen plan --scenes 29": "leaves no scene for val; every split needs at least one: take 30 or more.",
    "gen plan --objects 3..11": "a number from 1 to 10",
    "gen plan --objects 2..6 --scenes 40": "No room for 6 objects in an image of 320x240: take fewer --objects",
    "gen plan --holdout 1x3": "the unseen split would be empty",
    "gen plan --holdout 8x3": "without a seen binding",
    "gen plan --family cleevr": "Unknown family 'cleevr': did you mean 'clevr'?",
    "gen plan --design nonsense": "Unknown design",
    "gen plan --preset spare --design coverage": "leave one of the two out",
    "gen plan --pairs --objects 1": "nothing to evaluate",
    "gen plan --design gzsl --objects 3": "give --holdout objects=3",
    "gen plan --design gzsl --scenes 99999999999": "more than the",
    "gen render p --scenes 3": "is planned already, so --scenes has no effect; leave it out.",
    "gen render p --quality standart": "did you mean 'standard'?",
    "gen render p --shard 5/3": "Expected --shard",
    "gen render p --shards -5MB": "Expected a size",
    "gen render p --workers 0": "not in the range",
    "gen render p --address auto": "add --farm ray",
    "gen render p --with masks,nope": "unknown output",
    "gen split d --name ../x": "Expected the benchmark's name",
    "gen split d --name ''": "Expected the benchmark's name",
    "gen describe d --name ''": "Expected the benchmark's name",
    "gen describe d --complexity 1..": "Expected --complexity",
    "gen describe d --complexity ²": "Expected --complexity",
    "gen describe d --counts O=3,O=4": "Expected --counts",
    "gen describe d --captions density=nan": "Expected --captions",
    "gen describe d --captions density=1,density=1": "Expected --captions",
    "gen describe d --level XX": "XX",
    "gen describe d --protocol binery": "did you mean 'binary'",
    "gen describe d --template poem": "poem",
    "gen describe d --preset compas": "did you mean 'compass2026'",
    "gen describe d --preset compass2026 --level OA": "sets --level itself",
    "gen describe d --train plain --negative neg": "add --train graded",
    "gen describe d --without nowhere.txt": "Cannot read nowhere.txt",
    "gen split d --block-seed 0..1 --name mine": "--name mine: this makes 2 benchmarks and each needs its own name",
    "gen split d --power --name x": "--power writes nothing, so --name has no effect; leave it out.",
    "gen split d --power --replace": "so --replace has no effect",
    "gen plan --power --out x": "so --out has no effect",
    "gen merge --out x": "Missing argument 'SHARDS...'",
    "gen merge d": "Missing option '--out'",
    "gen merge d --out x": "d is a whole dataset, not a shard",
    "gen verify": "Expected either a DATASET",
    "gen verify d --columns label=a": "give one of the two",
    "gen verify --splits words.csv --benchmark b": "give one of the two",
    "gen verify d --splits list.json": "Expected either",
    "gen verify d --images 0": "Expected --images",
    "gen verify d --seed 3": "add --images",
    "gen verify d --benchmark ../x": "Expected the benchmark's name",
    "gen preview d --n 0": "not in the range",
    "gen preview d --grid --n 3": "leave --split",
    "gen preview d --split nope": "expected one of",
    "gen export webdataset d --out x --size 0": "Expected a size",
    f"{RUN} --batch-size 0": "not in the range",
    f"{RUN} --device banana": "is not available",
    f"{RUN} --channel nope": "has no channel",
    f"{RUN} --protocol nope": "Unknown protocol",
    f"{RUN} --precision float8": "is not one of",
    "score measure": "Expected RUNS or --items",
    "score measure run --items void.csv": "Expected RUNS or --items",
    "score measure run --tolerance nan": "not a number",
    "score measure run --tolerance -1": "not in the range",
    "score measure run --model x": "belongs to --items",
    "score compare a=run b=run --detect nan": "not a number",
    "score compare a=run b=run --detect 0": "not in the range",
    "score audit d --protocol nope": "expected one of",
    "score audit d --seed 99999999999": "not in the range",
    "score train scratch d --out x --epochs 0": "not in the range",
    "score train scratch d --out x --seed 99999999999": "not in the range",
    "score train scratch d --out x --device banana": "is not available",
    "score models x": "unexpected extra argument",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory of all calls. Not to be changed, since a wrong call writes nothing."""
    made = tmp_path_factory.mktemp("mistakes") / "here"
    made.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("XDG_CACHE_HOME", str(made.parent / "cache"))
        patch.setenv("JACKALOPE_ASSETS", str(made.parent / "sets"))
        patch.setattr("sys.dont_write_bytecode", True)
        patch.setattr("sys.path", [*sys.path])
        for name, content in FILES.items():
            (made / name).write_bytes(content.encode() if isinstance(content, str) else content)
        (made / "empty").mkdir()
        build_dataset(made / "d", {"train": 24, "val": 4, "seen": 6, "partial": 6, "unseen": 6})
        manifest = json.loads((made / "d/world/manifest.json").read_text())
        manifest["request"] |= {"objects": [2, 2], "outputs": []}
        (made / "d/world/manifest.json").write_text(json.dumps(manifest))
        scenes = "train=2,val=1,seen=1,partial=1,unseen=1"
        for call in (
            f"gen plan --scenes {scenes} --out p",
            f"{RUN} --protocol binary --out run",
            f"{RUN} --protocol binary --out other",
        ):
            succeed(call)
        yield made


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call if len(call) < 100 else call[:100])
def test_a_wrong_call_is_one_sentence_and_writes_nothing(folder: Path, call: str) -> None:
    before = _stamps(folder)
    refuse(CALLS[call], call)
    assert _stamps(folder) == before


def _stamps(folder: Path) -> dict[Path, int]:
    """When each file was written, and which folders there are."""
    return {path: 0 if path.is_dir() else path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_cache_that_cannot_be_made_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/proc/nowhere")
    refuse("set XDG_CACHE_HOME to another folder", RUN, "--out", folder.parent / "out")
    monkeypatch.delenv("JACKALOPE_ASSETS")
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    refuse("set JACKALOPE_ASSETS to another folder", "gen assets import noise.obj --name x")
