"""Ma et al. 2023, "CREPE: Can Vision-Language Foundation Models Reason Compositionally?" (numbers of its supplement)."""

from evaluator.protocols.protocol import lazy
from evaluator.protocols.raw_retrieval import KIND, METRICS
from evaluator.tables.paper import BY_SPLIT, Figure, Paper, PaperTable, grouped, part
from evaluator.tables.sources import EACH

_SPLITS = (part("SC", split="seen"), part("UC", split="unseen"))
_RECALLS = (
    part("R@1", metric="R@1"),
    part("R@3", metric="R@3"),
    part("Avg R@K", metric="mean of R@1 and R@3"),
)
_DIRECTIONS = tuple(
    part(head, metric=metric) for head, metric in zip(("Image-to-text", "Text-to-image"), METRICS, strict=True)
)


def _systematicity(number: str, negatives: str, kind: str) -> PaperTable:
    of = {"protocol": "systematicity", "kind": kind}
    return PaperTable(number, f"Systematicity, {negatives}", grouped(_RECALLS, _SPLITS), of=of)


def _productivity(number: str, negatives: str, kind: str) -> PaperTable:
    of = {"protocol": "productivity", "metric": "R@1", "kind": kind}
    title = f"Productivity, R@1 by number of atoms, {negatives}"
    return PaperTable(number, title, (part("n = {}", n=EACH),), rows=BY_SPLIT, head="split", of=of)


PAPER = Paper(
    (
        _systematicity("8", "negatives of both kinds", "both"),
        _systematicity("9", "HN-ATOM", "atom"),
        _systematicity("10", "HN-COMP", "comp"),
        PaperTable(
            "11", "Systematicity, raw retrieval: R@1", (*_SPLITS, part("UA", split="unseen_atoms")), rows=_DIRECTIONS,
            head="direction", of={"protocol": "systematicity", "kind": KIND},
        ),
        PaperTable(
            "12", "Productivity, raw retrieval: R@1 by number of atoms", (part("n = {}", n=EACH),),
            rows=tuple(part(each.head, **each.of, split="seen") for each in _DIRECTIONS),
            head="direction", of={"protocol": "productivity", "kind": KIND},
        ),
        _productivity("5-atom", "HN-ATOM", "atom"),
        _productivity("5-swap", "HN-SWAP", "swap"),
        _productivity("5-neg", "HN-NEG", "neg"),
        _productivity("5-all", "negatives of all types", "all"),
    ),
    figures=(Figure("5", lazy("evaluator.report.figures:by_complexity"), "productivity", {"kind": "all"}),),
    elsewhere=(
        "Tables 4, 5 and 7 and figure 4 are in `gen count DATASET` (--json has figure 4).",
        "Table 13, the three best captions of each item, is in tables/top.csv of each run.",
    ),
)  # fmt: skip
