"""What each step of a training shows: its images, and one caption, negative and positive of each. Drawn by seed and step alone."""

from dataclasses import dataclass

import numpy as np

from evaluator.training.data import TrainingData
from generator.base.errors import UserError
from generator.base.streams import Stream


@dataclass(frozen=True)
class Step:
    """A batch, all int64 (n,): indices of images, and of texts of TrainingData; -1 for a caption without a negative or positive."""

    images: np.ndarray
    captions: np.ndarray
    negatives: np.ndarray
    positives: np.ndarray


class Steps:
    """The steps of a training, `steps[0]` to `steps[len(steps) - 1]`; each can be asked alone, so that a training can be continued.

    In each epoch every image comes once, in another order; what does not fill a batch is left out. count: of steps, in place of
    that of `epochs`.
    """

    def __init__(self, data: TrainingData, batch: int, epochs: int, seed: int, count: int | None = None):
        self._data, self._batch, self._seed = data, batch, seed
        self.epoch = len(data) // batch
        """Steps of an epoch."""
        if self.epoch == 0:
            raise UserError(
                f"The train split has {len(data)} images, fewer than a batch of {batch}; render more, or choose a smaller batch."
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
