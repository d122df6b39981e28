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
_CACHE_BYTES = 4 << 30
"""Bytes of prepared images that are cached. Further images are read again in each epoch."""
_READER_THREADS = 4
"""Threads that read images ahead."""
_LONGEST_TEXTS = 100
"""Number of longest texts, by characters, that set the context length of a new model. The text with
the most tokens is assumed to be among them."""
_WORD = re.compile(r"\w+")
"""A word of a text."""


Augment = Callable[[Any, int, int], Any]
"""Changes an image tensor, given its place in a step and the step's number."""


@dataclass(frozen=True)
class TrainingData:
    """n images and their texts. Texts are indices of `texts`; rows are padded with -1."""

    texts: Sequence[str]
    """The distinct texts."""
    captions: np.ndarray
    """int64 (n, c): the captions of each image."""
    negatives: np.ndarray
    """int64 (n, c, k): the negatives of each caption."""
    positives: np.ndarray
    """int64 (n, c, k): the positives of each caption."""
    true: np.ndarray
    """int64 (n, t): all texts that are true of each image, captions and positives."""
    images: Sequence[tuple[Images, str]]
    """The source and the name of each image."""
    mirrored: bool
    """Whether images may be mirrored, because no text states a position."""
    text_ids: Sequence[str] = ()
    """The id in the benchmark of each of `texts`; of a corpus, the text itself."""
    longest: Sequence[str] = ()
    """The longest texts of the whole source, trained on or not. The context of a new model must
    hold them."""

    def __len__(self) -> int:
        return len(self.images)

    @property
    def scenes(self) -> list[str]:
        """The names of the images."""
        return [name for _, name in self.images]

    def used(self) -> np.ndarray:
        """Find the texts that steps can use: captions, negatives and positives.

        Returns:
            Their indices in `texts`, int64, sorted, without duplicates.
        """
        arrays = (self.captions, self.negatives, self.positives)
        rows = np.concatenate([array.ravel() for array in arrays])
        return np.unique(rows[rows >= 0])

    def subset(self, rows: Sequence[int]) -> "TrainingData":
        """Restrict the data to the images with these indices."""
        return replace(
            self,
            images=[self.images[i] for i in rows],
            captions=self.captions[rows],
            negatives=self.negatives[rows],
            positives=self.positives[rows],
            true=self.true[rows],
        )

    def of_each_class(self, most: int | None, seed: int) -> "TrainingData":
        """Draw images of each class. A class is the images with the same captions.

        Args:
            most: Most images of a class; None keeps all.
            seed: Of the draws.

        Returns:
            The data of the drawn images, in their order.
        """
        if most is None:
            return self
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, row in enumerate(self.captions):
            classes[tuple(sorted(row))].append(i)
        chosen: list[int] = []
        for captions, images in classes.items():
            # A stream of its own for each class: a new class does not change the others' draws.
            stream = Stream(seed, "images of a class", *captions)
            chosen += stream.sample(images, most)
        return self.subset(sorted(chosen))


@dataclass
class Described:
    """The texts of an image while they are collected."""

    captions: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    """Each caption with its negatives and its positives."""
    true: dict[str, None] = field(default_factory=dict)
    """All true texts, in order."""


def collect(
    described: Sequence[tuple[Images, str, Described]], *, words: Mapping[str, str], mirrored: bool
) -> TrainingData:
    """Build the arrays of training data.

    Negatives that are a caption or a positive of their image are left out, and counted in the log.

    Args:
        described: Source, name and texts of each image. Texts are keys of `words`.
        words: The wording of each text.
        mirrored: As in TrainingData.
    """
    index_of: dict[str, int] = {}

    def index(text: str) -> int:
        return index_of.setdefault(text, len(index_of))

    # Captions are numbered first, then the hard texts of one image after another.
    caption_rows = []
    for _, _, image in described:
        caption_rows.append([index(text) for text in image.captions])
    captions = _padded(caption_rows)
    captions_per_image = captions.shape[1]
    true_negatives: list[tuple[str, str]] = []
    negatives: list[list[int]] = []
    positives: list[list[int]] = []
    for _, name, image in described:
        for false_texts, true_texts in image.captions.values():
            false_indices = []
            for text in false_texts:
                if text in image.true:
                    true_negatives.append((name, text))
                else:
                    false_indices.append(index(text))
            negatives.append(false_indices)
            positives.append([index(text) for text in true_texts])
        # Every image has a row for each column of `captions`, so that the arrays can be reshaped.
        missing = captions_per_image - len(image.captions)
        negatives += [[] for _ in range(missing)]
        positives += [[] for _ in range(missing)]
    if true_negatives:
        name, text = true_negatives[0]
        logger.info(
            f"Left out {len(true_negatives):,} negatives that are true of their image, such as "
            f"'{words[text]}' of {name}."
        )
    true_rows = []
    for _, _, image in described:
        true_rows.append([index(text) for text in image.true])
    return TrainingData(
        texts=[words[text] for text in index_of],
        captions=captions,
        negatives=_padded(negatives).reshape(*captions.shape, -1),
        positives=_padded(positives).reshape(*captions.shape, -1),
        true=_padded(true_rows),
        images=[(source, name) for source, name, _ in described],
        mirrored=mirrored,
        text_ids=list(index_of),
        longest=nlargest(_LONGEST_TEXTS, words.values(), key=len),
    )


def _padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of different lengths as an array, int64 (rows, longest row or 1), padded with -1."""
    columns = list(zip_longest(*rows, fillvalue=-1)) or [(-1,) * len(rows)]
    return np.array(columns, np.int64).T


@dataclass(frozen=True)
class Step:
    """A batch of n images with their texts. All fields are int64 (n,), indices in TrainingData."""

    images: np.ndarray
    """The images of the batch."""
    captions: np.ndarray
    """A caption of each image."""
    negatives: np.ndarray
    """A negative of each caption; -1 if it has none."""
    positives: np.ndarray
    """A positive of each caption; -1 if it has none."""


class Steps:
    """The steps of a training, `steps[0]` to `steps[len(steps) - 1]`.

    A step depends only on the data, the seed and its number, so that a training can resume. Each
    epoch shuffles the images and drops the last, incomplete batch.
    """

    def __init__(
        self, data: TrainingData, *, batch: int, epochs: int, seed: int, count: int | None = None
    ):
        """Count the steps.

        Args:
            data: The training data.
            batch: Images per step.
            epochs: Passes over the data.
            seed: Of the order of images, and of the choice among texts.
            count: Number of steps, in place of `epochs`.

        Raises:
            UserError: There are fewer images than a batch has.
        """
        self._data = data
        self._batch = batch
        self._seed = seed
        self.epoch = len(data) // batch
        """Number of steps per epoch."""
        if self.epoch == 0:
            raise UserError(
                f"The train split has {len(data)} images, fewer than a batch of {batch}; render "
                f"more, or choose a smaller batch."
            )
        self._count = epochs * self.epoch if count is None else count
        self._shuffled_epoch = -1
        self._order: list[int] = []

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, step: int) -> Step:
        epoch, place = divmod(step, self.epoch)
        if self._shuffled_epoch != epoch:
            stream = Stream(self._seed, "order", epoch)
            self._order = stream.shuffled(range(len(self._data)))
            self._shuffled_epoch = epoch
        start = place * self._batch
        images = np.array(self._order[start : start + self._batch])
        stream = Stream(self._seed, "texts", step)
        captions, columns = _draw_entries(self._data.captions[images], stream)
        negatives, _ = _draw_entries(self._data.negatives[images, columns], stream)
        positives, _ = _draw_entries(self._data.positives[images, columns], stream)
        return Step(images, captions, negatives, positives)


def _draw_entries(choices: np.ndarray, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """A random entry of each row before its first -1, and its column; -1 for an empty row."""
    counts = (choices >= 0).sum(1).tolist()
    # An empty row gives its first entry, -1.
    draws = [stream.below(max(1, count)) for count in counts]
    columns = np.array(draws, np.int64)
    entries = choices[np.arange(len(choices)), columns]
    return entries, columns


class Facts:
    """Looks up which texts are true of which images.

    No true text may be trained as a negative of an image, even if it is another image's caption.
    """

    def __init__(self, data: TrainingData, bags: bool = False):
        """Prepare the look-up.

        Args:
            data: The training data.
            bags: Whether a text counts as true of an image if each of its words is in a true text,
                in any order.
        """
        self._true = data.true
        self._bags = bags
        if not bags:
            return
        column_of: dict[str, int] = {}
        words_of_texts = []
        for text in data.texts:
            words = _WORD.findall(text.lower())
            words_of_texts.append([column_of.setdefault(word, len(column_of)) for word in words])
        self._has_word = np.zeros((len(data.texts), len(column_of)), np.float32)
        for i, columns in enumerate(words_of_texts):
            self._has_word[i, columns] = 1
        # For each image, the words that none of its true texts has. Floats, since products of
        # matrices of floats are much faster.
        lacks_word = []
        for row in data.true:
            true_texts = row[row >= 0]
            lacks_word.append(self._has_word[true_texts].sum(0) == 0)
        self._lacks_word = np.stack(lacks_word).astype(np.float32)

    def true(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Look up each pair of an image and a text.

        Args:
            images: Indices of images, int64 (n,).
            texts: Indices of texts, int64 (m,).

        Returns:
            Whether each text is true of each image, bool (n, m).
        """
        if self._bags:
            # The number of words of each text that no true text of the image has.
            missing_words = self._lacks_word[images] @ self._has_word[texts].T
            return np.asarray(missing_words == 0)
        matches = texts[None, :, None] == self._true[images][:, None, :]
        return np.asarray(matches.any(-1))


class PreparedImages:
    """Loads, prepares and caches images."""

    def __init__(
        self, data: TrainingData, prepare: Callable[[Any], Any], augment: Augment | None = None
    ):
        """Nothing is read before `of` asks for it.

        Args:
            data: The training data.
            prepare: Converts an RGB image to the model's input, a tensor or tensors by name. It is
                called in threads.
            augment: Changes a prepared image at random.
        """
        self._data = data
        self._prepare = prepare
        self._augment = augment
        self._cache: dict[int, Any] = {}
        self._cached_bytes = 0

    def batch(self, rows: np.ndarray, places: Iterable[int], step: int) -> list[Any]:
        """Get the prepared images of a step.

        Args:
            rows: Indices of images in the data, int64 (n,).
            places: Their places in the step, for `augment`.
            step: Number of the step, for `augment`.
        """
        requested = rows.tolist()
        missing = [row for row in dict.fromkeys(requested) if row not in self._cache]
        with ThreadPoolExecutor(_READER_THREADS) as pool:
            loaded = dict(zip(missing, pool.map(self._load, missing), strict=True))
        for row, prepared in loaded.items():
            if self._cached_bytes < _CACHE_BYTES:
                self._cache[row] = prepared
                tensors = prepared.values() if isinstance(prepared, Mapping) else [prepared]
                self._cached_bytes += sum(tensor.nbytes for tensor in tensors)
        # Images for which the cache had no room were just loaded.
        images = [self._cache[row] if row in self._cache else loaded[row] for row in requested]
        if self._augment is None:
            return images
        augmented = []
        for image, place in zip(images, places, strict=True):
            augmented.append(self._augment(image, place, step))
        return augmented

    def _load(self, row: int) -> Any:
        source, name = self._data.images[row]
        return self._prepare(source.image(name))


def check_length(model: Any, texts: Sequence[str]) -> None:
    """Check that the model truncates none of these texts.

    Raises:
        UserError: A text has more tokens than `info["text_length"]`; it says how many are needed.
    """
    counts = model.token_counts(texts) if texts else []
    needed = max(counts, default=0)
    limit = int(model.info["text_length"])
    if needed > limit:
        n_truncated = sum(count > limit for count in counts)
        raise UserError(
            f"The model reads {limit} tokens and {n_truncated:,} of {len(counts):,} training texts "
            f"need up to {needed}, such as '{texts[counts.index(needed)]}'; give a model that "
            f"reads {needed} tokens, or choose shorter --texts."
        )
