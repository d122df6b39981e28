"""A training's folder: written whole or not at all; images of each class are drawn before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.training import session
from evaluator.training.finetune import finetune
from evaluator.training.recipe import Recipe
from evaluator.training.source import benchmark_source
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.training.conftest import together

QUICK = Recipe(epochs=1, batch=16, rate=1e-4, decay=0.0, warmup=0.0, negatives="", flip=False, shift=0)


@pytest.fixture
def base(tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


def test_images_of_each_class_are_recorded_and_are_all_that_is_shown(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path
) -> None:
    recipe = Recipe(**{**QUICK.__dict__, "images_per_class": 1})
    source = benchmark_source(world, benchmark, recipe)
    record = finetune(base, source, recipe, tmp_path / "out", "cpu")
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
            finetune(base, source, QUICK, tmp_path / "out", "cpu")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == [".out.training"]
    finetune(base, source, QUICK, tmp_path / "out", "cpu")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


def test_a_training_that_has_ended_is_not_repeated_by_any_process(
    world: World, benchmark: Benchmark, base: str, tmp_path: Path
) -> None:
    """And the state goes that a kill after the model was written left."""
    source, out, state = benchmark_source(world, benchmark, QUICK), tmp_path / "out", tmp_path / ".out.training"
    record = finetune(base, source, QUICK, out, "cpu")
    written = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    state.write_bytes(b"left")
    assert together(2, lambda rank: finetune(base, source, QUICK, out, "cpu")) == [record, record]
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == written
    assert not state.exists()


def test_a_state_of_another_base_is_refused(
    world: World, benchmark: Benchmark, base: str, tiny: Callable[..., Tiny], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    source = benchmark_source(world, benchmark, QUICK)
    with monkeypatch.context() as patched:
        patched.setattr(session, "save_model", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            finetune(base, source, QUICK, tmp_path / "out", "cpu")
    other = f"open_clip:other@{tiny('other', width=64).save(tmp_path / 'other.pt')}"
    with pytest.raises(UserError, match="is the state of another training"):
        finetune(other, source, QUICK, tmp_path / "out", "cpu")
