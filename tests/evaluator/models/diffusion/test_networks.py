"""The adapters of pipelines against the library's own classes, and the cache of text conditions."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.diffusion import networks as conditions
from evaluator.models.diffusion.loading import load_diffusion
from evaluator.models.diffusion.networks import ConditionCache
from evaluator.models.registry import load_model
from tests.evaluator.diffusers_folders import SIDE, TEXTS, pictures

KINDS = [
    "epsilon",
    "v_prediction",
    "stable_diffusion_xl",
    "stable_diffusion_3",
    "flux",
]


SAMPLES = 5


def drawn_noise(image: Image.Image, i: int, shape: Sequence[int]) -> torch.Tensor:
    """The noise of sample i by its recipe (docs/models.md): from size, pixels, the seed 0 and i,
    through SHA-256 and Philox."""
    content = hashlib.sha256(str(image.size).encode() + np.asarray(image).tobytes()).hexdigest()
    key = int.from_bytes(hashlib.sha256(f"{content} 0 {i}".encode()).digest()[:16], "little")
    normal = np.random.Generator(np.random.Philox(key=key)).standard_normal(
        tuple(shape), dtype=np.float32
    )
    return torch.from_numpy(normal)[None]


def plain_error(
    pipe: Any,
    image: Image.Image,
    text: str,
    loss: Callable[..., torch.Tensor],
    samples: int,
    i: int,
) -> float:
    """One evaluation as the library's own pipelines make it, on an image that has their size."""
    latent = pipe.vae.encode(pipe.image_processor.preprocess(image)).latent_dist.mean
    latent = (latent - (pipe.vae.config.shift_factor or 0)) * pipe.vae.config.scaling_factor
    own_noise = drawn_noise(image, i, latent.shape[1:])
    level = (i + 0.5) / samples
    if hasattr(pipe, "unet"):
        scheduler = diffusers.DDPMScheduler.from_config(pipe.scheduler.config)
        t = torch.tensor([int(level * 1000)])
        noisy = scheduler.add_noise(latent, own_noise, t)
        target = (
            own_noise
            if scheduler.config.prediction_type == "epsilon"
            else scheduler.get_velocity(latent, own_noise, t)
        )
        if isinstance(pipe, diffusers.StableDiffusionXLPipeline):
            if text:
                states, _, pooled, _ = pipe.encode_prompt(text, do_classifier_free_guidance=False)
            else:  # what the library takes where no negative prompt is given
                _, states, _, pooled = pipe.encode_prompt("x", do_classifier_free_guidance=True)
            sizes = pipe._get_add_time_ids((SIDE, SIDE), (0, 0), (SIDE, SIDE), torch.float32, 16)
            added = {"text_embeds": pooled, "time_ids": sizes}
            return float(loss(pipe.unet(noisy, t, states, added_cond_kwargs=added).sample, target))
        states = pipe.encode_prompt(text, "cpu", 1, False)[0]
        return float(loss(pipe.unet(noisy, t, states).sample, target))
    t = torch.tensor([level * 1000], dtype=torch.float32)
    noisy, target = (
        diffusers.FlowMatchEulerDiscreteScheduler().scale_noise(latent, t, own_noise),
        own_noise - latent,
    )
    if isinstance(pipe, diffusers.StableDiffusion3Pipeline):
        states, _, pooled, _ = pipe.encode_prompt(
            text, text, text, do_classifier_free_guidance=False
        )
        return float(loss(pipe.transformer(noisy, states, pooled, t).sample, target))
    states, pooled, text_ids = pipe.encode_prompt(text, text)
    _, channels, height, width = noisy.shape
    predicted = pipe.transformer(
        pipe._pack_latents(noisy, 1, channels, height, width),
        states,
        pooled,
        t / 1000,
        pipe._prepare_latent_image_ids(1, height // 2, width // 2, "cpu", torch.float32),
        text_ids,
        torch.ones(1),
    ).sample
    return float(loss(pipe._unpack_latents(predicted, SIDE, SIDE, pipe.vae_scale_factor), target))


LOSSES = {"l2": torch.nn.MSELoss(), "l1": torch.nn.L1Loss(), "huber": torch.nn.HuberLoss()}


@pytest.mark.parametrize(
    ("kind", "loss"), [*((kind, "l2") for kind in KINDS), ("epsilon", "l1"), ("epsilon", "huber")]
)
@torch.no_grad()
def test_scores_equal_a_double_loop(folders: Callable[[str], Path], kind: str, loss: str) -> None:
    """For every pipeline, image and text: the mean over the samples of the library's own error, and
    its difference."""
    classifier = load_model(f"diffusion:{folders(kind)},samples={SAMPLES},loss={loss}", "cpu")
    pipe = diffusers.DiffusionPipeline.from_pretrained(folders(kind), safety_checker=None)
    images = pictures(2)
    pairs = [(i, text) for i in range(2) for text in TEXTS[i:]]
    scores = classifier.score_pairs(images, pairs)
    assert scores.dtype == np.float32
    for (i, text), (conditional, relative) in zip(pairs, scores, strict=True):
        plain, without = (
            -np.mean(
                [
                    plain_error(pipe, images[i], words, LOSSES[loss], SAMPLES, s)
                    for s in range(SAMPLES)
                ]
            )
            for words in (text, "")
        )
        assert conditional == pytest.approx(plain, abs=1e-4)
        assert relative == pytest.approx(plain - without, abs=1e-4)
    assert np.abs(np.diff(scores[:3, 0])).min() > 1e-4  # texts do matter in these networks


def test_texts_that_one_tokenizer_cuts_another_tells_apart(folders: Callable[[str], Path]) -> None:
    """All tokenizers beside one another: CLIP's twice, and T5's, which reads more."""
    long = ["cube " * 20 + "red", "cube " * 20 + "blue"]
    first, second = load_diffusion(str(folders("stable_diffusion_3")), "cpu").tokens(long)
    assert first.shape == (16 + 16 + 256,)
    assert np.array_equal(first[:32], second[:32])
    assert not np.array_equal(first, second)


CPU = torch.device("cpu")


class Network:
    """Gives each text a row of its length, and notes the texts that it encodes."""

    pipe = SimpleNamespace(device=CPU)

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_texts(self, texts: list[str]) -> dict[str, torch.Tensor]:
        self.encoded += texts
        return {"states": torch.tensor([[float(len(text))] * 4 for text in texts])}


def test_each_text_is_encoded_once_and_the_least_recently_used_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network: Any = Network()
    cache = ConditionCache(network)
    monkeypatch.setattr(conditions, "_MOST_BYTES", 2 * 4 * 4)
    for texts in (["aa", "b", "aa"], ["aa"], ["ccc"], ["aa", "b"]):
        assert cache.stacked(texts, CPU)["states"][:, 0].tolist() == [len(text) for text in texts]
    assert network.encoded == ["aa", "b", "ccc", "b"]
