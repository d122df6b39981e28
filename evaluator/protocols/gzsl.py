"""Zero-shot and generalised zero-shot (protocols, section 2; Pearson et al. 2025)."""

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, errors, recall, tabulate

DISTRACTOR = "distractor"


def measure(items: Items) -> Measured:
    """R@1 against the distractors alone (ZSL) and with the hard negatives (GZSL); errors in shares of all predictions."""
    outcomes = [
        recall(items, items.false, "GZSL"),
        recall(items, items.false & (items.candidate_kind == DISTRACTOR), "ZSL"),
    ]
    rows = tabulate(items, outcomes, ["kind"])
    for kind in sorted(set(items.kind.tolist())):
        part = items.take(items.kind == kind)
        rows += tabulate(part, errors(part, "share of predictions", part.truth | part.false), ["kind"], gaps=False)
    return Measured(items, outcomes, rows)
