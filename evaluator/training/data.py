"""Training data: images with their captions, negatives and positives; and their order in steps."""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import zip_longest
from typing import Any

import numpy as np

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Images

logger = logging.getLogger(__name__)
TRAIN = "train"
"""The protocol of training items, and the split of their scenes."""
_MOST_CACHED = 4 << 30
"""Bytes of prepared images that are cached; further images are read again in each epoch."""
_THREADS = 4
_LONGEST = 100
"""Number of longest texts, by characters, that set the context length of a new model. The text with
the most tokens is assumed to be among them."""
_WORD = re.compile(r"\w+")


Augment = Callable[[Any, int, int], Any]
"""Changes an image tensor, given its place in a step and the step's number."""


@dataclass(frozen=True)
class TrainingData:
    """n images and their texts, as indices of `texts`, padded with -1.

    texts: without duplicates. captions: int64 (n, c), the captions of each image. negatives,
        positives: int64 (n, c,
    k), of each caption. true: int64 (n, t), all true texts of each image: captions and positives.
    images: the source
    and name of each image. mirrored: whether images may be mirrored, because no text states a
    position. text_ids: of
    `texts`, for benchmarks. longest: the longest texts of the whole source, trained on or not, for
    the context length
    of a new model.
    """

    texts: Sequence[str]
    captions: np.ndarray
    negatives: np.ndarray
    positives: np.ndarray
    true: np.ndarray
    images: Sequence[tuple[Images, str]]
    mirrored: bool
    text_ids: Sequence[str] = ()
    longest: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.images)

    @property
    def scenes(self) -> list[str]:
        """The names of the images."""
        return [name for _, name in self.images]

    def used(self) -> np.ndarray:
        """Indices of the texts that steps can use: captions, negatives and positives."""
        rows = np.concatenate(
            [each.ravel() for each in (self.captions, self.negatives, self.positives)]
        )
        return np.unique(rows[rows >= 0])

    def of(self, rows: Sequence[int]) -> "TrainingData":
        """The data restricted to the images with these indices."""
        arrays = {
            name: getattr(self, name)[rows]
            for name in ("captions", "negatives", "positives", "true")
        }
        return replace(self, images=[self.images[i] for i in rows], **arrays)

    def of_each_class(self, most: int | None, seed: int) -> "TrainingData":
        """At most `most` images per class, drawn by seed; None for all. A class is the images with
        the same captions."""
        if most is None:
            return self
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, row in enumerate(self.captions):
            classes[tuple(sorted(row))].append(i)
        streams = {key: Stream(seed, "images of a class", *key) for key in classes}
        return self.of(
            sorted(i for key, rows in classes.items() for i in streams[key].sample(rows, most))
        )


@dataclass
class Described:
    """The texts of an image while they are collected. captions: each with its negatives and
    positives. true: all true texts."""

    captions: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    true: dict[str, None] = field(default_factory=dict)


def collect(
    described: Sequence[tuple[Images, str, Described]], words: Mapping[str, str], mirrored: bool
) -> TrainingData:
    """Build the arrays from images, each with its source, name and texts. Texts are keys of
    `words`, which has their wording.

    Leaves out negatives that are true of their image, as a caption or a positive of it.
    """
    rows: dict[str, int] = {}
    astray: list[tuple[str, str]] = []

    def row(text: str) -> int:
        return rows.setdefault(text, len(rows))

    captions = _filled([[row(text) for text in image.captions] for _, _, image in described])
    negatives: list[list[int]] = []
    positives: list[list[int]] = []
    for _, name, image in described:
        for false, true in image.captions.values():
            astray += [(name, text) for text in false if text in image.true]
            negatives.append([row(text) for text in false if text not in image.true])
            positives.append([row(text) for text in true])
        none: list[list[int]] = [[] for _ in range(captions.shape[1] - len(image.captions))]
        negatives += none
        positives += none
    if astray:
        name, text = astray[0]
        logger.info(
            f"Left out {len(astray):,} negatives that are true of their image, such as "
            f"'{words[text]}' of {name}."
        )
    true_texts = _filled([[row(text) for text in image.true] for _, _, image in described])
    return TrainingData(
        [words[text] for text in rows],
        captions,
        _filled(negatives).reshape(*captions.shape, -1),
        _filled(positives).reshape(*captions.shape, -1),
        true_texts,
        [(where, name) for where, name, _ in described],
        mirrored,
        list(rows),
        nlargest(_LONGEST, words.values(), key=len),
    )


def _filled(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of different lengths as an array, int64 (rows, longest row or 1), padded with -1."""
    columns = list(zip_longest(*rows, fillvalue=-1)) or [(-1,) * len(rows)]
    return np.array(columns, np.int64).T


@dataclass(frozen=True)
class Step:
    """A batch of n images with their texts: indices in TrainingData, int64 (n,) each. -1 if a
    caption has no negative or positive.
    """

    images: np.ndarray
    captions: np.ndarray
    negatives: np.ndarray
    positives: np.ndarray


class Steps:
    """The steps of a training, `steps[0]` to `steps[len(steps) - 1]`, with random access, so that a
    training can resume.

    Each epoch shuffles the images and drops the last, incomplete batch. count: number of steps, in
    place of `epochs`.
    """

    def __init__(
        self, data: TrainingData, batch: int, epochs: int, seed: int, count: int | None = None
    ):
        self._data, self._batch, self._seed = data, batch, seed
        self.epoch = len(data) // batch
        """Number of steps per epoch."""
        if self.epoch == 0:
            raise UserError(
                f"The train split has {len(data)} images, fewer than a batch of {batch}; render "
                f"more, or choose a "
                "smaller batch."
            )
        self._count = epochs * self.epoch if count is None else count
        self._order: tuple[int, list[int]] = (-1, [])

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, step: int) -> Step:
        epoch, place = divmod(step, self.epoch)
        if self._order[0] != epoch:
            self._order = (
                epoch,
                Stream(self._seed, "order", epoch).shuffled(range(len(self._data))),
            )
        images = np.array(self._order[1][place * self._batch : (place + 1) * self._batch])
        stream = Stream(self._seed, "texts", step)
        captions, chosen = _drawn(self._data.captions[images], stream)
        negatives, _ = _drawn(self._data.negatives[images, chosen], stream)
        positives, _ = _drawn(self._data.positives[images, chosen], stream)
        return Step(images, captions, negatives, positives)


def _drawn(choices: np.ndarray, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """A random entry of each row before its first -1, and its column; -1 for an empty row."""
    places = np.array([stream.below(max(1, n)) for n in (choices >= 0).sum(1).tolist()], np.int64)
    return choices[np.arange(len(choices)), places], places


class Facts:
    """Looks up which texts are true of which images, so that no true text is trained as a negative.

    bags: a text counts as true of an image if each of its words is in a true text, in any order.
    """

    def __init__(self, data: TrainingData, bags: bool = False):
        self._true, self._bags = data.true, bags
        if bags:
            words: dict[str, int] = {}
            rows = [
                [words.setdefault(word, len(words)) for word in _WORD.findall(text.lower())]
                for text in data.texts
            ]
            self._texts = np.zeros((len(rows), len(words)), np.float32)
            for i, row in enumerate(rows):
                self._texts[i, row] = 1
            self._lacks = np.stack(
                [self._texts[row[row >= 0]].sum(0) == 0 for row in data.true]
            ).astype(np.float32)

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Whether each text is true of each image, bool (n, m), for n images and m texts given by
        index."""
        if self._bags:
            of_words: np.ndarray = self._lacks[images] @ self._texts[texts].T == 0
            return of_words
        found: np.ndarray = (texts[None, :, None] == self._true[images][:, None, :]).any(-1)
        return found


class PreparedImages:
    """Loads, prepares and caches images. prepare: converts an RGB image to the model's input, a
    tensor or tensors by name; called in threads. augment: changes a prepared image at random, by
    its place in a step and the step's number.
    """

    def __init__(
        self, data: TrainingData, prepare: Callable[[Any], Any], augment: Augment | None = None
    ):
        self._data, self._prepare, self._augment = data, prepare, augment
        self._kept: dict[int, Any] = {}
        self._bytes = 0

    def of(self, rows: np.ndarray, places: Iterable[int], step: int) -> list[Any]:
        """The prepared images with indices `rows` in the data and `places` in the step."""
        wanted = rows.tolist()
        missing = [row for row in dict.fromkeys(wanted) if row not in self._kept]
        with ThreadPoolExecutor(_THREADS) as pool:
            loaded = dict(zip(missing, pool.map(self._load, missing), strict=True))
        for row, pixels in loaded.items():
            if self._bytes < _MOST_CACHED:
                self._kept[row] = pixels
                self._bytes += sum(
                    each.nbytes
                    for each in (pixels.values() if isinstance(pixels, Mapping) else [pixels])
                )
        images = [self._kept[row] if row in self._kept else loaded[row] for row in wanted]
        if self._augment is None:
            return images
        return [
            self._augment(image, place, step) for image, place in zip(images, places, strict=True)
        ]

    def _load(self, row: int) -> Any:
        where, name = self._data.images[row]
        return self._prepare(where.image(name))


def check_length(model: Any, texts: Sequence[str]) -> None:
    """Raise UserError, with the length that is needed, if the model would truncate one of these
    texts to `info["text_length"]` tokens."""
    counts = model.token_counts(texts) if texts else []
    longest, most = max(counts, default=0), int(model.info["text_length"])
    if longest > most:
        n = sum(count > most for count in counts)
        raise UserError(
            f"The model reads {most} tokens and {n:,} of {len(counts):,} training texts need up to "
            f"{longest}, such as '{texts[counts.index(longest)]}'; give a model that reads "
            f"{longest} tokens, or choose shorter --texts."
        )
