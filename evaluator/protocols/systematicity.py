"""Systematicity: compounds seen and unseen in training (protocols, section 3; CREPE, Ma et al. 2023, section 3)."""

import numpy as np

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, Outcome, recall, tabulate


def measure(items: Items) -> Measured:
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split."""
    first, third = (recall(items, items.false, f"R@{k}", k) for k in (1, 3))
    both = Outcome(
        "mean of R@1 and R@3",
        np.mean([first.value, third.value], axis=0),
        first.tie | third.tie,
        np.mean([first.chance, third.chance], axis=0),
    )
    outcomes = [first, third, both]
    return Measured(items, outcomes, tabulate(items, outcomes, ["kind"]))
