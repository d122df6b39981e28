"""Frames of reference (protocols, section 17): captions of the viewer's frame and of an object's
frame over a turn of the camera, and which frame a model takes where a caption does not say it."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import beats, best_score
from evaluator.metrics.questions import all_won
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Outcome, right
from evaluator.protocols.pairs import PairItems, measure_pairs
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores

VIEWER, OBJECT, ASSUMED = "viewer", "object", "assumed"
"""The kinds of items. VIEWER and OBJECT are also kinds of bare captions, by the frame in which they
are true."""
FOLLOWS = {
    VIEWER: "follows the viewer",
    OBJECT: "follows the object",
    "neither": "follows neither",
}
"""The metrics of `assumed`, by kind of the caption that is chosen. None of them is better."""
_CHANCE_OF_OBJECT = 1 / 2
"""What a model without images reaches when it has to be right in both images: it gives both the
same answer, which is right in both or in neither. Independent guesses reach 1/4."""


class Frames(Protocol):
    """By kind, and by where the ground object looks (the skill).

    `viewer`: text, image, group and matching scores, as of `pairs`. `object`: the text score, right
    if the caption beats its foil in both images; chance 1/2. `assumed`: the share of answers that
    follow each frame, of bare captions where the frames disagree. A tie follows neither.
    """

    name = "frames"
    compares_images = True

    def measure(self, scores: Scores) -> ProtocolResults:
        pairs = PairItems.read(scores, self.name)
        items = pairs.of_captions
        n = len(items)
        of_kind = {kind: items.kind == kind for kind in (VIEWER, OBJECT, ASSUMED)}

        # Each kind is measured alone; what a measure misses makes an item unscored.
        viewer_items, viewer_outcomes = measure_pairs(pairs.take(of_kind[VIEWER]))
        object_items, object_outcome = _measure_object(items.take(of_kind[OBJECT]))
        items = _with_reasons(items, of_kind[VIEWER], viewer_items)
        items = _with_reasons(items, of_kind[OBJECT], object_items)

        # The outcomes as those of all items. Both kinds with a stated frame have a text score.
        text, *only_viewer = [_spread(outcome, of_kind[VIEWER], n) for outcome in viewer_outcomes]
        object_text = _spread(object_outcome, of_kind[OBJECT], n)
        text = _joined(text, object_text, of_kind[OBJECT])
        follows = []
        for outcome in _measure_assumed(items.take(of_kind[ASSUMED])):
            follows.append(_spread(outcome, of_kind[ASSUMED], n))

        rows = []
        over_both = of_kind[VIEWER] | of_kind[OBJECT]
        for outcomes, mask in (
            ([text], over_both),
            (only_viewer, of_kind[VIEWER]),
            (follows, of_kind[ASSUMED]),
        ):
            if mask.any():
                rows += tabulate(items, outcomes, ["kind"], where=mask)
                rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False, where=mask)
        outcomes = [text, *only_viewer, *follows]
        if not over_both.any():
            # The first outcome is shown of every item.
            outcomes = [*follows, text, *only_viewer]
        return ProtocolResults(items, outcomes, rows)


def _measure_object(items: Items) -> tuple[Items, Outcome]:
    """Whether the caption (slot 0) beats its foil (slot 1) in both images."""
    assert items.in_second_image is not None
    is_complete = np.ones(len(items), dtype=bool)
    comparisons = []
    for in_image in (~items.in_second_image, items.in_second_image):
        true = items.truth & in_image
        false = items.false & in_image
        is_complete &= true.any(axis=1) & false.any(axis=1)
        true_scores = best_score(items.scores, true)
        false_scores = best_score(items.scores, false)
        comparisons.append((true_scores, false_scores))
    won = all_won(comparisons, items.rules.tolerance)
    return items.requiring(is_complete), right("text", _CHANCE_OF_OBJECT, won)


def _measure_assumed(items: Items) -> list[Outcome]:
    """The share of answers that follow each frame.

    A caption is chosen if it beats the other one. In words, a caption has to be chosen in all
    orders of the captions; else its question follows neither frame, as ties do.
    """
    used = items.truth | items.false
    choices = {}
    for kind in (VIEWER, OBJECT):
        mask = used & (items.candidate_kind == kind)
        own = best_score(items.scores, mask)
        other = best_score(items.scores, used & ~mask)
        with np.errstate(invalid="ignore"):
            choices[kind] = beats(own, other, items.rules.tolerance)
        if not items.graded and kind == OBJECT:
            # The true option of a choice stands for the viewer. Another one scores 1 only if every
            # order chose it (evaluator.scoring.words.answers).
            choices[kind] &= own == 1.0
    is_neither = ~choices[VIEWER] & ~choices[OBJECT]
    no_tie = np.zeros(len(items), dtype=bool)
    half = np.full(len(items), 1 / 2)
    return [
        Outcome(FOLLOWS[VIEWER], choices[VIEWER].astype(float), no_tie, half),
        Outcome(FOLLOWS[OBJECT], choices[OBJECT].astype(float), no_tie, half),
        Outcome(FOLLOWS["neither"], is_neither.astype(float), is_neither & items.read, 0 * half),
    ]


def _spread(outcome: Outcome, mask: np.ndarray, n: int) -> Outcome:
    """The outcome of some items as one of all n items: nan where `mask` is false."""
    value = np.full(n, np.nan)
    chance = np.full(n, np.nan)
    tie = np.zeros(n, dtype=bool)
    value[mask] = outcome.value
    chance[mask] = outcome.chance
    tie[mask] = outcome.tie
    return replace(outcome, value=value, chance=chance, tie=tie)


def _joined(first: Outcome, second: Outcome, of_second: np.ndarray) -> Outcome:
    """One outcome from two of different items; `of_second` says where the second counts."""
    return replace(
        first,
        value=np.where(of_second, second.value, first.value),
        chance=np.where(of_second, second.chance, first.chance),
        tie=np.where(of_second, second.tie, first.tie),
    )


def _with_reasons(items: Items, mask: np.ndarray, measured: Items) -> Items:
    """The items, unscored and unread where those of a kind are; `mask` says which these are."""
    unscored = items.unscored.copy()
    unscored[mask] = measured.unscored
    items = replace(items, unscored=unscored)
    if items.unread is None or measured.unread is None:
        return items
    unread = items.unread.copy()
    unread[mask] = measured.unread
    return replace(items, unread=unread)
