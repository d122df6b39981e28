"""Outcomes of items under a metric, and the rows of results that all protocols share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np

from evaluator.protocols.comparison import TOLERANCE, beats, chance, recall_at_k, wrong_choices
from evaluator.protocols.items import COUNTS, Items, split_rank
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.intervals import (
    Estimate,
    cluster_means,
    means_over_strata,
    paired_difference,
    subtract,
)

GAPS = (("seen", "partial"), ("seen", "unseen"), ("partial", "unseen"))
MICRO, MACRO = "micro (over items)", "macro (over n)"
TIE, UNNAMED = "tie", "unnamed"
Row = dict[str, Any]
"""A row of results: see `result_row`."""
Results = dict[str, Any]
"""The results of a run: see evaluator.measure."""
Unit = Literal["share", "difference", "score"]


@dataclass(frozen=True)
class Outcome:
    """A metric on n items: value (n,), whether a tie decided it (n,), its value by chance (n,), nan where it has none.

    unit: `share` (0..1), `difference` of two shares, which are its `parts`, or `score`, any number. error: the kind of
    mistake that is counted, "" for other metrics.
    """

    metric: str
    value: np.ndarray
    tie: np.ndarray
    chance: np.ndarray
    unit: Unit = "share"
    parts: tuple[np.ndarray, np.ndarray] | None = None
    error: str = ""

    def take(self, mask: np.ndarray) -> "Outcome":
        """The outcome on the items where the mask (n,) is true."""
        parts = None if self.parts is None else (self.parts[0][mask], self.parts[1][mask])
        return replace(self, value=self.value[mask], tie=self.tie[mask], chance=self.chance[mask], parts=parts)


@dataclass(frozen=True)
class ProtocolResults:
    """A protocol's items, their outcomes (the main metric first) and rows of results.

    fits: linear fits of the outcomes. cells: rows by every combination of counts.
    """

    items: Items
    outcomes: list[Outcome]
    rows: list[Row]
    fits: list[Row] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)

    def parts(self, size: int) -> Iterator[tuple[Items, list[Outcome]]]:
        """The items and outcomes, so many items at a time; one empty part where there are none."""
        for start in range(0, max(1, len(self.items)), size):
            rows = np.arange(start, min(start + size, len(self.items)))
            yield self.items.take(rows), [outcome.take(rows) for outcome in self.outcomes]


def recall(items: Items, false: np.ndarray, metric: str = "R@1", k: int = 1, slot: str = "c") -> Outcome:
    """R@k of the true texts of a slot against the false texts of a mask (n, m)."""
    true = items.truth & (items.slot == slot)
    value, tie = recall_at_k(items.scores, true, false, k, items.tolerance)
    return Outcome(metric, value.astype(float), tie, chance(true.sum(axis=1), false.sum(axis=1), k))


def all_won(
    metric: str,
    by_chance: float,
    comparisons: Sequence[tuple[np.ndarray, np.ndarray]],
    tolerance: float = TOLERANCE,
) -> Outcome:
    """Whether the first score (n,) of every comparison beats the second (n,). A tie decides where none is lost."""
    with np.errstate(invalid="ignore"):
        won = np.all([beats(a, b, tolerance) for a, b in comparisons], axis=0)
        lost = np.any([beats(b, a, tolerance) for a, b in comparisons], axis=0)
    return Outcome(metric, won.astype(float), ~won & ~lost, np.full(len(won), by_chance))


def difference(metric: str, first: Outcome, second: Outcome) -> Outcome:
    """first − second, item by item."""
    return Outcome(
        metric, first.value - second.value, first.tie | second.tie, first.chance - second.chance, "difference",
        (first.value, second.value),
    )  # fmt: skip


def error_shares(items: Items, metric: str, among: np.ndarray) -> list[Outcome]:
    """For each kind of false text, and for ties, the share (n,) of each item's prediction.

    The prediction is the text with the best score. Where false texts of several kinds tie for it, they share it evenly;
    where a true text ties with it, the prediction counts as `tie`. By chance all texts of the mask `among` (n, m) are equally likely.
    """
    shares, tie = wrong_choices(items.scores, items.truth, items.false, items.tolerance)
    sizes = np.maximum(among.sum(axis=1), 1)
    no_tie = np.zeros(len(items), dtype=bool)
    outcomes = []
    for kind in sorted(set(items.candidate_kind[items.false].tolist())):
        of = items.false & (items.candidate_kind == kind)
        share, by_chance = (shares * of).sum(axis=1), (of & among).sum(axis=1) / sizes
        outcomes.append(Outcome(metric, share, no_tie, by_chance, error=kind or UNNAMED))
    return [*outcomes, Outcome(metric, tie.astype(float), tie, np.full(len(items), np.nan), error=TIE)]


def tabulate(items: Items, outcomes: Sequence[Outcome], by: Sequence[str] = (), gaps: bool = True) -> list[Row]:
    """A row for each outcome, group of items and split; then, with `gaps`, the differences between splits.

    `by` names the labels that group items: kind, skill, level, n (atoms of the caption) or one of its three counts.
    Unscored items are counted and are in no mean.
    """
    rows: list[list[Row]] = [[] for _ in outcomes]
    clusters, scored = items.clusters, items.scored
    groups = groupby(_groups(items, [*by, "split"]), lambda group: {**group[0], "split": None})
    for labels, members in groups:
        of_split: dict[str, list[Estimate]] = {}
        for named, chosen in members:
            kept = chosen[scored[chosen]]
            estimates = _means(outcomes, clusters.take(kept), kept, items.confidence)
            for i, outcome in enumerate(outcomes):
                rows[i].append(_mean_row(outcome, named, estimates[i], chosen, kept))
            if len(kept):
                of_split[named["split"]] = estimates
        if gaps:
            for i, outcome in enumerate(outcomes):
                rows[i] += _gaps(
                    outcome, {split: found[i] for split, found in of_split.items()}, labels, items.confidence
                )
    return [row for of_outcome in rows for row in of_outcome]


def tabulate_over_n(items: Items, outcomes: Sequence[Outcome], by: Sequence[str]) -> list[Row]:
    """A row for each outcome, group and split with the unweighted mean over n, and the sample standard deviation over n."""
    rows: list[list[Row]] = [[] for _ in outcomes]
    clusters, n = items.clusters, atoms(items)
    columns = [outcome.value for outcome in outcomes]
    columns += [part for outcome in outcomes if outcome.parts for part in outcome.parts]
    shares = [i >= len(outcomes) or outcomes[i].unit == "share" for i in range(len(columns))]
    for labels, chosen in _groups(items, [*by, "split"]):
        kept = chosen[items.scored[chosen]]
        values = np.stack([column[kept] for column in columns], axis=1)
        estimates, means = means_over_strata(values, clusters.take(kept), n[kept], shares, items.confidence)
        parts = iter(estimates[len(outcomes) :])
        for i, outcome in enumerate(outcomes):
            estimate = estimates[i]
            if outcome.parts:
                first, second = next(parts), next(parts)
                if np.isnan(estimate.low):
                    estimate = subtract(first, second, estimate.n_items, estimate.n_clusters, items.confidence)
            by_chance = [outcome.chance[kept[n[kept] == size]].mean() for size in np.unique(n[kept])]
            rows[i].append(
                result_row(outcome, labels, estimate, ties=int(outcome.tie[kept].sum()), unscored=len(chosen) - len(kept),
                    average=MACRO, sd=float(np.std(means[:, i], ddof=1)) if len(means) > 1 else None,
                    chance=float(np.mean(by_chance)) if by_chance else None)
            )  # fmt: skip
    return [row for of_outcome in rows for row in of_outcome]


def result_row(outcome: Outcome, labels: Row, estimate: Estimate, **more: Any) -> Row:
    """A row of results with every column, None where one has no meaning. Shares and differences are in 0..1, not in percent."""
    counts = {name: labels[name] for name in COUNTS if name in labels}
    return {
        "metric": outcome.metric, "error": outcome.error or None, "kind": labels.get("kind"), "skill": labels.get("skill"),
        "level": labels.get("level"), "n": labels.get("n"), **counts, "split": labels["split"], "unit": outcome.unit,
        "average": MICRO, "value": _number(estimate.value), "sd": None, "low": _number(estimate.low), "high": _number(estimate.high),
        "low_fixed": _number(estimate.low_fixed), "high_fixed": _number(estimate.high_fixed), "p": _number(estimate.p),
        "items": estimate.n_items, "clusters": estimate.n_clusters, "ties": None, "unscored": None, "chance": None,
        **{name: _number(value) if isinstance(value, float) else value for name, value in more.items()},
    }  # fmt: skip


def atoms(items: Items) -> np.ndarray:
    """How many objects, attributes and relations each item's caption names, in all (n,)."""
    return np.maximum(items.counts, 0).sum(axis=1)


def _groups(items: Items, by: Sequence[str]) -> Iterator[tuple[Row, np.ndarray]]:
    """The labels and the row numbers of each group of items, in the order of the labels."""
    if not len(items):
        return
    values, codes = zip(*(_coded(items, name) for name in by), strict=True)
    keys, group = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group.reshape(-1)))[:-1])
    for key, part in zip(keys.tolist(), parts, strict=True):
        yield {name: known[code] for name, known, code in zip(by, values, key, strict=True)}, part


def _coded(items: Items, name: str) -> tuple[list[Any], np.ndarray]:
    """The distinct labels in their order, None for "", and the code (n,) of each item's label."""
    if name in ("n", *COUNTS):
        numbers, code = np.unique(
            atoms(items) if name == "n" else items.counts[:, COUNTS.index(name)], return_inverse=True
        )
        return numbers.tolist(), code
    order = {"split": split_rank, "level": lambda label: (len(label), label)}.get(name)
    known = sorted(set(getattr(items, name)), key=order)
    code_of = {label: code for code, label in enumerate(known)}
    return [label or None for label in known], np.array([code_of[label] for label in getattr(items, name)], dtype=int)


def _means(outcomes: Sequence[Outcome], clusters: Clusters, kept: np.ndarray, level: float) -> list[Estimate]:
    """The mean of each outcome over the items of some row numbers, whose clusters are given."""
    values = np.stack([outcome.value[kept] for outcome in outcomes], axis=1)
    chances = [float(outcome.chance[kept].mean()) if len(kept) else np.nan for outcome in outcomes]
    estimates = cluster_means(values, clusters, level, [outcome.unit == "share" for outcome in outcomes], chances)
    for i, outcome in enumerate(outcomes):
        if outcome.parts is not None and np.isnan(estimates[i].low):
            first, second = outcome.parts
            estimates[i] = paired_difference(first[kept], second[kept], clusters, level)
    return estimates


def _mean_row(outcome: Outcome, labels: Row, estimate: Estimate, chosen: np.ndarray, kept: np.ndarray) -> Row:
    return result_row(
        outcome, labels, estimate, ties=int(outcome.tie[kept].sum()), unscored=len(chosen) - len(kept),
        chance=float(outcome.chance[kept if len(kept) else chosen].mean()),
    )  # fmt: skip


def _gaps(outcome: Outcome, of_split: dict[str, Estimate], labels: Row, level: float) -> list[Row]:
    """The differences between splits of an outcome that is a share."""
    if outcome.unit != "share":
        return []
    gap, rows = replace(outcome, unit="difference"), []
    for first, second in GAPS:
        if first in of_split and second in of_split:
            a, b = of_split[first], of_split[second]
            estimate = subtract(a, b, a.n_items + b.n_items, a.n_clusters + b.n_clusters, level)
            rows.append(result_row(gap, {**labels, "split": f"{first} - {second}"}, estimate))
    return rows


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
