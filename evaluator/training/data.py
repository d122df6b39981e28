"""What a training learns from: images, and the captions, negatives and positives of each."""

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
"""Bytes of prepared images that are kept; the others are read again in each epoch."""
_THREADS = 4
_LONGEST = 100
"""How many of the longest texts a new model is made to read: the one of most tokens is among them."""
_WORD = re.compile(r"\w+")


Augment = Callable[[Any, int, int], Any]
"""Changes the tensor of an image by its place in a step and by the number of the step."""


@dataclass(frozen=True)
class TrainingData:
    """Texts by image.

    texts: distinct. captions: int64 (n, c), indices of `texts` that are captions of each of n images. negatives,
    positives: int64 (n, c, k), those of each caption. true: int64 (n, t), every text that is true of the image,
    captions and positives. All four have -1 where there are fewer. images: where each image lies, and its name.
    mirrored: whether an image may be mirrored, because no text says where something is. text_ids: those of `texts`, for
    benchmarks. longest: the longest texts that there are, of training or not, which a new model is made to read.
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
        """Indices of the texts that some step may show: captions, negatives and positives."""
        rows = np.concatenate([each.ravel() for each in (self.captions, self.negatives, self.positives)])
        return np.unique(rows[rows >= 0])

    def of(self, rows: Sequence[int]) -> "TrainingData":
        """The images with these indices."""
        arrays = {name: getattr(self, name)[rows] for name in ("captions", "negatives", "positives", "true")}
        return replace(self, images=[self.images[i] for i in rows], **arrays)

    def of_each_class(self, most: int | None, seed: int) -> "TrainingData":
        """At most so many images of each class, drawn by seed; a class is the images that the same captions
        describe."""
        if most is None:
            return self
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, row in enumerate(self.captions):
            classes[tuple(sorted(row))].append(i)
        streams = {key: Stream(seed, "images of a class", *key) for key in classes}
        return self.of(sorted(i for key, rows in classes.items() for i in streams[key].sample(rows, most)))


@dataclass
class Described:
    """The captions of an image while they are collected: the negatives and positives of each, and what else is true."""

    captions: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    true: dict[str, None] = field(default_factory=dict)


def collect(
    described: Sequence[tuple[Images, str, Described]], words: Mapping[str, str], mirrored: bool
) -> TrainingData:
    """The arrays of some images: where each lies, its name and its texts, named by keys of `words`, which hold what
    they say.

    A negative that is true of its image, as a caption or a positive of it, is left out.
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
            f"Left out {len(astray):,} negatives that are true of their image, such as '{words[text]}' of {name}."
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
    """Rows of numbers, int64 (rows, their most numbers or 1), filled up with -1."""
    columns = list(zip_longest(*rows, fillvalue=-1)) or [(-1,) * len(rows)]
    return np.array(columns, np.int64).T


@dataclass(frozen=True)
class Step:
    """A batch, all int64 (n,): indices of images, and of texts of TrainingData; -1 for a caption without a negative or
    positive.
    """

    images: np.ndarray
    captions: np.ndarray
    negatives: np.ndarray
    positives: np.ndarray


class Steps:
    """The steps of a training, `steps[0]` to `steps[len(steps) - 1]`; each can be asked alone, so that a training can
    be continued.

    In each epoch every image comes once, in another order; what does not fill a batch is left out. count: of steps, in
    place of that of `epochs`.
    """

    def __init__(self, data: TrainingData, batch: int, epochs: int, seed: int, count: int | None = None):
        self._data, self._batch, self._seed = data, batch, seed
        self.epoch = len(data) // batch
        """Steps of an epoch."""
        if self.epoch == 0:
            raise UserError(
                f"The train split has {len(data)} images, fewer than a batch of {batch}; render more, or choose a "
                "smaller batch."
            )
        self._count = epochs * self.epoch if count is None else count
        self._order: tuple[int, list[int]] = (-1, [])

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, step: int) -> Step:
        epoch, place = divmod(step, self.epoch)
        if self._order[0] != epoch:
            self._order = (epoch, Stream(self._seed, "order", epoch).shuffled(range(len(self._data))))
        images = np.array(self._order[1][place * self._batch : (place + 1) * self._batch])
        stream = Stream(self._seed, "texts", step)
        captions, chosen = _drawn(self._data.captions[images], stream)
        negatives, _ = _drawn(self._data.negatives[images, chosen], stream)
        positives, _ = _drawn(self._data.positives[images, chosen], stream)
        return Step(images, captions, negatives, positives)


def _drawn(choices: np.ndarray, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """A random one of each row's numbers, of those before the first -1, and its place; -1 of a row without any."""
    places = np.array([stream.below(max(1, n)) for n in (choices >= 0).sum(1).tolist()], np.int64)
    return choices[np.arange(len(choices)), places], places


class Facts:
    """Which texts are true of which images, so that none of them is taught to be false.

    bags: a text is true of an image if each of its words is in a text that is, in any order.
    """

    def __init__(self, data: TrainingData, bags: bool = False):
        self._true, self._bags = data.true, bags
        if bags:
            words: dict[str, int] = {}
            rows = [[words.setdefault(word, len(words)) for word in _WORD.findall(text.lower())] for text in data.texts]
            self._texts = np.zeros((len(rows), len(words)), np.float32)
            for i, row in enumerate(rows):
                self._texts[i, row] = 1
            self._lacks = np.stack([self._texts[row[row >= 0]].sum(0) == 0 for row in data.true]).astype(np.float32)

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """bool (n, m) of n images and m texts, by their indices in the data."""
        if self._bags:
            of_words: np.ndarray = self._lacks[images] @ self._texts[texts].T == 0
            return of_words
        found: np.ndarray = (texts[None, :, None] == self._true[images][:, None, :]).any(-1)
        return found


class PreparedImages:
    """prepare: makes of an RGB image what the model takes, a tensor or tensors by name. Threads call it. augment:
    changes a prepared image at random, by its place in a step and by the step's number.
    """

    def __init__(self, data: TrainingData, prepare: Callable[[Any], Any], augment: Augment | None = None):
        self._data, self._prepare, self._augment = data, prepare, augment
        self._kept: dict[int, Any] = {}
        self._bytes = 0

    def of(self, rows: np.ndarray, places: Iterable[int], step: int) -> list[Any]:
        """The images with these indices in the data, which have these places in a step."""
        wanted = rows.tolist()
        missing = [row for row in dict.fromkeys(wanted) if row not in self._kept]
        with ThreadPoolExecutor(_THREADS) as pool:
            loaded = dict(zip(missing, pool.map(self._load, missing), strict=True))
        for row, pixels in loaded.items():
            if self._bytes < _MOST_CACHED:
                self._kept[row] = pixels
                self._bytes += sum(
                    each.nbytes for each in (pixels.values() if isinstance(pixels, Mapping) else [pixels])
                )
        images = [self._kept[row] if row in self._kept else loaded[row] for row in wanted]
        if self._augment is None:
            return images
        return [self._augment(image, place, step) for image, place in zip(images, places, strict=True)]

    def _load(self, row: int) -> Any:
        where, name = self._data.images[row]
        return self._prepare(where.image(name))


def check_length(model: Any, texts: Sequence[str]) -> None:
    """Raise UserError, with the length that is needed, where a model that reads at most `info["text_length"]` tokens
    of a text would cut one of these."""
    counts = model.token_counts(texts) if texts else []
    longest, most = max(counts, default=0), int(model.info["text_length"])
    if longest > most:
        n = sum(count > most for count in counts)
        raise UserError(
            f"The model reads {most} tokens and {n:,} of {len(counts):,} training texts need up to {longest}, such as "
            f"'{texts[counts.index(longest)]}'; give a model that reads {longest} tokens, or choose shorter --texts."
        )
