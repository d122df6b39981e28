"""Ma et al. 2023, "CREPE: Can Vision-Language Foundation Models Reason Compositionally?" (numbers
of its supplement)."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.papers.counts import benchmark_labels, captions_by_atom
from evaluator.papers.inputs import LabelledRuns, PaperInputs, RowFilter
from evaluator.papers.paper import Paper, PaperFigure, PaperTable, figure_from_results
from evaluator.papers.selection import Selection, by_label, grouped, select, selections
from evaluator.protocols.crepe import OWN_METRICS, RAW_METRICS
from evaluator.report.audit_figures import by_frequency
from evaluator.report.figure import Figure
from evaluator.report.figures import by_complexity
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.runs.folder import Run
from generator.base.errors import visible
from generator.base.tables import read_csv
from generator.dataset.records import RAW

_SPLITS = (select("SC", split="seen"), select("UC", split="unseen"))
_ALL_SPLITS = (*_SPLITS, select("UA", split="unseen_atoms"))
_RECALLS = (
    select("R@1", metric="R@1"),
    select("R@3", metric="R@3"),
    select("Avg R@K", metric="mean of R@1 and R@3"),
)
_DIRECTIONS = (
    select("Image-to-text", metric=RAW_METRICS[0]),
    select("Text-to-image", metric=RAW_METRICS[1]),
    select("Image-to-text, own caption", metric=OWN_METRICS[0]),
    select("Text-to-image, own image", metric=OWN_METRICS[1]),
)
_RULES = (
    "A candidate that is true of the query counts as right. Lines `own` follow the paper (appendix "
    "B.2): only the caption or image that the query was made with counts, and other true "
    "candidates count as mistakes."
)
_RAW_TOO = "Captions without false texts are counted too: raw retrieval asks about them."
_NAMES = (
    select("Atoms", metric="atoms"),
    select("atoms not in training", metric="atoms_not_in_training"),
    select("Compounds", metric="compounds"),
    select("compounds not in training", metric="compounds_not_in_training"),
)
_KINDS = {"HN-ATOM": "atom", "HN-COMP": "comp", "HN-SWAP": "swap", "HN-NEG": "neg", "Raw": RAW}


def _systematicity(number: str, negatives: str, kind: str) -> PaperTable:
    """A table of recall by split, against negatives of one kind."""
    columns = grouped(_RECALLS, _SPLITS)
    row_filter = {"protocol": "systematicity", "kind": kind}
    return PaperTable(
        number,
        f"Systematicity, {negatives}",
        lambda inputs: by_label(inputs.labels, columns, row_filter=row_filter),
    )


def _productivity(number: str, negatives: str, kind: str) -> PaperTable:
    """A table of R@1 by number of atoms, against negatives of one kind."""
    row_filter = {"protocol": "productivity", "metric": "R@1", "kind": kind}

    def make(inputs: PaperInputs) -> Table:
        columns = selections(inputs.labels, "n = {}", ["n"], row_filter)
        rows = selections(inputs.labels, "{}", ["split"], row_filter)
        return by_label(inputs.labels, columns, rows, "split", row_filter)

    return PaperTable(number, f"Productivity, R@1 by number of atoms, {negatives}", make)


def _captions(
    protocol: str,
    kinds: tuple[str, ...],
    *,
    rows: Callable[[Sequence[LabelledRuns]], Sequence[Selection]],
    head: str,
) -> PaperTable:
    """A table of the numbers of captions and of false texts by kind.

    Args:
        protocol: The protocol that asks about the captions.
        kinds: The kinds of false texts.
        rows: Makes the rows of the table from the labels of the datasets.
        head: The head of the column of rows.
    """
    columns = [select("Ground truth", metric="captions")]
    for name, kind in _KINDS.items():
        if kind in kinds:
            columns.append(select(name, metric="false_texts", kind=kind))

    def make(inputs: PaperInputs) -> Table:
        labels = benchmark_labels(inputs)
        return by_label(
            labels,
            columns,
            rows(labels),
            head,
            {"protocol": protocol},
            named="dataset",
            notes=[_RAW_TOO],
        )

    return PaperTable(f"4-{protocol}", f"Captions and false texts of {protocol}", make)


def _captions_by_n(labels: Sequence[LabelledRuns]) -> list[Selection]:
    """Rows of captions of productivity by number of atoms and split."""
    row_filter = {"protocol": "productivity", "metric": "captions"}
    return selections(labels, "n = {}", ["n", "split"], row_filter)


def _compounds(inputs: PaperInputs) -> Table:
    """Captions of systematicity by number of atoms: an attribute compound has two atoms, a relation
    compound three."""
    labels = benchmark_labels(inputs)
    row_filter = {"protocol": "systematicity", "metric": "captions"}
    rows = selections(labels, "{}", ["n"], row_filter)
    return by_label(labels, _ALL_SPLITS, rows, "atoms", row_filter, named="dataset")


def _sizes(inputs: PaperInputs) -> Table:
    """Texts that an image is asked against, by protocol, split and kind."""
    labels = benchmark_labels(inputs)
    rows = []
    for protocol in ("systematicity", "productivity"):
        row_filter = {
            "protocol": protocol,
            "metric": "set_size",
            "kind": tuple(_KINDS.values()),
        }
        for of_split in selections(labels, "{}", ["split"], row_filter):
            head = f"{protocol.capitalize()}, {of_split.head}".removesuffix(", ")
            rows.append(Selection(head, {"protocol": protocol, **of_split.row_filter}))
    columns = [select(head, metric="set_size", kind=kind) for head, kind in _KINDS.items()]
    return by_label(labels, columns, rows, "questions", named="dataset")


def _names(inputs: PaperInputs) -> Table:
    """Different atoms and compounds that captions of systematicity name, by split."""
    return by_label(
        benchmark_labels(inputs),
        grouped(_SPLITS, _NAMES),
        row_filter={"protocol": "systematicity"},
        named="dataset",
    )


def _raw_filter(protocol: str) -> RowFilter:
    """The rows of raw retrieval of a protocol, in each direction and by each rule."""
    metrics = tuple(direction.row_filter["metric"] for direction in _DIRECTIONS)
    return {"protocol": protocol, "kind": RAW, "metric": metrics}


def _raw_by_split(inputs: PaperInputs) -> Table:
    """Raw retrieval of systematicity, by split."""
    row_filter = _raw_filter("systematicity")
    rows: Sequence[Selection] = _DIRECTIONS
    # If bindings and relations are held out, their captions have pools of their own, and rows of
    # their own.
    has_skills = False
    for label in inputs.labels:
        has_skills = has_skills or any(row["skill"] for row, _ in label.select(row_filter))
    if has_skills:
        rows = _each_direction(selections(inputs.labels, "{}", ["skill"], row_filter))
    return by_label(inputs.labels, _ALL_SPLITS, rows, "direction", row_filter, notes=[_RULES])


def _raw_by_n(inputs: PaperInputs) -> Table:
    """Raw retrieval of productivity, by number of atoms."""
    row_filter = _raw_filter("productivity")
    groups = selections(inputs.labels, "{}", ["split", "n"], row_filter)
    # Numbers in order; the placeholder is not a number.
    sizes = {group.row_filter["n"] for group in groups}
    columns = []
    for size in sorted(sizes, key=lambda n: (len(str(n)), n)):
        columns.append(select(f"n = {size}", n=size))
    splits = list(dict.fromkeys(group.row_filter["split"] for group in groups))
    of_splits = [select(split if len(splits) > 1 else "", split=split) for split in splits]
    rows = _each_direction(of_splits)
    return by_label(inputs.labels, columns, rows, "direction", row_filter, notes=[_RULES])


def _each_direction(groups: Sequence[Selection]) -> list[Selection]:
    """A row for each direction and rule of raw retrieval, for each group."""
    rows = []
    for group in groups:
        for direction in _DIRECTIONS:
            head = f"{direction.head}, {group.head}".removesuffix(", ")
            rows.append(Selection(head, {**group.row_filter, **direction.row_filter}))
    return rows


ITEMS_OF_SPLIT = 3
"""Items of each split in table 13, chosen by a hash of their names."""
_COLUMNS = {
    "protocol": pa.string(),
    "item_id": pa.string(),
    "kind": pa.string(),
    "split": pa.string(),
    "text": pa.string(),
    "truth": pa.bool_(),
}
"""The columns of tables/top.csv that table 13 reads."""


def _top_captions(inputs: PaperInputs) -> Table:
    """A table of a few items of each split that all labels with runs were asked: for each label's
    first run, whether the best text is true, and its three best texts. It has no lines if the
    labels share no item."""
    texts_of_label = []
    for label in inputs.labels:
        texts_of_label.append(_top(label.runs[0].run) if label.runs else {})
    with_texts = []
    for label, texts in zip(inputs.labels, texts_of_label, strict=True):
        if texts:
            with_texts.append((label.runs[0].run, texts))

    lines: list[Line] = []
    if with_texts:
        run, texts_of_run = with_texts[0]
        # Labels are compared line by line, so each line is an item that all were asked.
        shared = set.intersection(*(set(texts) for _, texts in with_texts))
        for split in _SPLITS:
            of_split = _choose_items(shared, texts_of_run, split.row_filter["split"])
            for i, item in enumerate(of_split):
                cells = []
                for label, texts in zip(inputs.labels, texts_of_label, strict=True):
                    cells += _best_cells(label, texts.get(item))
                names = [split.head, *_image_and_caption(run, item)]
                starts_split = i == 0 and bool(lines)
                lines.append(Line(names, cells, rule=starts_split))
    columns = []
    for label in inputs.labels:
        columns += [Column("R@1", label.name), Column("Top 3 captions", label.name)]
    return Table(["split", "image", "caption"], columns, lines)


def _choose_items(
    items: Collection[str], texts_of_item: Mapping[str, list[dict[str, Any]]], split: str
) -> list[str]:
    """ITEMS_OF_SPLIT items of a split. texts_of_item: the best texts of each item (`_top`)."""
    of_split = []
    for item in items:
        best_text = texts_of_item[item][0]
        if best_text["split"] == split:
            of_split.append(item)
    return sorted(of_split, key=_digest_of_name)[:ITEMS_OF_SPLIT]


def _digest_of_name(name: str) -> str:
    """Orders names as if by chance, but always alike."""
    return hashlib.sha256(name.encode()).hexdigest()


def _image_and_caption(run: Run, item: str) -> tuple[str, str]:
    """The image of an item, and its caption."""
    candidates = run.benchmark.candidates
    captions = candidates.filter((pc.field("item_id") == item) & (pc.field("slot") == "c"))
    caption = captions.filter(pc.field("truth")).to_pylist()[0]
    return caption["scene_id"], run.benchmark.text_of[caption["text_id"]]


def _top(run: Run) -> dict[str, list[dict[str, Any]]]:
    """{item: its best texts}, best first, of systematicity against negatives of both kinds."""
    path = run.folder / "tables" / "top.csv"
    texts_of_item: dict[str, list[dict[str, Any]]] = {}
    if not path.exists():
        return texts_of_item
    for row in read_csv(path, _COLUMNS).to_pylist():
        if row["protocol"] == "systematicity" and row["kind"] == "both":
            texts_of_item.setdefault(row["item_id"], []).append(row)
    return texts_of_item


def _best_cells(label: LabelledRuns, texts: list[dict[str, Any]] | None) -> list[Cell]:
    """The two cells of a label for an item: whether its best text is true, and its best texts."""
    if texts is None:
        reason = label.missing or "its runs have no best texts of these items"
        return [Cell(reason=reason), Cell(reason=reason)]
    is_true = int(texts[0]["truth"])
    numbered = [f"{i}. {text['text']}" for i, text in enumerate(texts, 1)]
    text = visible("; ".join(numbered))
    return [
        Cell(str(is_true), numbers={"value": is_true, "unit": "share"}),
        Cell(text, numbers={"text": text}),
    ]


def _atoms(inputs: PaperInputs) -> list[Figure]:
    """Figures of how often captions name each atom, for each dataset."""
    figures = []
    for label in benchmark_labels(inputs):
        atoms = captions_by_atom(label.runs[0].run)
        figures += by_frequency(label.name, atoms, ("seen", "unseen"))
    return figures


PAPER = Paper(
    [
        _captions("systematicity", ("atom", "comp"), rows=lambda labels: _ALL_SPLITS, head="split"),
        _captions(
            "productivity",
            ("atom", "swap", "neg"),
            rows=_captions_by_n,
            head="n",
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
            _names,
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
        figure_from_results("5", by_complexity, "productivity", kind="all"),
    ],
)
