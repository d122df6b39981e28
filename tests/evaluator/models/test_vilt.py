"""ViLT against the library's own API, one pair at a time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.registry import load_model
from tests.evaluator.tiny_models import (
    LENGTH,
    TEXTS,
    assert_agrees,
    make_vilt,
    pictures,
    scored,
)


def _plainly(folder: Path, images: Sequence[Image.Image], texts: Sequence[str]) -> np.ndarray:
    from transformers import ViltForImageAndTextRetrieval, ViltProcessor

    model = ViltForImageAndTextRetrieval.from_pretrained(folder).eval()
    processor = ViltProcessor.from_pretrained(folder)
    cut = {"truncation": True, "max_length": LENGTH}
    with torch.no_grad():
        return np.array(
            [
                [model(**processor(image, text, return_tensors="pt", **cut)).logits[0].tolist() for text in texts]
                for image in images
            ]
        )


def test_scores_are_those_of_a_plain_loop(vilt: Path) -> None:
    images, texts = pictures(), [*TEXTS, " ".join(TEXTS * 3)]
    assert_agrees(load_model(f"vilt:{vilt}", "cpu"), images, texts, _plainly(vilt, images, texts))


def test_the_key_follows_the_number_of_heads(vilt: Path, tmp_path: Path) -> None:
    """Which no tensor tells."""
    model = load_model(f"vilt:{vilt}", "cpu")
    heads = load_model(f"vilt:{make_vilt(tmp_path / 'heads', num_attention_heads=4)}", "cpu")
    assert heads.info["weights_sha256"] == model.info["weights_sha256"]
    assert heads.key != model.key


def test_no_patch_is_left_to_chance(tmp_path: Path, vilt: Path) -> None:
    """`max_image_length` below the number of patches would draw some of them, others at every call."""
    limited = load_model(f"vilt:{make_vilt(tmp_path, max_image_length=4)}", "cpu")
    before = torch.get_rng_state()
    scores = [scored(limited, pictures(), TEXTS) for _ in range(2)]
    assert (torch.get_rng_state() == before).all()
    assert (scores[0] == scores[1]).all()
    assert scores[0] == pytest.approx(scored(load_model(f"vilt:{vilt}", "cpu"), pictures(), TEXTS), abs=1e-5)
