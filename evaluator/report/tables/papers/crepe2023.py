"""Ma et al. 2023, "CREPE: Can Vision-Language Foundation Models Reason Compositionally?" (numbers of its supplement)."""

from evaluator.protocols.protocol import lazy
from evaluator.protocols.raw_retrieval import KIND, METRICS
from evaluator.report.tables.counts import DATASET, AtomFigure, CountTable, counted
from evaluator.report.tables.paper import BY_SPLIT, Figure, Paper, PaperTable, Part, grouped, part
from evaluator.report.tables.sources import EACH, Labels
from evaluator.report.tables.top_captions import TopTable

_SPLITS = (part("SC", split="seen"), part("UC", split="unseen"))
_UNSEEN_ATOMS = part("UA", split="unseen_atoms")
_RAW_TOO = "Captions without false texts are counted too: raw retrieval asks about them."
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


_SYSTEMATICITY: Labels = {"protocol": "systematicity"}
_PRODUCTIVITY: Labels = {"protocol": "productivity"}
_OF_NAMES = (
    counted("Atoms", "atoms"),
    counted("not in training", "atoms_not_in_training"),
    counted("Compounds", "compounds"),
    counted("not in training", "compounds_not_in_training"),
)
_COUNTS = (
    CountTable(
        "4-systematicity", "Captions and false texts of systematicity",
        (
            counted("Ground truth", "captions"), counted("HN-ATOM", "false_texts", kind="atom"),
            counted("HN-COMP", "false_texts", kind="comp"),
        ),
        (*_SPLITS, _UNSEEN_ATOMS), "split", _SYSTEMATICITY, (_RAW_TOO,),
    ),
    CountTable(
        "4-productivity", "Captions and false texts of productivity",
        (
            counted("Ground truth", "captions"),
            *(counted(f"HN-{kind.upper()}", "false_texts", kind=kind) for kind in ("atom", "swap", "neg")),
        ),
        (part("n = {}", n=EACH, split=EACH),), "n", _PRODUCTIVITY, (_RAW_TOO,),
    ),
    CountTable(
        "5", "Texts that an image is asked against",
        (
            *(counted(f"HN-{kind.upper()}", "set_size", kind=kind) for kind in ("atom", "comp", "swap", "neg")),
            counted("Raw", "set_size", kind=KIND),
        ),
        [Part(f"{name.capitalize()}, {{}}", {"protocol": name, "split": EACH}) for name in ("systematicity", "productivity")],
        "questions",
    ),
    CountTable(
        "7", "Different atoms and compounds that captions name", grouped(_SPLITS, _OF_NAMES), of={"protocol": DATASET},
    ),
)  # fmt: skip

PAPER = Paper(
    (
        *_COUNTS,
        _systematicity("8", "negatives of both kinds", "both"),
        _systematicity("9", "HN-ATOM", "atom"),
        _systematicity("10", "HN-COMP", "comp"),
        PaperTable(
            "11", "Systematicity, raw retrieval: R@1", (*_SPLITS, _UNSEEN_ATOMS), rows=_DIRECTIONS,
            head="direction", of={"protocol": "systematicity", "kind": KIND},
        ),
        PaperTable(
            "12", "Productivity, raw retrieval: R@1 by number of atoms", (part("n = {}", n=EACH),),
            rows=tuple(part(each.head, **each.of, split="seen") for each in _DIRECTIONS),
            head="direction", of={"protocol": "productivity", "kind": KIND},
        ),
        TopTable("13", "The three best captions of a few images", "systematicity", "both", _SPLITS),
        _productivity("5-atom", "HN-ATOM", "atom"),
        _productivity("5-swap", "HN-SWAP", "swap"),
        _productivity("5-neg", "HN-NEG", "neg"),
        _productivity("5-all", "negatives of all types", "all"),
    ),
    figures=(
        AtomFigure("4", lazy("evaluator.report.figures:by_frequency"), ("seen", "unseen")),
        Figure("5", lazy("evaluator.report.figures:by_complexity"), "productivity", {"kind": "all"}),
    ),
)  # fmt: skip
