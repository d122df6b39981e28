"""What a protocol declares: its name, what it needs, how it measures, and how its results are drawn and tabulated."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any, ClassVar

from evaluator.protocols.pools import Fold
from evaluator.protocols.results import ProtocolResults, Results
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark


def lazy(target: str, **options: Any) -> Callable[..., Any]:
    """The function "module:name" with keyword arguments, imported when it is called: drawing loads matplotlib.

    >>> lazy("builtins:sorted", reverse=True)([1, 3, 2])
    [3, 2, 1]
    """
    return lambda *arguments: resolve_name(target)(*arguments, **options)


BY_SPLIT = lazy("evaluator.report.figures:by_split")


class Protocol(ABC):
    """How the scores of a benchmark's items become results. To add one, write it in a file and name it in registry.py.

    figures: functions (results of one or more runs, protocol) → SVG texts. tables: functions (results of one run, protocol)
    → LaTeX tables. Both are in evaluator.report, or your own.
    """

    name: ClassVar[str]
    """The name that the benchmark's items give it."""
    compares_images: ClassVar[bool] = False
    """Whether scores of different images are compared, for which a model may have a channel of its own."""
    figures: ClassVar[Sequence[Callable[[Sequence[Results], str], list[str]]]] = (BY_SPLIT,)
    tables: ClassVar[Sequence[Callable[[Results, str], list[Any]]]] = (
        lazy("evaluator.report.tables.of_protocol:by_split"),
    )

    @abstractmethod
    def measure(self, scores: Scores) -> ProtocolResults:
        """The outcome of every item, and rows of results."""

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        """The folds of its raw retrieval, which the model scores too; none for most protocols."""
        return []

    def caption(self, results: Results) -> str:
        """What the caption of its LaTeX tables says in addition."""
        return ""
