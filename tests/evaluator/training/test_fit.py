"""The loop: continuing, divergence, and what reaches a batch."""

import logging
import math
from pathlib import Path

import pytest
import torch

from evaluator.training.contrastive import Contrastive
from evaluator.training.data import Steps, TrainingData
from evaluator.training.fit import Checkpoint, DivergedError, fit
from evaluator.training.recipe import Recipe
from generator.dataset.reader import Benchmark, World
from tests.evaluator.training.conftest import Fixed, read


def test_training_lowers_the_loss_and_is_continued_from_any_step(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Stopped after each step in turn, and continued to the same numbers."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("evaluator.training.fit._SECONDS", -1)  # the state is kept after each step

    def learner() -> Fixed:
        generator = torch.Generator().manual_seed(1)
        shapes = ((len(data), 8), (len(data.texts), 8))
        return Fixed(*(torch.randn(shape, generator=generator) for shape in shapes), 5.0)

    recipe = Recipe(epochs=2, batch=40, rate=0.1)
    whole = learner()
    losses = fit(Contrastive(whole, data, recipe), data, recipe, Checkpoint(tmp_path / "whole", {"a": 1}))
    assert len(losses) == 2
    assert losses[1] < losses[0]
    for stop in range(1, 4):
        checkpoint, taken = Checkpoint(tmp_path / f"stopped-{stop}", {"a": 1}), []

        class Stopped(Fixed):
            def settle(self) -> None:
                taken.append(1)  # noqa: B023
                if len(taken) == stop + 1:  # noqa: B023
                    raise KeyboardInterrupt

        first = learner()
        first.__class__ = Stopped
        with pytest.raises(KeyboardInterrupt):
            fit(Contrastive(first, data, recipe), data, recipe, checkpoint)
        second = learner()
        assert fit(Contrastive(second, data, recipe), data, recipe, checkpoint) == losses
        assert f"Continuing after step {stop} of 4." in caplog.text
        for one, other in zip(whole.parameters(), second.parameters(), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_divergence_names_the_step_and_keeps_the_last_good_state(
    data: TrainingData, tmp_path: Path, bad: float
) -> None:
    class Diverging(Fixed):
        steps = 0

        def settle(self) -> None:
            self.steps += 1
            if self.steps == 3:
                self.texts.data[:] = bad

    generator = torch.Generator().manual_seed(1)
    learner = Diverging(*(torch.randn(shape, generator=generator) for shape in ((96, 8), (len(data.texts), 8))))
    checkpoint, recipe = Checkpoint(tmp_path / "state", {}), Recipe(epochs=3, batch=40, rate=0.1)
    with pytest.raises(
        DivergedError, match=r"diverged at step 4 of 6: its loss is \S+ and its gradient \S+\.$"
    ) as error:
        fit(Contrastive(learner, data, recipe), data, recipe, checkpoint)
    assert (error.value.step, error.value.kept, len(error.value.losses)) == (4, 2, 1)
    state = torch.load(checkpoint.path, weights_only=True)
    assert state["step"] == 2
    for name, weights in learner.state_dict().items():
        assert weights.isfinite().all()
        assert torch.equal(weights, state["model"][name])


def test_a_step_after_which_the_loss_is_not_finite_is_not_kept(data: TrainingData, tmp_path: Path) -> None:
    """The weights after the first epoch, a single step, are finite and of no use."""
    learner = Fixed(torch.ones((96, 8)), torch.ones((len(data.texts), 8)))
    checkpoint, recipe = Checkpoint(tmp_path / "state", {}), Recipe(epochs=3, batch=96, rate=1e30, warmup=0)
    with pytest.raises(DivergedError, match=r"diverged at step [23] of 3") as error:
        fit(Contrastive(learner, data, recipe), data, recipe, checkpoint)
    assert error.value.kept in (0, 1)  # of the steps before
    assert all(parameter.isfinite().all() for parameter in learner.parameters())
    assert checkpoint.path.exists() == bool(error.value.kept)


def test_no_held_out_fact_enters_a_batch(world: World, benchmark: Benchmark, tmp_path: Path) -> None:
    """Instrumented: every image and text that a learner is asked for, over epochs of all kinds of texts."""
    kinds = ("plain", "relations", "graded", "synonyms")
    data = read(
        world, benchmark, kinds, ("swap", "replace", "flip", "neg"), ("swap", "replace", "converse")
    )
    learner = Fixed(torch.randn((len(data), 4)), torch.randn((len(data.texts), 4)))
    recipe = Recipe(epochs=20, batch=24, positive_loss="analogy")
    fit(Contrastive(learner, data, recipe), data, recipe, Checkpoint(tmp_path / "state", {}))
    assert benchmark.holdout is not None
    held = {tuple(binding) for binding in benchmark.holdout["bindings"]}
    objects = {row["scene_id"]: row["objects"] for row in world.scenes.to_pylist()}
    shown = {
        (dict(thing["attributes"])["color"], thing["category"])
        for images, _ in learner.asked
        for i in images
        for thing in objects[data.images[i][1]]
    }
    said = {data.texts[t] for _, texts in learner.asked for t in texts}
    assert shown
    assert not shown & held
    assert len(said) > 500
    assert not [text for text in said if any(f"{value} {thing}" in text for value, thing in held)]
    steps = Steps(data, 24, 20, 0)
    assert len(learner.asked) == len(steps)
    assert {t for i in range(len(steps)) for t in steps[i].positives if t >= 0} <= {
        t for _, ts in learner.asked for t in ts
    }


def test_one_step_may_rise(data: TrainingData, tmp_path: Path) -> None:
    """Of twenty steps 5% are one, of which OneCycleLR alone makes a division by zero."""
    learner, recipe = Fixed(torch.ones((96, 2)), torch.ones((len(data.texts), 2))), Recipe(epochs=20, batch=96)
    assert len(fit(Contrastive(learner, data, recipe), data, recipe, Checkpoint(tmp_path / "state", {}))) == 20
