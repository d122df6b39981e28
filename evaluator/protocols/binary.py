"""Binary accuracy of the true text against its foil, with minimal captions or with the environment in both captions."""

from evaluator.protocols.results import (
    Protocol,
    ProtocolResults,
    category_means,
    difference,
    kinds_and_skills,
    recall,
    tabulate,
)
from evaluator.protocols.scores import Scores


class Binary(Protocol):
    """Accuracy by kind of foil and split, and over all kinds where there are several (Peng et al. 2026, section 3.1).
    Chance 1/2.

    If the benchmark's authors average over categories: also that mean, and accuracy by skill if a kind has several.
    """

    name = "binary"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        accuracy = recall(items, items.false, "accuracy")
        rows = tabulate(items, [accuracy]) if len(set(items.kind)) > 1 else []
        rows += tabulate(items, [accuracy], ["kind"])
        if scores.averages_categories:
            categories = kinds_and_skills(items)
            rows += category_means(items, [accuracy], categories)
            if len(set(categories)) > len(set(items.kind)):
                rows += tabulate(items, [accuracy], ["kind", "skill"], gaps=False)
        return ProtocolResults(items, [accuracy], rows)


class Context(Protocol):
    """Accuracy with minimal captions and with the environment in the captions, and their paired difference, by kind and
    split."""

    name = "context"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.requiring(items.has_slots("n", "context"))
        minimal = recall(items, items.false & (items.slot == "n"), "accuracy, minimal")
        context = recall(items, items.false & (items.slot == "context"), "accuracy, with context", slot="context")
        outcomes = [minimal, context, difference("context - minimal", context, minimal)]
        return ProtocolResults(items, outcomes, tabulate(items, outcomes, ["kind"]))
