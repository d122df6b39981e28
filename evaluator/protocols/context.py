"""Context: the same question with the environment named in both captions, and the change that makes."""

from evaluator.protocols.protocol import Protocol
from evaluator.protocols.results import ProtocolResults, difference, recall, tabulate
from evaluator.protocols.scores import Scores


class Context(Protocol):
    """Accuracy with minimal captions, with the environment in the captions, and the paired difference, by kind and split."""

    name = "context"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        minimal = recall(items, items.false & (items.slot == "n"), "accuracy, minimal")
        context = recall(items, items.false & (items.slot == "context"), "accuracy, with context", slot="context")
        outcomes = [minimal, context, difference("context - minimal", context, minimal)]
        return ProtocolResults(items, outcomes, tabulate(items, outcomes, ["kind"]))
