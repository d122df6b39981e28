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

from evaluator.models.contracts import BatchSize, Contests, ImageTextPairs, PairScorer, cache_key
from evaluator.models.diffusion.networks import ConditionCache, Network
from evaluator.models.diffusion.noising import image_digest, levels, noise
from evaluator.models.diffusion.schedules import Fit, Schedule, Settings
from evaluator.models.hub import quiet
from evaluator.models.network import describe_network

UNCONDITIONAL = ""
"""The text of unconditional errors."""
_WIDEST = 2.0
"""Largest aspect ratio of an image. A longer one is squeezed to it."""
_TIE_TOLERANCE = 2e-7
"""Tie tolerance of errors in float32. Errors are about 0.01 to 1. Rounding changes them by up to
1e-7, another text often by less than 1e-5."""
_BATCH_ON_GPU, _BATCH_ON_CPU = 128, 8
"""Predictions that are computed together."""
_LOSSES: dict[str, Callable[..., torch.Tensor]] = {
    "l2": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
}


class DiffusionClassifier(PairScorer):
    """A pipeline of diffusers as a PairScorer. Scores are minus errors, so that higher is better.

    `relative` is minus the mean difference between a text's error and the unconditional error, over
    the text's samples. `conditional` is minus the error: that difference plus the mean
    unconditional error over all samples of the image. Within an image both give the same ranking.
    Between images use `relative`, because the unconditional error measures how hard the image is.

    Args:
        adapter: The pipeline on its device.
        settings: Schedule, loss, fit and seed.
        device: The device.
        name: What was loaded, for run.json.
    """

    channels = ("conditional", "relative")
    image_channel = "relative"
    tie_tolerance = _TIE_TOLERANCE
    counts: dict[str, int]
    """{"evaluations": how often the U-Net was evaluated}."""

    def __init__(self, adapter: Network, settings: Settings, *, device: torch.device, name: str):
        self.adapter = adapter
        self._settings = settings
        self.device = device
        batch = _BATCH_ON_GPU if device.type == "cuda" else _BATCH_ON_CPU
        self.batch = BatchSize(batch, "evaluation of the diffusion model")
        schedule = settings.schedule
        self._order = schedule.order(settings.seed)
        self._conditions = ConditionCache(adapter)
        self.passes = schedule.total
        self.contested = schedule.early
        self.counts = {"evaluations": 0}
        factor = adapter.pipe.vae.config.scaling_factor
        self.info = describe_network(name, self.network, device) | {
            "preset": settings.preset,
            "pipeline": type(adapter.pipe).__name__,
            "scheduler": type(adapter.pipe.scheduler).__name__,
            "prediction": adapter.process.prediction,
            "samples": str(schedule),
            "loss": settings.loss,
            "seed": settings.seed,
            "preprocessing": f"{self._describe_fit()} → VAE latent mean × {factor}",
            "text_length": max(length for _, length in adapter.tokenizers()),
        }
        # The cache's key has the digest of the weights instead of their place, so that a copy
        # elsewhere finds the same scores. A preset is a name for settings that are all there.
        not_deciding = ("weights", "preset", "device")
        decides = {key: value for key, value in self.info.items() if key not in not_deciding}
        self.key = cache_key(
            decides, schedule.confidence, schedule.stages, adapter.configurations(), device.type
        )

    def _describe_fit(self) -> str:
        """How images are resized, for run.json."""
        adapter = self.adapter
        if self._settings.fit == "crop":
            return f"bicubic to a shorter side of {adapter.side}, centre crop"
        longest = f", at most {adapter.longest}" if adapter.longest else ""
        return (
            f"bicubic to the area of {adapter.side} × {adapter.side}, whole image, sides "
            f"multiples of {adapter.multiple}{longest}"
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
        # Texts that drop out early are not evaluated at all samples.
        most = "at most " if self.contested else ""
        total = (pairs + images) * self.passes
        return (
            f"{pairs:,} pairs of image and text to score, and {images:,} images without a text: "
            f"{most}{self.passes:,} evaluations each ({most}{total:,} evaluations, fewer where "
            f"cached)."
        )

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before truncation, start and end included: the maximum
        over all tokenizers."""
        if not texts:
            return []
        ids = []
        with quiet():
            for tokenizer, _ in self.adapter.tokenizers():
                ids.append(tokenizer(list(texts), verbose=False)["input_ids"])
        counts = []
        for ids_of_text in zip(*ids, strict=True):
            counts.append(max(len(row) for row in ids_of_text))
        return counts

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of all tokenizers side by side, int64 (n, length)."""
        columns = []
        with quiet():  # the run itself reports truncated texts
            for tokenizer, length in self.adapter.tokenizers():
                options = {"padding": "max_length", "truncation": True, "max_length": length}
                ids = tokenizer(list(texts), **options)["input_ids"]
                columns.append(np.array(ids, dtype=np.int64).reshape(len(texts), -1))
        return np.concatenate(columns, axis=1)

    @torch.inference_mode()
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs. Without `contests`, the texts of each image are compared with
        one another."""
        # A pair in several contests is evaluated once: the network's evaluations are nearly all of
        # the cost.
        distinct = list(dict.fromkeys(pairs))
        row_of = {pair: row for row, pair in enumerate(distinct)}
        rows = [row_of[pair] for pair in pairs]
        errors = _PairErrors(self, images, distinct)
        if contests is None:
            groups = errors.by_image()
        else:
            groups = [[rows[index] for index in contest] for contest in contests]
        relative = eliminate(
            len(distinct),
            groups,
            schedule=self._settings.schedule,
            order=self._order,
            measure=errors.differences,
        )
        unconditional = np.array([errors.unconditional(image) for image, _ in distinct])
        conditional = relative + unconditional
        scores = -np.stack([conditional, relative], axis=1)
        # The reshape is for a call without pairs.
        return scores[rows].astype(np.float32).reshape(len(pairs), len(self.channels))

    def latent(self, image: Image.Image) -> torch.Tensor:
        """Latent of an RGB image, float32 (c, h, w)."""
        fitted = fit_image(
            image,
            self.adapter.side,
            multiple=self.adapter.multiple,
            fit=self._settings.fit,
            longest=self.adapter.longest,
        )
        return encode_latent(self.adapter.pipe, fitted)

    def errors(
        self, latent: torch.Tensor, digest: str, texts: Sequence[str], samples: np.ndarray
    ) -> np.ndarray:
        """Errors of the network on an image's latent, one evaluation each.

        Args:
            latent: The latent, float32 (c, h, w).
            digest: The digest of the image, which decides its noise.
            texts: The texts.
            samples: Numbers of samples, int64 (samples,).

        Returns:
            float64 (texts, samples).
        """
        # Samples first, so that the texts of one sample are neighbours in a batch and share its
        # noise.
        table = np.empty((len(samples), len(texts)))

        def compute(cells: Sequence[int]) -> np.ndarray:
            return self._batch_errors(
                latent, digest, texts=texts, samples=samples, cells=np.array(cells)
            )

        for cells, errors in self.batch.run(compute, range(table.size)):
            table.flat[np.array(cells)] = errors
        self.counts["evaluations"] += table.size
        return table.T

    def _batch_errors(
        self,
        latent: torch.Tensor,
        digest: str,
        *,
        texts: Sequence[str],
        samples: np.ndarray,
        cells: np.ndarray,
    ) -> np.ndarray:
        """Errors, float64 (cells,), of cells of the table (samples, texts), numbered row by row."""
        process, device = self.adapter.process, self.device
        settings = self._settings
        # Texts of one sample share its noise, so each noise is made once.
        rows, row_index = np.unique(cells // len(texts), return_inverse=True)
        shape = tuple(latent.shape)
        noises = []
        for row in rows:
            noises.append(noise(digest, settings.seed, int(samples[row]), shape))
        added = torch.from_numpy(np.stack(noises)).to(device)
        level = torch.from_numpy(levels(settings.schedule.total)[samples[rows]])
        noisy = process.add_noise(latent, added, level)
        target = process.target(latent, added, level).expand_as(added)
        timesteps = process.timesteps(level).to(device)

        # Each cell has the noise of its sample and the condition of its text.
        index = torch.from_numpy(row_index).to(device)
        cell_texts = [texts[cell] for cell in cells % len(texts)]
        condition = self._conditions.stacked(cell_texts, device)
        predicted = self.adapter.predict(noisy[index], timesteps[index], condition).float()
        loss = _LOSSES[self._settings.loss]
        losses = loss(predicted, target[index], reduction="none").mean((1, 2, 3))
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
        self._classifier = classifier
        self._pairs = pairs
        self._digest = {image: image_digest(images[image]) for image, _ in pairs}
        self._latent = {image: classifier.latent(images[image]) for image in self._digest}
        self._unconditional: dict[int, list[float]] = {image: [] for image in self._digest}

    def by_image(self) -> list[list[int]]:
        """The rows of the pairs of each image."""
        rows_of_image: dict[int, list[int]] = {image: [] for image in self._digest}
        for row, (image, _) in enumerate(self._pairs):
            rows_of_image[image].append(row)
        return list(rows_of_image.values())

    def unconditional(self, image: int) -> float:
        """Mean unconditional error over all samples of the image."""
        return float(np.mean(self._unconditional[image]))

    def differences(self, rows: list[int], samples: np.ndarray) -> np.ndarray:
        """Errors of pairs minus the unconditional errors at the same samples, float64 (rows,
        samples)."""
        differences = np.empty((len(rows), len(samples)))
        places_of_image: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            image, _ = self._pairs[row]
            places_of_image.setdefault(image, []).append(place)
        for image, places in places_of_image.items():
            texts = []
            for place in places:
                _, text = self._pairs[rows[place]]
                texts.append(text)
            # The unconditional text first; it may also be one of the texts.
            distinct = list(dict.fromkeys([UNCONDITIONAL, *texts]))
            errors = self._classifier.errors(
                self._latent[image], self._digest[image], distinct, samples
            )
            unconditional = errors[0]
            text_rows = [distinct.index(text) for text in texts]
            differences[places] = errors[text_rows] - unconditional
            self._unconditional[image] += unconditional.tolist()
        return differences


def eliminate(
    texts: int,
    contests: Sequence[Sequence[int]],
    *,
    schedule: Schedule,
    order: np.ndarray,
    measure: Callable[[list[int], np.ndarray], np.ndarray],
) -> np.ndarray:
    """Mean errors of texts under a schedule, each over the samples that the text got.

    The method: at each stage, the texts that still run in a contest get the stage's samples; then
    the schedule says which of them drop out. A text without rivals gets all samples. At the end, if
    the mean of an eliminated text is below its winner's, which had more samples, it is set to the
    winner's mean plus their difference at the elimination.

    Args:
        texts: The number of texts.
        contests: For each contest, the texts that it compares, as numbers from 0.
        schedule: The stages.
        order: The order in which samples are taken, int64 (schedule.total,).
        measure: Gives errors, float64 (texts, samples), of texts at samples.

    Returns:
        float64 (texts,).
    """
    table = np.full((texts, schedule.total), np.nan)
    distinct = [sorted(set(contest)) for contest in contests]
    running = [contest for contest in distinct if len(contest) > 1]
    without_rivals = set(range(texts)).difference(*running)
    # Edges from winner to loser: `by`, the difference of their means, `after`, their samples.
    beats = nx.DiGraph()

    for stage, (before, count) in enumerate(pairwise((0, *schedule.stages))):
        active = sorted(without_rivals.union(*running))
        # Every contest has its winner: the remaining samples could not change it.
        if not active:
            break
        samples = order[before:count]
        table[np.array(active)[:, None], samples] = measure(active, samples)

        # Each contest drops its beaten texts, and ends when one is left.
        samples_by_level = np.sort(order[:count])
        for number, contest in enumerate(running):
            errors = table[np.array(contest)[:, None], samples_by_level]
            beaten = schedule.beaten(errors, stage)
            means = errors.mean(1)
            best = int(means.argmin())
            survivors = []
            for index, text in enumerate(contest):
                if not beaten[index]:
                    survivors.append(text)
                    continue
                difference = float(means[index] - means[best])
                beats.add_edge(contest[best], text, by=difference, after=count)
            running[number] = survivors
        running = [contest for contest in running if len(contest) > 1]
    return _agree_with_eliminations(np.nanmean(table, axis=1), beats)


def _agree_with_eliminations(errors: np.ndarray, beats: nx.DiGraph) -> np.ndarray:
    """Raise each eliminated text's error above its winner's, so that final scores agree with the
    eliminations.

    Several contests may eliminate in a circle; then the elimination after the fewest samples, the
    least certain, is dropped.
    """
    while not nx.is_directed_acyclic_graph(beats):
        cycle = nx.find_cycle(beats)
        least_certain = min(cycle, key=lambda edge: beats.edges[edge]["after"])
        beats.remove_edge(*least_certain)
    # Winners first, whose errors may be raised by theirs.
    for winner in nx.topological_sort(beats):
        for loser, edge in beats[winner].items():
            if errors[loser] < errors[winner]:
                errors[loser] = errors[winner] + edge["by"]
    return errors


def fit_image(
    image: Image.Image, side: int, *, multiple: int, fit: Fit, longest: int | None = None
) -> Image.Image:
    """Resize (bicubic) for a network that was made for squares.

    Args:
        image: An RGB image.
        side: The side of the squares in pixels.
        multiple: Sides are rounded to multiples of this many pixels, for `whole`.
        fit: `whole` keeps the image's proportions, up to 2 : 1, at the area of the square. `crop`
            resizes the shorter side to `side` and crops the centre.
        longest: The longest side in pixels, for `whole`: an image that would be longer gets a
            smaller area. None for no limit.
    """
    if fit == "crop":
        resize = transforms.Resize(side, transforms.InterpolationMode.BICUBIC)
        return transforms.CenterCrop(side)(resize(image))
    if image.width == image.height:
        return image.resize((side, side), Image.Resampling.BICUBIC)
    proportions = min(_WIDEST, max(1 / _WIDEST, image.width / image.height))
    # side · √p by side / √p has the area of the square.
    stretch = proportions**0.5
    longer_side = side * max(stretch, 1 / stretch)
    shrink = min(1.0, (longest or math.inf) / longer_side)
    size = []
    for length in (side * stretch, side / stretch):
        count = max(1, round(length * shrink / multiple))
        size.append(count * multiple)
    columns, rows = size
    return image.resize((columns, rows), Image.Resampling.BICUBIC)


def encode_latent(pipe: Any, image: Image.Image) -> torch.Tensor:
    """Encode an image as the latent that the network was trained on.

    Args:
        pipe: The pipeline.
        image: RGB.

    Returns:
        Mean of the VAE's latent, shifted and scaled as in training, float32 (c, h, w).
    """
    pixels = pipe.image_processor.preprocess(image).to(pipe.device)
    with torch.autocast(pipe.device.type, enabled=False):
        mean = pipe.vae.encode(pixels).latent_dist.mean.float()
    shift, factor = _normalisation(pipe.vae.config, mean)
    latent: torch.Tensor = (mean - shift) * factor
    return latent[0]


def decode_latent(pipe: Any, latent: torch.Tensor) -> Image.Image:
    """Decode a latent.

    Args:
        pipe: The pipeline.
        latent: From `encode_latent`.

    Returns:
        The RGB image.
    """
    shift, factor = _normalisation(pipe.vae.config, latent)
    with torch.autocast(latent.device.type, enabled=False):
        pixels = pipe.vae.decode(latent[None] / factor + shift).sample.float()
    return pipe.image_processor.postprocess(pixels, "pil")[0]


def _normalisation(
    config: Any, like: torch.Tensor
) -> tuple[torch.Tensor | float, torch.Tensor | float]:
    """Shift and factor of latents in training, (latent − shift) · factor: numbers, or per channel
    (c, 1, 1)."""
    means = getattr(config, "latents_mean", None)
    deviations = getattr(config, "latents_std", None)
    if means is None or deviations is None:
        return getattr(config, "shift_factor", None) or 0.0, config.scaling_factor
    shift = like.new_tensor(means)[:, None, None]
    deviation = like.new_tensor(deviations)[:, None, None]
    return shift, config.scaling_factor / deviation
