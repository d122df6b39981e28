"""What a protocol declares: its name, how it measures, and how its table is laid out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from evaluator.protocols.pools import Fold
from evaluator.protocols.records import Results
from evaluator.protocols.results import ProtocolResults
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark


@dataclass(frozen=True)
class Layout:
    """A table with a line for each value of the labels `lines`, and a column for each value of the labels `columns`.

    chance: the head of a column with the chance of the last cell; without it chance stands in a last line. sizes:
    whether numbers of items and clusters stand to the right, where they are the same for all columns.
    """

    lines: Sequence[str]
    columns: Sequence[str]
    chance: str = ""
    sizes: bool = True


class Protocol(ABC):
    """How the scores of a benchmark's items become results. To add one, write it in a file and name it in
    registry.py.

    Its tables and figures follow from its rows: evaluator.report draws errors, raw retrieval, fits and cells where it
    has them.
    """

    name: ClassVar[str]
    """The name that the benchmark's items give it."""
    compares_images: ClassVar[bool] = False
    """Whether scores of different images are compared, for which a model may have a channel of its own."""
    layout: ClassVar[Layout | None] = None
    """How its table is laid out; None for a line for each metric and group, and a column for each split and gap."""

    @abstractmethod
    def measure(self, scores: Scores) -> ProtocolResults:
        """The outcome of every item, and rows of results."""

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        """The folds of its raw retrieval, which the model scores too; none for most protocols."""
        return []

    def caption(self, results: Results) -> str:
        """What the caption of its tables says in addition."""
        return ""
