"""COMPASS (protocols, section 4): one composed caption against its atoms one by one, and negatives that change one
type of atom."""

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import decomposed_recall
from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.loads import loads
from evaluator.protocols.protocol import Layout, Protocol
from evaluator.protocols.results import Outcome, ProtocolResults, difference, over_n, recall, right, tabulate
from evaluator.protocols.scores import Scores


class Integration(Protocol):
    """R@1 composed and decomposed and their gap, by level and number of atoms n, and the unweighted mean over n."""

    name = "integration"
    layout = Layout(["level", "split"], ["metric"], chance="chance of the gap")

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        composed = recall(items, items.false & (items.slot == "n"), "R@1 composed")
        decomposed = _decomposed(items)
        outcomes = [composed, decomposed, difference("integration gap", decomposed, composed)]
        rows = tabulate(items, outcomes, ["level"], gaps=False, average=over_n(items))
        return ProtocolResults(items, outcomes, rows + tabulate(items, outcomes, ["level", "n"], gaps=False))


class Skill(Protocol):
    """R@1 by skill and level; the load of each count (fits); R@1 of every combination of counts (cells)."""

    name = "skill"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["skill", "level"])
        cells = tabulate(items, [first], ["skill", "level", *COUNTS], gaps=False)
        return ProtocolResults(items, [first], rows, loads(items, first), cells)


def _decomposed(items: Items) -> Outcome:
    """Whether every decomposed caption beats its own negative; chance 2⁻ᴺ."""
    masks = [items.slot == slot for slot in sorted(set(items.slot.ravel().tolist()) - {"", "c", "n"})]
    asked, true, false = np.zeros((3, len(items), len(masks)))
    for i, mask in enumerate(masks):
        asked[:, i] = mask.any(axis=1)
        true[:, i], false[:, i] = (best_score(items.scores, mask & of) for of in (items.truth, items.false))
    won = decomposed_recall(true, false, asked.astype(bool), items.tolerance)
    return right("R@1 decomposed", 0.5 ** asked.sum(axis=1), won)
