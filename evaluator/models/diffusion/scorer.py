"""Diffusion Classifier as a PairScorer (registry.py)."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.device import out_of_memory
from evaluator.models.diffusion.networks import Condition, Network, quiet
from evaluator.models.diffusion.racing import race
from evaluator.models.diffusion.samples import image_digest, levels, noise
from evaluator.models.diffusion.schedules import Preset
from generator.dataset.commands import say
from generator.dataset.errors import UserError

UNCONDITIONAL = ""
_TEXTS = 16
_KEPT_BYTES = 2**30
_WIDEST = 2.0
_LOSSES: dict[str, Callable[..., torch.Tensor]] = {"l2": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss}


@dataclass
class Evaluations:
    """How often the network was asked about one noisy image and one text."""

    total: int = 0
    """Since loading, the unconditional ones included."""

    pairs: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Of each pair of the last call, int64 (pairs,)."""

    unconditional: int = 0
    """Without a text, in the last call: once a sample for all the pairs of an image."""


class DiffusionClassifier:
    """A pipeline of diffusers as a PairScorer; a score is minus an error, so higher is better.

    `relative` is minus the mean difference of a text's error to the unconditional one, over the samples that the text
    had. `conditional` is minus the error: the unconditional one of all the image's samples, plus that difference. Within
    an image both rank alike; between images, use `relative`, as the error without a text says how hard an image is.
    """

    channels = ("conditional", "relative")

    def __init__(self, network: Network, preset: Preset, device: torch.device, batch: int | None = None):
        self._network, self._preset, self._device = network, preset, device
        self._batch = batch or (128 if device.type == "cuda" else 8)
        self._order = preset.schedule.order(preset.seed)
        self._conditions = _Conditions(network)
        self.passes = preset.schedule.total
        self.contested = preset.schedule.early
        self.evaluations = Evaluations()
        self.info: dict[str, Any] = {
            "pipeline": type(network.pipe).__name__,
            "scheduler": type(network.pipe.scheduler).__name__,
            "prediction": network.process.finds,
            "resolution": f"{network.side} × {network.side}",
            "preset": ",".join((preset.name, *preset.changed)),
            "samples": str(preset.schedule),
            "loss": preset.loss,
            "seed": preset.seed,
            "preprocessing": _preprocessing(network, preset),
            "text_length": max(length for _, length in network.lengths()),
            "precision": "float32",
            "device": str(device),
        }
        self.key = ""

    def identify(self, name: str, digest: str, parameters: int, configurations: Any) -> None:
        """Say what was loaded, from which the key follows."""
        self.info = {"weights": name, "weights_sha256": digest, "parameters": parameters, **self.info}
        told = {name: value for name, value in self.info.items() if name not in ("weights", "device", "preset")}
        told |= {"confidence": self._preset.schedule.confidence, "stages": self._preset.schedule.stages}
        parts = [told, configurations, self._device.type]
        self.key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of all tokenizers beside one another, int64 (n, length)."""
        return self._network.tokens(texts)

    @torch.inference_mode()
    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """Scores, float32 (pairs, channels). Without `contests`, the texts of one image are compared with one another."""
        rows = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        row_of = [rows[pair] for pair in pairs]
        questions = _Questions(self, images, list(rows))
        groups = questions.by_image() if contests is None else [[row_of[i] for i in contest] for contest in contests]
        outcome = race(len(rows), groups, self._preset.schedule, self._order, questions.differences)
        self.evaluations.pairs = outcome.samples[row_of]
        self.evaluations.unconditional = questions.unconditional_evaluations
        conditional = outcome.errors + np.array([questions.unconditional(image) for image, _ in rows])
        scores = -np.stack([conditional, outcome.errors], axis=1)[row_of]
        return scores.astype(np.float32).reshape(len(pairs), len(self.channels))

    def latent(self, image: Image.Image) -> torch.Tensor:
        """The mean of the VAE's latent, shifted and scaled as the network was trained, float32 (c, h, w)."""
        pixels = torch.from_numpy(np.array(self.fitted(image), dtype=np.float32)).permute(2, 0, 1) / 127.5 - 1
        vae = self._network.pipe.vae
        with torch.autocast(self._device.type, enabled=False):
            mean = vae.encode(pixels[None].to(self._device)).latent_dist.mean.float()
        config = vae.config
        if getattr(config, "latents_mean", None) is not None and getattr(config, "latents_std", None) is not None:
            middle, spread = (
                mean.new_tensor(each)[:, None, None] for each in (config.latents_mean, config.latents_std)
            )
            return ((mean - middle) * config.scaling_factor / spread)[0]
        latent: torch.Tensor = (mean - (getattr(config, "shift_factor", None) or 0)) * config.scaling_factor
        return latent[0]

    def fitted(self, image: Image.Image) -> Image.Image:
        """An RGB image of a size that the network takes."""
        side, width, height = self._network.side, *image.size
        if self._preset.fit == "crop":
            shorter = min(width, height)
            width, height = side * width // shorter, side * height // shorter
            left, top = round((width - side) / 2), round((height - side) / 2)
            resized = image.resize((width, height), Image.Resampling.BICUBIC)
            return resized.crop((left, top, left + side, top + side))
        ratio = min(_WIDEST, max(1 / _WIDEST, width / height)) ** 0.5
        size = [max(1, round(each / self._network.multiple)) * self._network.multiple for each in (side * ratio, side / ratio)]  # fmt: skip
        if width == height:
            size = [side, side]
        return image.resize((size[0], size[1]), Image.Resampling.BICUBIC)

    def errors(self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray) -> np.ndarray:
        """Errors of an image's latent, float64 (texts, samples): one evaluation each."""
        found = np.empty((len(samples), len(texts)))
        start = 0
        while start < found.size:
            part = np.arange(start, min(start + self._batch, found.size))
            try:
                found.flat[part] = self._batch_errors(latent, digest, texts, samples, part)
            except Exception as error:
                if not out_of_memory(error):
                    raise
                if self._batch == 1:
                    raise UserError(
                        "There is no memory for one evaluation of the diffusion model; choose --device cpu or a smaller model."
                    ) from None
                self._batch = max(1, len(part) // 2)
                say(f"Out of memory: going on with batches of {self._batch}.")
                continue
            start = int(part[-1]) + 1
        self.evaluations.total += found.size
        return found.T

    def _batch_errors(
        self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray, part: np.ndarray
    ) -> np.ndarray:
        process, device = self._network.process, self._device
        drawn, of_drawn = np.unique(part // len(texts), return_inverse=True)
        noises = np.stack([noise(digest, self._preset.seed, int(samples[i]), tuple(latent.shape)) for i in drawn])
        of_noise = torch.from_numpy(noises).to(device)
        level = torch.from_numpy(levels(self._preset.schedule.total)[samples[drawn]])
        noisy = process.noisy(latent, of_noise, level)
        target = process.target(latent, of_noise, level).expand_as(of_noise)
        timesteps = process.timesteps(level).to(device)
        chosen = torch.from_numpy(of_drawn).to(device)
        condition = self._conditions.stacked([texts[i] for i in part % len(texts)], device)
        found = self._network.find(noisy[chosen], timesteps[chosen], condition).float()
        errors: np.ndarray = (
            _LOSSES[self._preset.loss](found, target[chosen], reduction="none").mean((1, 2, 3)).double().cpu().numpy()
        )
        return errors


class _Questions:
    """The distinct pairs of one call, and the unconditional errors that they share by image."""

    def __init__(self, classifier: DiffusionClassifier, images: Sequence[Image.Image], pairs: list[tuple[int, str]]):
        self._classifier, self._pairs = classifier, pairs
        self._digest = {place: image_digest(images[place]) for place, _ in pairs}
        self._latent = {place: classifier.latent(images[place]) for place in self._digest}
        self._without: dict[int, list[float]] = {place: [] for place in self._digest}
        self.unconditional_evaluations = 0

    def by_image(self) -> list[list[int]]:
        """The rows of each image."""
        return [[row for row, (place, _) in enumerate(self._pairs) if place == image] for image in self._digest]

    def unconditional(self, image: int) -> float:
        """The mean unconditional error over all samples that the image had."""
        return float(np.mean(self._without[image]))

    def differences(self, rows: list[int], samples: np.ndarray) -> np.ndarray:
        """Errors of some pairs less the unconditional ones, float64 (rows, samples)."""
        found = np.empty((len(rows), len(samples)))
        of_image: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            of_image.setdefault(self._pairs[row][0], []).append(place)
        for image, places in of_image.items():
            texts = [UNCONDITIONAL, *(self._pairs[rows[place]][1] for place in places)]
            distinct = list(dict.fromkeys(texts))
            errors = self._classifier.errors(self._latent[image], self._digest[image], distinct, samples)
            found[places] = errors[[distinct.index(text) for text in texts[1:]]] - errors[0]
            self._without[image] += errors[0].tolist()
            self.unconditional_evaluations += len(samples)
        return found


class _Conditions:
    """What the network is told of each text: computed once, the latest kept in main memory."""

    def __init__(self, network: Network):
        self._network = network
        self._kept: OrderedDict[str, Condition] = OrderedDict()
        self._bytes = 0

    def stacked(self, texts: Sequence[str], device: torch.device) -> Condition:
        """The conditions of some texts, along a first axis."""
        distinct = list(dict.fromkeys(texts))
        new = [text for text in distinct if text not in self._kept]
        for start in range(0, len(new), _TEXTS):
            self._read(new[start : start + _TEXTS])
        for text in distinct:
            self._kept.move_to_end(text)
        place = torch.tensor([distinct.index(text) for text in texts], device=device)
        stacked = {
            name: torch.stack([self._kept[text][name] for text in distinct]).to(device)[place]
            for name in self._kept[distinct[0]]
        }
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return stacked

    def _read(self, texts: list[str]) -> None:
        with quiet(), torch.autocast(self._network.pipe.device.type, enabled=False):
            conditions = self._network.read(texts)
        for row, text in enumerate(texts):
            self._kept[text] = {name: tensor[row].float().cpu().clone() for name, tensor in conditions.items()}
            self._bytes += _size(self._kept[text])


def _size(condition: Condition) -> int:
    return sum(tensor.nbytes for tensor in condition.values())


def _preprocessing(network: Network, preset: Preset) -> str:
    size = (
        f"bicubic to a shorter side of {network.side}, centre crop"
        if preset.fit == "crop"
        else f"bicubic to the area of {network.side} × {network.side}, whole image, sides multiples of {network.multiple}"
    )
    return f"{size} → VAE latent mean × {network.pipe.vae.config.scaling_factor}"
