"""Results in trackers, read again by the trackers' own readers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator import evaluate
from evaluator.runs.tracking import log_steps
from evaluator.training.contrastive import Contrastive
from evaluator.training.methods import Scratch
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.base.files import read_json
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed
from tests.evaluator.synthetic import find


def test_tensorboard_has_every_value(bags: None, drawn: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    spec = f"bag:sharp@{drawn}"
    succeed("run", drawn, "--model", spec, "--limit", "20", "--out", run, "--log", "tensorboard")
    events = EventAccumulator(f"{run}.tensorboard").Reload()
    results = read_json(run / "results.json")
    rows = [row for row in results["rows"] if row["value"] is not None]
    scalars = {tag: events.Scalars(tag)[0].value for tag in events.Tags()["scalars"]}
    assert len(scalars) == len(rows)  # no two rows share a name
    row = find(results, "binary", "seen", kind="swap")
    assert scalars["binary/accuracy/swap/seen"] == pytest.approx(row["value"])
    assert sorted(scalars.values()) == pytest.approx(sorted(row["value"] for row in rows))


@pytest.mark.full
def test_wandb_writes_without_a_network(bags: None, drawn: Path, tmp_path: Path) -> None:
    """The summary of an offline run, which is on disk when the process has ended, holds the
    values."""
    pytest.importorskip("wandb")
    evaluate(f"bag:sharp@{drawn}", drawn, protocols="binary", limit=20, out=tmp_path / "run")
    code = (
        "import json, sys; from pathlib import Path; from evaluator.runs.tracking import "
        "log_results; "
    )
    code += (
        "run = Path(sys.argv[1]); log_results(json.loads((run / 'results.json').read_text()), run, "
        "['wandb'])"
    )
    env = os.environ | {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], env=env, check=True)
    (written,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert b"binary/accuracy/swap/seen" in written.read_bytes()


def test_only_a_stopped_training_goes_on_with_its_run_of_wandb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wandb knows a run by its id alone. A stand-in for it, since an offline run tells no id."""
    ids: list[str] = []

    @contextmanager
    def init(**options: Any) -> Iterator[SimpleNamespace]:
        ids.append(options["id"])
        yield SimpleNamespace(log=lambda values, step: None)

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))

    def log(done: int, stops: bool) -> None:
        with log_steps(["wandb"], tmp_path / "model", {}, done) as log_step:
            log_step(done + 1, {"loss": 1.0})
            if stops:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log(0, stops=True)
    # Begun anew, before any step was kept: another run.
    with pytest.raises(KeyboardInterrupt):
        log(0, stops=True)
    log(3, stops=False)
    # It ended well, so the next training is another run too.
    log(3, stops=False)
    first, anew, continued, after_end = ids
    assert len({first, anew, after_end}) == 3
    assert continued == anew


def test_a_training_that_goes_on_logs_each_step_once(
    world: World,
    benchmark: Benchmark,
    tmp_path: Path,
    little: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped in its seventh step, when the state after the fourth was kept."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    recipe = Scratch(epochs=3, batch=24, rate=1e-3)

    def logged(name: str) -> dict[str, list[tuple[int, float]]]:
        train(
            recipe,
            benchmark_source(world, benchmark, recipe),
            tmp_path / name,
            device="cpu",
            trackers=("tensorboard",),
        )
        events = EventAccumulator(str(tmp_path / f"{name}.tensorboard")).Reload()
        return {
            tag: [(event.step, event.value) for event in events.Scalars(tag)]
            for tag in events.Tags()["scalars"]
        }

    whole = logged("whole")
    after_update, updates = Contrastive.after_update, []

    def stop(self: Contrastive) -> None:
        after_update(self)
        updates.append(1)
        if len(updates) == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Contrastive, "after_update", stop)
        with pytest.raises(KeyboardInterrupt):
            logged("stopped")
    continued = logged("stopped")
    assert sorted(whole) == ["gradient norm", "images per second", "loss", "rate"]
    assert [step for step, _ in whole["loss"]] == list(range(1, 13))
    for name in ("loss", "rate", "gradient norm"):
        assert continued[name] == whole[name]
    record = read_json(tmp_path / "whole" / "jackalope.json")
    assert sum(value for _, value in whole["loss"][:4]) / 4 == pytest.approx(
        record["losses"][0], abs=1e-4
    )
    assert max(value for _, value in whole["rate"]) == pytest.approx(recipe.rate, rel=0.1)
    assert all(value > 0 for _, value in whole["images per second"])


def test_a_missing_package_is_one_sentence(
    bags: None, drawn: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("generator.base.extras.find_spec", lambda name: None)
    run = tmp_path / "run"
    done = score_command(
        "run", drawn, "--model", f"bag:sharp@{drawn}", "--out", run, "--log", "wandb"
    )
    assert_one_sentence(
        done,
        "This needs the package wandb, which is not installed; install it with: pip install "
        "'jackalope[log]'.",
    )
    assert not run.exists()
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "model", "--log", "wandb")
    assert_one_sentence(done, "This needs the package wandb")
