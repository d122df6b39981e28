"""Pairs of two images and two captions (protocols, section 6; Winoground, Thrush et al. 2022)."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import both_won, image_score, text_score
from evaluator.protocols.items import Items
from evaluator.protocols.results import Protocol, ProtocolResults, right, tabulate
from evaluator.protocols.scores import Scores


class Pairs(Protocol):
    """Text, image and group scores by kind, and over all kinds if there are several. Chance 1/4, 1/4, 1/6.

    Slot k holds caption k: with its own image k (true) and with the other image (false). For a model asked in words,
    the image score uses answers to questions about two images.
    """

    name = "pairs"
    compares_images = True

    def measure(self, scores: Scores) -> ProtocolResults:
        items, table = self._table(scores)
        of_images, by_image = self._table(scores.between_images) if scores.between_images else (items, table)
        items = replace(items, unscored=np.where(items.scored, of_images.unscored, items.unscored))
        if items.unread is not None and of_images.unread is not None:
            items = replace(items, unread=np.where(items.unread == "", of_images.unread, items.unread))
        text, image = text_score(table, items.tolerance), image_score(by_image, items.tolerance)
        won = (("text", 1 / 4, text), ("image", 1 / 4, image), ("group", 1 / 6, both_won(text, image)))
        outcomes = [right(*each) for each in won]
        rows = tabulate(items, outcomes) if len(set(items.kind)) > 1 else []
        return ProtocolResults(items, outcomes, rows + tabulate(items, outcomes, ["kind"]))

    def _table(self, scores: Scores) -> tuple[Items, np.ndarray]:
        """The items, and the scores (n, 2, 2) of image i and caption j at [:, i, j]."""
        items = scores.items(self.name)
        table, complete = np.full((len(items), 2, 2), np.nan, items.scores.dtype), np.ones(len(items), dtype=bool)
        for caption in (0, 1):
            for image in (0, 1):
                mask = (items.slot == str(caption)) & (items.truth if image == caption else items.false)
                table[:, image, caption] = best_score(items.scores, mask)
                complete &= mask.any(axis=1)
        return items.requiring(complete), table
