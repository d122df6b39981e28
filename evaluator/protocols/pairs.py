"""Pairs of two images and two captions (protocols, sections 6 and 14; Winoground, Thrush et al.
2022)."""

from dataclasses import dataclass, replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import Won, both_won, image_score, matching_score, text_score
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Outcome, right
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores

MATCHING = "matching"
"""The metric of two images and two captions at once, here and in `binary`."""


def matching(won: Won) -> Outcome:
    """The outcome of the metric `matching`.

    Args:
        won: Which questions are right, and which are wrong only because of ties; each bool (n,).

    Returns:
        The outcome. Chance is 1/2: there are two assignments.
    """
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
        items, outcomes = measure_pairs(PairItems.read(scores, self.name))
        rows = tabulate(items, outcomes) if len(set(items.kind)) > 1 else []
        rows += tabulate(items, outcomes, ["kind"])
        return ProtocolResults(items, outcomes, rows)


@dataclass(frozen=True)
class PairItems:
    """The same n items with the scores of each question that is asked about them."""

    of_captions: Items
    """Scores that compare the captions of an image."""
    of_images: Items
    """Scores that compare the images of a caption."""
    of_matchings: Items | None
    """Answers in words that assign both captions to both images; None if scores do."""

    @classmethod
    def read(cls, scores: Scores, protocol: str) -> "PairItems":
        """Read the items of a protocol.

        Args:
            scores: Of a run.
            protocol: Its name.

        Returns:
            The items, in the same order.
        """
        of_captions = scores.items(protocol)
        of_images, of_matchings = of_captions, None
        if scores.between_images:
            of_images = scores.between_images.items(protocol)
        if scores.matchings:
            of_matchings = scores.matchings.items(protocol)
        return cls(of_captions, of_images, of_matchings)

    def take(self, mask: np.ndarray) -> "PairItems":
        """Select items by a mask, bool (n,)."""
        matchings = None if self.of_matchings is None else self.of_matchings.take(mask)
        return PairItems(self.of_captions.take(mask), self.of_images.take(mask), matchings)


def measure_pairs(pairs: PairItems) -> tuple[Items, list[Outcome]]:
    """Measure items of two images and two captions, of which each is true of its own image.

    Args:
        pairs: The items. Slot k holds caption k.

    Returns:
        The items, unscored or unread where one of their questions is, and the outcomes text, image,
        group and matching.
    """
    items, table = _score_table(pairs.of_captions)
    items_of_images, image_table = items, table
    if pairs.of_images is not pairs.of_captions:
        items_of_images, image_table = _score_table(pairs.of_images)
    items_of_matchings, matching_table = items, table
    if pairs.of_matchings is not None:
        items_of_matchings, matching_table = _score_table(pairs.of_matchings)
    for other in (items_of_images, items_of_matchings):
        items = _join_reasons(items, other)

    text = text_score(table, items.rules.tolerance)
    image = image_score(image_table, items.rules.tolerance)
    if pairs.of_matchings is not None:
        # An answer in words chooses an assignment: it has to be right whichever image is first.
        match = text_score(matching_table, items.rules.tolerance)
    else:
        match = matching_score(table, items.rules.tolerance)
    outcomes = [
        right("text", 1 / 4, text),
        right("image", 1 / 4, image),
        right("group", 1 / 6, both_won(text, image)),
        matching(match),
    ]
    return items, outcomes


def _score_table(items: Items) -> tuple[Items, np.ndarray]:
    """The items, unscored where a candidate is missing, and the scores (n, 2, 2) of image i and
    caption j at [:, i, j]."""
    table = np.full((len(items), 2, 2), np.nan, items.scores.dtype)
    is_complete = np.ones(len(items), dtype=bool)
    for caption in (0, 1):
        for image in (0, 1):
            is_truth = items.truth if image == caption else items.false
            mask = (items.slot == str(caption)) & is_truth
            table[:, image, caption] = best_score(items.scores, mask)
            is_complete &= mask.any(axis=1)
    return items.requiring(is_complete), table


def _join_reasons(items: Items, other: Items) -> Items:
    """The items, unscored or unread also where the same items of other questions are."""
    unscored = np.where(items.scored, other.unscored, items.unscored)
    items = replace(items, unscored=unscored)
    # Scores have nothing to read; only answers in words do.
    if items.unread is None or other.unread is None:
        return items
    unread = np.where(items.unread == "", other.unread, items.unread)
    return replace(items, unread=unread)
