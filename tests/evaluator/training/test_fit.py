"""The loop: continuing, divergence, and what reaches a batch."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.training.contrastive import Contrastive
from evaluator.training.data import Steps, TrainingData
from evaluator.training.fit import Checkpoint, fit, parameter_groups
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.training.conftest import Fixed


def _learner(data: TrainingData) -> Fixed:
    generator = torch.Generator().manual_seed(1)
    return Fixed(
        *(torch.randn((n, 8), generator=generator) for n in (len(data), len(data.texts))), 5.0
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_training_that_diverges_names_the_step_and_keeps_nothing(
    data: TrainingData, tmp_path: Path, bad: float
) -> None:
    class Diverging(Contrastive):
        def loss(self, step, number):  # type: ignore[no-untyped-def]
            return super().loss(step, number) * (bad if number == 3 else 1)

    checkpoint, recipe = Checkpoint(tmp_path / "state", {}), Recipe(epochs=3, batch=40, rate=0.1)
    with pytest.raises(
        UserError,
        match=r"diverged at step 4 of 6: its loss is \S+ and its gradient \S+; choose a low",
    ):
        fit(Diverging(_learner(data), data, recipe), data, recipe, checkpoint)
    assert not checkpoint.path.exists()


def test_no_held_out_fact_enters_a_batch(
    all_kinds: TrainingData, world: World, benchmark: Benchmark
) -> None:
    """Instrumented: every image and text that a learner is asked for, over epochs of all kinds of
    texts."""
    learner = Fixed(torch.randn((len(all_kinds), 4)), torch.randn((len(all_kinds.texts), 4)))
    steps, loss = (
        Steps(all_kinds, batch=24, epochs=20, seed=0),
        Contrastive(learner, all_kinds, Recipe(positive_loss="analogy")).loss,
    )
    for number in range(len(steps)):
        loss(steps[number], number)
    assert benchmark.holdout is not None
    held = {tuple(binding) for binding in benchmark.holdout["bindings"]}
    objects = {row["scene_id"]: row["objects"] for row in world.scenes.to_pylist()}
    bindings_in_images = {
        (dict(obj["attributes"])["color"], obj["category"])
        for images, _ in learner.requests
        for i in images
        for obj in objects[all_kinds.images[i][1]]
    }
    text_rows = {text for _, texts in learner.requests for text in texts}
    captions = {all_kinds.texts[text] for text in text_rows}
    assert bindings_in_images
    assert not bindings_in_images & held
    assert len(captions) > 500
    assert not [
        text for text in captions if any(f"{value} {category}" in text for value, category in held)
    ]
    assert {
        text for i in range(len(steps)) for text in steps[i].positives if text >= 0
    } <= text_rows


def _betas(state: Path) -> set[tuple[float, float]]:
    return {
        tuple(group["betas"])
        for group in torch.load(state, weights_only=True)["optimizer"]["param_groups"]
    }


def test_without_decay_it_is_adam(data: TrainingData, tmp_path: Path) -> None:
    recipe, checkpoint = Recipe(epochs=1, batch=96, decay=0.0), Checkpoint(tmp_path / "state", {})
    fit(Contrastive(_learner(data), data, recipe), data, recipe, checkpoint)
    assert _betas(checkpoint.path) == {(0.9, 0.999)}


def test_the_rate_rises_and_falls_once_and_betas_stay(data: TrainingData, tmp_path: Path) -> None:
    """Of twenty steps 5% are one, of which OneCycleLR alone makes a division by zero."""
    rates: list[float] = []

    class Log:
        def __enter__(self):  # type: ignore[no-untyped-def]
            return lambda step, values: rates.append(values["rate"])

        def __exit__(self, *_: object) -> None:
            pass

    recipe, checkpoint = Recipe(epochs=20, batch=96), Checkpoint(tmp_path / "state", {})
    log: Any = lambda done: Log()  # noqa: E731
    losses = fit(Contrastive(_learner(data), data, recipe), data, recipe, checkpoint, log=log)
    assert len(losses) == len(rates) == 20
    assert rates[0] < rates[1] == max(rates)
    assert rates[1:] == sorted(rates[1:], reverse=True)
    assert _betas(checkpoint.path) == {(0.9, 0.98)}


def test_matrices_decay_and_embeddings_vectors_and_temperatures_do_not() -> None:
    network = torch.nn.ModuleDict(
        {"embedding": torch.nn.Embedding(3, 2), "layer": torch.nn.Linear(2, 2)}
    )
    network.logit_scale = torch.nn.Parameter(torch.ones(1, 1))
    decaying, others = parameter_groups(network, 0.1)
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert [parameter is network["layer"].weight for parameter in decaying["params"]] == [True]
    assert len(others["params"]) == 3
    network["layer"].requires_grad_(False)
    assert [len(group["params"]) for group in parameter_groups(network, 0.1)] == [0, 2]
