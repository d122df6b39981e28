"""CREPE (protocols, section 3; Ma et al. 2023): compounds seen and unseen in training, and captions of growing
complexity."""

import numpy as np

from evaluator.protocols.pools import Fold
from evaluator.protocols.protocol import Layout, Protocol
from evaluator.protocols.raw_retrieval import KIND, make_folds, retrieval_rows
from evaluator.protocols.results import Outcome, ProtocolResults, atoms, category_means, recall, tabulate
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark


class Systematicity(Protocol):
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split; raw retrieval by split."""

    name = "systematicity"
    layout = Layout(["split"], ["kind", "metric"], sizes=False)  # CREPE, tables 3 and 4

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


class Productivity(Protocol):
    """R@1 by kind of negatives (atom, swap, neg, all), over all captions and by number of atoms n; raw retrieval by n.

    Of CREPE itself, which draws R@1 by n, the mean over n too.
    """

    name = "productivity"
    layout = Layout(["kind", "split"], ["n"], chance="chance", sizes=False)

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["kind"]) + tabulate(items, [first], ["kind", "n"], gaps=False)
        if scores.averages_categories:
            sizes = [(kind, str(n)) for kind, n in zip(items.kind, atoms(items), strict=True)]
            rows += category_means(items, [first], sizes, overall=False)
        return ProtocolResults(items, [first], rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=True)
