"""No command passes on a file that a link in a stranger's dataset leads to, or a file that no
manifest lists.

Every command is either tried here or named as one that reads no dataset, so that a new command
cannot be forgotten.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from evaluator.cli.main import main as score
from generator.cli.main import main as gen
from tests.conftest import once, run_command
from tests.generator.unrendered import write_texts, write_world

SECRET = b"the private key of the user"
IMAGE_MODEL = """
import numpy as np
class Model:
    def encode_images(self, images): return np.ones((len(images), 4))
    def encode_texts(self, texts): return np.ones((len(texts), 4))
    def answer(self, images, question): return "A"
"""

PASSING_ON = {
    "gen merge": "{data} --out {out}",
    "gen render": "--from {data} --quality draft --workers 1 --out {out}",
    "gen split": "{data} --holdout 2x2 --name other",
    "gen describe": "{data} --protocol binary --name other",
    "gen export hf": "{data} --out {out}",
    "gen export webdataset": "{data} --out {out}",
    "gen export clevr": "{data} --out {out}",
    "gen export jsonl": "{data} --out {out}",
    "gen export rl": "{data} --format trl --out {out}",
    "gen export lmms-eval": "{data} --out {out}",
    "gen export vlmevalkit": "{data} --out {out}",
    "gen export inspect": "{data} --out {out}",
    "gen export pull-request": "{data} --tool lmms-eval --name x --hub a/b --out {out}",
    "gen export mteb": "{data} --hub ada/small --out {out}",
    "gen export clip-benchmark": "{data} --out {out}",
    "gen publish": "{data} --to hf:ada/small --dry-run",
}
"""Commands that write a dataset, or files of it, for others: they refuse every link."""
READING = {
    "gen info": "{data}",
    "gen preview": "{data} --out {out}.png",
    "gen verify": "{data}",
    "gen count": "{data}",
    "gen forms": "{data} {data}",
    "score run": "{data} --model python:{model}:Model --out {out}",
    "score ask": "{data} --model python:{model}:Model --out {out}",
    "score train scratch": "{data} --size tiny --steps 1 --batch 4 --out {out}",
    "score train labclip": "{data} --model open_clip:ViT-B-32@{model} --out {out}",
    "score train finetune": "{data} --model open_clip:ViT-B-32@{model} --out {out}",
    "score train pretrain": "{data} --size tiny --epochs 1 --batch 4 --out {out}",
    "score train dreambooth": "{data} --model diffusion:{data} --out {out}",
    "score generate": "{data} --model diffusion:{out} --out {out}",
    "score embeddings": "{data} --model python:{model}:Model --out {out}",
    "score probe": "{data} --model python:{model}:Model --out {out}",
    "score audit": "{data} --out {out}.json",
    "score familiarity": "{data} --reference {captions} --out {out}",
}
"""Commands that read a dataset. They never look at files that no manifest lists."""
READING_IMAGES = {
    "gen preview",
    "gen verify",
    "score run",
    "score ask",
    "score train scratch",
    "score embeddings",
}
"""Those of READING that read images, and need no weights for that."""
WITHOUT_DATASET = {
    *(
        "gen list",
        "gen plan",
        "gen ladder",
        "gen suite",
        "gen completion",
        "gen vocab check",
        "gen vocab show",
        "gen vocab new",
    ),
    *("gen assets list", "gen assets show", "gen assets import", "gen assets install"),
    *("score models", "score completion", "score hard-texts"),
    *("score commit", "score challenge"),
}
OF_RUNS = {
    "score measure",
    "score report",
    "score export every-eval-ever",
    "score export mteb",
    "score leaderboard",
    "score submit",
    "score rerun",
    "score tables",
    "score compare",
    "score experiment",
    "score suite",
}
"""Commands that read runs. tests/evaluator/runs tries links in a run, tests/evaluator/experiments
in an experiment."""


def commands(group: click.Command, *names: str) -> Iterator[str]:
    """The commands below a group, each with all its words."""
    if not isinstance(group, click.Group):
        yield " ".join(names)
        return
    for name, command in group.commands.items():
        yield from commands(command, *names, name)


def test_every_command_is_tried_or_reads_no_dataset() -> None:
    known = {*PASSING_ON, *READING, *WITHOUT_DATASET, *OF_RUNS}
    assert {*commands(gen, "gen"), *commands(score, "score")} == known


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of a few scenes, which counts as a shard so that `gen merge` takes it."""

    def make(root: Path) -> None:
        prepared = write_world(
            root,
            {"train": 20, "val": 2, "seen": 4, "partial": 4, "unseen": 4},
            "clevr-original",
            block="color:shape=2x2",
        )
        write_texts(root, prepared)
        (root / "data").mkdir()  # `gen publish` expects it in an export
        (root / "dataset").mkdir()

    return once(tmp_path_factory, "linked", make)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "key").write_bytes(SECRET)
    return folder


@pytest.fixture
def data(dataset: Path, tmp_path: Path) -> Path:
    root = Path(shutil.copytree(dataset, tmp_path / "data"))
    manifest = json.loads((root / "world/manifest.json").read_text())
    manifest["request"]["shard"] = [1, 1]
    (root / "world/manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "captions.txt").write_text("a red cube\n")
    return root


def folder_unlisted(data: Path, secret: Path) -> None:
    (data / "world/more").symlink_to(secret)


def image_replaced(data: Path, secret: Path) -> None:
    for image in (data / "world/images").iterdir():
        image.unlink()
        image.symlink_to(secret / "key")


def table_replaced(data: Path, secret: Path) -> None:
    for name in ("texts.parquet", "verify.json"):
        path = data / "benchmarks/bench" / name
        path.unlink(missing_ok=True)
        path.symlink_to(secret / "key")


def try_command(command: str, data: Path, out: Path) -> str:
    """Run a command; returns its error, empty where it succeeds. Nothing that it writes has the
    secret."""
    model = data.parent / f"{data.parent.name}.py"  # a name of its own: this process keeps modules
    model.write_text(IMAGE_MODEL)
    files = {"data": data, "out": out, "model": model, "captions": data.parent / "captions.txt"}
    arguments = {**PASSING_ON, **READING}[command].format(**files)
    done = run_command(f"{command} {arguments}", cwd=data.parent)
    written = done.stdout.encode() + done.stderr.encode()
    for folder, _, names in os.walk(data.parent):
        for path in (Path(folder, name) for name in names):
            if not path.is_symlink() and path.parent.name != "private":
                written += path.read_bytes()
    assert SECRET not in written
    if done.returncode == 0:
        return ""
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0]


@pytest.mark.parametrize("replace", [folder_unlisted, image_replaced, table_replaced])
@pytest.mark.parametrize("command", PASSING_ON)
def test_commands_that_pass_files_on_refuse_links(
    command: str, replace: Callable[[Path, Path], None], data: Path, secret: Path, tmp_path: Path
) -> None:
    replace(data, secret)
    assert "is a link, and links are not followed" in try_command(command, data, tmp_path / "out")
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").rglob("*.*"))


@pytest.mark.parametrize("replace", [folder_unlisted, image_replaced, table_replaced])
@pytest.mark.parametrize("command", READING)
def test_commands_that_read_a_dataset_follow_no_link(
    command: str, replace: Callable[[Path, Path], None], data: Path, secret: Path, tmp_path: Path
) -> None:
    replace(data, secret)
    error = try_command(command, data, tmp_path / "out")
    if replace == table_replaced or (replace == image_replaced and command in READING_IMAGES):
        assert "is a link, and links are not followed" in error


def test_an_export_has_only_listed_files(data: Path, tmp_path: Path) -> None:
    """What a stranger left beside the files of a dataset is not passed on in the user's name."""
    for place in (
        "world/notes.txt",
        "benchmarks/bench/notes.txt",
        "benchmarks/other/notes.txt",
        "notes.txt",
    ):
        (data / place).parent.mkdir(exist_ok=True)
        (data / place).write_bytes(SECRET)
    (data / "benchmarks/other/notes.txt").unlink()
    (data / "benchmarks/other").rmdir()
    done = run_command("gen export hf", data, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    exported = tmp_path / "out" / "dataset"
    copied = {
        path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()
    }
    assert {"dataset.json", "world/manifest.json", "world/images/000003.png"} <= copied
    assert not any("notes" in name for name in copied)
    (exported / "world/notes.txt").write_bytes(SECRET)
    listed = run_command("gen publish --to hf:ada/small --dry-run", tmp_path / "out").stderr
    assert "dataset/world/manifest.json" in listed
    assert "notes" not in listed
