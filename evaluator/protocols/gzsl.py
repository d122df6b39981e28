"""Choices among several wrong texts: zero-shot questions (GZSL, ZSL) and confusion sets of the same
words."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.errors import candidate_errors
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import error_shares, recall
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores

DISTRACTOR = "distractor"
"""The kind of random wrong labels, which are not hard negatives."""
ZERO_SHOT = "zsl"
"""The slot of the wrong labels of a zero-shot question."""


class Gzsl(Protocol):
    """R@1 against all wrong labels (GZSL) and against the wrong labels of the zero-shot question
    (ZSL); GZSL errors as shares of all predictions, and their directions (protocols, section 2;
    Pearson et al. 2025).

    Items without a zero-shot question (single objects) have no ZSL.
    """

    name = "gzsl"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        generalised = recall(items, items.false & (items.slot == "n"), "GZSL")
        wrong_labels = _zero_shot(items)
        has_zero_shot = wrong_labels.any(axis=1)
        zero_shot = recall(items, wrong_labels, "ZSL")
        zero_shot = replace(zero_shot, value=np.where(has_zero_shot, zero_shot.value, np.nan))
        rows = tabulate(items, [generalised], ["kind"])
        rows += tabulate(items, [zero_shot], ["kind"], where=has_zero_shot)

        # Each kind of question has kinds of errors of its own.
        compared = items.of_slots("c", "n")
        for kind in sorted(set(items.kind.tolist())):
            of_kind = compared.take(items.kind == kind)
            shares = error_shares(of_kind, "share of predictions", of_kind.truth | of_kind.false)
            rows += tabulate(of_kind, shares, ["kind"], gaps=False)
        rows += candidate_errors(scores, compared)
        return ProtocolResults(items, [generalised, zero_shot], rows)


class Confusion(Protocol):
    """R@1 against every other assignment of the same words, chance true/size (protocols, section 5;
    Auto-Comp, 2026).

    The share of each pattern among the errors, beside its share among the negatives; and the
    directions of errors.
    """

    name = "confusion"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        recall_at_1 = recall(items, items.false)
        shares = error_shares(items, "share of errors", items.false)
        # The shares of an item sum to 1 if it is wrong, and to 0 if it is right.
        sums = np.sum([share.value for share in shares], axis=0)
        is_wrong = items.scored & (sums > 0)
        rows = tabulate(items, [recall_at_1], ["kind"])
        rows += tabulate(items, shares, ["kind"], gaps=False, where=is_wrong)
        rows += candidate_errors(scores, items)
        return ProtocolResults(items, [recall_at_1], rows)


def _zero_shot(items: Items) -> np.ndarray:
    """Mask (n, m) of the wrong labels of the zero-shot question: the labels in its slot; for items
    without the slot the distractors, if scores are graded."""
    in_slot = items.false & (items.slot == ZERO_SHOT)
    if not items.graded:
        return in_slot  # a choice among all labels does not tell the choice among a subset
    distractors = items.false & (items.slot == "n") & (items.candidate_kind == DISTRACTOR)
    return np.where(in_slot.any(axis=1, keepdims=True), in_slot, distractors)
