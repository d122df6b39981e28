"""Comparison of models on the same items: which is better, on which split the lead changes, what the benchmark can tell."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.analysis.answers import Matched, match, read_answers
from evaluator.protocols.items import FULL, UNPARSED, split_rank
from evaluator.statistics.intervals import paired_difference
from evaluator.statistics.multiple import benjamini_hochberg
from evaluator.statistics.paired import in_all, paired_test, ranking
from evaluator.statistics.power import (
    PairedDesign,
    block_seeds_for,
    paired_design,
    renders_for,
    smallest_difference,
)
from generator.base.csv_tables import write_csv
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress

Q = 0.05
_QUESTION = ("protocol", "metric", "kind", "split")
Row = dict[str, Any]
Comparison = dict[str, Any]
"""What `compare` returns."""


def compare(sources: Sequence[str], detect: float | None = None, progress: Progress = SILENT) -> Comparison:
    """Compare the models of runs and tables (see `read_answers`) on the items that all of them answered.

    detect: a difference (0..1) for which the rows say what it needs. Returns

    - `models`: the sources of each model, several where it was trained with several seeds.
    - `items`: what is compared and what is left out (see `match`).
    - `rows`: one for each pair of models and each question, which is a protocol, kind and split. Shares are 0..1; `difference` is
      `first` − `second`, means over the seeds; `p` is McNemar's, `p_clusters` the same by cluster, `q` and `q_clusters` are both after
      Benjamini and Hochberg over the pairs of models; `leader` is the model that leads with `q_clusters` of at most .05, else None.
      Of several seeds the pair of runs with the largest `p_clusters` stands in the row. `detectable` is the smallest difference
      that is shown in 80% of cases.
    - `flips`: for each pair of models the splits between which the lead changes, with `p_flip`, the larger p_clusters of the
      two, and whether it is `significant`: the leads on both splits are.
    - `rankings`: the models of each question by rank, with intervals.

    Raises UserError when a source cannot be read, when there are fewer than two models, and as `match` does.
    """
    unique = {_resolved(source): source for source in sources}
    answers = [each for source in unique.values() for each in read_answers(source)]
    matched = match(answers)
    if len(matched.models) < 2:
        (only,) = matched.models
        raise UserError(
            f"Expected at least two models, got '{only}' alone; name several runs of it NAME=RUN to compare them."
        )
    rows: list[Row] = []
    rankings: list[Row] = []
    questions = _questions(matched)
    for labels, chosen in progress.each(questions, "comparing", len(questions)):
        rows += _compare_pairs(matched, labels, chosen, detect)
        rankings.append({**labels, "models": _ranking(matched, chosen)})
    return {
        "models": {name: [answers[run].source for run in runs] for name, runs in matched.models.items()},
        "items": matched.left_out, "q": Q, "detect": detect, "rows": rows, "flips": _flips(rows), "rankings": rankings,
    }  # fmt: skip


def write_rows(comparison: Comparison, path: Path) -> None:
    """Write the rows of a comparison as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, pa.Table.from_pylist(comparison["rows"]))


def _resolved(source: str) -> str:
    """A source with its path in full, so that a run given twice counts once."""
    name, equals, path = source.rpartition("=")
    return f"{name}{equals}{Path(path).resolve()}"


def _questions(matched: Matched) -> list[tuple[Row, np.ndarray]]:
    """The labels of each question, None for "", and a mask (n,) of its items; protocols in the order of their items. Of partitions
    there is one of all, FULL."""
    columns = [matched.labels[name] for name in _QUESTION]
    order = {protocol: i for i, protocol in enumerate(dict.fromkeys(columns[0].tolist()))}
    keys = set(zip(*(column.tolist() for column in columns), strict=True))
    if matched.partitioned:
        keys |= {(*key[:3], FULL) for key in keys if key[3] != UNPARSED}
    questions = []
    for key in sorted(keys, key=lambda key: (order[key[0]], *key[1:3], split_rank(key[3]))):
        masks = [column == label for column, label in zip(columns, key, strict=True)]
        if key[3] == FULL and matched.partitioned:
            masks[3] = columns[3] != UNPARSED
        mask = np.all(masks, axis=0)
        questions.append(({name: label or None for name, label in zip(_QUESTION, key, strict=True)}, mask))
    return questions


def _compare_pairs(matched: Matched, labels: Row, chosen: np.ndarray, detect: float | None) -> list[Row]:
    """The row of each pair of models on the items of a mask (n,)."""
    clusters = matched.labels["cluster"][chosen].astype(str)
    correct = {name: matched.correct[runs][:, chosen] for name, runs in matched.models.items()}
    rows = [
        {**labels, "first": a, "second": b, **_compare_two(correct[a], correct[b], clusters, detect)}
        for a, b in combinations(correct, 2)
    ]
    for p, q in (("p", "q"), ("p_clusters", "q_clusters")):
        for row, value in zip(rows, benjamini_hochberg([row[p] for row in rows]), strict=True):
            row[q] = value
    for row in rows:
        leader = row["first"] if row["difference"] > 0 else row["second"]
        row["leader"] = leader if row["q_clusters"] <= Q else None
    return rows


def _compare_two(first: np.ndarray, second: np.ndarray, clusters: np.ndarray, detect: float | None) -> Row:
    """Two models, each correct (runs, n), in clusters (n,)."""
    test = in_all([paired_test(a, b, clusters) for a in first for b in second])
    means = first.mean(axis=0), second.mean(axis=0)
    estimate = paired_difference(*means, clusters)
    design = paired_design(*means, clusters)
    return {
        "items": estimate.n_items, "clusters": estimate.n_clusters, "first_mean": _number(means[0].mean()),
        "second_mean": _number(means[1].mean()), "difference": _number(estimate.value), "low": _number(estimate.low),
        "high": _number(estimate.high), "only_first": test.only_first, "only_second": test.only_second, "p": test.p,
        "p_clusters": test.p_clusters, **_power(design, detect),
    }  # fmt: skip


def _power(design: PairedDesign, detect: float | None) -> Row:
    """What a design can tell, and what a difference to detect needs."""
    smallest = smallest_difference(design)
    row: Row = {
        "discordance": _number(design.discordance),
        "design_effect": _number(design.design_effect),
        "detectable": None if smallest is None else _number(smallest),
    }
    if detect is not None:
        row |= {"block_seeds_needed": block_seeds_for(detect, design), "items_needed": renders_for(detect, design)}
    return row


def _ranking(matched: Matched, chosen: np.ndarray) -> list[Row]:
    """The models by rank on the items of a mask (n,)."""
    means = np.stack([matched.correct[runs][:, chosen].mean(axis=0) for runs in matched.models.values()], axis=1)
    ranks = ranking(means, matched.labels["cluster"][chosen].astype(str))
    rows = [
        {"model": name, "mean": _number(mean), "rank": each.rank, "low": each.low, "high": each.high}
        for name, mean, each in zip(matched.models, means.mean(axis=0), ranks, strict=True)
    ]
    return sorted(rows, key=lambda row: row["rank"])


def _flips(rows: Sequence[Row]) -> list[Row]:
    """Every two splits of a protocol and kind, but for val, between which the lead of one model over another changes sides."""
    same = ("protocol", "metric", "kind", "first", "second")
    over_splits: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["split"] != "val":
            over_splits.setdefault(tuple(row[name] for name in same), []).append(row)
    return [
        {
            **dict(zip(same, labels, strict=True)), "splits": [one["split"], other["split"]],
            "differences": [one["difference"], other["difference"]], "p_flip": max(one["p_clusters"], other["p_clusters"]),
            "significant": one["leader"] is not None and other["leader"] is not None,
        }
        for labels, of_splits in over_splits.items() for one, other in combinations(of_splits, 2)
        if one["difference"] * other["difference"] < 0
    ]  # fmt: skip


def _number(value: float) -> float:
    return round(float(value), 6)
