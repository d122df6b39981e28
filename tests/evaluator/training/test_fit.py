"""The loop: the loss of a step, divergence, and what reaches a batch."""

import logging
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluator.training.checkpoint import Checkpoint
from evaluator.training.data import TrainingData, read_training_data
from evaluator.training.fit import ByWords, Facts, fit, step_loss
from evaluator.training.losses import contrastive, hard_negative, hard_positive
from evaluator.training.recipe import Recipe
from evaluator.training.steps import Step, Steps
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.training.conftest import Fixed

# 0 and 1 show the same scene; the negative of 2 is true of 0; 3 has neither negative nor positive
_CAPTIONS, _NEGATIVES, _POSITIVES = [[0], [1], [2], [4]], [[[6]], [[7]], [[0]], [[-1]]], [[[3]], [[5]], [[8]], [[-1]]]
_TRUE = [[0, 1, 3], [0, 1, 5], [2, 8, -1], [4, -1, -1]]
_STEP = Step(np.arange(4), np.array([0, 1, 2, 4]), np.array([6, 7, 0, -1]), np.array([3, 5, 8, -1]))


def _toy(seed: int = 0) -> tuple[TrainingData, Fixed]:
    generator = torch.Generator().manual_seed(seed)
    data = TrainingData(
        [f"text {i}" for i in range(9)], np.array(_CAPTIONS), np.array(_NEGATIVES), np.array(_POSITIVES), np.array(_TRUE),
        [(None, str(i)) for i in range(4)], True,  # type: ignore[list-item]
    )  # fmt: skip
    numbers = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 6), (9, 6)))
    return data, Fixed(*numbers)


def _cosines(learner: Fixed) -> torch.Tensor:
    unit = [each / each.norm(dim=1, keepdim=True) for each in (learner.images, learner.texts)]
    return 20 * unit[0] @ unit[1].T


def _mask(columns: list[int]) -> torch.Tensor:
    return torch.tensor([[text in row for text in columns] for row in _TRUE])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_step_of_negclip_has_the_negatives_as_columns(weight: float) -> None:
    data, learner = _toy()
    recipe = Recipe(negative_weight=weight)
    got = step_loss(learner, Facts(data), _STEP, recipe, 0)
    columns = [0, 1, 2, 4, 6, 7, 0]
    assert learner.asked == [([0, 1, 2, 3], [*columns, 3, 5, 8])]
    expected = contrastive(_cosines(learner)[:, columns], _mask(columns), weight)
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_step_of_svlc_and_analogies_adds_their_losses_by_weight() -> None:
    data, learner = _toy()
    recipe = Recipe(negative_loss="svlc", positive_loss="analogy", negative_weight=0.25, positive_weight=2.0)
    got = step_loss(learner, Facts(data), _STEP, recipe, 0)
    cosines, own = _cosines(learner), [0, 1, 2, 4]
    caption = torch.stack([cosines[i, own[i]] for i in range(3)])
    negative = torch.stack([cosines[i, t] for i, t in enumerate((6, 7, 0))])
    positive = torch.stack([cosines[i, t] for i, t in enumerate((3, 5, 8))])
    expected = contrastive(cosines[:, own], _mask(own))
    expected = expected + 0.25 * hard_negative(caption, negative) + 2 * hard_positive(caption, positive)
    assert got.item() == pytest.approx(expected.item(), abs=1e-6)


def test_the_gradient_of_a_step_is_a_finite_difference() -> None:
    data, learner = _toy()
    recipe = Recipe(negative_loss="svlc", positive_loss="analogy")
    step_loss(learner, Facts(data), _STEP, recipe, 0).backward()
    for parameter in (learner.images, learner.texts, learner.logit_scale):
        flat, grad = parameter.data.view(-1), parameter.grad
        assert grad is not None
        for i in range(0, len(flat), 5):
            ends = []
            for sign in (1, -1):
                flat[i] += sign * 1e-6
                ends.append(step_loss(learner, Facts(data), _STEP, recipe, 0).item())
                flat[i] -= sign * 1e-6
            assert grad.view(-1)[i].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-5)


def test_a_text_whose_words_are_all_true_is_true_for_a_bag() -> None:
    texts = [
        "a red cube and a blue cone",
        "a blue cone and a red cube",
        "A blue cube, and a red cone.",
        "a red cube",
        "a cyan cone",
    ]
    none = np.full((2, 1, 1), -1)
    data = TrainingData(texts, np.array([[0], [3]]), none, none, np.array([[0, 1], [3, -1]]), [], True)
    rows = np.arange(5)
    assert Facts(data).true(np.array([1, 0]), rows).tolist() == [[0, 0, 0, 1, 0], [1, 1, 0, 0, 0]]
    assert ByWords(data).true(np.array([1, 0]), rows).tolist() == [[0, 0, 0, 1, 0], [1, 1, 1, 1, 0]]


@pytest.mark.parametrize("bags", [False, True])
def test_a_bag_is_not_taught_by_swaps(bags: bool, tmp_path: Path) -> None:
    """Two images of swapped captions: a bag has nothing to learn from them, the usual loss has."""
    none = np.full((2, 1, 1), -1)
    texts, true = ["a red cube and a blue cone", "a blue cube and a red cone"], np.array([[0], [1]])
    data = TrainingData(texts, true, none, none, true, [(None, "0"), (None, "1")], True)  # type: ignore[list-item]
    learner = Fixed(torch.eye(2), torch.eye(2).flip(0), 5.0)
    losses = fit(learner, data, Recipe(epochs=1, batch=2, rate=0.1), Checkpoint(tmp_path / "state", {}), bags=bags)
    assert (losses[0] > 1) is not bags
    assert (losses[0] == 0) is bags


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
    losses = fit(whole, data, recipe, Checkpoint(tmp_path / "whole", {"a": 1}))
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
            fit(first, data, recipe, checkpoint)
        second = learner()
        assert fit(second, data, recipe, checkpoint) == losses
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
    checkpoint = Checkpoint(tmp_path / "state", {})
    with pytest.raises(UserError, match=r"diverged at step 4 of 6: .*The state after step 2 stays in .*lower --rate"):
        fit(learner, data, Recipe(epochs=3, batch=40, rate=0.1), checkpoint)
    good = Fixed(torch.zeros((96, 8)), torch.zeros((len(data.texts), 8)))
    state = torch.load(checkpoint.path, weights_only=True)
    assert state["step"] == 2
    good.load_state_dict(state["model"])
    assert all(parameter.isfinite().all() for parameter in good.parameters())


def test_no_held_out_fact_enters_a_batch(world: World, benchmark: Benchmark, tmp_path: Path) -> None:
    """Instrumented: every image and text that a learner is asked for, over epochs of all kinds of texts."""
    kinds = ("plain", "relations", "graded", "synonyms")
    data = read_training_data(
        world, benchmark, kinds, ("swap", "replace", "flip", "neg"), ("swap", "replace", "converse")
    )
    learner = Fixed(torch.randn((len(data), 4)), torch.randn((len(data.texts), 4)))
    fit(learner, data, Recipe(epochs=20, batch=24, positive_loss="analogy"), Checkpoint(tmp_path / "state", {}))
    assert benchmark.holdout is not None
    held = {tuple(binding) for binding in benchmark.holdout["bindings"]}
    objects = {row["scene_id"]: row["objects"] for row in world.scenes.to_pylist()}
    shown = {
        (dict(thing["attributes"])["color"], thing["category"])
        for images, _ in learner.asked for i in images for thing in objects[data.images[i][1]]
    }  # fmt: skip
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
