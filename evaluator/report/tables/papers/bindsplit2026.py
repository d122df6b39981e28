"""Peng et al. 2026, "CLIP Models Generalize Less Than Compositional Benchmarks Suggest" (BindSplit)."""

from collections.abc import Callable
from functools import partial

from evaluator.protocols.items import FULL, MIXED
from evaluator.protocols.protocol import lazy
from evaluator.report.tables.audits import Audit, AuditTable, OverlapFigure, mixed, number, share
from evaluator.report.tables.forgetting import FORGETTING
from evaluator.report.tables.paper import Figure, Paper, PaperTable, Part, Tabulated, grouped, part
from evaluator.report.tables.sources import EACH, Labels, Source
from evaluator.report.tables.table import Cell

_SPLITS = (
    part("Seen", split="seen"),
    part("Partially unseen", split="partial"),
    part("Unseen", split="unseen"),
)
_PARTITIONS = (
    part("Full", split=FULL),
    part("Seen", split="seen"),
    part("Mixed", split=MIXED),
    part("Unseen", split="unseen"),
)
_BINARY: Labels = {"protocol": "binary", "metric": "accuracy"}
_R1: Labels = {"protocol": "retrieval", "metric": "R@1", "kind": "grid"}
_PAIRS: Labels = {"protocol": "pairs"}
_GROUP: Labels = {**_PAIRS, "metric": "group"}
_SCORES = (part("Group", metric="group"), part("Text", metric="text"), part("Image", metric="image"))
_GAPS = (
    part("Seen − partially unseen", split="seen - partial"),
    part("Seen − unseen", split="seen - unseen"),
    part("Partially unseen − unseen", split="partial - unseen"),
)
_TAXES = (
    part("Full − seen", split=f"{FULL} - seen"),
    part("Mixed − seen", split=f"{MIXED} - seen"),
    part("Seen − unseen", split="seen - unseen"),
    part("Full − unseen", split=f"{FULL} - unseen"),
)
_ROWS = (part("{}, all kinds", benchmark=EACH), part("{}", benchmark=EACH, kind=EACH))
_REAL = (
    part("ARO VG-A", benchmark="aro", kind="visual_genome_attribution", **_BINARY),
    part("BiVLC (group)", benchmark="bivlc", **_GROUP),
    part("VisMin (group)", benchmark="vismin", **_GROUP),
)


def _finetuned(source: Source) -> bool:
    return "finetuned" in source.label


def _partitioned(source: Source) -> bool:
    """Whether a label has a run with `--splits`, or says why it has none."""
    return bool(source.missing) or _split(source)


def _split(source: Source) -> bool:
    """Whether a label has a run with `--splits`."""
    return any(row["split"] == FULL for entry in source.entries for row in entry["rows"])


def _vismin(source: Source) -> bool:
    return any(entry["benchmark"] == "vismin" for entry in source.entries)


def _both(source: Source) -> bool:
    return _finetuned(source) and _partitioned(source)


_ALL_KINDS = (part("all kinds", benchmark="vismin"), part("{}", benchmark="vismin", kind=EACH))
_BY_SPLIT = (*_PARTITIONS[:2], _SPLITS[1], *_PARTITIONS[2:])
_BETWEEN = (*_TAXES[:2], *_GAPS, _TAXES[3])
_TUNED = "no label has the part 'finetuned'"
_UNSPLIT = "no run has the partitions of `score familiarity` (--splits)"


def _by_partition(title: str, columns: tuple[Part, ...], of: Labels, *numbers: str) -> tuple[PaperTable, ...]:
    """A table of all labels, and one of those that are fine-tuned, by benchmark and kind."""
    made = partial(PaperTable, columns=columns, rows=_ROWS, head="kind", of=of, sparse=True)
    every, tuned = numbers
    return (
        made(every, title, only=_partitioned, wanted=_UNSPLIT) if of is _BINARY else made(every, title),
        made(tuned, f"{title}, fine-tuned", only=_both, wanted=f"{_TUNED}, or {_UNSPLIT}"),
    )


def _of_vismin(title: str, columns: tuple[Part, ...], of: Labels, every: str, tuned: str) -> tuple[PaperTable, ...]:
    """A table of all labels, and one of those that are fine-tuned."""
    made = partial(PaperTable, columns=columns, rows=_ALL_KINDS, head="kind", of=of, sparse=True, needs=_vismin)
    return (
        made(every, title, wanted="no run is of VisMin"),
        made(tuned, f"{title}, fine-tuned", only=_finetuned, wanted=f"{_TUNED}, or no run is of VisMin"),
    )


_Row = tuple[list[str], Callable[[Audit], list[Cell]]]
"""The labels of a line of an audit's table, and its cells."""


def _sizes(name: str) -> _Row:
    """Table 1. Full is all parsed samples where captions have the strict form, else all samples."""

    def cells(audit: Audit) -> list[Cell]:
        excluded, inside = sum(audit["excluded"].values()), sum(audit["buckets"].values())
        seen, unseen = (audit["buckets"][f"definitely_{of}"] for of in ("seen", "unseen"))
        full = inside if audit["captions"] == "strict" else audit["samples"]
        sizes = {"full": full, "seen": seen, "mixed": mixed(audit), "unseen": unseen, "excluded": excluded}
        return [number(sizes[name]), share(sizes[name], audit["samples"] if name == "excluded" else full)]

    return [name], cells


def _bucket(name: str, rule: str) -> _Row:
    collapsed = {"definitely_seen": "seen", "definitely_unseen": "unseen"}.get(name, "mixed")
    return [name, rule, collapsed], lambda audit: [number(audit["buckets"][name])]


def _rate(name: str, rule: str) -> _Row:
    def cells(audit: Audit) -> list[Cell]:
        rates = audit["rates"][name]
        return [
            Cell(reason="no sample is left") if rates[of] is None else share(rates[of]) for of in ("seen", "unseen")
        ]

    return [name.upper(), rule], cells


_AUDITS = (
    AuditTable(
        "1", "Samples by partition", ["Split"], ("Count", "%"),
        [_sizes(name) for name in ("full", "seen", "mixed", "unseen", "excluded")],
    ),
    AuditTable(
        "19", "Buckets of samples by the labels of their bindings", ["Bucket", "Bindings", "Collapsed"], ("Count",),
        [
            _bucket("definitely_seen", "all perfect"), _bucket("amb_perfect_close", "perfect and close"),
            _bucket("amb_mixed", "perfect, close and none"), _bucket("amb_perfect_none", "perfect and none"),
            _bucket("amb_close_only", "all close"), _bucket("amb_close_none", "close and none"), _bucket("definitely_unseen", "all none"),
        ],
    ),
    AuditTable(
        "20", "Samples all or none of whose bindings are seen", ["Rule", "Seen is"], ("% all seen", "% all unseen"),
        [_rate("strict", "perfect"), _rate("loose", "perfect or close")],
    ),
)  # fmt: skip

_TABLES: tuple[Tabulated, ...] = (
        *_AUDITS,
        PaperTable(
            "2", "Binary accuracy and R@1 by split",
            grouped([part("Binary accuracy", kind="swap", **_BINARY), part("R@1", **_R1)], _SPLITS),
        ),
        PaperTable("3", "Gaps of R@1 between splits", _GAPS, of=_R1),
        PaperTable("4", "R@1 by split after fine-tuning", _SPLITS, of=_R1, only=_finetuned, wanted=_TUNED),
        *_by_partition("Accuracy by partition", _PARTITIONS, _BINARY, "5", "7"),
        *_by_partition("Gaps of accuracy between partitions", _TAXES, _BINARY, "6", "8"),
        *_by_partition(
            "Group, text and image accuracy of pairs by split",
            grouped(_BY_SPLIT, _SCORES), _PAIRS, "9", "11",
        ),
        *_by_partition(
            "Gaps of group accuracy between splits", _BETWEEN, _GROUP, "10", "12",
        ),
        *_of_vismin("Group, text and image accuracy of VisMin by split", grouped(_BY_SPLIT, _SCORES), _PAIRS, "13", "15"),
        *_of_vismin("Gaps of group accuracy of VisMin between splits", _BETWEEN, _GROUP, "14", "16"),
        PaperTable(
            "17", "Accuracy by benchmark and partition", grouped(_REAL, _PARTITIONS), only=_partitioned, needs=_split, wanted=_UNSPLIT,
        ),
        PaperTable(
            "18", "Accuracy by partition and benchmark", _REAL, _PARTITIONS, "split", across=True, only=_partitioned, needs=_split, wanted=_UNSPLIT,
        ),
)  # fmt: skip

PAPER = Paper(
    (*sorted(_TABLES, key=lambda table: int(table.number)), FORGETTING),
    figures=(
        Figure("2", lazy("evaluator.report.figures:by_split"), "retrieval", _R1),
        OverlapFigure("3", lazy("evaluator.report.figures:by_overlap")),
        Figure("4", lazy("evaluator.report.figures:by_split"), "binary", {**_BINARY, "kind": ("swap", "visual_genome_attribution")}),
        Figure("7", lazy("evaluator.report.figures:by_split"), "pairs"),
    ),
)  # fmt: skip
