"""Diffusion Classifier (Li et al. 2023) as a PairScorer."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.contracts import Contests, Evaluations, Pairs, PairScorer
from evaluator.models.diffusion.latents import describe_preprocessing, encode_latent, fit_image
from evaluator.models.diffusion.networks import ConditionCache, Network
from evaluator.models.diffusion.samples import image_digest, levels, noise
from evaluator.models.diffusion.schedules import Preset, Schedule
from evaluator.models.hub import quiet
from evaluator.models.memory import BatchSize

UNCONDITIONAL = ""
_LOSSES: dict[str, Callable[..., torch.Tensor]] = {"l2": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss}


class DiffusionClassifier(PairScorer):
    """A pipeline of diffusers as a PairScorer. Scores are minus errors, so that higher is better.

    `relative` is minus the mean difference between a text's error and the unconditional one, over the text's samples.
    `conditional` is minus the error: that difference plus the mean unconditional error over all samples of the image.
    Within an image both rank alike. Between images use `relative`, because the unconditional error measures how hard the
    image is.
    """

    channels = ("conditional", "relative")
    image_channel = "relative"
    evaluations: Evaluations

    def __init__(self, network: Network, preset: Preset, device: torch.device, batch: int | None = None):
        self._network, self._preset, self._device = network, preset, device
        size = batch or (128 if device.type == "cuda" else 8)
        self.batch = BatchSize(size, "evaluation of the diffusion model")
        self._order = preset.schedule.order(preset.seed)
        self._conditions = ConditionCache(network)
        self.passes = preset.schedule.total
        self.contested = preset.schedule.early
        self.evaluations = Evaluations()
        self.info: dict[str, Any] = {
            "pipeline": type(network.pipe).__name__,
            "scheduler": type(network.pipe.scheduler).__name__,
            "prediction": network.process.prediction,
            "resolution": f"{network.side} × {network.side}",
            "preset": ",".join((preset.name, *preset.changed)),
            "samples": str(preset.schedule),
            "loss": preset.loss,
            "seed": preset.seed,
            "preprocessing": describe_preprocessing(
                network.side,
                network.multiple,
                preset.fit,
                network.pipe.vae.config.scaling_factor,
                network.longest,
            ),
            "text_length": max(length for _, length in network.tokenizers()),
            "precision": "float32",
            "device": str(device),
        }
        self.key = ""

    def identify(self, name: str, digest: str, parameters: int, configurations: Any) -> None:
        """Record what was loaded, and derive `key` from it."""
        self.info = {"weights": name, "weights_sha256": digest, "parameters": parameters, **self.info}
        recorded = {name: value for name, value in self.info.items() if name not in ("weights", "device", "preset")}
        recorded |= {"confidence": self._preset.schedule.confidence, "stages": self._preset.schedule.stages}
        parts = [recorded, configurations, self._device.type]
        self.key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]

    @property
    def adapter(self) -> Network:
        """The pipeline, and how its network is called."""
        return self._network

    @property
    def network(self) -> torch.nn.ModuleDict:
        """The networks of the pipeline by component."""
        parts = self._network.pipe.components.items()
        return torch.nn.ModuleDict({name: part for name, part in parts if isinstance(part, torch.nn.Module)})

    @property
    def device(self) -> torch.device:
        """Where the networks are."""
        return self._device

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before any are cut, its first and last included: the most of any tokenizer."""
        with quiet():
            found = [each(list(texts), verbose=False)["input_ids"] for each, _ in self._network.tokenizers() if texts]
        return [max(map(len, rows)) for rows in zip(*found, strict=True)]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of all tokenizers side by side, int64 (n, length)."""
        return self._network.tokens(texts)

    @torch.inference_mode()
    def score_pairs(self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None) -> np.ndarray:
        """As PairScorer.score_pairs. Without `contests`, the texts of each image are compared with one another."""
        rows = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        row_of = [rows[pair] for pair in pairs]
        errors = _PairErrors(self, images, list(rows))
        groups = errors.by_image() if contests is None else [[row_of[i] for i in contest] for contest in contests]
        outcome = eliminate(len(rows), groups, self._preset.schedule, self._order, errors.differences)
        self.evaluations.pairs = outcome.samples[row_of]
        self.evaluations.unconditional = errors.unconditional_evaluations
        conditional = outcome.errors + np.array([errors.unconditional(image) for image, _ in rows])
        scores = -np.stack([conditional, outcome.errors], axis=1)[row_of]
        return scores.astype(np.float32).reshape(len(pairs), len(self.channels))

    def latent(self, image: Image.Image) -> torch.Tensor:
        """Latent of an RGB image, float32 (c, h, w)."""
        fitted = fit_image(image, self._network.side, self._network.multiple, self._preset.fit, self._network.longest)
        return encode_latent(self._network.pipe.vae, fitted, self._device)

    def errors(self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray) -> np.ndarray:
        """Errors of the network on an image's latent, float64 (texts, samples): one evaluation each."""
        found = np.empty((len(samples), len(texts)))

        def compute(part: Sequence[int]) -> np.ndarray:
            return self._batch_errors(latent, digest, texts, samples, np.array(part))

        for part, errors in self.batch.run(compute, range(found.size)):
            found.flat[np.array(part)] = errors
        self.evaluations.total += found.size
        return found.T

    def _batch_errors(
        self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray, part: np.ndarray
    ) -> np.ndarray:
        """Errors, float64 (part,), of cells of the table (samples, texts) that are numbered row by row."""
        process, device = self._network.process, self._device
        drawn, of_drawn = np.unique(part // len(texts), return_inverse=True)
        noises = np.stack([noise(digest, self._preset.seed, int(samples[i]), tuple(latent.shape)) for i in drawn])
        added = torch.from_numpy(noises).to(device)
        level = torch.from_numpy(levels(self._preset.schedule.total)[samples[drawn]])
        noisy = process.add_noise(latent, added, level)
        target = process.target(latent, added, level).expand_as(added)
        timesteps = process.timesteps(level).to(device)
        chosen = torch.from_numpy(of_drawn).to(device)
        condition = self._conditions.stacked([texts[i] for i in part % len(texts)], device)
        predicted = self._network.predict(noisy[chosen], timesteps[chosen], condition).float()
        losses = _LOSSES[self._preset.loss](predicted, target[chosen], reduction="none").mean((1, 2, 3))
        return np.asarray(losses.double().cpu().numpy())


class _PairErrors:
    """Errors of the distinct pairs of one call, and the unconditional errors that the pairs of an image share."""

    def __init__(self, classifier: DiffusionClassifier, images: Sequence[Image.Image], pairs: list[tuple[int, str]]):
        self._classifier, self._pairs = classifier, pairs
        self._digest = {image: image_digest(images[image]) for image, _ in pairs}
        self._latent = {image: classifier.latent(images[image]) for image in self._digest}
        self._unconditional: dict[int, list[float]] = {image: [] for image in self._digest}
        self.unconditional_evaluations = 0

    def by_image(self) -> list[list[int]]:
        """The rows of each image."""
        return [[row for row, (image, _) in enumerate(self._pairs) if image == each] for each in self._digest]

    def unconditional(self, image: int) -> float:
        """Mean unconditional error over all samples of the image."""
        return float(np.mean(self._unconditional[image]))

    def differences(self, rows: list[int], samples: np.ndarray) -> np.ndarray:
        """Errors of pairs minus the unconditional ones at the same samples, float64 (rows, samples)."""
        found = np.empty((len(rows), len(samples)))
        of_image: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            of_image.setdefault(self._pairs[row][0], []).append(place)
        for image, places in of_image.items():
            texts = [UNCONDITIONAL, *(self._pairs[rows[place]][1] for place in places)]
            distinct = list(dict.fromkeys(texts))
            errors = self._classifier.errors(self._latent[image], self._digest[image], distinct, samples)
            found[places] = errors[[distinct.index(text) for text in texts[1:]]] - errors[0]
            self._unconditional[image] += errors[0].tolist()
            self.unconditional_evaluations += len(samples)
        return found


MeasureErrors = Callable[[list[int], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Elimination:
    """One text of a contest beat another: by a difference of mean errors, after a number of samples."""

    winner: int
    loser: int
    difference: float
    samples: int


@dataclass(frozen=True)
class Outcome:
    """Mean error of each text, float64 (texts,), and its number of samples, int64 (texts,)."""

    errors: np.ndarray
    samples: np.ndarray


def eliminate(
    texts: int, contests: Sequence[Sequence[int]], schedule: Schedule, order: np.ndarray, measure: MeasureErrors
) -> Outcome:
    """Run a schedule over texts 0 … texts − 1. `measure` gives errors, float64 (texts, samples), of texts at samples.

    `order` is the order in which samples are taken, int64 (schedule.total,). A text that is in no contest with another
    gets all samples. The mean error is over the text's own samples. Where a text was beaten and its mean is nevertheless
    smaller than the winner's, which had more samples, it is set to the winner's plus the difference at that stage.
    """
    table = np.full((texts, schedule.total), np.nan)
    samples = np.zeros(texts, dtype=np.int64)
    running = [sorted(set(contest)) for contest in contests if len(set(contest)) > 1]
    alone = set(range(texts)).difference(*running)
    eliminations: list[Elimination] = []
    for stage, (before, n) in enumerate(pairwise((0, *schedule.stages))):
        active = sorted(alone.union(*running))
        if not active:
            break
        table[np.array(active)[:, None], order[before:n]] = measure(active, order[before:n])
        samples[active] = n
        by_level = np.sort(order[:n])
        for place, contest in enumerate(running):
            errors = table[np.array(contest)[:, None], by_level]
            beaten = schedule.beaten(errors, stage)
            means = errors.mean(1)
            best = int(means.argmin())
            eliminations += [
                Elimination(contest[best], contest[i], float(means[i] - means[best]), n) for i in np.flatnonzero(beaten)
            ]
            running[place] = [text for text, out in zip(contest, beaten, strict=True) if not out]
        running = [contest for contest in running if len(contest) > 1]
    return Outcome(_agreeing(np.nanmean(table, axis=1), eliminations), samples)


def _agreeing(errors: np.ndarray, eliminations: list[Elimination]) -> np.ndarray:
    """Raises each eliminated text's error above its winner's, so that final scores agree with the eliminations.

    Of eliminations that contradict one another, those after more samples hold.
    """
    beats = nx.DiGraph()
    for elimination in eliminations:  # in the order of their stages, so that a later one replaces an earlier one
        beats.add_edge(elimination.winner, elimination.loser, elimination=elimination)
    while not nx.is_directed_acyclic_graph(beats):
        circle = [beats.edges[edge]["elimination"] for edge in nx.find_cycle(beats)]
        weakest = min(circle, key=lambda elimination: elimination.samples)
        beats.remove_edge(weakest.winner, weakest.loser)
    errors = errors.copy()
    for winner in nx.topological_sort(beats):
        for loser, edge in beats[winner].items():
            if errors[loser] < errors[winner]:
                errors[loser] = errors[winner] + edge["elimination"].difference
    return errors
