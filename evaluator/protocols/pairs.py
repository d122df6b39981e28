"""Pairs of two images and two captions (protocols, sections 6 and 14; Winoground, Thrush et al.
2022)."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import Won, both_won, image_score, matching_score, text_score
from evaluator.protocols.items import Items
from evaluator.protocols.results import Outcome, Protocol, ProtocolResults, right, tabulate
from evaluator.protocols.scores import Scores

MATCHING = "matching"
"""The metric of two images and two captions at once, here and in `binary`."""


def matching(won: Won) -> Outcome:
    """The outcome of the metric `matching`, with its chance level."""
    return right(MATCHING, 1 / 2, won)


class Pairs(Protocol):
    """Text, image, group and matching scores by kind, and over all kinds if there are several.
    Chance 1/4, 1/4, 1/6, 1/2.

    Slot k holds caption k: with its own image k (true) and with the other image (false). A model
    asked in words to choose answers separate questions for the text score, for the image score and
    for matching.
    """

    name = "pairs"
    compares_images = True

    def measure(self, scores: Scores) -> ProtocolResults:
        items, table = self._table(scores)
        of_images, by_image = (
            self._table(scores.between_images) if scores.between_images else (items, table)
        )
        matched, by_pair = self._table(scores.matchings) if scores.matchings else (items, table)
        for other in (of_images, matched):
            items = replace(items, unscored=np.where(items.scored, other.unscored, items.unscored))
            if items.unread is not None and other.unread is not None:
                items = replace(
                    items, unread=np.where(items.unread == "", other.unread, items.unread)
                )
        text, image = text_score(table, items.tolerance), image_score(by_image, items.tolerance)
        # An answer in words chooses an assignment: it has to be right whichever image comes first.
        match = (
            text_score(by_pair, items.tolerance)
            if scores.matchings
            else matching_score(table, items.tolerance)
        )
        outcomes = [
            right("text", 1 / 4, text),
            right("image", 1 / 4, image),
            right("group", 1 / 6, both_won(text, image)),
            matching(match),
        ]
        rows = tabulate(items, outcomes) if len(set(items.kind)) > 1 else []
        return ProtocolResults(items, outcomes, rows + tabulate(items, outcomes, ["kind"]))

    def _table(self, scores: Scores) -> tuple[Items, np.ndarray]:
        """The items, and the scores (n, 2, 2) of image i and caption j at [:, i, j]."""
        items = scores.items(self.name)
        table, complete = (
            np.full((len(items), 2, 2), np.nan, items.scores.dtype),
            np.ones(len(items), dtype=bool),
        )
        for caption in (0, 1):
            for image in (0, 1):
                mask = (items.slot == str(caption)) & (
                    items.truth if image == caption else items.false
                )
                table[:, image, caption] = best_score(items.scores, mask)
                complete &= mask.any(axis=1)
        return items.requiring(complete), table
