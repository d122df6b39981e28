"""Binary accuracy: the true text against its foil (protocols, section 1; Peng et al. 2026, section 3.1)."""

from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, recall, tabulate


def measure(items: Items) -> Measured:
    """Accuracy by kind of foil and split; over all kinds too, where there are several. Chance 1/2."""
    accuracy = recall(items, items.false, "accuracy")
    rows = tabulate(items, [accuracy]) if len(set(items.kind)) > 1 else []
    return Measured(items, [accuracy], rows + tabulate(items, [accuracy], ["kind"]))
