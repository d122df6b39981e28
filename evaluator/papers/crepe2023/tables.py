"""Ma et al. 2023, "CREPE: Can Vision-Language Foundation Models Reason Compositionally?" (numbers
of its supplement)."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.papers.inputs import Given, Label, captions_by_atom, datasets
from evaluator.papers.paper import (
    Paper,
    PaperFigure,
    PaperTable,
    Part,
    by_label,
    figure,
    grouped,
    part,
    parts,
)
from evaluator.protocols.crepe import OWN_METRICS, RAW_METRICS
from evaluator.protocols.records import by_key
from evaluator.report.figures import Figure, by_complexity, by_frequency
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.runs.folder import Run
from generator.base.errors import visible
from generator.base.tables import read_csv
from generator.dataset.records import RAW

_SPLITS = (part("SC", split="seen"), part("UC", split="unseen"))
_ALL_SPLITS = (*_SPLITS, part("UA", split="unseen_atoms"))
_RECALLS = (
    part("R@1", metric="R@1"),
    part("R@3", metric="R@3"),
    part("Avg R@K", metric="mean of R@1 and R@3"),
)
_DIRECTIONS = (
    part("Image-to-text", metric=RAW_METRICS[0]),
    part("Text-to-image", metric=RAW_METRICS[1]),
    part("Image-to-text, own caption", metric=OWN_METRICS[0]),
    part("Text-to-image, own image", metric=OWN_METRICS[1]),
)
_RULES = (
    "A candidate that is true of the query counts as right. Lines `own` follow the paper (appendix "
    "B.2): only the caption or image that the query was made with counts, and other true "
    "candidates count as mistakes."
)
_RAW_TOO = "Captions without false texts are counted too: raw retrieval asks about them."
_NAMES = (
    part("Atoms", metric="atoms"),
    part("atoms not in training", metric="atoms_not_in_training"),
    part("Compounds", metric="compounds"),
    part("compounds not in training", metric="compounds_not_in_training"),
)
_KINDS = {"HN-ATOM": "atom", "HN-COMP": "comp", "HN-SWAP": "swap", "HN-NEG": "neg", "Raw": RAW}


def _systematicity(number: str, negatives: str, kind: str) -> PaperTable:
    columns, of = grouped(_RECALLS, _SPLITS), {"protocol": "systematicity", "kind": kind}
    return PaperTable(
        number, f"Systematicity, {negatives}", lambda given: by_label(given.labels, columns, of=of)
    )


def _productivity(number: str, negatives: str, kind: str) -> PaperTable:
    of = {"protocol": "productivity", "metric": "R@1", "kind": kind}

    def make(given: Given) -> Table:
        columns = parts(given.labels, "n = {}", ["n"], of)
        return by_label(
            given.labels, columns, parts(given.labels, "{}", ["split"], of), "split", of
        )

    return PaperTable(number, f"Productivity, R@1 by number of atoms, {negatives}", make)


def _captions(
    protocol: str,
    kinds: tuple[str, ...],
    rows: Callable[[Sequence[Label]], Sequence[Part]],
    head: str,
) -> PaperTable:
    """A table of the numbers of captions and of false texts by kind. rows: makes its rows from the
    datasets' labels."""
    columns = [part("Ground truth", metric="captions")]
    columns += [
        part(name, metric="false_texts", kind=kind)
        for name, kind in _KINDS.items()
        if kind in kinds
    ]

    def make(given: Given) -> Table:
        labels, of = datasets(given), {"protocol": protocol}
        return by_label(labels, columns, rows(labels), head, of, "dataset", [_RAW_TOO])

    return PaperTable(f"4-{protocol}", f"Captions and false texts of {protocol}", make)


def _compounds(given: Given) -> Table:
    """Captions of systematicity by number of atoms: an attribute compound has two atoms, a relation
    compound three."""
    labels, of = datasets(given), {"protocol": "systematicity", "metric": "captions"}
    return by_label(labels, _ALL_SPLITS, parts(labels, "{}", ["n"], of), "atoms", of, "dataset")


def _sizes(given: Given) -> Table:
    labels = datasets(given)
    rows = [
        Part(f"{name.capitalize()}, {each.head}".removesuffix(", "), {"protocol": name, **each.of})
        for name in ("systematicity", "productivity")
        for each in parts(
            labels,
            "{}",
            ["split"],
            {"protocol": name, "metric": "set_size", "kind": tuple(_KINDS.values())},
        )
    ]
    columns = [part(head, metric="set_size", kind=kind) for head, kind in _KINDS.items()]
    return by_label(labels, columns, rows, "questions", named="dataset")


def _raw_by_split(given: Given) -> Table:
    of = {
        "protocol": "systematicity",
        "kind": RAW,
        "metric": tuple(each.of["metric"] for each in _DIRECTIONS),
    }
    # If bindings and relations are held out, their captions have pools of their own, and rows of
    # their own.
    rows: Sequence[Part] = _DIRECTIONS
    if any(row["skill"] for label in given.labels for row, _ in label.select(of)):
        rows = _each_direction(parts(given.labels, "{}", ["skill"], of))
    return by_label(given.labels, _ALL_SPLITS, rows, "direction", of, notes=[_RULES])


def _raw_by_n(given: Given) -> Table:
    of = {
        "protocol": "productivity",
        "kind": RAW,
        "metric": tuple(each.of["metric"] for each in _DIRECTIONS),
    }
    groups = parts(given.labels, "{}", ["split", "n"], of)
    sizes = sorted({each.of["n"] for each in groups}, key=lambda n: (len(str(n)), n))
    splits = list(dict.fromkeys(each.of["split"] for each in groups))
    rows = _each_direction(
        [part(split if len(splits) > 1 else "", split=split) for split in splits]
    )
    return by_label(
        given.labels, [part(f"n = {n}", n=n) for n in sizes], rows, "direction", of, notes=[_RULES]
    )


def _each_direction(groups: Sequence[Part]) -> list[Part]:
    """A row for each direction and rule of raw retrieval, for each group."""
    return [
        Part(f"{direction.head}, {group.head}".removesuffix(", "), {**group.of, **direction.of})
        for group in groups
        for direction in _DIRECTIONS
    ]


SHOWN = 3
"""Items of each split in table 13, chosen by a hash of their names."""
_COLUMNS = {
    **dict.fromkeys(("protocol", "item_id", "kind", "split", "text"), pa.string()),
    "truth": pa.bool_(),
}


def _top_captions(given: Given) -> Table:
    """A table of SHOWN items of each split that all labels with runs were asked: for each label's
    first run, whether the best text is true, and its three best texts. It has no lines if the
    labels share no item."""
    tops = [_top(label.runs[0].run) if label.runs else {} for label in given.labels]
    asked = [(label.runs[0].run, top) for label, top in zip(given.labels, tops, strict=True) if top]
    lines: list[Line] = []
    for split in _SPLITS if asked else ():
        run, first = asked[0]
        shared = set.intersection(*(set(top) for _, top in asked))
        of_split = [item for item in shared if first[item][0]["split"] == split.of["split"]]
        for i, item in enumerate(
            sorted(of_split, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:SHOWN]
        ):
            cells = [
                cell
                for label, top in zip(given.labels, tops, strict=True)
                for cell in _best(label, top.get(item))
            ]
            row = run.benchmark.candidates.filter(
                (pc.field("item_id") == item) & (pc.field("slot") == "c")
            )
            caption = row.filter(pc.field("truth")).to_pylist()[0]
            labels = [split.head, caption["scene_id"], run.benchmark.text_of[caption["text_id"]]]
            lines.append(Line(labels, cells, rule=i == 0 and bool(lines)))
    columns = [
        Column(head, label.name) for label in given.labels for head in ("R@1", "Top 3 captions")
    ]
    return Table(["split", "image", "caption"], columns, lines)


def _top(run: Run) -> dict[str, list[dict[str, Any]]]:
    """{item: its best texts}, best first."""
    path = run.folder / "tables" / "top.csv"
    rows = read_csv(path, _COLUMNS).to_pylist() if path.exists() else []
    return by_key(
        (row["item_id"], row)
        for row in rows
        if (row["protocol"], row["kind"]) == ("systematicity", "both")
    )


def _best(label: Label, texts: list[dict[str, Any]] | None) -> list[Cell]:
    if texts is None:
        return [Cell(reason=label.missing or "its runs have no best texts of these items")] * 2
    right = int(texts[0]["truth"])
    said = visible("; ".join(f"{i}. {text['text']}" for i, text in enumerate(texts, 1)))
    return [
        Cell(str(right), numbers={"value": right, "unit": "share"}),
        Cell(said, numbers={"text": said}),
    ]


def _atoms(given: Given) -> list[Figure]:
    found = [(label.name, captions_by_atom(label.runs[0].run)) for label in datasets(given)]
    return [each for name, atoms in found for each in by_frequency(name, atoms, ("seen", "unseen"))]


PAPER = Paper(
    [
        _captions("systematicity", ("atom", "comp"), lambda labels: _ALL_SPLITS, "split"),
        _captions(
            "productivity",
            ("atom", "swap", "neg"),
            lambda labels: parts(
                labels, "n = {}", ["n", "split"], {"protocol": "productivity", "metric": "captions"}
            ),
            "n",
        ),
        PaperTable(
            "4-compounds",
            "Captions of systematicity by number of atoms: attributes two, relations three",
            _compounds,
        ),
        PaperTable("5", "Texts that an image is asked against", _sizes),
        PaperTable(
            "7",
            "Different atoms and compounds that captions of systematicity name",
            lambda given: by_label(
                datasets(given),
                grouped(_SPLITS, _NAMES),
                of={"protocol": "systematicity"},
                named="dataset",
            ),
        ),
        _systematicity("8", "negatives of both kinds", "both"),
        _systematicity("9", "HN-ATOM", "atom"),
        _systematicity("10", "HN-COMP", "comp"),
        PaperTable(
            "11",
            "Systematicity, raw retrieval: R@1",
            _raw_by_split,
        ),
        PaperTable("12", "Productivity, raw retrieval: R@1 by number of atoms", _raw_by_n),
        PaperTable(
            "13",
            "The three best captions of a few images",
            _top_captions,
            "no run has best texts (tables/top.csv) of items that every run was asked",
        ),
        _productivity("5-atom", "HN-ATOM", "atom"),
        _productivity("5-swap", "HN-SWAP", "swap"),
        _productivity("5-neg", "HN-NEG", "neg"),
        _productivity("5-all", "negatives of all types", "all"),
    ],
    [
        PaperFigure("4", _atoms, "no run was asked about a world whose captions name atoms"),
        figure("5", by_complexity, "productivity", kind="all"),
    ],
)
