"""Zero-shot and generalised zero-shot (protocols, section 2; Pearson et al. 2025)."""

from evaluator.protocols.errors import candidate_errors
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.results import ProtocolResults, error_shares, recall, tabulate
from evaluator.protocols.scores import Scores

DISTRACTOR = "distractor"


class Gzsl(Protocol):
    """R@1 against the distractors alone (ZSL) and with the hard negatives (GZSL); errors as shares of all predictions, and
    which way they go."""

    name = "gzsl"
    tables = (
        lazy("evaluator.report.latex:pivot", lines=["kind", "split"], columns=["metric", "error"]),
        lazy("evaluator.report.latex:errors"),
    )

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        outcomes = [
            recall(items, items.false, "GZSL"),
            recall(items, items.false & (items.candidate_kind == DISTRACTOR), "ZSL"),
        ]
        rows = tabulate(items, outcomes, ["kind"])
        for kind in sorted(set(items.kind.tolist())):
            part = items.take(items.kind == kind)
            shares = error_shares(part, "share of predictions", part.truth | part.false)
            rows += tabulate(part, shares, ["kind"], gaps=False)
        return ProtocolResults(items, outcomes, rows + candidate_errors(scores, items))
