"""A training's folder: written whole or not at all; images of each class are drawn before."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator import evaluate
from evaluator.models.registry import load_model
from evaluator.training import session
from evaluator.training.contrastive import Contrastive
from evaluator.training.data import Step
from evaluator.training.fit import DivergedError
from evaluator.training.methods import Finetune
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny, score_command
from tests.evaluator.training.conftest import together

QUICK = Finetune(epochs=1, batch=16, rate=1e-4)


@pytest.fixture
def base(tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


def test_images_of_each_class_are_recorded_and_are_all_that_is_shown(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path
) -> None:
    recipe = replace(QUICK, images_per_class=1)
    source = benchmark_source(world, benchmark, recipe)
    record = train(recipe, source, tmp_path / "out", base, "cpu")
    chosen = source.data.of_each_class(1, 0)
    assert record["images"] == len(chosen) < 96
    written: dict[str, Any] = json.loads((tmp_path / "out" / "jackalope.json").read_text())
    expected = source.exposure(chosen)
    assert expected is not None
    assert written["exposure"]["scenes"] == expected.to_dict()["scenes"]
    assert written["recipe"]["images_per_class"] == 1


def test_a_folder_that_cannot_be_written_leaves_nothing_but_the_state(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no")

    source = benchmark_source(world, benchmark, QUICK)
    with monkeypatch.context() as patched:
        patched.setattr(session, "save_model", fail)
        with pytest.raises(OSError, match="no"):
            train(QUICK, source, tmp_path / "out", base, "cpu")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == [".out.training"]
    train(QUICK, source, tmp_path / "out", base, "cpu")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


def test_a_training_that_has_ended_is_not_repeated_by_any_process(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path
) -> None:
    """And the state goes that a kill after the model was written left."""
    source, out, state = benchmark_source(world, benchmark, QUICK), tmp_path / "out", tmp_path / ".out.training"
    record = train(QUICK, source, out, base, "cpu")
    written = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    state.write_bytes(b"left")
    assert together(2, lambda rank: train(QUICK, source, out, base, "cpu")) == [record, record]
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == written
    assert not state.exists()


@pytest.mark.full
def test_a_training_that_diverges_leaves_the_last_good_model(
    drawn: Path, world: World, benchmark: Benchmark, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It loads as any other, and results tell it from one that ended. Run again, the training says the same."""
    recipe, out, loss = replace(QUICK, epochs=3, batch=32), tmp_path / "out", Contrastive.loss
    source = benchmark_source(world, benchmark, recipe)

    def broken(self: Contrastive, step: Step, number: int) -> torch.Tensor:
        return loss(self, step, number) * (math.inf if number == 7 else 1)

    with monkeypatch.context() as patched:
        patched.setattr(Contrastive, "loss", broken)
        for _ in range(2):
            with pytest.raises(
                DivergedError,
                match=r"diverged at step 8 of 9: .* The model after step 6 is in .*out\.step-6; choose a lower --rate "
                r"and another --out\.",
            ):
                train(recipe, source, out, base, "cpu")
    stopped = tmp_path / "out.step-6"
    ended = train(replace(recipe, epochs=2), source, tmp_path / "two", base, "cpu")
    record = json.loads((stopped / "jackalope.json").read_text())
    assert record["losses"] == ended["losses"]
    assert record["exposure"] == ended["exposure"]
    for name, weights in load_model(f"jackalope:{tmp_path / 'two'}", "cpu").network.state_dict().items():
        assert torch.equal(weights, load_model(f"jackalope:{stopped}", "cpu").network.state_dict()[name])
    results = evaluate(
        f"jackalope:{stopped}", drawn, protocols="binary", limit=4, device="cpu", allow_contaminated=True
    ).results
    assert results["factors"]["treatment"]["stopped"] == 6
    assert not out.exists()


def test_a_training_that_diverges_at_once_says_that_nothing_is_kept(base: str, drawn: Path, tmp_path: Path) -> None:
    given = ("train", "finetune", base, drawn, "--out", tmp_path / "out", "--batch", "32", "--device", "cpu")
    done = score_command(*given, "--rate", "1e30", "--precision", "float32")
    assert done.exit_code == 2
    assert "Training diverged at step 2 of 15" in done.stderr
    assert done.stderr.strip().endswith("No good step was kept before; choose a lower --rate.")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    assert score_command(*given, "--epochs", "1").exit_code == 0
