"""Productivity: captions of growing complexity (protocols, section 3; CREPE, Ma et al. 2023, section 3)."""

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, recall, tabulate


def measure(items: Items) -> Measured:
    """R@1 by kind of negatives (atom, swap, neg, all) over all captions, and by their number of atoms n."""
    first = recall(items, items.false)
    rows = tabulate(items, [first], ["kind"]) + tabulate(items, [first], ["kind", "n"], gaps=False)
    return Measured(items, [first], rows)
