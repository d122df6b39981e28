"""Systematicity: compounds seen and unseen in training (protocols, section 3; CREPE, Ma et al. 2023, section 3)."""

import numpy as np

from evaluator.protocols.pools import Fold
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.raw_retrieval import KIND, make_folds, retrieval_rows
from evaluator.protocols.results import Outcome, ProtocolResults, recall, tabulate
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark


class Systematicity(Protocol):
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split; raw retrieval by split."""

    name = "systematicity"
    tables = (  # CREPE, tables 3 and 4
        lazy("evaluator.report.tables.of_protocol:pivot", lines=["split"], columns=["kind", "metric"], sizes=False),
        lazy("evaluator.report.tables.of_protocol:raw_retrieval"),
    )

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.take(items.kind != KIND)  # captions alone, which only raw retrieval asks
        first, third = (recall(items, items.false, f"R@{k}", k) for k in (1, 3))
        mean = Outcome(
            "mean of R@1 and R@3",
            np.mean([first.value, third.value], axis=0),
            first.tie | third.tie,
            np.mean([first.chance, third.chance], axis=0),
        )
        outcomes = [first, third, mean]
        rows = tabulate(items, outcomes, ["kind"])
        if len(set(items.skill)) > 1:  # compounds of attributes and of relations
            rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False)
        return ProtocolResults(items, outcomes, rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=False)
