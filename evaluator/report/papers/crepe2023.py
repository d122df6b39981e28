"""Ma et al. 2023, "CREPE: Can Vision-Language Foundation Models Reason Compositionally?" (numbers of its
supplement)."""

from evaluator.protocols.raw_retrieval import KIND, METRICS
from evaluator.report.papers.counts import DATASET, captions_by_atom, count_table, counted, datasets
from evaluator.report.papers.given import Given
from evaluator.report.papers.paper import (
    Paper,
    PaperFigure,
    PaperTable,
    Part,
    by_label,
    figure_rows,
    grouped,
    part,
    parts,
)
from evaluator.report.papers.top_captions import top_captions
from evaluator.report.table import Table

_SPLITS = (part("SC", split="seen"), part("UC", split="unseen"))
_ALL_SPLITS = (*_SPLITS, part("UA", split="unseen_atoms"))
_RECALLS = (
    part("R@1", metric="R@1"),
    part("R@3", metric="R@3"),
    part("Avg R@K", metric="mean of R@1 and R@3"),
)
_DIRECTIONS = tuple(
    part(head, metric=metric) for head, metric in zip(("Image-to-text", "Text-to-image"), METRICS, strict=True)
)
_RAW_TOO = "Captions without false texts are counted too: raw retrieval asks about them."
_NAMES = (
    counted("Atoms", "atoms"),
    counted("not in training", "atoms_not_in_training"),
    counted("Compounds", "compounds"),
    counted("not in training", "compounds_not_in_training"),
)
_NOT_ASKED = "no run was asked such items"


def _systematicity(number: str, negatives: str, kind: str) -> PaperTable:
    columns, of = grouped(_RECALLS, _SPLITS), {"protocol": "systematicity", "kind": kind}
    return PaperTable(number, f"Systematicity, {negatives}", lambda given: by_label(given.labels, columns, of=of))


def _productivity(number: str, negatives: str, kind: str) -> PaperTable:
    of = {"protocol": "productivity", "metric": "R@1", "kind": kind}

    def make(given: Given) -> Table:
        columns = parts(given.labels, "n = {}", ["n"], {**of, "minus": None}) or [part("n = …")]
        return by_label(given.labels, columns, parts(given.labels, "{}", ["split"], of), "split", of)

    return PaperTable(number, f"Productivity, R@1 by number of atoms, {negatives}", make)


def _captions(given: Given) -> Table:
    columns = [counted(f"HN-{kind.upper()}", "false_texts", kind=kind) for kind in ("atom", "comp")]
    of = {"protocol": "systematicity"}
    return count_table(given, [counted("Ground truth", "captions"), *columns], _ALL_SPLITS, "split", of, _RAW_TOO)


def _captions_by_n(given: Given) -> Table:
    columns = [counted(f"HN-{kind.upper()}", "false_texts", kind=kind) for kind in ("atom", "swap", "neg")]
    of = {"protocol": "productivity"}
    rows = parts(datasets(given), "n = {}", ["n", "split"], {**of, "metric": "captions"})
    return count_table(given, [counted("Ground truth", "captions"), *columns], rows, "n", of, _RAW_TOO)


def _sizes(given: Given) -> Table:
    kinds = {"HN-ATOM": "atom", "HN-COMP": "comp", "HN-SWAP": "swap", "HN-NEG": "neg", "Raw": KIND}
    rows = [
        Part(f"{name.capitalize()}, {each.head}".removesuffix(", "), {"protocol": name, **each.of})
        for name in ("systematicity", "productivity")
        for each in parts(
            datasets(given), "{}", ["split"], {"protocol": name, "metric": "set_size", "kind": (*kinds.values(),)}
        )
    ]
    return count_table(given, [counted(head, "set_size", kind=kind) for head, kind in kinds.items()], rows, "questions")


def _raw_by_n(given: Given) -> Table:
    of = {"protocol": "productivity", "kind": KIND, "split": "seen"}
    columns = parts(given.labels, "n = {}", ["n"], {**of, "metric": METRICS}) or [part("n = …")]
    return by_label(given.labels, columns, _DIRECTIONS, "direction", of)


def _atoms(given: Given) -> list[str]:
    from evaluator.report.figures import by_frequency

    found = [(label.name, captions_by_atom(label.opened[0])) for label in datasets(given)]
    return [by_frequency(name, atoms, ("seen", "unseen")) for name, atoms in found if atoms]


def _by_complexity(given: Given) -> list[str]:
    from evaluator.report.figures import by_complexity

    return by_complexity(figure_rows(given, "productivity", {"kind": "all"}), "productivity")


_RAW = {"protocol": "systematicity", "kind": KIND}
PAPER = Paper(
    [
        PaperTable("4-systematicity", "Captions and false texts of systematicity", _captions, _NOT_ASKED),
        PaperTable("4-productivity", "Captions and false texts of productivity", _captions_by_n, _NOT_ASKED),
        PaperTable("5", "Texts that an image is asked against", _sizes, _NOT_ASKED),
        PaperTable(
            "7",
            "Different atoms and compounds that captions name",
            lambda given: count_table(given, grouped(_SPLITS, _NAMES), of={"protocol": DATASET}),
            _NOT_ASKED,
        ),
        _systematicity("8", "negatives of both kinds", "both"),
        _systematicity("9", "HN-ATOM", "atom"),
        _systematicity("10", "HN-COMP", "comp"),
        PaperTable(
            "11",
            "Systematicity, raw retrieval: R@1",
            lambda given: by_label(given.labels, _ALL_SPLITS, _DIRECTIONS, "direction", _RAW),
        ),
        PaperTable("12", "Productivity, raw retrieval: R@1 by number of atoms", _raw_by_n),
        PaperTable(
            "13",
            "The three best captions of a few images",
            lambda given: top_captions(given, "systematicity", "both", _SPLITS),
            "no run has best texts (tables/top.csv) of items that all others were asked too",
        ),
        _productivity("5-atom", "HN-ATOM", "atom"),
        _productivity("5-swap", "HN-SWAP", "swap"),
        _productivity("5-neg", "HN-NEG", "neg"),
        _productivity("5-all", "negatives of all types", "all"),
    ],
    [
        PaperFigure("4", _atoms, "no run was asked about a world whose captions name atoms"),
        PaperFigure("5", _by_complexity, "no run has results of `productivity`"),
    ],
)
