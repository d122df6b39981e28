"""New networks: what they are, that they follow the seed and read their texts whole; and that a
saved model is the same model when it is loaded."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from evaluator.models.registry import load_model
from evaluator.training.data import TrainingData
from evaluator.training.methods import Scratch
from evaluator.training.networks import (
    Augmentation,
    identity_autoencoder,
    new_model,
    word_tokenizer,
)
from evaluator.training.recipe import Recipe
from evaluator.training.session import check_savable, save_model
from generator.base.errors import UserError
from generator.dataset.reader import World
from tests.evaluator.tiny_models import pictures

TEXTS = ["a red cube and a blue cone", "a blue cube and a red cone", "a cube"]


@pytest.mark.parametrize(
    ("architecture", "tiny", "small"),
    [("dual", 12, 43), ("dual-vit", 8, 30), ("cross", 1, 14), ("diffusion", 5, 29)],
)
def test_sizes_are_those_of_the_docs(
    data: TrainingData, world: World, architecture: str, tiny: int, small: int
) -> None:
    """Millions of parameters and pixels, as docs/training.md has them."""
    for size, millions, pixels in (
        ("tiny", tiny, 32 if architecture == "diffusion" else 64),
        ("small", small, 128),
    ):
        model, learner = new_model(architecture, size, data, Recipe(), "cpu")
        parameters = sum(parameter.numel() for parameter in learner.network.parameters())
        assert parameters / 1e6 == pytest.approx(millions, abs=0.6)
        prepare = model.latent if architecture == "diffusion" else model.prepare
        assert prepare(world.image("000000")).shape[-1] == pixels


@pytest.mark.parametrize("architecture", ["dual", "cross", "diffusion"])
def test_a_new_model_follows_the_seed_and_cuts_no_text(
    data: TrainingData, little: None, architecture: str
) -> None:
    long, longest = (" ".join(["a red cube and"] * times) for times in (10, 20))
    longer = replace(data, texts=[*data.texts, long], longest=[longest])
    models = [
        new_model(architecture, "tiny", longer, Recipe(seed=seed), "cpu")[0] for seed in (0, 0, 1)
    ]
    digests = [model.info["weights_sha256"] for model in models]
    assert digests[0] == digests[1] != digests[2]
    assert models[0].token_counts([longest]) == [models[0].info["text_length"]] == [82]
    trained = replace(longer, longest=[])
    assert new_model(architecture, "tiny", trained, Recipe(), "cpu")[0].info["text_length"] == 42
    least = {"dual": 16, "cross": 40, "diffusion": 16}[architecture]
    data = replace(data, longest=[])
    assert new_model(architecture, "tiny", data, Recipe(), "cpu")[0].info["text_length"] == least


def test_the_latent_of_an_image_is_the_image() -> None:
    vae = identity_autoencoder(64)
    noise = torch.rand(1, 3, 48, 80, generator=torch.Generator().manual_seed(0)) * 2 - 1
    for pixels in (
        noise,
        noise / 10,
        torch.ones(1, 3, 16, 16),
        -torch.ones(1, 3, 16, 16),
        torch.zeros(1, 3, 16, 16),
    ):
        latent = vae.encode(pixels).latent_dist
        assert torch.allclose(latent.mean, pixels, rtol=0, atol=1e-3)
        assert latent.std.max() < 1e-6
        assert torch.allclose(vae.decode(pixels).sample, pixels, rtol=0, atol=1e-3)


def test_words_are_told_apart_and_others_are_unknown(tmp_path: Path) -> None:
    texts = ["A red cube, and a blue cone.", "a x-ray"]
    tokenizer = word_tokenizer(texts, 4)
    assert tokenizer.model_max_length == 11  # [CLS], nine words and marks, [SEP]
    first, second, third = (
        tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) for text in (*texts, "a pan")
    )
    assert first == ["[CLS]", "a", "red", "cube", ",", "and", "a", "blue", "cone", ".", "[SEP]"]
    assert second == ["[CLS]", "a", "x", "-", "ray", "[SEP]"]
    assert third == ["[CLS]", "a", "[UNK]", "[SEP]"]
    tokenizer.save_pretrained(tmp_path)
    reloaded = AutoTokenizer.from_pretrained(tmp_path)
    assert reloaded(texts)["input_ids"] == tokenizer(texts)["input_ids"]
    assert reloaded.model_max_length == tokenizer.model_max_length
    assert word_tokenizer(texts, 40).model_max_length == 40


def test_images_are_only_mirrored_and_shifted_by_place_and_step() -> None:
    """All images of a step by the same pixels, at most a sixteenth of their shorter side."""
    images = torch.rand((40, 3, 48, 32), generator=torch.Generator().manual_seed(0))

    def seen(mirrored: bool, step: int, count: int = 40) -> list[tuple[int, int, int]]:
        augment, shifts = Augmentation(0, mirrored), []
        for place, original in enumerate(images[:count]):
            image = augment(original, place, step)
            for mark in itertools.product((0, 1), range(-3, 4), range(-3, 4)):
                moved = torch.roll(original.flip(-1) if mark[0] else original, mark[1:], (-2, -1))
                shifts += [mark] if torch.equal(image, moved) else []
        assert len(shifts) == count
        return shifts

    assert 8 < sum(mark[0] for mark in seen(True, 0)) < 32
    assert not any(mark[0] for mark in seen(False, 0))
    shifts = [{mark[1:] for mark in seen(False, step, 2)} for step in range(20)]
    assert {len(shifts_of_step) for shifts_of_step in shifts} == {1}
    assert {
        pixels for shifts_of_step in shifts for shift in shifts_of_step for pixels in shift
    } == set(range(-2, 3))


def test_images_of_texts_with_relations_are_not_mirrored(data: TrainingData, little: None) -> None:
    for mirrored in (True, False):
        _, learner = new_model("cross", "tiny", replace(data, mirrored=mirrored), Scratch(), "cpu")
        assert learner._images._augment._mirrored is mirrored  # type: ignore[attr-defined]


def test_a_saved_model_is_the_same_model(make_base: Callable[..., str], tmp_path: Path) -> None:
    """Of OpenAI's activation too, which its weights do not tell."""
    model: Any = load_model(make_base(name="tiny-quickgelu", quick_gelu=True), "cpu")
    out = tmp_path / "out"
    out.mkdir()
    check_savable(model)
    save_model(model, out)
    record = {"name": "b", "benchmark": "0", "world": "1", "method": "finetune", "recipe": {}}
    (out / "jackalope.json").write_text(json.dumps(record))
    reloaded: Any = load_model(f"jackalope:{out}", "cpu")
    assert np.array_equal(reloaded.encode_texts(TEXTS), model.encode_texts(TEXTS))
    assert np.array_equal(reloaded.encode_images(pictures()), model.encode_images(pictures()))
    assert reloaded.key == model.key
    assert reloaded.info["trained_on"]["method"] == "finetune"


def test_an_architecture_of_another_library_is_refused(base: str) -> None:
    model: Any = load_model(base, "cpu")
    model.config = {
        **model.config,
        "vision_cfg": {"timm_model_name": "vit_base", "image_size": 224},
    }
    with pytest.raises(UserError, match="takes a tower or a tokenizer of another library"):
        check_savable(model)
