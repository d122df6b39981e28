"""Productivity: captions of growing complexity (protocols, section 3; CREPE, Ma et al. 2023, section 3)."""

from evaluator.protocols.categories import category_means
from evaluator.protocols.pools import Fold
from evaluator.protocols.protocol import BY_SPLIT, Protocol, lazy
from evaluator.protocols.raw_retrieval import make_folds, retrieval_rows
from evaluator.protocols.results import ProtocolResults, atoms, recall, tabulate
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark


class Productivity(Protocol):
    """R@1 by kind of negatives (atom, swap, neg, all), over all captions and by their number of atoms n; raw retrieval by n. Of CREPE itself, which
    draws R@1 by n, the mean over n too."""

    name = "productivity"
    figures = (lazy("evaluator.report.figures:by_complexity"), BY_SPLIT)
    tables = (
        lazy(
            "evaluator.report.tables.of_protocol:pivot",
            lines=["kind", "split"],
            columns=["n"],
            chance="chance",
            sizes=False,
        ),
        lazy("evaluator.report.tables.of_protocol:raw_retrieval"),
    )

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
