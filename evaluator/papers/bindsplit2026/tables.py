"""Peng et al. 2026, "CLIP Models Generalize Less Than Compositional Benchmarks Suggest"
(BindSplit)."""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.papers.inputs import LabelledRuns, PaperInputs, RowFilter, count_row, splits_of
from evaluator.papers.paper import (
    Paper,
    PaperFigure,
    PaperTable,
    figure_from_results,
    table_of_changes,
)
from evaluator.papers.selection import (
    PLACEHOLDER,
    Selection,
    by_label,
    grouped,
    select,
    selections,
)
from evaluator.protocols.items import ASYMMETRIC, FULL, MIXED
from evaluator.protocols.records import Row
from evaluator.report.audit_figures import by_overlap
from evaluator.report.audit_results import FAMILIARITY, mixed, overlap_panels
from evaluator.report.figure import Figure
from evaluator.report.figures import by_split
from evaluator.report.table import Table

_BINARY: RowFilter = {"protocol": "binary", "metric": "accuracy"}
_R1: RowFilter = {"protocol": "retrieval", "metric": "R@1", "kind": "grid"}
_PAIRS: RowFilter = {"protocol": "pairs"}
_GROUP: RowFilter = {**_PAIRS, "metric": "group"}
_VISMIN: RowFilter = {"benchmark": "vismin"}

_FULL, _SEEN, _PARTIAL, _MIXED, _UNSEEN = (
    select("Full", split=FULL),
    select("Seen", split="seen"),
    select("Partially unseen", split="partial"),
    select("Mixed", split=MIXED),
    select("Unseen", split="unseen"),
)
_SPLITS, _PARTITIONS = (_SEEN, _PARTIAL, _UNSEEN), (_FULL, _SEEN, _MIXED, _UNSEEN)
_GAPS = (
    select("Seen − partially unseen", split="seen", minus="partial"),
    select("Seen − unseen", split="seen", minus="unseen"),
    select("Partially unseen − unseen", split="partial", minus="unseen"),
)
_TAXES = (
    select("Full − seen", split=FULL, minus="seen"),
    select("Mixed − seen", split=MIXED, minus="seen"),
    select("Seen − unseen", split="seen", minus="unseen"),
    select("Full − unseen", split=FULL, minus="unseen"),
)
_ASYMMETRIC = (
    select("Both or neither", split="partial"),
    *(
        select(head, split=split)
        for head, split in zip(("True text", "Foil"), ASYMMETRIC, strict=True)
    ),
    select("Tax", split=ASYMMETRIC[0], minus=ASYMMETRIC[1]),
)
"""Columns of items of which both texts or neither, or only one of them, name something held out."""
_SCORES = (
    select("Group", metric="group"),
    select("Text", metric="text"),
    select("Image", metric="image"),
    select("Matching", metric="matching"),  # ours: the paper has the other three
)
_BY_SPLIT = grouped((_FULL, _SEEN, _PARTIAL, _MIXED, _UNSEEN), _SCORES)
_BETWEEN = (*_TAXES[:2], *_GAPS, _TAXES[3])
_REAL = (
    select("ARO VG-A", benchmark="aro", kind="visual_genome_attribution", **_BINARY),
    select("BiVLC (group)", benchmark="bivlc", **_GROUP),
    select("VisMin (group)", benchmark="vismin", **_GROUP),
)
# Why a table or figure is empty.
_TUNED = "no label has the part 'finetuned'"
_UNSPLIT = "no run has the partitions of `score familiarity` (--splits)"
_NO_AUDIT = f"no result of `{FAMILIARITY}` was given"


def _tuned(labels: Sequence[LabelledRuns]) -> list[LabelledRuns]:
    """Labels of fine-tuned models."""
    return [label for label in labels if "finetuned" in label.parts]


def _with(split: str, labels: Sequence[LabelledRuns]) -> list[LabelledRuns]:
    """The labels with a run that has the split, and those with a reason why they have no run."""
    shown_labels = []
    for label in labels:
        has_split = any(split in splits_of(entry) for entry in label.entries)
        if label.missing or has_split:
            shown_labels.append(label)
    return shown_labels


def _partitioned(labels: Sequence[LabelledRuns]) -> list[LabelledRuns]:
    """RowFilter with a run that has `--splits`, and labels with a reason why they have no run."""
    return _with(FULL, labels)


def _by_benchmark(
    labels: Sequence[LabelledRuns], columns: Sequence[Selection], row_filter: RowFilter
) -> Table:
    """A table with lines by benchmark and kind, without columns whose splits no benchmark has."""
    of_rows = {"metric": "group", **row_filter}
    rows = selections(labels, "{}, all kinds", ["benchmark"], of_rows)
    rows += selections(labels, "{}", ["benchmark", "kind"], of_rows)
    # One placeholder is enough if there is no such row at all.
    rows = [row for row in rows if row.head != PLACEHOLDER] or rows[:1]
    splits_of_entries = []
    for label in labels:
        splits_of_entries += [splits_of(entry) for entry in label.entries]
    # A column that no benchmark can fill would be empty in every line: blocks have splits, audits
    # have partitions.
    possible = []
    for column in columns:
        split = column.row_filter["split"]
        splits = {split, column.row_filter.get("minus", split)}
        if any(splits <= of_entry for of_entry in splits_of_entries):
            possible.append(column)
    return by_label(labels, possible or columns, rows, "kind", row_filter)


def _with_tuned(
    numbers: tuple[str, str],
    title: str,
    *,
    make: Callable[[Sequence[LabelledRuns]], Table],
    if_empty: str = "no run answers it",
) -> list[PaperTable]:
    """Two tables: one of all labels, one of the fine-tuned labels."""
    number, number_tuned = numbers
    return [
        PaperTable(number, title, lambda inputs: make(inputs.labels), if_empty),
        PaperTable(
            number_tuned,
            f"{title}, fine-tuned",
            lambda inputs: make(_tuned(inputs.labels)),
            f"{_TUNED}, or {if_empty}",
        ),
    ]


_BUCKETS = {
    "definitely_seen": "all perfect → seen",
    "amb_perfect_close": "perfect and close → mixed",
    "amb_mixed": "perfect, close and none → mixed",
    "amb_perfect_none": "perfect and none → mixed",
    "amb_close_only": "all close → mixed",
    "amb_close_none": "close and none → mixed",
    "definitely_unseen": "all none → unseen",
}
"""By bucket of samples, the labels of its bindings → its partition."""
_RULES = {"strict": "seen is perfect", "loose": "seen is perfect or close"}
"""By rule of `score familiarity`, which samples it counts as seen."""


def _audit_rows(audit: Any) -> list[Row]:
    """The numbers of `score familiarity`: samples and their share by split, samples by bucket,
    rates by rule.

    `full` is the number of parsed samples if captions have the strict form, else of all samples.
    """
    buckets = audit["buckets"]
    # As published: VG-A counts the parsed samples, BiVLC and VisMin all of them.
    full = sum(buckets.values()) if audit["captions"] == "strict" else audit["samples"]
    samples = {
        "full": full,
        "seen": buckets["definitely_seen"],
        "mixed": mixed(audit),
        "unseen": buckets["definitely_unseen"],
        "excluded": sum(audit["excluded"].values()),
    }
    rows = [count_row("samples", number, split=split) for split, number in samples.items()]
    for split, number in samples.items():
        # Captions that could not be parsed are a share of all samples, not of the parsed ones.
        whole = audit["samples"] if split == "excluded" else full
        if whole:
            rows.append(count_row("share", number / whole, "share", split=split))
    rows += [count_row("samples", buckets[name], kind=name) for name in _BUCKETS]
    for rule in _RULES:
        for split, rate in audit["rates"][rule].items():
            if rate is not None:
                rows.append(count_row("share", rate, "share", kind=rule, split=split))
    return rows


def _of_audits(
    number: str, title: str, head: str, rows: Sequence[Selection], *columns: Selection
) -> PaperTable:
    """A table of results of `score familiarity`. head: of the column of rows."""

    def make(inputs: PaperInputs) -> Table:
        notes = []
        for audit in inputs.audits_of(FAMILIARITY):
            record = audit.record
            notes.append(
                f"{audit.name}: {record['benchmark']} against {record['reference']}, captions "
                f"read as {record['captions']}, match by {record['match']}."
            )
        labels = inputs.audit_labels(FAMILIARITY, _audit_rows, "no sample is left")
        return by_label(labels, columns, rows, head, named="benchmark", notes=notes)

    return PaperTable(number, title, make, _NO_AUDIT)


def _overlap(inputs: PaperInputs) -> list[Figure]:
    """Figures of the bindings that a corpus shows: of all samples, and of the mixed samples."""
    figures = []
    for audit in inputs.audits_of(FAMILIARITY):
        figures += by_overlap(audit.name, overlap_panels(audit.record))
    return figures


def _accuracy_and_recall(inputs: PaperInputs) -> Table:
    """Binary accuracy of swaps and R@1, by split."""
    groups = [select("Binary accuracy", kind="swap", **_BINARY), select("R@1", **_R1)]
    return by_label(inputs.labels, grouped(groups, _SPLITS))


def _shortcut_tax(inputs: PaperInputs) -> Table:
    """Binary accuracy of swaps by which text's bindings training shows: both, neither or one's."""
    labels = _with(ASYMMETRIC[0], inputs.labels)
    return by_label(labels, _ASYMMETRIC, row_filter={**_BINARY, "kind": "swap"})


PAPER = Paper(
    [
        _of_audits(
            "1",
            "Samples by partition",
            "split",
            [select(name, split=name) for name in ("full", "seen", "mixed", "unseen", "excluded")],
            select("Count", metric="samples"),
            select("%", metric="share"),
        ),
        PaperTable(
            "2",
            "Binary accuracy and R@1 by split",
            _accuracy_and_recall,
        ),
        PaperTable(
            "1-tax",
            "Binary accuracy where training shows only what the true text names, and only what its "
            "foil names",
            _shortcut_tax,
            "no world has asymmetric splits (--holdout asymmetric)",
        ),
        PaperTable(
            "3",
            "Gaps of R@1 between splits",
            lambda inputs: by_label(inputs.labels, _GAPS, row_filter=_R1),
        ),
        PaperTable(
            "4",
            "R@1 by split after fine-tuning",
            lambda inputs: by_label(_tuned(inputs.labels), _SPLITS, row_filter=_R1),
            _TUNED,
        ),
        *_with_tuned(
            ("5", "7"),
            "Accuracy by partition",
            make=lambda labels: _by_benchmark(_partitioned(labels), _PARTITIONS, _BINARY),
            if_empty=_UNSPLIT,
        ),
        *_with_tuned(
            ("6", "8"),
            "Gaps of accuracy between partitions",
            make=lambda labels: _by_benchmark(_partitioned(labels), _TAXES, _BINARY),
            if_empty=_UNSPLIT,
        ),
        *_with_tuned(
            ("9", "11"),
            "Group, text, image and matching accuracy of pairs by split",
            make=lambda labels: _by_benchmark(labels, _BY_SPLIT, _PAIRS),
        ),
        *_with_tuned(
            ("10", "12"),
            "Gaps of group accuracy between splits",
            make=lambda labels: _by_benchmark(labels, _BETWEEN, _GROUP),
        ),
        *_with_tuned(
            ("13", "15"),
            "Group, text, image and matching accuracy of VisMin by split",
            make=lambda labels: _by_benchmark(labels, _BY_SPLIT, {**_PAIRS, **_VISMIN}),
        ),
        *_with_tuned(
            ("14", "16"),
            "Gaps of group accuracy of VisMin between splits",
            make=lambda labels: _by_benchmark(labels, _BETWEEN, {**_GROUP, **_VISMIN}),
        ),
        PaperTable(
            "17",
            "Accuracy by benchmark and partition",
            lambda inputs: by_label(_partitioned(inputs.labels), grouped(_REAL, _PARTITIONS)),
            _UNSPLIT,
        ),
        PaperTable(
            "18",
            "Accuracy by partition and benchmark",
            lambda inputs: by_label(_partitioned(inputs.labels), _REAL, _PARTITIONS, "split"),
            _UNSPLIT,
        ),
        _of_audits(
            "19",
            "Buckets of samples by the labels of their bindings",
            "bucket",
            [
                select(f"{name}: {meaning}", kind=name, split=None)
                for name, meaning in _BUCKETS.items()
            ],
            select("Count", metric="samples"),
        ),
        _of_audits(
            "20",
            "Samples whose bindings are all seen or all unseen",
            "rule",
            [
                select(f"{rule.upper()}: {meaning}", kind=rule, metric="share")
                for rule, meaning in _RULES.items()
            ],
            select("% all seen", split="seen"),
            select("% all unseen", split="unseen"),
        ),
        table_of_changes(),
    ],
    [
        figure_from_results("2", by_split, "retrieval", **_R1),
        PaperFigure("3", _overlap, _NO_AUDIT),
        figure_from_results(
            "4", by_split, "binary", **_BINARY, kind=("swap", "visual_genome_attribution")
        ),
        *(
            figure_from_results(f"5-{name}", by_split, "pairs", benchmark=name)
            for name in ("bivlc", "vismin")
        ),
        figure_from_results("7", by_split, "pairs"),
    ],
)
