"""The pipelines of diffusers that are read: what each one's text encoders give, and how its network is asked."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from evaluator.models.diffusion.processes import Diffusion, Flow, Process

Condition = dict[str, torch.Tensor]


@contextmanager
def quiet() -> Iterator[None]:
    """No reports of the libraries: what a tokenizer cuts off is for the run to say."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class Network(ABC):
    """A pipeline of one kind. A condition is what it makes of a text: tensors without a batch axis."""

    component = "transformer"
    process_of: type[Diffusion] | type[Flow] = Flow
    optional: tuple[str, ...] = ()
    """Components that it can do without."""

    packs = 1
    """How many latents the network reads as the channels of one place."""

    def __init__(self, pipe: Any):
        self.pipe = pipe
        self.model = getattr(pipe, self.component)
        self.process: Process = self.process_of(pipe.scheduler.config)

    @property
    def side(self) -> int:
        """The pixels of a side of the square images that it was made for."""
        size = self.model.config.sample_size
        return int(size if isinstance(size, int) else min(size)) * int(self.pipe.vae_scale_factor)

    @property
    def multiple(self) -> int:
        """What the sides of an image must be multiples of, in pixels."""
        return int(self.pipe.vae_scale_factor) * 2

    def lengths(self) -> list[tuple[Any, int]]:
        """The tokenizers, with the number of tokens that each one's encoder reads."""
        return [(self.pipe.tokenizer, self.pipe.tokenizer.model_max_length)]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of all tokenizers beside one another, int64 (n, length)."""
        with quiet():
            rows = [
                tokenizer(list(texts), padding="max_length", truncation=True, max_length=length)["input_ids"]
                for tokenizer, length in self.lengths()
            ]
        return np.concatenate([np.array(ids, dtype=np.int64).reshape(len(texts), -1) for ids in rows], axis=1)

    @abstractmethod
    def read(self, texts: list[str]) -> Condition:
        """The conditions of some texts, each tensor with the texts along its first axis."""

    @abstractmethod
    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """What the network finds in noisy latents (n, c, h, w) at timesteps (n,) with as many conditions."""


class StableDiffusion(Network):
    """Stable Diffusion 1.x and 2.x."""

    component = "unet"
    process_of = Diffusion

    @property
    def multiple(self) -> int:
        """The VAE's factor, and a half for every level of the U-Net but one."""
        levels = len(self.model.config.block_out_channels)
        return int(self.pipe.vae_scale_factor * 2 ** (levels - 1))

    def read(self, texts: list[str]) -> Condition:
        """Hidden states."""
        states, _ = self.pipe.encode_prompt(texts, self.pipe.device, 1, False)
        return {"states": states}

    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """ε or v."""
        found: torch.Tensor = self.model(noisy, timesteps, encoder_hidden_states=condition["states"]).sample
        return found


class StableDiffusionXL(StableDiffusion):
    """Stable Diffusion XL: told the pooled text and the size too, uncropped. No text is zeros where it was trained so."""

    def lengths(self) -> list[tuple[Any, int]]:
        """Two tokenizers."""
        both = (self.pipe.tokenizer, self.pipe.tokenizer_2)
        return [(tokenizer, tokenizer.model_max_length) for tokenizer in both if tokenizer is not None]

    def read(self, texts: list[str]) -> Condition:
        """Hidden states of both encoders and the pooled state of the second."""
        states, _, pooled, _ = self.pipe.encode_prompt(
            texts, device=self.pipe.device, do_classifier_free_guidance=False
        )
        if self.pipe.config.force_zeros_for_empty_prompt:
            said = torch.tensor([float(text != "") for text in texts], device=states.device, dtype=states.dtype)
            states, pooled = states * said[:, None, None], pooled * said[:, None]
        return {"states": states, "pooled": pooled}

    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """ε or v."""
        height, width = (int(side * self.pipe.vae_scale_factor) for side in noisy.shape[-2:])
        sizes = torch.tensor([[height, width, 0, 0, height, width]], device=noisy.device, dtype=noisy.dtype)
        added = {"text_embeds": condition["pooled"], "time_ids": sizes.expand(len(noisy), -1)}
        found: torch.Tensor = self.model(
            noisy, timesteps, encoder_hidden_states=condition["states"], added_cond_kwargs=added
        ).sample
        return found


class StableDiffusion3(Network):
    """Stable Diffusion 3 and 3.5, with or without the T5 encoder."""

    optional = ("text_encoder_3", "tokenizer_3")

    def lengths(self) -> list[tuple[Any, int]]:
        """Two of CLIP, and T5's 256 tokens where it is there."""
        clip = [(each, self.pipe.tokenizer_max_length) for each in (self.pipe.tokenizer, self.pipe.tokenizer_2)]
        return clip if self.pipe.tokenizer_3 is None else [*clip, (self.pipe.tokenizer_3, 256)]

    def read(self, texts: list[str]) -> Condition:
        """Hidden states of all encoders and the pooled ones of CLIP's."""
        states, _, pooled, _ = self.pipe.encode_prompt(
            texts, None, None, device=self.pipe.device, do_classifier_free_guidance=False
        )
        return {"states": states, "pooled": pooled}

    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """The velocity."""
        found: torch.Tensor = self.model(
            noisy, encoder_hidden_states=condition["states"], pooled_projections=condition["pooled"], timestep=timesteps
        ).sample
        return found


class AuraFlow(Network):
    """AuraFlow: one encoder of 256 tokens; told σ itself."""

    def lengths(self) -> list[tuple[Any, int]]:
        """One tokenizer."""
        return [(self.pipe.tokenizer, 256)]

    def read(self, texts: list[str]) -> Condition:
        """Hidden states."""
        states, *_ = self.pipe.encode_prompt(texts, do_classifier_free_guidance=False, device=self.pipe.device)
        return {"states": states}

    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """The velocity."""
        steps = self.pipe.scheduler.config.num_train_timesteps
        found: torch.Tensor = self.model(
            noisy, encoder_hidden_states=condition["states"], timestep=timesteps / steps
        ).sample
        return found


class Flux(Network):
    """FLUX.1: latents in patches of 2×2; a distilled guidance, where there is one, is told that it is 1."""

    packs = 4

    @property
    def side(self) -> int:
        """The pipeline's default, since the network has no size of its own."""
        return int(self.pipe.default_sample_size * self.pipe.vae_scale_factor)

    def lengths(self) -> list[tuple[Any, int]]:
        """CLIP's and T5's."""
        return [(self.pipe.tokenizer, self.pipe.tokenizer_max_length), (self.pipe.tokenizer_2, 512)]

    def read(self, texts: list[str]) -> Condition:
        """Hidden states of T5 and the pooled state of CLIP."""
        states, pooled, _ = self.pipe.encode_prompt(texts, None, device=self.pipe.device)
        return {"states": states, "pooled": pooled}

    def find(self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition) -> torch.Tensor:
        """The velocity."""
        n, channels, height, width = noisy.shape
        steps = self.pipe.scheduler.config.num_train_timesteps
        guided = self.model.config.guidance_embeds
        places = self.pipe._prepare_latent_image_ids(n, height // 2, width // 2, noisy.device, noisy.dtype)
        found = self.model(
            hidden_states=self.pipe._pack_latents(noisy, n, channels, height, width),
            timestep=timesteps / steps,
            guidance=torch.ones(n, device=noisy.device) if guided else None,
            pooled_projections=condition["pooled"],
            encoder_hidden_states=condition["states"],
            txt_ids=torch.zeros(condition["states"].shape[1], 3, device=noisy.device),
            img_ids=places,
        ).sample
        factor = self.pipe.vae_scale_factor
        unpacked: torch.Tensor = self.pipe._unpack_latents(found, height * factor, width * factor, factor)
        return unpacked


NETWORKS: dict[str, type[Network]] = {
    "StableDiffusionPipeline": StableDiffusion,
    "StableDiffusionXLPipeline": StableDiffusionXL,
    "StableDiffusion3Pipeline": StableDiffusion3,
    "AuraFlowPipeline": AuraFlow,
    "FluxPipeline": Flux,
}
