"""`oracle`: scores a text by whether it is true of the scene, as the judge decided (truth.parquet
of a benchmark).

The oracle sees no pixels, so its results depend on the questions alone. They are the ceiling of a
benchmark: where the oracle is wrong, no model can be right reliably.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.models.contracts import (
    BatchSize,
    Contests,
    ImageTextPairs,
    PairScorer,
    cache_key,
    info_without_network,
)
from evaluator.models.names import rate_of_oracle
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Images
from generator.dataset.truth import UNDECIDED, Truths, read_truths


class Oracle(PairScorer):
    """Scores 1 for a true text, 0 for a false one, and 1/2 for an undecided one.

    With a `rate` below 1 it errs: the truth of each pair of image and text is exchanged with
    probability 1 - rate, by a seeded stream. Errors of different pairs are independent, so its
    expected results can be computed: with k false texts against one true text, R@1 is rate to the
    power k + 1, since ties are never correct.
    """

    channels = ("truth",)
    passes = 0
    reads_images = False
    reusable = False

    def __init__(self, rate: float = 1.0, seed: int = 0):
        """
        Args:
            rate: The probability that the truth of a pair is not exchanged, 0.5 to 1.
            seed: Seed of the errors.
        """
        self.rate = rate
        self.seed = seed
        self.batch = BatchSize(4096, "pair of image and text")
        self.exposure = Exposure()  # without training
        self.key = cache_key("oracle", rate, seed)
        self.info = info_without_network("none", rate=rate, seed=seed)
        self._truths: Truths | None = None
        self._row_of_text: dict[str, int] = {}

    @classmethod
    def with_truths(cls, truths: Truths) -> "Oracle":
        """An oracle without errors, for `scores_of_texts` alone."""
        oracle = cls()
        oracle._truths = truths
        return oracle

    def open(self, benchmark: Benchmark, world: Images) -> None:
        """Read the truths of the benchmark that is scored next.

        Raises:
            UserError: if the benchmark has no truths, or truths of other files.
        """
        self._truths = read_truths(benchmark, world)
        if self._truths is None:
            raise UserError(
                f"The oracle reads what the judge decided, and {benchmark.folder} has no "
                f"truth.parquet for its files; "
                f"run `gen verify DATASET --benchmark {benchmark.name}`, which writes it for a "
                f"dataset of `gen render` "
                "without faults."
            )
        self._row_of_text = {
            text: row for row, text in enumerate(benchmark.texts["text"].to_pylist())
        }

    def scores_of_texts(self, scene_id: str) -> np.ndarray:
        """Score every text of the benchmark against one scene.

        Returns:
            float32 (texts,), in the order of texts.parquet.

        Raises:
            UserError: as `Truths.scores`.
        """
        if self._truths is None:
            raise RuntimeError("call open before scores_of_texts")
        scores = self._truths.scores(scene_id)
        if self.rate < 1:
            # Seeded by the scene, and drawn for all texts, so that a pair errs alike in every pool
            # and every item.
            digest = hashlib.sha256(f"oracle/{self.seed}/{scene_id}".encode()).digest()
            rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
            errs = rng.random(len(scores)) >= self.rate
            is_decided = scores != UNDECIDED  # an undecided text has no truth to exchange
            scores = np.where(errs & is_decided, 1 - scores, scores)
        return scores

    def score_pairs(
        self, images: Sequence[Any], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs; images are scene_ids."""
        scores_of_image = [self.scores_of_texts(str(image)) for image in images]
        scores = [scores_of_image[image][self._row_of_text[text]] for image, text in pairs]
        return np.array(scores, np.float32).reshape(-1, 1)


def load_oracle(name: str, device: str | None, seed: int = 0) -> Oracle:
    """Load `oracle` or `oracle:RATE`.

    Args:
        name: the rate at which the oracle is right, 0.5 to 1; "" for 1.
        device: ignored, since nothing is computed.
        seed: seed of the errors.

    Raises:
        UserError: for another rate.
    """
    return Oracle(rate_of_oracle(name), seed)
