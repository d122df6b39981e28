"""Confusion sets: the truth against every other assignment of the same words (protocols, section 5; Auto-Comp, 2026)."""

import numpy as np

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, errors, recall, tabulate


def measure(items: Items) -> Measured:
    """R@1 with chance true/size; of the errors, the share of each pattern beside its share among the negatives."""
    first = recall(items, items.false)
    shares = errors(items, "share of errors", items.false)
    wrong = items.scored & (np.sum([share.value for share in shares], axis=0) > 0)
    rows = tabulate(items, [first], ["kind"])
    rows += tabulate(items.take(wrong), [share.take(wrong) for share in shares], ["kind"], gaps=False)
    return Measured(items, [first], rows)
