"""`score train scratch`: its recipe, its record, and what it prints."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluator.training import scratch
from evaluator.training.scratch import Recipe
from generator.dataset.commands import Bar
from tests.evaluator.conftest import assert_one_sentence, score_command


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Any]]:
    """Stands for training, which takes minutes; holds what it was asked for."""
    asked: list[Sequence[Any]] = []

    def train(*arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        return {"losses": [3.5]}

    monkeypatch.setattr(scratch, "train_scratch", train)
    return asked


def test_options_become_a_recipe(trained: list[Sequence[Any]], drawn: Path, tmp_path: Path) -> None:
    done = score_command(
        "train",
        "scratch",
        drawn,
        "--out",
        tmp_path / "m",
        "--epochs",
        "1",
        "--seed",
        "4",
        "--texts",
        "graded",
        "--negatives",
        "none",
        "--positives",
    )
    assert done.exit_code == 0, done.stderr
    ((_, benchmark, recipe, out, device, progress),) = trained
    expected = Recipe(epochs=1, seed=4, texts="graded", negatives="", positives=True)
    assert (recipe, out, device) == (expected, tmp_path / "m", None)
    assert benchmark.name
    assert isinstance(progress, Bar)
    assert done.stdout == f"{tmp_path / 'm'}\n"
    assert f"Loss 3.50 → 3.50. Next: score run {drawn} --model jackalope:{tmp_path / 'm'}" in done.stderr


def test_the_result_for_machines_has_the_losses(trained: list[Sequence[Any]], drawn: Path, tmp_path: Path) -> None:
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "m", "--json")
    assert json.loads(done.stdout) == {"model": str(tmp_path / "m"), "losses": [3.5]}
    assert trained[0][2] == Recipe()


def test_an_unknown_benchmark_is_one_sentence(drawn: Path, tmp_path: Path) -> None:
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "m", "--benchmark", "nope")
    assert_one_sentence(done, "nope")
