"""Binary accuracy: the true text against its foil (protocols, section 1; Peng et al. 2026, section 3.1)."""

from evaluator.protocols.categories import category_means, kinds_and_skills
from evaluator.protocols.protocol import Protocol
from evaluator.protocols.results import ProtocolResults, recall, tabulate
from evaluator.protocols.scores import Scores


class Binary(Protocol):
    """Accuracy by kind of foil and split, and over all kinds where there are several. Chance 1/2.

    Of benchmarks whose authors average over categories, that too, and by skill where a kind has several.
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
