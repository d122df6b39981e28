"""Two models against each other on the same items, for the first screen of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.analysis.comparison import compare
from evaluator.metrics.formats import number
from evaluator.protocols.items import split_rank
from evaluator.protocols.records import Results
from evaluator.report.table import interval
from evaluator.report.verdict import best_entry, main_line
from generator.base.errors import UserError


@dataclass(frozen=True)
class Paired:
    """The comparison of two models."""

    sentence: str
    """The difference on each split, for the main metric of the verdict."""
    comparison: dict[str, Any]
    """What `score compare` computes, with the names of the models (evaluator.analysis.comparison).
    """


def compare_two(entries: Sequence[Results], folders: Sequence[str]) -> Paired | None:
    """Compare the two models of a report on the items that both answered.

    Args:
        entries: Pooled results, whose `members` are places in `folders`.
        folders: The folder of each run.

    Returns:
        The comparison. None for other than two models, and if they cannot be compared, such as
        models on different blocks.
    """
    if len(entries) != 2:
        return None
    best = best_entry(entries)
    ordered = [best, *(entry for entry in entries if entry is not best)]
    # Letters, because names of models may contain "=", which ends a name in NAME=RUN.
    letters = {"A": ordered[0], "B": ordered[1]}
    sources = []
    for letter, entry in letters.items():
        sources += [f"{letter}={folders[place]}" for place in entry["members"]]
    try:
        comparison = compare(sources)
    except UserError:
        # Models that cannot be compared need no mention in a report on each.
        return None
    names = {letter: entry["model"] for letter, entry in letters.items()}
    rows = [_rename_models(row, names) for row in comparison["rows"]]
    flips = [_rename_models(flip, names) for flip in comparison["flips"]]
    return Paired(_sentence(best, rows), {**comparison, "rows": rows, "flips": flips})


def _rename_models(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {**row, "first": names[row["first"]], "second": names[row["second"]]}


def _sentence(best: Results, rows: Sequence[dict[str, Any]]) -> str:
    """The difference by split for the metric of the verdict on the best model, or for the first
    metric of both models if only one was measured by it; "" without any."""
    compared = [row for row in rows if row["split"] != "val"]
    line = main_line(best)
    if line is None or not compared:
        return ""
    labels = _labels_of(line.first)
    named = ""
    compared_labels = [_labels_of(row) for row in compared]
    if labels not in compared_labels:
        labels = compared_labels[0]
        kinds = [labels[name] for name in ("protocol", "kind", "skill") if labels[name]]
        named = f" by {labels['metric']} ({', '.join(kinds)})"
    same = [row for row in compared if _labels_of(row) == labels]
    same.sort(key=lambda row: split_rank(row["split"]))
    parts = []
    for row in same:
        difference = {**row, "value": row["difference"], "unit": "difference"}
        ends = f"{number(row['difference'], 'difference')} {interval(difference)}".strip()
        parts.append(f"{ends} on {row['split']}")
    return (
        f"On the same questions, {same[0]['first']} less {same[0]['second']}{named} is, in points, "
        f"{', '.join(parts)}."
    )


def _labels_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What tells the metric and the questions of a row from others."""
    return {name: row[name] for name in ("protocol", "metric", "kind", "skill")}
