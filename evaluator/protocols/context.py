"""Context: the same question with the environment said, and what that changes."""

import numpy as np

from evaluator.protocols.comparison import beats, best, chance
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, Outcome, difference, recall, tabulate


def measure(items: Items) -> Measured:
    """Accuracy with minimal captions, with the environment said, and the paired difference, by kind and split."""
    minimal = recall(items, items.false & (items.slot == "n"), "accuracy, minimal")
    said = items.slot == "context"
    true, false = best(items.scores, said & items.truth), best(items.scores, said & items.false)
    with np.errstate(invalid="ignore"):
        won, lost = beats(true, false), beats(false, true)
    by_chance = chance((said & items.truth).sum(axis=1), (said & items.false).sum(axis=1))
    context = Outcome("accuracy, with context", won.astype(float), ~won & ~lost, by_chance)
    outcomes = [minimal, context, difference("context - minimal", context, minimal)]
    return Measured(items, outcomes, tabulate(items, outcomes, ["kind"]))
