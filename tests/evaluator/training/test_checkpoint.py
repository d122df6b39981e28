"""A training that is stopped is continued to the same model, and no full disk costs more than an epoch."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.training import session
from evaluator.training.fit import Checkpoint
from evaluator.training.methods import Scratch
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import assert_one_sentence, score_command

QUICK = Scratch(epochs=3, batch=24, seed=0)


class _StopError(Exception):
    pass


pytestmark = pytest.mark.usefixtures("little")


def _stopped(world: World, benchmark: Benchmark, out: Path, monkeypatch: pytest.MonkeyPatch, epochs: int = 2) -> None:
    """Train into `out` until so many epochs are kept."""
    keep, kept = Checkpoint.keep, []

    def stop(self: Checkpoint, *state: object) -> None:
        keep(self, *state)  # type: ignore[arg-type]
        kept.append(1)
        if len(kept) == epochs:
            raise _StopError

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "keep", stop)
        with pytest.raises(_StopError):
            train(QUICK, benchmark_source(world, benchmark, QUICK), out, device="cpu")


def test_a_training_that_was_stopped_ends_in_the_same_model(
    world: World,
    benchmark: Benchmark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = train(QUICK, benchmark_source(world, benchmark, QUICK), tmp_path / "whole", device="cpu")
    _stopped(world, benchmark, tmp_path / "model", monkeypatch)
    assert sorted(path.name for path in tmp_path.iterdir() if "model" in path.name) == [".model.training"]
    again = train(QUICK, benchmark_source(world, benchmark, QUICK), tmp_path / "model", device="cpu")
    assert "Continuing after step 8 of 12." in caplog.text
    assert again == whole
    for name in ("open_clip_model.safetensors", "jackalope.json", "open_clip_config.json"):
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if "cache" not in path.name) == ["model", "whole"]


def test_the_state_of_another_training_and_a_damaged_one_are_refused(
    world: World, benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stopped(world, benchmark, tmp_path / "model", monkeypatch, epochs=1)
    path = tmp_path / ".model.training"
    state = path.read_bytes()
    recipe = Scratch(epochs=3, batch=24, seed=1)
    with pytest.raises(UserError, match=r"\.model\.training is the state of another training .*choose another --out"):
        train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "model", device="cpu")
    assert path.read_bytes() == state
    for damaged in (b"", state[: len(state) // 2], b"\0" * len(state)):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"The state .* is damaged .*remove it to train anew"):
            train(QUICK, benchmark_source(world, benchmark, QUICK), tmp_path / "model", device="cpu")


def test_two_trainings_into_one_folder_do_not_meet(
    world: World, benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Checkpoint.keep

    def meanwhile(self: Checkpoint, *state: object) -> None:
        with pytest.raises(UserError, match="Another command is training into"):
            train(QUICK, benchmark_source(world, benchmark, QUICK), tmp_path / "model", device="cpu")
        keep(self, *state)  # type: ignore[arg-type]

    monkeypatch.setattr(Checkpoint, "keep", meanwhile)
    recipe = Scratch(epochs=1, batch=24)
    train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "model", device="cpu")
    assert (tmp_path / "model" / "jackalope.json").exists()


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


def test_too_little_room_is_told_before_the_training(drawn: Path, disk: Path) -> None:
    (disk / "ballast").write_bytes(b"0" * (25 << 20))
    done = score_command("train", "scratch", drawn, "--out", disk / "model", "--device", "cpu")
    assert_one_sentence(done, "MB free and the training needs about", "free some space, or choose another --out")
    assert [path.name for path in disk.iterdir()] == ["ballast"]


@pytest.mark.parametrize("writing", ["the state", "the model"])
def test_a_disk_that_fills_loses_no_finished_epoch(
    drawn: Path,
    world: World,
    benchmark: Benchmark,
    disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    writing: str,
) -> None:
    """The disk fills after the training began: after the first epoch, or before the model is written."""
    command = ("train", "scratch", drawn, "--out", disk / "model", "--device", "cpu", "--epochs", "2")
    owner, name = (Checkpoint, "keep") if writing == "the state" else (session, "save_model")
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
    again = score_command(*command)
    assert again.exit_code == 0, again.output
    assert f"Continuing after step {1 if writing == 'the state' else 2} of 2." in again.stderr
    recipe = Scratch(epochs=2)
    train(recipe, benchmark_source(world, benchmark, recipe), tmp_path / "whole", device="cpu")
    name = "open_clip_model.safetensors"
    assert (disk / "model" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
