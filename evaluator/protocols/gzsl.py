"""Zero-shot and generalised zero-shot (protocols, section 2; Pearson et al. 2025)."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.errors import candidate_errors
from evaluator.protocols.items import Items
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.results import ProtocolResults, error_shares, recall, tabulate
from evaluator.protocols.scores import Scores

DISTRACTOR, ZERO_SHOT = "distractor", "zsl"


class Gzsl(Protocol):
    """R@1 against all wrong labels (GZSL) and against those of the zero-shot question alone (ZSL); errors of GZSL as shares of
    all predictions, and which way they go.

    Items without a zero-shot question, those of one object, have no ZSL.
    """

    name = "gzsl"
    tables = (
        lazy("evaluator.report.tables.of_protocol:pivot", lines=["kind", "split"], columns=["metric", "error"]),
        lazy("evaluator.report.tables.of_protocol:errors"),
    )

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        against = _zero_shot(items)
        asked = against.any(axis=1)
        generalised = recall(items, items.false & (items.slot == "n"), "GZSL")
        zero_shot = recall(items, against, "ZSL")
        zero_shot = replace(zero_shot, value=np.where(asked, zero_shot.value, np.nan))
        rows = tabulate(items, [generalised], ["kind"])
        rows += tabulate(items.take(asked), [zero_shot.take(asked)], ["kind"])
        compared = items.of_slots("c", "n")
        for kind in sorted(set(items.kind.tolist())):
            part = compared.take(items.kind == kind)
            shares = error_shares(part, "share of predictions", part.truth | part.false)
            rows += tabulate(part, shares, ["kind"], gaps=False)
        return ProtocolResults(items, [generalised, zero_shot], rows + candidate_errors(scores, compared))


def _zero_shot(items: Items) -> np.ndarray:
    """The wrong labels (n, m) of the zero-shot question: those in its slot, or the distractors of items without the slot."""
    own = items.false & (items.slot == ZERO_SHOT)
    distractors = items.false & (items.slot == "n") & (items.candidate_kind == DISTRACTOR)
    return np.where(own.any(axis=1, keepdims=True), own, distractors)
