"""Outcomes of items under a metric, and the rows of results that all protocols share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np

from evaluator.protocols.comparison import TOLERANCE, beats, chance, recall_at_k, wrong_choices
from evaluator.protocols.items import COUNTS, FULL, MIXED, PARTITIONS, UNPARSED, Items, split_rank
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.intervals import (
    Estimate,
    cluster_means,
    means_over_strata,
    paired_difference,
    scaled,
    subtract,
)

GAPS = (
    ("seen", "partial"),
    ("seen", "unseen"),
    ("partial", "unseen"),
    (FULL, "seen"),
    (MIXED, "seen"),
    (FULL, "unseen"),
)
MICRO, MACRO = "micro (over items)", "macro (over n)"
TIE, UNNAMED = "tie", "unnamed"
LABELS = ("protocol", "metric", "error", "kind", "skill", "level")
"""What names a line of results, whose cells are splits."""
Row = dict[str, Any]
"""A row of results: see `result_row`."""
Results = dict[str, Any]
"""The results of a run: see evaluator.runs.measure."""
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
    Unscored items are counted and are in no mean. Partitioned items have a row of all, FULL, and one of each partition, without a
    mean where it is empty.
    """
    rows: list[list[Row]] = [[] for _ in outcomes]
    clusters, scored = items.clusters, items.scored

    def means(kept: np.ndarray) -> list[Estimate]:
        return _means(outcomes, clusters.take(kept), kept, items.confidence)

    groups = groupby(_groups(items, [*by, "split"]), lambda group: {**group[0], "split": None})
    for labels, members in groups:
        chosen_of = {named["split"]: chosen for named, chosen in members}
        if items.partitioned:
            chosen_of = with_full(chosen_of)
        kept_of = {split: chosen[scored[chosen]] for split, chosen in chosen_of.items()}
        estimates_of = {split: means(kept) for split, kept in kept_of.items()}
        differences = [
            (pair, found)
            for pair in GAPS if gaps and all(len(kept_of.get(split, ())) for split in pair)
            for found in [_difference(pair, kept_of, estimates_of, means, items.confidence)]
        ]  # fmt: skip
        for i, outcome in enumerate(outcomes):
            rows[i] += [
                _mean_row(outcome, {**labels, "split": split}, estimates_of[split][i], chosen, kept_of[split])
                for split, chosen in chosen_of.items()
            ]
            if outcome.unit == "share":
                gap = replace(outcome, unit="difference")
                rows[i] += [
                    result_row(gap, {**labels, "split": " - ".join(pair)}, found[i]) for pair, found in differences
                ]
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
        if outcome.unit == "score":
            estimates[i] = replace(estimates[i], p=np.nan)  # nothing says what a score is by chance
        if outcome.parts is not None and np.isnan(estimates[i].low):
            first, second = outcome.parts
            estimates[i] = paired_difference(first[kept], second[kept], clusters, level)
    return estimates


def _mean_row(outcome: Outcome, labels: Row, estimate: Estimate, chosen: np.ndarray, kept: np.ndarray) -> Row:
    known = outcome.chance[kept if len(kept) else chosen]
    return result_row(
        outcome, labels, estimate, ties=int(outcome.tie[kept].sum()), unscored=len(chosen) - len(kept),
        chance=float(known.mean()) if len(known) else None,
    )  # fmt: skip


def with_full(chosen_of: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The row numbers of all audited items as FULL, then of each partition, empty ones among them, and of what is in none."""
    nothing = np.empty(0, dtype=np.int64)
    found = {**dict.fromkeys(PARTITIONS, nothing), **chosen_of}
    full = np.concatenate([chosen for split, chosen in found.items() if split != UNPARSED])
    return {FULL: np.sort(full), **found}


def _difference(
    pair: tuple[str, str], kept_of: dict[str, np.ndarray], estimates_of: dict[str, list[Estimate]],
    means: Callable[[np.ndarray], list[Estimate]], level: float,
) -> list[Estimate]:  # fmt: skip
    """The difference between two splits of each outcome. FULL holds the other split: its mean differs from that of its part by the
    difference of the rest from the part, times the rest's share."""
    first, second = (kept_of[split] for split in pair)
    share = 1.0
    if pair[0] == FULL:
        first = np.setdiff1d(first, second)
        share = len(first) / (len(first) + len(second))
    a, b = means(first) if pair[0] == FULL else estimates_of[pair[0]], estimates_of[pair[1]]
    sizes = [(x.n_items + y.n_items, x.n_clusters + y.n_clusters) for x, y in zip(a, b, strict=True)]
    return [scaled(subtract(x, y, *size, level), share) for x, y, size in zip(a, b, sizes, strict=True)]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
