"""Diffusion Classifier (Li et al. 2023) as a PairScorer."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F
from torchvision import transforms

from evaluator.models.contracts import BatchSize, Contests, Pairs, PairScorer, cache_key
from evaluator.models.diffusion.networks import ConditionCache, Network
from evaluator.models.diffusion.noising import image_digest, levels, noise
from evaluator.models.diffusion.schedules import Fit, Schedule, Settings
from evaluator.models.hub import quiet
from evaluator.models.network import describe_network

UNCONDITIONAL = ""
_WIDEST = 2.0
"""Largest aspect ratio of an image."""
_FINE = 2e-7
"""Tie tolerance of errors in float32. Errors are about 0.01 to 1. Rounding changes them by up to
1e-7, another text often by less than 1e-5."""
_LOSSES: dict[str, Callable[..., torch.Tensor]] = {
    "l2": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
}


class DiffusionClassifier(PairScorer):
    """A pipeline of diffusers as a PairScorer. Scores are minus errors, so that higher is better.

    `relative` is minus the mean difference between a text's error and the unconditional error, over
    the text's samples.
    `conditional` is minus the error: that difference plus the mean unconditional error over all
    samples of the image.
    Within an image both give the same ranking. Between images use `relative`, because the
    unconditional error measures
    how hard the image is.
    """

    channels = ("conditional", "relative")
    image_channel = "relative"
    tie_tolerance = _FINE
    counts: dict[str, int]

    def __init__(self, adapter: Network, settings: Settings, device: torch.device, name: str):
        """adapter: the pipeline on its device. name: what was loaded, for run.json."""
        self.adapter, self._settings, self.device = adapter, settings, device
        self.batch = BatchSize(
            128 if device.type == "cuda" else 8, "evaluation of the diffusion model"
        )
        schedule = settings.schedule
        self._order = schedule.order(settings.seed)
        self._conditions = ConditionCache(adapter)
        self.passes, self.contested = schedule.total, schedule.early
        self.counts = {"evaluations": 0}
        size = f"bicubic to a shorter side of {adapter.side}, centre crop"
        if settings.fit == "whole":
            longest = f", at most {adapter.longest}" if adapter.longest else ""
            size = (
                f"bicubic to the area of {adapter.side} × {adapter.side}, whole image, sides "
                f"multiples of {adapter.multiple}{longest}"
            )
        self.info = describe_network(name, self.network, device) | {
            "preset": settings.preset,
            "pipeline": type(adapter.pipe).__name__,
            "scheduler": type(adapter.pipe.scheduler).__name__,
            "prediction": adapter.process.prediction,
            "samples": str(schedule),
            "loss": settings.loss,
            "seed": settings.seed,
            "preprocessing": f"{size} → VAE latent mean × {adapter.pipe.vae.config.scaling_factor}",
            "text_length": max(length for _, length in adapter.tokenizers()),
        }
        decides = {
            key: value
            for key, value in self.info.items()
            if key not in ("weights", "preset", "device")
        }
        self.key = cache_key(
            decides, schedule.confidence, schedule.stages, adapter.configurations(), device.type
        )

    @property
    def network(self) -> torch.nn.ModuleDict:
        """The networks of the pipeline by component."""
        parts = self.adapter.pipe.components.items()
        return torch.nn.ModuleDict(
            {name: part for name, part in parts if isinstance(part, torch.nn.Module)}
        )

    def describe_cost(self, pairs: int, images: int) -> str:
        """A sentence with the number of network evaluations that the pairs and images take."""
        most = "at most " * self.contested
        return (
            f"{pairs:,} pairs of image and text to score, and {images:,} images without a text: "
            f"{most}{self.passes:,} evaluations each ({most}{(pairs + images) * self.passes:,} "
            f"evaluations, fewer where cached)."
        )

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before truncation, start and end included: the maximum
        over all tokenizers."""
        with quiet():
            found = [
                each(list(texts), verbose=False)["input_ids"]
                for each, _ in self.adapter.tokenizers()
                if texts
            ]
        return [max(map(len, rows)) for rows in zip(*found, strict=True)]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of all tokenizers side by side, int64 (n, length)."""
        with quiet():  # the run itself reports truncated texts
            rows = [
                tokenizer(list(texts), padding="max_length", truncation=True, max_length=length)[
                    "input_ids"
                ]
                for tokenizer, length in self.adapter.tokenizers()
            ]
        return np.concatenate(
            [np.array(ids, dtype=np.int64).reshape(len(texts), -1) for ids in rows], axis=1
        )

    @torch.inference_mode()
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs. Without `contests`, the texts of each image are compared with
        one another."""
        rows = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        row_of = [rows[pair] for pair in pairs]
        errors = _PairErrors(self, images, list(rows))
        groups = (
            errors.by_image()
            if contests is None
            else [[row_of[i] for i in contest] for contest in contests]
        )
        relative = eliminate(
            len(rows), groups, self._settings.schedule, self._order, errors.differences
        )
        conditional = relative + np.array([errors.unconditional(image) for image, _ in rows])
        scores = -np.stack([conditional, relative], axis=1)[row_of]
        return scores.astype(np.float32).reshape(len(pairs), len(self.channels))

    def latent(self, image: Image.Image) -> torch.Tensor:
        """Latent of an RGB image, float32 (c, h, w)."""
        fitted = fit_image(
            image,
            self.adapter.side,
            self.adapter.multiple,
            self._settings.fit,
            self.adapter.longest,
        )
        return encode_latent(self.adapter.pipe, fitted)

    def errors(
        self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray
    ) -> np.ndarray:
        """Errors of the network on an image's latent, float64 (texts, samples): one evaluation
        each."""
        found = np.empty((len(samples), len(texts)))

        def compute(part: Sequence[int]) -> np.ndarray:
            return self._batch_errors(latent, digest, texts, samples, np.array(part))

        for part, errors in self.batch.run(compute, range(found.size)):
            found.flat[np.array(part)] = errors
        self.counts["evaluations"] += found.size
        return found.T

    def _batch_errors(
        self,
        latent: torch.Tensor,
        digest: str,
        texts: Sequence[str],
        samples: np.ndarray,
        part: np.ndarray,
    ) -> np.ndarray:
        """Errors, float64 (part,), of the cells `part` of the table (samples, texts), numbered row
        by row."""
        process, device = self.adapter.process, self.device
        drawn, of_drawn = np.unique(part // len(texts), return_inverse=True)
        noises = np.stack(
            [
                noise(digest, self._settings.seed, int(samples[i]), tuple(latent.shape))
                for i in drawn
            ]
        )
        added = torch.from_numpy(noises).to(device)
        level = torch.from_numpy(levels(self._settings.schedule.total)[samples[drawn]])
        noisy = process.add_noise(latent, added, level)
        target = process.target(latent, added, level).expand_as(added)
        timesteps = process.timesteps(level).to(device)
        chosen = torch.from_numpy(of_drawn).to(device)
        condition = self._conditions.stacked([texts[i] for i in part % len(texts)], device)
        predicted = self.adapter.predict(noisy[chosen], timesteps[chosen], condition).float()
        losses = _LOSSES[self._settings.loss](predicted, target[chosen], reduction="none").mean(
            (1, 2, 3)
        )
        return np.asarray(losses.cpu().double().numpy())


class _PairErrors:
    """Errors of the distinct pairs of a call, and the unconditional errors that pairs of the same
    image share."""

    def __init__(
        self,
        classifier: DiffusionClassifier,
        images: Sequence[Image.Image],
        pairs: list[tuple[int, str]],
    ):
        self._classifier, self._pairs = classifier, pairs
        self._digest = {image: image_digest(images[image]) for image, _ in pairs}
        self._latent = {image: classifier.latent(images[image]) for image in self._digest}
        self._unconditional: dict[int, list[float]] = {image: [] for image in self._digest}

    def by_image(self) -> list[list[int]]:
        """The rows of the pairs of each image."""
        return [
            [row for row, (image, _) in enumerate(self._pairs) if image == each]
            for each in self._digest
        ]

    def unconditional(self, image: int) -> float:
        """Mean unconditional error over all samples of the image."""
        return float(np.mean(self._unconditional[image]))

    def differences(self, rows: list[int], samples: np.ndarray) -> np.ndarray:
        """Errors of pairs minus the unconditional errors at the same samples, float64 (rows,
        samples)."""
        found = np.empty((len(rows), len(samples)))
        of_image: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            of_image.setdefault(self._pairs[row][0], []).append(place)
        for image, places in of_image.items():
            texts = [UNCONDITIONAL, *(self._pairs[rows[place]][1] for place in places)]
            distinct = list(dict.fromkeys(texts))
            errors = self._classifier.errors(
                self._latent[image], self._digest[image], distinct, samples
            )
            found[places] = errors[[distinct.index(text) for text in texts[1:]]] - errors[0]
            self._unconditional[image] += errors[0].tolist()
        return found


def eliminate(
    texts: int,
    contests: Sequence[Sequence[int]],
    schedule: Schedule,
    order: np.ndarray,
    measure: Callable[[list[int], np.ndarray], np.ndarray],
) -> np.ndarray:
    """Mean errors of texts 0 … texts − 1 under a schedule, float64 (texts,), each over the samples
    that the text got.

    `measure` gives errors, float64 (texts, samples), of texts at samples. `order` is the order in
    which samples are
    taken, int64 (schedule.total,). A text without rivals gets all samples. If the mean of an
    eliminated text is below
    its winner's, which had more samples, it is set to the winner's mean plus their difference at
    the elimination.
    """
    table = np.full((texts, schedule.total), np.nan)
    running = [sorted(set(contest)) for contest in contests if len(set(contest)) > 1]
    alone = set(range(texts)).difference(*running)
    beats = nx.DiGraph()  # edges from winner to loser: difference of their means, number of samples
    for stage, (before, n) in enumerate(pairwise((0, *schedule.stages))):
        active = sorted(alone.union(*running))
        if not active:
            break
        table[np.array(active)[:, None], order[before:n]] = measure(active, order[before:n])
        by_level = np.sort(order[:n])
        for place, contest in enumerate(running):
            errors = table[np.array(contest)[:, None], by_level]
            beaten = schedule.beaten(errors, stage)
            means = errors.mean(1)
            best = int(means.argmin())
            for i in np.flatnonzero(beaten):
                beats.add_edge(contest[best], contest[i], by=float(means[i] - means[best]), after=n)
            running[place] = [text for text, out in zip(contest, beaten, strict=True) if not out]
        running = [contest for contest in running if len(contest) > 1]
    return _agreeing(np.nanmean(table, axis=1), beats)


def _agreeing(errors: np.ndarray, beats: nx.DiGraph) -> np.ndarray:
    """Raises each eliminated text's error above its winner's, so that final scores agree with the
    eliminations.

    If eliminations form a cycle, those after the fewest samples are dropped.
    """
    while not nx.is_directed_acyclic_graph(beats):
        beats.remove_edge(*min(nx.find_cycle(beats), key=lambda edge: beats.edges[edge]["after"]))
    for winner in nx.topological_sort(beats):
        for loser, edge in beats[winner].items():
            if errors[loser] < errors[winner]:
                errors[loser] = errors[winner] + edge["by"]
    return errors


def fit_image(
    image: Image.Image, side: int, multiple: int, fit: Fit, longest: int | None = None
) -> Image.Image:
    """Resize (bicubic) for a network that was made for squares of `side` pixels.

    `whole` keeps the image's proportions, up to 2 : 1, at the area of the square; sides are rounded
    to multiples of
    `multiple` pixels, and no side is above `longest`: an image that would be longer gets a smaller
    area. `crop` resizes
    the shorter side to `side` and crops the centre.
    """
    if fit == "crop":
        return transforms.CenterCrop(side)(
            transforms.Resize(side, transforms.InterpolationMode.BICUBIC)(image)
        )
    if image.width == image.height:
        return image.resize((side, side), Image.Resampling.BICUBIC)
    ratio = min(_WIDEST, max(1 / _WIDEST, image.width / image.height)) ** 0.5
    shrink = min(1.0, (longest or math.inf) / (side * max(ratio, 1 / ratio)))
    columns, rows = (
        max(1, round(each * shrink / multiple)) * multiple for each in (side * ratio, side / ratio)
    )
    return image.resize((columns, rows), Image.Resampling.BICUBIC)


def encode_latent(pipe: Any, image: Image.Image) -> torch.Tensor:
    """Mean of the VAE's latent of an RGB image, shifted and scaled as in training, float32 (c, h,
    w)."""
    pixels = pipe.image_processor.preprocess(image).to(pipe.device)
    with torch.autocast(pipe.device.type, enabled=False):
        mean = pipe.vae.encode(pixels).latent_dist.mean.float()
    shift, factor = _normalisation(pipe.vae.config, mean)
    latent: torch.Tensor = (mean - shift) * factor
    return latent[0]


def decode_latent(pipe: Any, latent: torch.Tensor) -> Image.Image:
    """The RGB image of a latent from `encode_latent`."""
    shift, factor = _normalisation(pipe.vae.config, latent)
    with torch.autocast(latent.device.type, enabled=False):
        pixels = pipe.vae.decode(latent[None] / factor + shift).sample.float()
    return pipe.image_processor.postprocess(pixels, "pil")[0]


def _normalisation(
    config: Any, like: torch.Tensor
) -> tuple[torch.Tensor | float, torch.Tensor | float]:
    """Shift and factor of latents in training, (latent − shift) · factor: numbers, or per channel
    (c, 1, 1)."""
    if (
        getattr(config, "latents_mean", None) is not None
        and getattr(config, "latents_std", None) is not None
    ):
        shift, deviation = (
            like.new_tensor(each)[:, None, None]
            for each in (config.latents_mean, config.latents_std)
        )
        return shift, config.scaling_factor / deviation
    return getattr(config, "shift_factor", None) or 0.0, config.scaling_factor
