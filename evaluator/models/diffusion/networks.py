"""Adapters of the supported diffusers pipelines: how each encodes texts, and how its network is
called."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from evaluator.models.diffusion.noising import Diffusion, Flow, Noising, process_of
from evaluator.models.hub import quiet
from evaluator.models.pretrained import without_incidental

Condition = dict[str, torch.Tensor]
"""The encoded text that conditions a network: tensors by name."""


class Network(ABC):
    """Base class of adapters of a pipeline."""

    component = "transformer"
    """Name of the denoising network among the pipeline's components."""

    learns_by: type[Noising] = Flow
    """How noise is added in training."""

    optional: tuple[str, ...] = ()
    """Components that the pipeline may lack."""

    latents_per_token = 1
    """How many neighbouring latents are packed into the channels of one token."""

    def __init__(self, pipe: Any):
        self.pipe = pipe
        self.model = getattr(pipe, self.component)
        self.process = process_of(pipe.scheduler, self.learns_by)

    @property
    def side(self) -> int:
        """Side in pixels of the square images that the network was made for."""
        size = self.model.config.sample_size
        return int(size if isinstance(size, int) else min(size)) * int(self.pipe.vae_scale_factor)

    @property
    def multiple(self) -> int:
        """Sides of images must be multiples of this many pixels."""
        return int(self.pipe.vae_scale_factor) * 2

    @property
    def longest(self) -> int | None:
        """The longest side of an image in pixels that the network's positions allow; None for no
        limit."""
        return None

    def tokenizers(self) -> list[tuple[Any, int]]:
        """The tokenizers, each with the number of tokens that its text encoder reads."""
        return [(self.pipe.tokenizer, self.pipe.tokenizer.model_max_length)]

    def configurations(self) -> Any:
        """The configuration of each component, without names of folders and versions."""
        configs = {
            part: getattr(component, "config", {})
            for part, component in self.pipe.components.items()
        }
        return {
            part: without_incidental(config.to_dict() if hasattr(config, "to_dict") else config)
            for part, config in configs.items()
        }

    @abstractmethod
    def encode_texts(self, texts: list[str]) -> Condition:
        """The conditions of texts, each tensor with the texts along its first axis."""

    @abstractmethod
    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """The network's prediction (n, c, h, w) for noisy latents (n, c, h, w) at timesteps (n,)
        under n conditions."""


class StableDiffusion(Network):
    """Stable Diffusion 1.x and 2.x."""

    component = "unet"
    learns_by = Diffusion

    @property
    def multiple(self) -> int:
        """The VAE's factor, doubled for each halving of the resolution inside the U-Net."""
        levels = len(self.model.config.block_out_channels)
        return int(self.pipe.vae_scale_factor * 2 ** (levels - 1))

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states."""
        states, _ = self.pipe.encode_prompt(texts, self.pipe.device, 1, False)
        return {"states": states}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """ε or v."""
        return self.model(noisy, timesteps, encoder_hidden_states=condition["states"]).sample


class StableDiffusionXL(StableDiffusion):
    """Stable Diffusion XL, also conditioned on the pooled text and on the image's size, without
    cropping.

    The empty text is encoded as zeros if the model was trained that way.
    """

    def tokenizers(self) -> list[tuple[Any, int]]:
        """The tokenizers of both text encoders."""
        both = (self.pipe.tokenizer, self.pipe.tokenizer_2)
        return [
            (tokenizer, tokenizer.model_max_length) for tokenizer in both if tokenizer is not None
        ]

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states of both encoders and the pooled state of the second."""
        states, _, pooled, _ = self.pipe.encode_prompt(
            texts, device=self.pipe.device, do_classifier_free_guidance=False
        )
        if self.pipe.config.force_zeros_for_empty_prompt:
            given = torch.tensor(
                [float(text != "") for text in texts], device=states.device, dtype=states.dtype
            )
            states, pooled = states * given[:, None, None], pooled * given[:, None]
        return {"states": states, "pooled": pooled}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """ε or v."""
        height, width = (int(side * self.pipe.vae_scale_factor) for side in noisy.shape[-2:])
        sizes = torch.tensor(
            [[height, width, 0, 0, height, width]], device=noisy.device, dtype=noisy.dtype
        )
        added = {"text_embeds": condition["pooled"], "time_ids": sizes.expand(len(noisy), -1)}
        return self.model(
            noisy, timesteps, encoder_hidden_states=condition["states"], added_cond_kwargs=added
        ).sample


class StableDiffusion3(Network):
    """Stable Diffusion 3 and 3.5, with or without the T5 encoder."""

    optional = ("text_encoder_3", "tokenizer_3")

    @property
    def longest(self) -> int:
        """The side in pixels of the square of learnt positions."""
        return int(
            self.model.config.pos_embed_max_size
            * self.model.config.patch_size
            * self.pipe.vae_scale_factor
        )

    def tokenizers(self) -> list[tuple[Any, int]]:
        """Both CLIP tokenizers, and T5 with 256 tokens if the pipeline has it."""
        clip = [
            (each, self.pipe.tokenizer_max_length)
            for each in (self.pipe.tokenizer, self.pipe.tokenizer_2)
        ]
        return clip if self.pipe.tokenizer_3 is None else [*clip, (self.pipe.tokenizer_3, 256)]

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states of all encoders, and the pooled states of both CLIP encoders."""
        states, _, pooled, _ = self.pipe.encode_prompt(
            texts, None, None, device=self.pipe.device, do_classifier_free_guidance=False
        )
        return {"states": states, "pooled": pooled}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """The velocity."""
        return self.model(
            noisy,
            encoder_hidden_states=condition["states"],
            pooled_projections=condition["pooled"],
            timestep=timesteps,
        ).sample


class Flux(Network):
    """FLUX.1: latents are packed in patches of 2×2. A network distilled for guidance gets a
    guidance of 1."""

    latents_per_token = 4

    @property
    def side(self) -> int:
        """The pipeline's default, since the network's configuration has no size."""
        return int(self.pipe.default_sample_size * self.pipe.vae_scale_factor)

    def tokenizers(self) -> list[tuple[Any, int]]:
        """The tokenizers of CLIP and T5."""
        return [(self.pipe.tokenizer, self.pipe.tokenizer_max_length), (self.pipe.tokenizer_2, 512)]

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states of T5 and the pooled state of CLIP."""
        states, pooled, _ = self.pipe.encode_prompt(texts, None, device=self.pipe.device)
        return {"states": states, "pooled": pooled}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """The velocity."""
        n, channels, height, width = noisy.shape
        steps = self.pipe.scheduler.config.num_train_timesteps
        guided = self.model.config.guidance_embeds
        image_ids = self.pipe._prepare_latent_image_ids(
            n, height // 2, width // 2, noisy.device, noisy.dtype
        )
        predicted = self.model(
            hidden_states=self.pipe._pack_latents(noisy, n, channels, height, width),
            timestep=timesteps / steps,
            guidance=torch.ones(n, device=noisy.device) if guided else None,
            pooled_projections=condition["pooled"],
            encoder_hidden_states=condition["states"],
            txt_ids=torch.zeros(condition["states"].shape[1], 3, device=noisy.device),
            img_ids=image_ids,
        ).sample
        factor = self.pipe.vae_scale_factor
        return self.pipe._unpack_latents(predicted, height * factor, width * factor, factor)


NETWORKS: dict[str, type[Network]] = {
    "StableDiffusionPipeline": StableDiffusion,
    "StableDiffusionXLPipeline": StableDiffusionXL,
    "StableDiffusion3Pipeline": StableDiffusion3,
    "FluxPipeline": Flux,
}


_TEXTS = 16
"""Texts per batch of the text encoders."""
_KEPT_BYTES = 2**30


class ConditionCache:
    """The conditions of texts, float32 on the CPU; the least recently used are dropped above 1
    GiB."""

    def __init__(self, network: Network):
        self._network = network
        self._kept: dict[str, Condition] = {}

    def stacked(self, texts: Sequence[str], device: torch.device) -> Condition:
        """The conditions of texts on a device, each tensor with the texts along its first axis."""
        distinct = list(dict.fromkeys(texts))
        new = [text for text in distinct if text not in self._kept]
        for start in range(0, len(new), _TEXTS):
            some = new[start : start + _TEXTS]
            with quiet(), torch.autocast(self._network.pipe.device.type, enabled=False):
                conditions = self._network.encode_texts(some)
            for row, text in enumerate(some):
                self._kept[text] = {
                    name: tensor[row].float().cpu().clone() for name, tensor in conditions.items()
                }
        for text in distinct:  # most recently used last
            self._kept[text] = self._kept.pop(text)
        found = [self._kept[text] for text in distinct]
        room = _KEPT_BYTES // sum(tensor.nbytes for tensor in found[0].values())
        for text in list(self._kept)[: max(0, len(self._kept) - room)]:
            del self._kept[text]
        place = torch.tensor([distinct.index(text) for text in texts], device=device)
        return {
            name: torch.stack([each[name] for each in found]).to(device)[place] for name in found[0]
        }
