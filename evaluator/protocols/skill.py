"""Skills: negatives that change atoms of one type only (protocols, section 4; COMPASS)."""

from evaluator.protocols.items import COUNTS
from evaluator.protocols.loads import loads
from evaluator.protocols.protocol import BY_SPLIT, Protocol, lazy
from evaluator.protocols.results import ProtocolResults, recall, tabulate
from evaluator.protocols.scores import Scores


class Skill(Protocol):
    """R@1 by skill and level; the load of each count (fits); R@1 of every combination of counts (cells)."""

    name = "skill"
    figures = (lazy("evaluator.report.figures:by_count"), BY_SPLIT)
    tables = (lazy("evaluator.report.tables.of_protocol:by_split"), lazy("evaluator.report.tables.of_protocol:loads"))

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["skill", "level"])
        cells = tabulate(items, [first], ["skill", "level", *COUNTS], gaps=False)
        return ProtocolResults(items, [first], rows, loads(items, first), cells)
