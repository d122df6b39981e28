"""Peng et al. 2026, "CLIP Models Generalize Less Than Compositional Benchmarks Suggest"
(BindSplit)."""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.papers.inputs import Given, Label, Labels, splits_of, told
from evaluator.papers.paper import (
    NONE,
    Paper,
    PaperFigure,
    PaperTable,
    Part,
    by_label,
    changed_elsewhere,
    figure,
    grouped,
    part,
    parts,
)
from evaluator.protocols.items import ASYMMETRIC, FULL, MIXED
from evaluator.protocols.records import Row
from evaluator.report.audit_results import FAMILIARITY, mixed, overlap_panels
from evaluator.report.figures import Figure, by_overlap, by_split
from evaluator.report.table import Table

_BINARY: Labels = {"protocol": "binary", "metric": "accuracy"}
_R1: Labels = {"protocol": "retrieval", "metric": "R@1", "kind": "grid"}
_PAIRS: Labels = {"protocol": "pairs"}
_GROUP: Labels = {**_PAIRS, "metric": "group"}
_VISMIN: Labels = {"benchmark": "vismin"}

_FULL, _SEEN, _PARTIAL, _MIXED, _UNSEEN = (
    part("Full", split=FULL),
    part("Seen", split="seen"),
    part("Partially unseen", split="partial"),
    part("Mixed", split=MIXED),
    part("Unseen", split="unseen"),
)
_SPLITS, _PARTITIONS = (_SEEN, _PARTIAL, _UNSEEN), (_FULL, _SEEN, _MIXED, _UNSEEN)
_GAPS = (
    part("Seen − partially unseen", split="seen", minus="partial"),
    part("Seen − unseen", split="seen", minus="unseen"),
    part("Partially unseen − unseen", split="partial", minus="unseen"),
)
_TAXES = (
    part("Full − seen", split=FULL, minus="seen"),
    part("Mixed − seen", split=MIXED, minus="seen"),
    part("Seen − unseen", split="seen", minus="unseen"),
    part("Full − unseen", split=FULL, minus="unseen"),
)
_ASYMMETRIC = (
    part("Both or neither", split="partial"),
    *(
        part(head, split=split)
        for head, split in zip(("True text", "Foil"), ASYMMETRIC, strict=True)
    ),
    part("Tax", split=ASYMMETRIC[0], minus=ASYMMETRIC[1]),
)
_SCORES = (
    part("Group", metric="group"),
    part("Text", metric="text"),
    part("Image", metric="image"),
    part("Matching", metric="matching"),  # ours: the paper has the other three
)
_BY_SPLIT = grouped((_FULL, _SEEN, _PARTIAL, _MIXED, _UNSEEN), _SCORES)
_BETWEEN = (*_TAXES[:2], *_GAPS, _TAXES[3])
_REAL = (
    part("ARO VG-A", benchmark="aro", kind="visual_genome_attribution", **_BINARY),
    part("BiVLC (group)", benchmark="bivlc", **_GROUP),
    part("VisMin (group)", benchmark="vismin", **_GROUP),
)
_TUNED = "no label has the part 'finetuned'"
_UNSPLIT = "no run has the partitions of `score familiarity` (--splits)"
_NO_AUDIT = f"no result of `{FAMILIARITY}` was given"


def _tuned(labels: Sequence[Label]) -> list[Label]:
    return [label for label in labels if "finetuned" in label.parts]


def _with(split: str, labels: Sequence[Label]) -> list[Label]:
    """Labels with a run that has the split, and labels with a reason why they have no run."""
    return [
        label
        for label in labels
        if label.missing or any(split in splits_of(entry) for entry in label.entries)
    ]


def _partitioned(labels: Sequence[Label]) -> list[Label]:
    """Labels with a run that has `--splits`, and labels with a reason why they have no run."""
    return _with(FULL, labels)


def _by_benchmark(labels: Sequence[Label], columns: Sequence[Part], of: Labels) -> Table:
    """A table with lines by benchmark and kind, without columns whose splits no benchmark has."""
    of_rows = {"metric": "group", **of}
    rows = parts(labels, "{}, all kinds", ["benchmark"], of_rows) + parts(
        labels, "{}", ["benchmark", "kind"], of_rows
    )
    rows = [row for row in rows if row.head != NONE] or rows[:1]
    there = [splits_of(entry) for label in labels for entry in label.entries]
    shown = [
        each
        for each in columns
        if any({each.of["split"], each.of.get("minus", each.of["split"])} <= of for of in there)
    ]
    return by_label(labels, shown or columns, rows, "kind", of)


def _with_tuned(
    numbers: tuple[str, str],
    title: str,
    make: Callable[[Sequence[Label]], Table],
    wanted: str = "no run answers it",
) -> list[PaperTable]:
    """Two tables: one of all labels, one of the fine-tuned labels."""
    every, tuned = numbers
    return [
        PaperTable(every, title, lambda given: make(given.labels), wanted),
        PaperTable(
            tuned,
            f"{title}, fine-tuned",
            lambda given: make(_tuned(given.labels)),
            f"{_TUNED}, or {wanted}",
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
_RULES = {"strict": "seen is perfect", "loose": "seen is perfect or close"}


def _audit_rows(audit: Any) -> list[Row]:
    """The numbers of `score familiarity`: samples and their share by split, samples by bucket,
    rates by rule.

    `full` is the number of parsed samples if captions have the strict form, else of all samples.
    """
    buckets = audit["buckets"]
    full = sum(buckets.values()) if audit["captions"] == "strict" else audit["samples"]
    samples = {
        "full": full,
        "seen": buckets["definitely_seen"],
        "mixed": mixed(audit),
        "unseen": buckets["definitely_unseen"],
        "excluded": sum(audit["excluded"].values()),
    }
    whole = dict.fromkeys(samples, full) | {"excluded": audit["samples"]}
    rows = [told("samples", n, split=split) for split, n in samples.items()]
    rows += [
        told("share", n / whole[split], "share", split=split)
        for split, n in samples.items()
        if whole[split]
    ]
    rows += [told("samples", buckets[name], kind=name) for name in _BUCKETS]
    return rows + [
        told("share", rate, "share", kind=rule, split=split)
        for rule in _RULES
        for split, rate in audit["rates"][rule].items()
        if rate is not None
    ]


def _of_audits(
    number: str, title: str, head: str, rows: Sequence[Part], *columns: Part
) -> PaperTable:
    def make(given: Given) -> Table:
        notes = [
            f"{each.name}: {each.record['benchmark']} against {each.record['reference']}, captions "
            f"read as {each.record['captions']}, match by {each.record['match']}."
            for each in given.audits_of(FAMILIARITY)
        ]
        labels = given.audit_labels(FAMILIARITY, _audit_rows, "no sample is left")
        return by_label(labels, columns, rows, head, named="benchmark", notes=notes)

    return PaperTable(number, title, make, _NO_AUDIT)


def _overlap(given: Given) -> list[Figure]:
    """Figures of the bindings that a corpus shows: of all samples, and of the mixed samples."""
    return [
        each
        for audit in given.audits_of(FAMILIARITY)
        for each in by_overlap(audit.name, overlap_panels(audit.record))
    ]


PAPER = Paper(
    [
        _of_audits(
            "1",
            "Samples by partition",
            "split",
            [part(name, split=name) for name in ("full", "seen", "mixed", "unseen", "excluded")],
            part("Count", metric="samples"),
            part("%", metric="share"),
        ),
        PaperTable(
            "2",
            "Binary accuracy and R@1 by split",
            lambda given: by_label(
                given.labels,
                grouped(
                    [part("Binary accuracy", kind="swap", **_BINARY), part("R@1", **_R1)], _SPLITS
                ),
            ),
        ),
        PaperTable(
            "1-tax",
            "Binary accuracy where training shows only what the true text names, and only what its "
            "foil names",
            lambda given: by_label(
                _with(ASYMMETRIC[0], given.labels), _ASYMMETRIC, of={**_BINARY, "kind": "swap"}
            ),
            "no world has asymmetric splits (--holdout asymmetric)",
        ),
        PaperTable(
            "3", "Gaps of R@1 between splits", lambda given: by_label(given.labels, _GAPS, of=_R1)
        ),
        PaperTable(
            "4",
            "R@1 by split after fine-tuning",
            lambda given: by_label(_tuned(given.labels), _SPLITS, of=_R1),
            _TUNED,
        ),
        *_with_tuned(
            ("5", "7"),
            "Accuracy by partition",
            lambda labels: _by_benchmark(_partitioned(labels), _PARTITIONS, _BINARY),
            _UNSPLIT,
        ),
        *_with_tuned(
            ("6", "8"),
            "Gaps of accuracy between partitions",
            lambda labels: _by_benchmark(_partitioned(labels), _TAXES, _BINARY),
            _UNSPLIT,
        ),
        *_with_tuned(
            ("9", "11"),
            "Group, text, image and matching accuracy of pairs by split",
            lambda labels: _by_benchmark(labels, _BY_SPLIT, _PAIRS),
        ),
        *_with_tuned(
            ("10", "12"),
            "Gaps of group accuracy between splits",
            lambda labels: _by_benchmark(labels, _BETWEEN, _GROUP),
        ),
        *_with_tuned(
            ("13", "15"),
            "Group, text, image and matching accuracy of VisMin by split",
            lambda labels: _by_benchmark(labels, _BY_SPLIT, {**_PAIRS, **_VISMIN}),
        ),
        *_with_tuned(
            ("14", "16"),
            "Gaps of group accuracy of VisMin between splits",
            lambda labels: _by_benchmark(labels, _BETWEEN, {**_GROUP, **_VISMIN}),
        ),
        PaperTable(
            "17",
            "Accuracy by benchmark and partition",
            lambda given: by_label(_partitioned(given.labels), grouped(_REAL, _PARTITIONS)),
            _UNSPLIT,
        ),
        PaperTable(
            "18",
            "Accuracy by partition and benchmark",
            lambda given: by_label(_partitioned(given.labels), _REAL, _PARTITIONS, "split"),
            _UNSPLIT,
        ),
        _of_audits(
            "19",
            "Buckets of samples by the labels of their bindings",
            "bucket",
            [part(f"{name}: {said}", kind=name, split=None) for name, said in _BUCKETS.items()],
            part("Count", metric="samples"),
        ),
        _of_audits(
            "20",
            "Samples whose bindings are all seen or all unseen",
            "rule",
            [
                part(f"{rule.upper()}: {said}", kind=rule, metric="share")
                for rule, said in _RULES.items()
            ],
            part("% all seen", split="seen"),
            part("% all unseen", split="unseen"),
        ),
        changed_elsewhere(),
    ],
    [
        figure("2", by_split, "retrieval", **_R1),
        PaperFigure("3", _overlap, _NO_AUDIT),
        figure("4", by_split, "binary", **_BINARY, kind=("swap", "visual_genome_attribution")),
        *(figure(f"5-{name}", by_split, "pairs", benchmark=name) for name in ("bivlc", "vismin")),
        figure("7", by_split, "pairs"),
    ],
)
