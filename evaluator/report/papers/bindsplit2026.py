"""Peng et al. 2026, "CLIP Models Generalize Less Than Compositional Benchmarks Suggest" (BindSplit)."""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.protocols.items import FULL, MIXED
from evaluator.report.papers.audits import Rows, audit_table, number, share
from evaluator.report.papers.elsewhere import changed_elsewhere
from evaluator.report.papers.given import FAMILIARITY, Given, Label, Labels, splits_of
from evaluator.report.papers.paper import (
    Paper,
    PaperFigure,
    PaperTable,
    Part,
    by_label,
    figure_rows,
    grouped,
    labels_across,
    part,
    parts,
)
from evaluator.report.table import Cell, Table

_BINARY: Labels = {"protocol": "binary", "metric": "accuracy"}
_R1: Labels = {"protocol": "retrieval", "metric": "R@1", "kind": "grid"}
_PAIRS: Labels = {"protocol": "pairs"}
_GROUP: Labels = {**_PAIRS, "metric": "group"}

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
_SCORES = (part("Group", metric="group"), part("Text", metric="text"), part("Image", metric="image"))
_BY_SPLIT = grouped((_FULL, _SEEN, _PARTIAL, _MIXED, _UNSEEN), _SCORES)
_BETWEEN = (*_TAXES[:2], *_GAPS, _TAXES[3])
_REAL = (
    part("ARO VG-A", benchmark="aro", kind="visual_genome_attribution", **_BINARY),
    part("BiVLC (group)", benchmark="bivlc", **_GROUP),
    part("VisMin (group)", benchmark="vismin", **_GROUP),
)
_TUNED = "no label has the part 'finetuned'"
_UNSPLIT = "no run has the partitions of `score familiarity` (--splits)"


def _tuned(labels: Sequence[Label]) -> list[Label]:
    return [label for label in labels if "finetuned" in label.parts]


def _partitioned(labels: Sequence[Label]) -> list[Label]:
    """Labels that have a run with `--splits`, or say why they have none; none where no label has one."""
    split = [any(FULL in splits_of(entry) for entry in label.entries) for label in labels]
    return [label for label, has in zip(labels, split, strict=True) if has or label.missing] if any(split) else []


def _of_benchmarks(labels: Sequence[Label], columns: Sequence[Part], of: Labels, benchmark: str | None = None) -> Table:
    """Lines by benchmark and kind, or by the kinds of one benchmark; columns whose splits no benchmark has are left
    out."""
    of_rows = {**of, "metric": of.get("metric", "group"), **({} if benchmark is None else {"benchmark": benchmark})}
    every = f"{'' if benchmark else '{}, '}all kinds"
    names = [] if benchmark else ["benchmark"]
    rows = parts(labels, every, ["benchmark"], of_rows) + parts(labels, "{}", [*names, "kind"], of_rows)
    if benchmark:
        rows = [Part(row.head, {**row.of, "benchmark": benchmark}) for row in rows]
    there = [splits_of(entry) for label in labels for entry in label.entries]
    shown = [
        each
        for each in columns
        if any({each.of["split"], each.of.get("minus", each.of["split"])} <= of for of in there)
    ]
    return by_label(labels, shown or columns, rows, "kind", of)


def _pair_of_tables(
    title: str,
    numbers: tuple[str, str],
    make: Callable[[Sequence[Label]], Table],
    wanted: str = "no run answers it",
    wanted_tuned: str = _TUNED,
) -> list[PaperTable]:
    """A table of all labels, and one of those that are fine-tuned."""
    every, tuned = numbers
    return [
        PaperTable(every, title, lambda given: make(given.labels), wanted),
        PaperTable(tuned, f"{title}, fine-tuned", lambda given: make(_tuned(given.labels)), wanted_tuned),
    ]


def _of_vismin(columns: Sequence[Part], of: Labels) -> Callable[[Sequence[Label]], Table]:
    def make(labels: Sequence[Label]) -> Table:
        asked = any(entry["benchmark"] == "vismin" for label in labels for entry in label.entries)
        return _of_benchmarks(labels if asked else [], columns, of, "vismin")

    return make


def _read_as(audit: Any) -> str:
    return (
        f"{audit['benchmark']} against {audit['reference']}, captions read as {audit['captions']}, match by "
        f"{audit['match']}"
    )


def _mixed(audit: Any) -> int:
    """The number of samples some of whose bindings are seen, those of close matches alone among them."""
    return int(sum(n for bucket, n in audit["buckets"].items() if bucket.startswith("amb_")))


def _size(name: str) -> tuple[list[str], Callable[[Any], list[Cell]]]:
    """Table 1. Full is all parsed samples where captions have the strict form, else all samples."""

    def cells(audit: Any) -> list[Cell]:
        excluded, inside = sum(audit["excluded"].values()), sum(audit["buckets"].values())
        seen, unseen = (audit["buckets"][f"definitely_{of}"] for of in ("seen", "unseen"))
        full = inside if audit["captions"] == "strict" else audit["samples"]
        sizes = {"full": full, "seen": seen, "mixed": _mixed(audit), "unseen": unseen, "excluded": excluded}
        return [number(sizes[name]), share(sizes[name], audit["samples"] if name == "excluded" else full)]

    return [name], cells


def _bucket(name: str, rule: str) -> tuple[list[str], Callable[[Any], list[Cell]]]:
    collapsed = {"definitely_seen": "seen", "definitely_unseen": "unseen"}.get(name, "mixed")
    return [name, rule, collapsed], lambda audit: [number(audit["buckets"][name])]


def _rate(name: str, rule: str) -> tuple[list[str], Callable[[Any], list[Cell]]]:
    def cells(audit: Any) -> list[Cell]:
        rates = [audit["rates"][name][of] for of in ("seen", "unseen")]
        return [Cell(reason="no sample is left") if rate is None else share(rate) for rate in rates]

    return [name.upper(), rule], cells


_BUCKETS: Rows = [
    _bucket("definitely_seen", "all perfect"),
    _bucket("amb_perfect_close", "perfect and close"),
    _bucket("amb_mixed", "perfect, close and none"),
    _bucket("amb_perfect_none", "perfect and none"),
    _bucket("amb_close_only", "all close"),
    _bucket("amb_close_none", "close and none"),
    _bucket("definitely_unseen", "all none"),
]


def _audits(number: str, title: str, labels: list[str], heads: Sequence[str], rows: Rows) -> PaperTable:
    return audit_table(number, title, labels, heads, rows, FAMILIARITY, _read_as)


def _overlap(given: Given) -> list[str]:
    """The bindings that a corpus shows, of all samples and of the mixed ones."""
    from evaluator.report.figures import by_overlap

    drawn = []
    for name, audit in ((each.name, each.record) for each in given.audits_of(FAMILIARITY)):
        full = f"full ({sum(audit['buckets'].values()):,} samples)"
        panels = {full: audit["bindings"], f"mixed ({_mixed(audit):,})": audit["bindings_mixed"]}
        drawn.append(by_overlap(name, panels))
    return drawn


def _by_split(number: str, protocol: str, of: Labels) -> PaperFigure:
    def draw(given: Given) -> list[str]:
        from evaluator.report.figures import by_split

        return by_split(figure_rows(given, protocol, of), protocol)

    return PaperFigure(number, draw, f"no run has results of `{protocol}`")


PAPER = Paper(
    [
        _audits(
            "1",
            "Samples by partition",
            ["Split"],
            ("Count", "%"),
            [_size(n) for n in ("full", "seen", "mixed", "unseen", "excluded")],
        ),
        PaperTable(
            "2",
            "Binary accuracy and R@1 by split",
            lambda given: by_label(
                given.labels, grouped([part("Binary accuracy", kind="swap", **_BINARY), part("R@1", **_R1)], _SPLITS)
            ),
        ),
        PaperTable("3", "Gaps of R@1 between splits", lambda given: by_label(given.labels, _GAPS, of=_R1)),
        PaperTable(
            "4", "R@1 by split after fine-tuning", lambda given: by_label(_tuned(given.labels), _SPLITS, of=_R1), _TUNED
        ),
        *_pair_of_tables(
            "Accuracy by partition",
            ("5", "7"),
            lambda labels: _of_benchmarks(_partitioned(labels), _PARTITIONS, _BINARY),
            _UNSPLIT,
            f"{_TUNED}, or {_UNSPLIT}",
        ),
        *_pair_of_tables(
            "Gaps of accuracy between partitions",
            ("6", "8"),
            lambda labels: _of_benchmarks(_partitioned(labels), _TAXES, _BINARY),
            _UNSPLIT,
            f"{_TUNED}, or {_UNSPLIT}",
        ),
        *_pair_of_tables(
            "Group, text and image accuracy of pairs by split",
            ("9", "11"),
            lambda labels: _of_benchmarks(labels, _BY_SPLIT, _PAIRS),
        ),
        *_pair_of_tables(
            "Gaps of group accuracy between splits",
            ("10", "12"),
            lambda labels: _of_benchmarks(labels, _BETWEEN, _GROUP),
        ),
        *_pair_of_tables(
            "Group, text and image accuracy of VisMin by split",
            ("13", "15"),
            _of_vismin(_BY_SPLIT, _PAIRS),
            "no run is of VisMin",
            f"{_TUNED}, or no run is of VisMin",
        ),
        *_pair_of_tables(
            "Gaps of group accuracy of VisMin between splits",
            ("14", "16"),
            _of_vismin(_BETWEEN, _GROUP),
            "no run is of VisMin",
            f"{_TUNED}, or no run is of VisMin",
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
            lambda given: labels_across(_partitioned(given.labels), _REAL, _PARTITIONS, "split"),
            _UNSPLIT,
        ),
        _audits(
            "19",
            "Buckets of samples by the labels of their bindings",
            ["Bucket", "Bindings", "Collapsed"],
            ("Count",),
            _BUCKETS,
        ),
        _audits(
            "20",
            "Samples all or none of whose bindings are seen",
            ["Rule", "Seen is"],
            ("% all seen", "% all unseen"),
            [_rate("strict", "perfect"), _rate("loose", "perfect or close")],
        ),
        changed_elsewhere(),
    ],
    [
        _by_split("2", "retrieval", _R1),
        PaperFigure("3", _overlap, f"nothing that `{FAMILIARITY}` wrote was given"),
        _by_split("4", "binary", {**_BINARY, "kind": ("swap", "visual_genome_attribution")}),
        _by_split("7", "pairs", {}),
    ],
)
