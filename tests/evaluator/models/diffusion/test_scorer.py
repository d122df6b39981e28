"""Diffusion Classifier as a PairScorer: batches, memory, precision, and what is shared."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluator.models.contracts import BatchSize
from evaluator.models.diffusion.loading import load_diffusion
from evaluator.models.diffusion.schedules import Schedule, Settings, settings_of
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.registry import load_model
from tests.evaluator.diffusers_folders import TEXTS, pictures


@pytest.mark.parametrize(
    "schedule", [Schedule((5, 12), (2, 1)), settings_of(preset="sequential", samples=24).schedule]
)
def test_batch_size_and_order_do_not_matter(
    folders: Callable[[str], Path], schedule: Schedule
) -> None:
    """Nor what else is scored, nor where the image stands; pairs given twice are scored once."""
    images = pictures(2)
    pairs = [(i, text) for i in range(2) for text in TEXTS]
    loaded = load_diffusion(str(folders("epsilon")), "cpu")
    one = DiffusionClassifier(
        loaded.adapter, Settings("tried", schedule), device=torch.device("cpu"), name="tried"
    )
    scores = one.score_pairs(images, pairs)
    one.batch = BatchSize(5, "evaluation")
    assert one.score_pairs(images, pairs) == pytest.approx(
        scores, rel=one.tie_tolerance, abs=one.tie_tolerance
    )
    reversed_pairs = [(1 - i, text) for i, text in reversed(pairs)]
    turned = one.score_pairs(images[::-1], reversed_pairs + reversed_pairs)
    assert turned[: len(pairs)][::-1] == pytest.approx(
        scores, rel=one.tie_tolerance, abs=one.tie_tolerance
    )
    assert np.array_equal(turned[: len(pairs)], turned[len(pairs) :])
    alone = one.score_pairs(images[1:], [(0, text) for text in TEXTS])
    assert alone == pytest.approx(scores[3:], rel=one.tie_tolerance, abs=one.tie_tolerance)


def test_sequential_is_the_exhaustive_on_fewer(folders: Callable[[str], Path]) -> None:
    """Same noise and timesteps: texts that got all samples have the exhaustive score, and contests
    the same winner."""
    images = pictures(3)
    pairs = [(i, text) for i in range(3) for text in TEXTS]
    contests = [[0, 1, 2], [3, 4], [4, 5], [6, 7, 8]]
    every = load_diffusion(str(folders("epsilon")), "cpu", preset="exhaustive", samples=64)
    some = load_diffusion(str(folders("epsilon")), "cpu", preset="sequential", samples=64)
    full, quick = (
        every.score_pairs(images, pairs, contests),
        some.score_pairs(images, pairs, contests),
    )
    assert every.counts["evaluations"] == 64 * (9 + 3)  # of each image as many again without a text
    assert "3 images without a text: 64 evaluations each (768 evaluations," in every.describe_cost(
        9, 3
    )
    assert "at most 64 evaluations each (at most 768 evaluations," in some.describe_cost(9, 3)
    assert some.counts["evaluations"] < every.counts["evaluations"]
    for contest in contests:
        assert full[contest, 0].argmax() == quick[contest, 0].argmax()
        for channel in (0, 1):
            assert (
                np.argsort(quick[contest, 0]).tolist()
                == np.argsort(quick[contest, channel]).tolist()
            )
    assert (some.contested, every.contested) == (True, False)


def test_info_and_key(folders: Callable[[str], Path]) -> None:
    """All that decides a score is said and is in the key; where the files lie is not."""
    folder = str(folders("v_prediction"))
    one = load_diffusion(folder, "cpu", preset="li2023")
    message = {
        "pipeline": "StableDiffusionPipeline",
        "scheduler": "PNDMScheduler",
        "prediction": "v_prediction",
        "preset": "li2023",
        "samples": "50 samples keep 5 → 500 samples keep 1",
        "loss": "l2",
        "precision": "float32",
        "device": "cpu",
        "text_length": 16,
    }
    assert message.items() <= one.info.items()
    assert len(one.info["weights_sha256"]) == 64
    assert (one.channels, one.passes, one.batch.size) == (("conditional", "relative"), 500, 8)
    options = [
        "samples=8,loss=huber",
        "preset=pearson2025",
        "preset=li2023,seed=1",
        "preset=li2023,loss=l1",
        "preset=sequential",
        "preset=sequential,confidence=0.9,samples=64",
        "preset=exhaustive",
    ]
    others = [load_model(f"diffusion:{folder},{argument}", "cpu") for argument in options]
    assert len({one.key, *(other.key for other in others)}) == 8
    assert [(others[i].info["samples"], others[i].info["loss"]) for i in (0, 1, 5)] == [
        ("8 samples", "huber"),
        ("75 samples keep 5 → 200 samples keep 1", "l1"),
        ("16 to 64 samples, until decided with 90% confidence", "l2"),
    ]
