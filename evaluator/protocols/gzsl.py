"""Choices among several wrong texts: zero-shot questions (GZSL, ZSL) and confusion sets of the same
words."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.errors import candidate_errors
from evaluator.protocols.items import Items
from evaluator.protocols.results import Protocol, ProtocolResults, error_shares, recall, tabulate
from evaluator.protocols.scores import Scores

DISTRACTOR, ZERO_SHOT = "distractor", "zsl"


class Gzsl(Protocol):
    """R@1 against all wrong labels (GZSL) and against the wrong labels of the zero-shot question
    (ZSL); GZSL errors as shares of all predictions, and their directions (protocols, section 2;
    Pearson et al. 2025).

    Items without a zero-shot question (single objects) have no ZSL.
    """

    name = "gzsl"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        against = _zero_shot(items)
        asked = against.any(axis=1)
        generalised = recall(items, items.false & (items.slot == "n"), "GZSL")
        zero_shot = recall(items, against, "ZSL")
        zero_shot = replace(zero_shot, value=np.where(asked, zero_shot.value, np.nan))
        rows = tabulate(items, [generalised], ["kind"])
        rows += tabulate(items, [zero_shot], ["kind"], where=asked)
        compared = items.of_slots("c", "n")
        for kind in sorted(set(items.kind.tolist())):
            part = compared.take(items.kind == kind)
            shares = error_shares(part, "share of predictions", part.truth | part.false)
            rows += tabulate(part, shares, ["kind"], gaps=False)
        return ProtocolResults(
            items, [generalised, zero_shot], rows + candidate_errors(scores, compared)
        )


class Confusion(Protocol):
    """R@1 against every other assignment of the same words, chance true/size (protocols, section 5;
    Auto-Comp, 2026).

    The share of each pattern among the errors, beside its share among the negatives; and the
    directions of errors.
    """

    name = "confusion"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        shares = error_shares(items, "share of errors", items.false)
        wrong = items.scored & (np.sum([share.value for share in shares], axis=0) > 0)
        rows = tabulate(items, [first], ["kind"])
        rows += tabulate(items, shares, ["kind"], gaps=False, where=wrong)
        return ProtocolResults(items, [first], rows + candidate_errors(scores, items))


def _zero_shot(items: Items) -> np.ndarray:
    """Mask (n, m) of the wrong labels of the zero-shot question: the labels in its slot; for items
    without the slot the distractors, if scores are graded."""
    own = items.false & (items.slot == ZERO_SHOT)
    distractors = items.false & (items.slot == "n") & (items.candidate_kind == DISTRACTOR)
    if not items.graded:  # a choice among all labels does not tell the choice among a subset
        return own
    return np.where(own.any(axis=1, keepdims=True), own, distractors)
