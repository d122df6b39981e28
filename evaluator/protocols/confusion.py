"""Confusion sets: the truth against every other assignment of the same words (protocols, section 5; Auto-Comp, 2026)."""

import numpy as np

from evaluator.protocols.errors import candidate_errors
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.results import ProtocolResults, error_shares, recall, tabulate
from evaluator.protocols.scores import Scores


class Confusion(Protocol):
    """R@1 with chance true/size; of the errors, the share of each pattern beside its share among the negatives, and which
    way they go."""

    name = "confusion"
    tables = (lazy("evaluator.report.tables.of_protocol:by_split"), lazy("evaluator.report.tables.of_protocol:errors"))

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        shares = error_shares(items, "share of errors", items.false)
        wrong = items.scored & (np.sum([share.value for share in shares], axis=0) > 0)
        rows = tabulate(items, [first], ["kind"])
        rows += tabulate(items.take(wrong), [share.take(wrong) for share in shares], ["kind"], gaps=False)
        return ProtocolResults(items, [first], rows + candidate_errors(scores, items))
