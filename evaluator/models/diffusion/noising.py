"""Noise for diffusion models: levels and order of an image's samples, how a pipeline adds noise,
and the target that its network is trained to predict.

Sample i of n has the noise level (i + ½)/n. Its noise depends only on the seed, the image's content
and i, so all texts of an image get the same noise, in any batches.
"""

import hashlib
from typing import Any, TypeAlias

import numpy as np
import torch
from PIL import Image

from generator.base.errors import UserError


class Diffusion:
    """Diffusion in discrete timesteps: √ᾱ x + √(1 − ᾱ) ε of a latent x and noise ε, as in
    diffusers' DDPMScheduler.

    The network predicts ε, or v = √ᾱ ε − √(1 − ᾱ) x (Salimans & Ho 2022). Raises UserError for
    other predictions.
    """

    SCHEDULERS = (
        "DDPM DDPMParallel DDIM DDIMParallel PNDM LMSDiscrete EulerDiscrete EulerAncestralDiscrete "
        "HeunDiscrete KDPM2Discrete KDPM2AncestralDiscrete DPMSolverMultistep DPMSolverSinglestep "
        "DPMSolverSDE DEISMultistep UniPCMultistep SASolver LCM TCD"
    )
    """Schedulers of diffusers that add noise in this way in training; they differ only in
    generation."""

    def __init__(self, scheduler_config: Any):
        from diffusers import DDPMScheduler

        self._scheduler: Any = DDPMScheduler.from_config(scheduler_config)
        self.prediction = self._scheduler.config.prediction_type
        if self.prediction not in ("epsilon", "v_prediction"):
            raise UserError(
                f"Expected a scheduler that predicts epsilon or v_prediction, got "
                f"'{self.prediction}'; name another pipeline."
            )

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """The timesteps that the network gets for the levels (n,): whole numbers from 0, int64
        (n,)."""
        return (levels.double() * self._scheduler.config.num_train_timesteps).long()

    def add_noise(
        self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor
    ) -> torch.Tensor:
        """Mix a latent with noise.

        Args:
            latent: Float (c, h, w), or one for each noise (n, c, h, w).
            noise: Standard normal, (n, c, h, w).
            levels: Float (n,) in (0, 1); 0 is the latent, 1 the noise.

        Returns:
            The noisy latents, (n, c, h, w).
        """
        return self._scheduler.add_noise(latent.expand_as(noise), noise, self.timesteps(levels))

    def target(
        self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor
    ) -> torch.Tensor:
        """Compute what the network is to predict: ε or v.

        Args:
            latent: As for `add_noise`.
            noise: As for `add_noise`.
            levels: As for `add_noise`.

        Returns:
            The target, (n, c, h, w).
        """
        if self.prediction == "epsilon":
            return noise
        return self._scheduler.get_velocity(latent.expand_as(noise), noise, self.timesteps(levels))


class Flow:
    """Rectified flow (Liu et al. 2022): (1 − σ) x + σ ε. The network predicts the velocity ε −
    x."""

    SCHEDULERS = "FlowMatchEulerDiscrete FlowMatchHeunDiscrete FlowMatchLCM"
    prediction = "velocity"

    def __init__(self, scheduler_config: Any):
        self._steps = scheduler_config.get("num_train_timesteps", 1000)

    def timesteps(self, levels: torch.Tensor) -> torch.Tensor:
        """σ times the number of training timesteps, float32 (n,)."""
        return levels.float() * self._steps

    def add_noise(
        self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor
    ) -> torch.Tensor:
        """As Diffusion.add_noise."""
        sigma = levels.to(noise)[:, None, None, None]
        return (1 - sigma) * latent + sigma * noise

    def target(
        self, latent: torch.Tensor, noise: torch.Tensor, levels: torch.Tensor
    ) -> torch.Tensor:
        """As Diffusion.target."""
        return noise - latent


Noising: TypeAlias = Diffusion | Flow


def process_of(scheduler: Any, kind: type[Noising]) -> Noising:
    """Make the noising process of a pipeline.

    Args:
        scheduler: The scheduler of the pipeline.
        kind: The process that its network was trained with.

    Returns:
        The process with the scheduler's settings.

    Raises:
        UserError: The scheduler is of another process, or has settings that replace the process of
            the class.
    """
    name = type(scheduler).__name__
    known = [f"{scheduler_name}Scheduler" for scheduler_name in kind.SCHEDULERS.split()]
    if name not in known:
        raise UserError(
            f"The scheduler {name} is not supported for this pipeline; expected one of: "
            f"{', '.join(known)}."
        )
    for setting in ("use_flow_sigmas", "invert_sigmas"):
        if scheduler.config.get(setting):
            raise UserError(
                f"The scheduler {name} has {setting} set, which replaces the process of its class; "
                f"name a pipeline without it."
            )
    return kind(scheduler.config)


def levels(total: int) -> np.ndarray:
    """Evenly spaced noise levels of `total` samples, float64 (total,) in (0, 1).

    >>> levels(4).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    return (np.arange(total) + 0.5) / total


def staged_order(stages: tuple[int, ...]) -> np.ndarray:
    """An order of samples 0 … stages[-1] − 1, int64, whose first stages[k] are evenly spaced for
    every k.

    >>> staged_order((3, 12)).tolist()
    [2, 6, 10, 0, 1, 3, 4, 5, 7, 8, 9, 11]
    """
    total = stages[-1]
    order: list[int] = []
    for stage in stages:
        taken = set(order)
        remaining = [sample for sample in range(total) if sample not in taken]
        order += _evenly_spaced(remaining, stage - len(order))
    return np.array(order, dtype=np.int64)


def _evenly_spaced(samples: list[int], count: int) -> list[int]:
    """`count` samples at the centres of as many equal parts of a list."""
    chosen = []
    for i in range(count):
        # The centre of part i, (i + 1/2) / count of the list, in whole numbers.
        chosen.append(samples[(2 * i + 1) * len(samples) // (2 * count)])
    return chosen


def nested_order(total: int, seed: int) -> np.ndarray:
    """Draw a random order of samples in which every prefix covers the range evenly (Owen 1995).

    The range is halved again and again. Samples alternate between the halves, and chance decides
    which half comes first. So each of 2^k equal parts holds one of the first 2^k samples, at a
    random place.

    Args:
        total: The number of samples.
        seed: Of the order.

    Returns:
        int64 (total,): each of 0..total − 1 once.
    """
    rng = np.random.default_rng([seed, 1])

    def order_of(first: int, count: int) -> np.ndarray:
        """The order of the samples first … first + count − 1."""
        if count == 1:
            return np.array([first], dtype=np.int64)
        # Of an odd number, chance decides which half is larger.
        left = count // 2 if rng.random() < 0.5 else count - count // 2
        halves = [order_of(first, left), order_of(first + left, count - left)]
        # The larger half comes first, so that both are used up; of equal halves, chance decides.
        if len(halves[0]) == len(halves[1]) and rng.random() < 0.5:
            halves.reverse()
        halves.sort(key=len, reverse=True)
        alternating = np.empty(count, dtype=np.int64)
        alternating[0::2], alternating[1::2] = halves
        return alternating

    return order_of(0, total)


def image_digest(image: Image.Image) -> str:
    """SHA-256 (hex) of an RGB image's size and pixels."""
    return hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest()


def noise(digest: str, seed: int, sample: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw the noise of one sample of one image.

    Args:
        digest: Digest of the image.
        seed: Of the model's evaluation.
        sample: Number of the sample.
        shape: Shape of the latent.

    Returns:
        Standard normal noise, float32 of this shape.
    """
    # Philox takes a key of 128 bits: noise depends on the image, seed and sample alone, whatever
    # was drawn before.
    key = hashlib.sha256(f"{digest} {seed} {sample}".encode()).digest()
    philox = np.random.Philox(key=np.frombuffer(key[:16], dtype=np.uint64))
    return np.random.Generator(philox).standard_normal(shape, dtype=np.float32)
