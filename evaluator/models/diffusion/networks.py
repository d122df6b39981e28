"""Adapters of the supported diffusers pipelines: how each encodes texts, and how its network is
called.

To support another pipeline, write a subclass of Network and add it to NETWORKS by its class name.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from evaluator.models.diffusion.noising import Diffusion, Flow, Noising, process_of
from evaluator.models.hub import quiet
from evaluator.models.pretrained import without_incidental

_SD3_T5_TOKENS, _FLUX_T5_TOKENS = 256, 512
"""Tokens that T5 reads by default of the pipelines' `encode_prompt`."""
Condition = dict[str, torch.Tensor]
"""The encoded text that conditions a network: tensors by name."""


class Network(ABC):
    """Base class of adapters of a pipeline. A subclass says how texts are encoded and how the
    network is called; it may override the other members.

    Args:
        pipe: The pipeline of diffusers.
    """

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
        # Some networks give a height and a width of latents.
        side = size if isinstance(size, int) else min(size)
        return int(side) * int(self.pipe.vae_scale_factor)

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
        configs = {}
        for part, component in self.pipe.components.items():
            config = getattr(component, "config", {})
            settings = config.to_dict() if hasattr(config, "to_dict") else config
            configs[part] = without_incidental(settings)
        return configs

    @abstractmethod
    def encode_texts(self, texts: list[str]) -> Condition:
        """Encode texts.

        Args:
            texts: The texts.

        Returns:
            The conditions, each tensor with the texts along its first axis.
        """

    @abstractmethod
    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """Call the network.

        Args:
            noisy: Noisy latents (n, c, h, w).
            timesteps: Their timesteps (n,).
            condition: n conditions.

        Returns:
            The network's prediction (n, c, h, w).
        """


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
        tokenizers = []
        for tokenizer in (self.pipe.tokenizer, self.pipe.tokenizer_2):
            if tokenizer is not None:
                tokenizers.append((tokenizer, tokenizer.model_max_length))
        return tokenizers

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states of both encoders and the pooled state of the second."""
        states, _, pooled, _ = self.pipe.encode_prompt(
            texts, device=self.pipe.device, do_classifier_free_guidance=False
        )
        if self.pipe.config.force_zeros_for_empty_prompt:
            weights = [float(text != "") for text in texts]
            is_text = torch.tensor(weights, device=states.device, dtype=states.dtype)
            states = states * is_text[:, None, None]
            pooled = pooled * is_text[:, None]
        return {"states": states, "pooled": pooled}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """ε or v."""
        factor = self.pipe.vae_scale_factor
        height = int(noisy.shape[-2] * factor)
        width = int(noisy.shape[-1] * factor)
        # The original size, the corner of the crop, and the size that is asked for.
        time_ids = [height, width, 0, 0, height, width]
        sizes = torch.tensor([time_ids], device=noisy.device, dtype=noisy.dtype)
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
        tokenizers = [
            (tokenizer, self.pipe.tokenizer_max_length)
            for tokenizer in (self.pipe.tokenizer, self.pipe.tokenizer_2)
        ]
        if self.pipe.tokenizer_3 is not None:
            tokenizers.append((self.pipe.tokenizer_3, _SD3_T5_TOKENS))
        return tokenizers

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
        clip = (self.pipe.tokenizer, self.pipe.tokenizer_max_length)
        return [clip, (self.pipe.tokenizer_2, _FLUX_T5_TOKENS)]

    def encode_texts(self, texts: list[str]) -> Condition:
        """Hidden states of T5 and the pooled state of CLIP."""
        states, pooled, _ = self.pipe.encode_prompt(texts, None, device=self.pipe.device)
        return {"states": states, "pooled": pooled}

    def predict(
        self, noisy: torch.Tensor, timesteps: torch.Tensor, condition: Condition
    ) -> torch.Tensor:
        """The velocity."""
        n, channels, height, width = noisy.shape
        states = condition["states"]
        # The network takes times in 0..1.
        times = timesteps / self.pipe.scheduler.config.num_train_timesteps
        takes_guidance = self.model.config.guidance_embeds
        guidance = torch.ones(n, device=noisy.device) if takes_guidance else None
        image_ids = self.pipe._prepare_latent_image_ids(
            n, height // 2, width // 2, noisy.device, noisy.dtype
        )
        # Tokens of the text have no position in the image.
        text_ids = torch.zeros(states.shape[1], 3, device=noisy.device)
        predicted = self.model(
            hidden_states=self.pipe._pack_latents(noisy, n, channels, height, width),
            timestep=times,
            guidance=guidance,
            pooled_projections=condition["pooled"],
            encoder_hidden_states=states,
            txt_ids=text_ids,
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


_TEXTS_AT_ONCE = 16
"""Texts per batch of the text encoders."""
_MOST_BYTES = 2**30
"""Bytes of conditions in memory."""


class ConditionCache:
    """The conditions of texts, float32 on the CPU; the least recently used are dropped above 1
    GiB."""

    def __init__(self, network: Network):
        self._network = network
        self._conditions: dict[str, Condition] = {}

    def stacked(self, texts: Sequence[str], device: torch.device) -> Condition:
        """The conditions of texts on a device, each tensor with the texts along its first axis."""
        distinct = list(dict.fromkeys(texts))
        self._encode([text for text in distinct if text not in self._conditions])
        conditions = [self._use(text) for text in distinct]

        # A dictionary is in the order of insertion: the least recently used come first.
        bytes_of_text = sum(tensor.nbytes for tensor in conditions[0].values())
        surplus = len(self._conditions) - _MOST_BYTES // bytes_of_text
        for text in list(self._conditions)[: max(0, surplus)]:
            del self._conditions[text]

        index_of = {text: index for index, text in enumerate(distinct)}
        index = torch.tensor([index_of[text] for text in texts], device=device)
        stacked = {}
        for name in conditions[0]:
            tensors = torch.stack([condition[name] for condition in conditions])
            stacked[name] = tensors.to(device)[index]
        return stacked

    def _encode(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            part = list(texts[start : start + _TEXTS_AT_ONCE])
            # In float32 whatever the run's precision: protocols compare texts.
            with quiet(), torch.autocast(self._network.pipe.device.type, enabled=False):
                encoded = self._network.encode_texts(part)
            for row, text in enumerate(part):
                # Clones: a view would keep the tensor of the whole batch in memory.
                condition = {}
                for name, tensor in encoded.items():
                    condition[name] = tensor[row].float().cpu().clone()
                self._conditions[text] = condition

    def _use(self, text: str) -> Condition:
        """The condition of a text, which becomes the most recently used."""
        condition = self._conditions.pop(text)
        self._conditions[text] = condition
        return condition
