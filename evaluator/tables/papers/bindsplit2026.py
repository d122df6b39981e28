"""Peng et al. 2026, "CLIP Models Generalize Less Than Compositional Benchmarks Suggest" (BindSplit)."""

from evaluator.protocols.protocol import lazy
from evaluator.tables.paper import Figure, Paper, PaperTable, grouped, part
from evaluator.tables.sources import EACH, Labels

_SPLITS = (
    part("Seen", split="seen"),
    part("Partially unseen", split="partial"),
    part("Unseen", split="unseen"),
)
_BINARY: Labels = {"protocol": "binary", "metric": "accuracy", "kind": "swap"}
_R1: Labels = {"protocol": "retrieval", "metric": "R@1", "kind": "grid"}
_SCORES = (part("Group", metric="group"), part("Text", metric="text"), part("Image", metric="image"))
_GAPS = (
    part("Seen − partially unseen", split="seen - partial"),
    part("Seen − unseen", split="seen - unseen"),
    part("Partially unseen − unseen", split="partial - unseen"),
)

PAPER = Paper(
    (
        PaperTable(
            "2", "Binary accuracy and R@1 by split",
            grouped([part("Binary accuracy", **_BINARY), part("R@1", **_R1)], _SPLITS),
        ),
        PaperTable("3", "Gaps of R@1 between splits", _GAPS, of=_R1),
        PaperTable(
            "4", "R@1 by split after fine-tuning", _SPLITS, of=_R1, only=lambda label: "finetuned" in label,
            wanted="no label has the part 'finetuned'",
        ),
        PaperTable(
            "9", "Group, text and image accuracy of pairs by split", grouped(_SPLITS, _SCORES),
            rows=(part("{}", kind=EACH),), head="kind", of={"protocol": "pairs"},
        ),
        PaperTable(
            "10", "Gaps of group accuracy between splits", _GAPS,
            rows=(part("{}", kind=EACH),), head="kind", of={"protocol": "pairs", "metric": "group"},
        ),
    ),
    figures=(Figure("2", lazy("evaluator.report.figures:by_split"), "retrieval", _R1), Figure("4", lazy("evaluator.report.figures:by_split"), "binary", _BINARY), Figure("7", lazy("evaluator.report.figures:by_split"), "pairs")),
    elsewhere=("Tables 1, 19 and 20, and the splits of tables 5 to 18, are of `score familiarity`.",),
)  # fmt: skip
