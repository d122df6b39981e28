"""Several processes train the model that one trains: the same batches, losses and gradients within
float error."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from evaluator.models.network import weights_digest
from evaluator.provenance.exposure import RECORD
from evaluator.training.data import TrainingData
from evaluator.training.fit import (
    Checkpoint,
    _share,
    average_gradients,
    check_same_step,
    fit,
    gather,
    join,
    share,
)
from evaluator.training.networks import new_model
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.training.conftest import read, together
from tests.paths import CHECKOUT

CPU = torch.device("cpu")
RECIPE = Recipe(epochs=1, steps=4, batch=15, rate=1e-3, negatives="swap", precision="float32")
"""15 images are no even share of two processes."""


@given(n=st.integers(1, 99), count=st.integers(1, 9))
def test_shares_are_all_rows_once_in_order(n: int, count: int) -> None:
    shares = [list(range(n)[_share(n, rank, count)]) for rank in range(count)]
    assert [row for share in shares for row in share] == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("count", [2, 3])
def test_the_mean_gradient_is_that_of_one_process(count: int) -> None:
    """Of a weight before the rows are gathered, and of one after."""
    rows = torch.randn((7, 4), generator=torch.Generator().manual_seed(0))

    def gradients(rank: int) -> list[Tensor]:
        torch.manual_seed(1)
        network = nn.ModuleDict({"before": nn.Linear(4, 3), "after": nn.Linear(3, 2, bias=False)})
        join(network, CPU, 7)
        whole = gather(network["before"](rows[share(7)]), 7)
        (network["after"](whole @ whole.T @ whole) ** 2).sum().backward()
        average_gradients(network)
        return [parameter.grad for parameter in network.parameters() if parameter.grad is not None]

    alone = gradients(0)
    for shared in together(count, gradients):
        for one, other in zip(alone, shared, strict=True):
            assert torch.allclose(one, other, rtol=1e-4)


def _trained(
    architecture: str, data: TrainingData, state: Path, steps: int = 4
) -> tuple[list[float], str, list[Tensor]]:
    """The loss of each step that is done, a digest of the weights and the weights."""
    _, learner = new_model(architecture, "tiny", data, RECIPE, "cpu")
    join(learner.network, CPU, RECIPE.batch)
    losses: list[float] = []

    def log(step: int, values: Any) -> None:
        losses.append(values["loss"])
        if step == steps < 4:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        fit(learner, data, RECIPE, Checkpoint(state, {}), log=lambda done: nullcontext(log))
    return (
        losses,
        weights_digest(learner.network),
        [weight.detach() for weight in learner.network.parameters()],
    )


@pytest.mark.parametrize(
    "new", ["dual-vit", "cross", pytest.param("diffusion", marks=pytest.mark.full)]
)
def test_two_processes_train_what_one_trains(
    world: World, benchmark: Benchmark, tmp_path: Path, little: None, new: str
) -> None:
    data = read(world, benchmark, ("plain",), ("swap",))
    alone = _trained(new, data, tmp_path / "alone")
    shared = together(2, lambda rank: _trained(new, data, tmp_path / "shared"))
    assert len(alone[0]) == 4
    assert shared[0][1] == shared[1][1]
    assert shared[0][0] == shared[1][0] == pytest.approx(alone[0], rel=1e-4)
    for weight, expected in zip(shared[0][2], alone[2], strict=True):
        assert torch.allclose(weight, expected, atol=2e-4)


@pytest.mark.full
def test_a_training_goes_on_with_another_number_of_processes(
    world: World,
    benchmark: Benchmark,
    tmp_path: Path,
    little: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Begun by one and continued by two, and the other way round."""
    monkeypatch.setattr(
        "evaluator.training.fit._CHECKPOINT_SECONDS", -1
    )  # the state is kept after each step
    data = read(world, benchmark, ("plain",), ("swap",))
    alone = _trained("dual-vit", data, tmp_path / "alone")
    _trained("dual-vit", data, tmp_path / "by-one", 3)
    by_two = together(2, lambda rank: _trained("dual-vit", data, tmp_path / "by-one"))[1]
    together(2, lambda rank: _trained("dual-vit", data, tmp_path / "by-two", 3))
    by_one = _trained("dual-vit", data, tmp_path / "by-two")
    for result in (by_two, by_one):
        assert result[0] == pytest.approx(alone[0][2:], rel=1e-3)
        for weight, expected in zip(result[2], alone[2], strict=True):
            assert torch.allclose(weight, expected, atol=2e-4)


def test_what_processes_cannot_share_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    plain, normalised = nn.Linear(2, 2), nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
    with pytest.raises(
        UserError, match="at least one image for each of the 4 processes, got a batch of 3"
    ):
        join(plain, CPU, 3)
    with pytest.raises(
        UserError,
        match="The model has batch normalisation, which several processes can share only on GPUs",
    ):
        join(normalised, CPU, 4)
    with pytest.raises(
        UserError, match="The 4 processes need a GPU each, not all cuda:7; leave --device out"
    ):
        join(plain, torch.device("cuda", 7), 4)


def test_processes_that_do_not_share_a_disk_are_told() -> None:
    def checked(rank: int) -> None:
        join(nn.Linear(1, 1), CPU, 2)
        check_same_step(7, CPU)
        check_same_step(7 + rank, CPU)

    for error in together(2, checked):
        assert isinstance(error, UserError)
        assert "would continue after different steps (7, 8)" in error.message


@pytest.mark.full
def test_a_launched_training_that_is_killed_goes_on(drawn: Path, tmp_path: Path) -> None:
    """The real command, started as docs/training.md says; only the main process talks."""
    script, ranks = tmp_path / "score.py", tmp_path / "ranks"
    ranks.mkdir()
    script.write_text(
        "import os, pathlib\n"
        f"pathlib.Path({str(ranks)!r}, os.environ.get('RANK', "
        f"'alone')).write_text(str(os.getpid()))\n"
        "from evaluator.cli.main import main\n"
        "from evaluator.training import fit\n"
        "fit._CHECKPOINT_SECONDS = -1\n"
        "main()\n"
    )
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    arguments = [
        "--architecture",
        "dual-vit",
        "--batch",
        "24",
        "--epochs",
        "2",
        "--precision",
        "float32",
        "--device",
        "cpu",
    ]

    def command(start: list[str], out: Path) -> list[str]:
        return [*start, str(script), "train", "scratch", str(drawn), *arguments, "--out", str(out)]

    def run(start: list[str], out: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(start, out), env=environment, capture_output=True, text=True, check=False
        )

    killed = subprocess.Popen(
        command(launch, tmp_path / "shared"),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (tmp_path / ".shared.training").exists():
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    for path in ranks.iterdir():
        with suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)
    assert {path.name for path in ranks.iterdir()} == {"0", "1"}
    assert not (tmp_path / "shared").exists()
    done = run(launch, tmp_path / "shared")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'shared'}\n"
    assert [
        done.stderr.count(line) for line in ("Training ", "Continuing after step", "Loss ")
    ] == [1, 1, 1]
    alone = run([sys.executable], tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    losses = [
        json.loads((tmp_path / name / RECORD).read_text())["losses"] for name in ("alone", "shared")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    arguments[arguments.index("--epochs") + 1] += "0"
    refused = run(launch, tmp_path / "shared")
    assert refused.returncode != 0
    assert "shared is not empty; choose another --out." in refused.stderr
