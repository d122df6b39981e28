"""A training's folder is written whole or not at all, and a training that is stopped ends in the
same model."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.training import session
from evaluator.training.fit import Checkpoint
from evaluator.training.methods import Finetune, Method, Scratch
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.conftest import succeed
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.training.conftest import together

Trains = Callable[..., dict[str, Any]]
QUICK = Finetune(epochs=1, batch=16, rate=1e-4)
SCRATCH = Scratch(epochs=2, batch=48)


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is kept after each step."""
    monkeypatch.setattr("evaluator.training.fit._CHECKPOINT_SECONDS", -1)


def _stopped(trains: Trains, method: Method, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Train until the state is kept so many times."""
    save, saved_states = Checkpoint.save, []

    def stop(self: Checkpoint, *state: Any) -> None:
        save(self, *state)
        saved_states.append(1)
        if len(saved_states) == times:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            trains(method)


@pytest.mark.parametrize(
    "architecture", [pytest.param("dual-vit", marks=pytest.mark.full), "dual", "cross", "diffusion"]
)
def test_a_training_that_was_stopped_ends_in_the_same_model(
    trains: Trains,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    little: None,
    architecture: Any,
) -> None:
    """To the last byte, as the same seed does."""
    method = Scratch(steps=3, batch=24, architecture=architecture)
    whole = trains(method, out="whole")
    _stopped(trains, method, monkeypatch, 2)
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [
        ".out.training"
    ]
    assert trains(method) == whole
    assert "Continuing after step 2 of 3." in caplog.text
    for path in (tmp_path / "out").rglob("*"):
        same = tmp_path / "whole" / path.relative_to(tmp_path / "out")
        assert path.is_dir() or path.read_bytes() == same.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if "cache" not in path.name) == [
        "out",
        "whole",
    ]


def test_the_state_of_another_training_and_a_damaged_one_are_refused(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little: None
) -> None:
    path = tmp_path / ".out.training"
    _stopped(trains, SCRATCH, monkeypatch, 1)
    state = path.read_bytes()
    with pytest.raises(
        UserError, match=r"\.out\.training is the state of another training .*choose another --out"
    ):
        trains(replace(SCRATCH, seed=1))
    assert path.read_bytes() == state
    for damaged in (b"", state[: len(state) // 2], b"\0" * len(state)):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"The state .* is damaged .*remove it to train anew"):
            trains(SCRATCH)


def test_two_trainings_into_one_folder_do_not_meet(
    trains: Trains, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Checkpoint.save

    def meanwhile(self: Checkpoint, *state: Any) -> None:
        with pytest.raises(UserError, match="Another command is training into"):
            trains(QUICK, base)
        save(self, *state)

    monkeypatch.setattr(Checkpoint, "save", meanwhile)
    trains(QUICK, base)
    assert (tmp_path / "out" / "jackalope.json").exists()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 30 megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


@pytest.mark.parametrize("writing", ["the state", "the model"])
def test_a_disk_that_fills_loses_no_state(
    drawn: Path, disk: Path, monkeypatch: pytest.MonkeyPatch, little: None, writing: str
) -> None:
    """The disk fills after the training began: after the first epoch, or before the model is
    written."""
    command = (
        "train",
        "scratch",
        drawn,
        "--out",
        disk / "model",
        "--device",
        "cpu",
        "--epochs",
        "2",
    )
    owner, name = (Checkpoint, "save") if writing == "the state" else (session, "save_model")
    inner, calls = getattr(owner, name), []

    def fill_first(*arguments: object) -> None:
        calls.append(1)
        if len(calls) == (2 if writing == "the state" else 1):
            free = shutil.disk_usage(disk).free
            (disk / "ballast").write_bytes(b"0" * (free - 10_000))
        inner(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fill_first)
        done = score_command(*command)
    assert done.exit_code == 2, done.output
    last = done.stderr.strip().splitlines()[-1]
    assert "no space left on device" in last
    assert "run the same command again" in last
    assert sorted(path.name for path in disk.iterdir()) == [".model.training", "ballast"]
    (disk / "ballast").unlink()
    resumed = succeed("score", *command)
    assert f"Continuing after step {1 if writing == 'the state' else 2} of 2." in resumed.stderr


def test_images_of_each_class_are_recorded_and_are_all_that_is_shown(
    trains: Trains, world: World, benchmark: Benchmark, base: str, tmp_path: Path
) -> None:
    recipe = replace(QUICK, images_per_class=1)
    source, record = benchmark_source(world, benchmark, recipe), trains(recipe, base)
    chosen = source.data.of_each_class(1, 0)
    assert record["images"] == len(chosen) < 96
    written: dict[str, Any] = json.loads((tmp_path / "out" / "jackalope.json").read_text())
    expected = source.exposure(chosen)
    assert expected is not None
    assert written["exposure"]["scenes"] == expected.to_dict()["scenes"]
    assert written["recipe"]["images_per_class"] == 1


def test_a_training_that_has_ended_is_not_repeated_by_any_process(
    trains: Trains, base: str, tmp_path: Path
) -> None:
    """And the state goes that a kill after the model was written left."""
    out, state, record = tmp_path / "out", tmp_path / ".out.training", trains(QUICK, base)
    written = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    state.write_bytes(b"left")
    assert together(2, lambda rank: trains(QUICK, base)) == [record, record]
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == written
    assert not state.exists()


def test_what_is_there_and_what_cannot_be_trained_is_refused(drawn: Path, tmp_path: Path) -> None:
    refused = ("train", "scratch", drawn, "--device", "cuda:99", "--out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = score_command(*refused, tmp_path / "full", "--epochs", "1")
    assert_one_sentence(done, "is not empty; choose another --out")  # before a model is loaded
    done = score_command(*refused, tmp_path / "model")
    assert_one_sentence(done, "The device 'cuda:99' is not available")
