"""The base class of protocols, and the aggregation of outcomes to rows of the table of results."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, TypedDict, cast

import numpy as np
import pandas as pd

from evaluator.metrics.questions import category_weights
from evaluator.protocols.items import (
    ASYMMETRIC,
    COUNTS,
    FULL,
    MIXED,
    PARTITIONS,
    UNPARSED,
    Items,
    split_rank,
)
from evaluator.protocols.outcomes import Outcome, atoms, merge_samples
from evaluator.protocols.pools import Fold
from evaluator.protocols.records import Row, rounded
from evaluator.protocols.scores import Scores
from evaluator.statistics.intervals import (
    INTERVALS,
    NOTHING,
    Estimate,
    cluster_means,
    parts_differences,
    scaled,
    subtract,
)
from generator.base.clusters import Clusters
from generator.dataset.reader import Benchmark

GAPS = (
    ("seen", "partial"),
    ("seen", "unseen"),
    ("partial", "unseen"),
    (FULL, "seen"),
    (MIXED, "seen"),
    (FULL, "unseen"),
    ASYMMETRIC,
    *((split, "partial") for split in ASYMMETRIC),
)
"""The splits whose differences get rows: the value of the second is subtracted."""
OVER_ITEMS = "micro (over items)"
OVER_CATEGORIES = "macro (over categories)"
OVER_N = "macro (over n)"
"""Names of averages; n is the number of atoms of a caption."""
Labels = dict[str, Any]
"""Columns of rows that name their group of items."""


@dataclass(frozen=True)
class ProtocolResults:
    """A protocol's items, their outcomes and rows of results."""

    items: Items
    """The items; samples of an item are merged."""
    outcomes: list[Outcome]
    """Their outcomes. The first is of every item: the page and `items.jsonl` show it."""
    rows: list[Row]
    """Rows of the table of results."""
    fits: list[dict[str, Any]] = field(default_factory=list)
    """Linear fits of the outcomes."""
    cells: list[Row] = field(default_factory=list)
    """Rows by every combination of counts."""
    main: str | None = None
    """The main metric, for tables, figures and comparisons; None: the metric of the first
    outcome."""

    def __post_init__(self) -> None:
        items, outcomes = merge_samples(self.items, self.outcomes)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "outcomes", outcomes)

    @property
    def main_metric(self) -> str:
        """The name of the main metric."""
        return self.main or self.outcomes[0].metric

    def parts(self, size: int) -> Iterator[tuple[Items, list[Outcome]]]:
        """Divide the items and outcomes, to save memory.

        Args:
            size: Most items of a part.

        Yields:
            The items and the outcomes of a part. If there are no items, one empty part.
        """
        for start in range(0, max(1, len(self.items)), size):
            rows = np.arange(start, min(start + size, len(self.items)))
            yield self.items.take(rows), [outcome.take(rows) for outcome in self.outcomes]


class Protocol(ABC):
    """Computes results from the scores of a benchmark's items.

    To add a protocol, write a subclass in a file, override `name` and `measure`, and register it in
    `__init__.py`. Its tables and figures follow from its rows (evaluator.report). A protocol has no
    state.

    Example:
        >>> from evaluator.protocols.outcomes import recall
        >>> class Strict(Protocol):
        ...     name = "strict"
        ...
        ...     def measure(self, scores: Scores) -> ProtocolResults:
        ...         items = scores.items(self.name)
        ...         accuracy = recall(items, items.false, "accuracy")
        ...         return ProtocolResults(items, [accuracy], tabulate(items, [accuracy], ["kind"]))
    """

    name: ClassVar[str]
    """The protocol's name in the benchmark's items."""
    compares_images: ClassVar[bool] = False
    """Whether scores of different images are compared; a model may have a separate channel for
    this."""

    @abstractmethod
    def measure(self, scores: Scores) -> ProtocolResults:
        """Measure the items of the protocol.

        Args:
            scores: The scores of a run. `scores.items(self.name)` are the items with the scores of
                their candidates.

        Returns:
            The items, the outcome of every item under each metric, and rows of results (`tabulate`
            makes them). The first metric is the main one, unless `main` names another.

        Raises:
            UserError: A file of scores is missing or damaged.
        """

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        """Choose what raw retrieval compares. Override it for a protocol that ranks images against
        captions; the model then scores all pairs of each fold.

        Args:
            benchmark: The benchmark that is scored.

        Returns:
            The folds; [] for most protocols.
        """
        return []


@dataclass(frozen=True)
class Mean:
    """The mean of an outcome over some items."""

    estimate: Estimate
    """The mean with its intervals."""
    chance: float = np.nan
    """Its value by chance; nan for none."""
    sd: float = np.nan
    """Standard deviation over n, categories or folds; nan for a mean over items."""


@dataclass(frozen=True)
class Categories:
    """Categories with equal weights in a macro mean."""

    name: str
    """Name of the average."""
    paths: Sequence[tuple[str, ...]]
    """(n,): the path of each item, for `category_weights`."""


def over_n(items: Items) -> Categories:
    """Categories by the captions' number of atoms.

    Args:
        items: n items.

    Returns:
        The categories.
    """
    return Categories(OVER_N, [(str(n),) for n in atoms(items)])


def kinds_and_skills(items: Items) -> list[tuple[str, ...]]:
    """The category of each item: its kind, then the parts of its skill, which "/" separates.

    Args:
        items: n items.

    Returns:
        (n,) a path for each item.
    """
    paths = []
    for kind, skill in zip(items.kind, items.skill, strict=True):
        parts = skill.split("/") if skill else []
        paths.append((kind, *parts))
    return paths


def category_means(
    items: Items,
    outcomes: Sequence[Outcome],
    categories: Sequence[tuple[str, ...]],
    *,
    overall: bool = True,
) -> list[Row]:
    """For each share, the mean over categories, which have equal weights. Unscored items are left
    out.

    Args:
        items: n items.
        outcomes: Their outcomes; differences and scores are left out.
        categories: (n,) a path for each item, its kind first.
        overall: Whether to add the mean over all kinds, if there are several.

    Returns:
        Rows of the mean over all kinds, then of each kind with several categories.
    """
    shares = []
    for outcome in outcomes:
        if outcome.unit == "share":
            shares.append(replace(outcome, metric=f"{outcome.metric}, mean of categories"))
    category_counts = Counter(path[0] for path in set(categories))
    rows = []
    if overall and len(category_counts) > 1:
        over_all = Categories(OVER_CATEGORIES, categories)
        rows += tabulate(items, shares, gaps=False, over=over_all)
    has_several = np.array([category_counts[path[0]] > 1 for path in categories], dtype=bool)
    within_kind = Categories(OVER_CATEGORIES, [path[1:] or ("",) for path in categories])
    rows += tabulate(items, shares, ["kind"], gaps=False, over=within_kind, where=has_several)
    # The paths have several levels, so one standard deviation over categories has no meaning.
    return [{**row, "sd": None} for row in rows]


def tabulate(
    items: Items,
    outcomes: Sequence[Outcome],
    by: Sequence[str] = (),
    *,
    gaps: bool = True,
    over: Categories | None = None,
    where: np.ndarray | None = None,
) -> list[Row]:
    """Make rows of results.

    Unscored items are counted, but left out of means. Partitioned items have a row FULL for all
    items, and a row for each partition, without a mean if the partition is empty.

    Args:
        items: n items.
        outcomes: Their outcomes.
        by: The labels that group items: kind, skill, level, n (atoms of the caption) or one of its
            three counts.
        gaps: Whether to add the differences between splits (GAPS) for shares.
        over: The categories of a macro mean; None for the mean over items.
        where: bool (n,) the items to use; None for all.

    Returns:
        For each outcome, and for each group of items: a row for each split, then the differences.
    """
    if items.samples > 1:
        # The samples of an item are consecutive rows; the last is the majority, which counts.
        last_sample = slice(items.samples - 1, None, items.samples)
        where = None if where is None else where[last_sample]
        over = None if over is None else replace(over, paths=over.paths[last_sample])
        items, outcomes = merge_samples(items, outcomes)
    table = _Table(items, outcomes, over)
    rows_of_outcome: list[list[Row]] = [[] for _ in outcomes]
    for group in _groups_of_splits(items, by, where):
        # Means of all outcomes are estimated together: they share the model of the clusters.
        means = {split: table.means(rows) for split, rows in group.scored.items()}
        for i, outcome in enumerate(outcomes):
            for split in group.rows:
                row = _split_row(table, group, split=split, outcome=outcome, mean=means[split][i])
                rows_of_outcome[i].append(row)
        for first, second in GAPS if gaps else ():
            n_first = len(group.scored.get(first, ()))
            n_second = len(group.scored.get(second, ()))
            if not (n_first and n_second):
                continue
            estimates = _differences(table, group, first=first, second=second, means=means)
            labels = {**group.labels, "split": first, "minus": second}
            for i, outcome in enumerate(outcomes):
                if outcome.unit == "share":
                    gap = replace(outcome, unit="difference")
                    row = result_row(gap, labels, Mean(estimates[i]), average=table.average)
                    rows_of_outcome[i].append(row)
    # Outcome by outcome: readers of a table compare the groups of one metric.
    all_rows: list[Row] = []
    for rows in rows_of_outcome:
        all_rows += rows
    return all_rows


@dataclass(frozen=True)
class _Table:
    """What the rows of a call of `tabulate` share."""

    items: Items
    """n items, one row each."""
    outcomes: Sequence[Outcome]
    """Their outcomes."""
    over: Categories | None
    """The categories of a macro mean; None for the mean over items."""

    @property
    def average(self) -> str:
        """Name of the average."""
        return self.over.name if self.over else OVER_ITEMS

    @property
    def level(self) -> float | None:
        """Level of the intervals, 0..1; None for no intervals."""
        return self.items.rules.level if self.items.rules.intervals else None

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters of the items."""
        return self.items.clusters

    def means(self, rows: np.ndarray) -> list[Mean]:
        """The mean of each outcome over some items; or over categories, with the standard deviation
        over the first names of their paths.

        rows: row numbers of items, int64.

        If the differences of items give no interval, it is combined from the intervals of the two
        means.
        """
        if not len(rows):
            return [Mean(NOTHING)] * len(self.outcomes)
        paths: list[tuple[str, ...]] = []
        weights = np.full(len(rows), 1 / len(rows))
        if self.over:
            paths = [self.over.paths[row] for row in rows]
            weights = category_weights(paths)
        chances = [float(weights @ outcome.chance[rows]) for outcome in self.outcomes]
        estimates = self._estimates(
            rows,
            [outcome.value for outcome in self.outcomes],
            shares=[outcome.unit == "share" for outcome in self.outcomes],
            weights=weights,
            chances=chances,
        )
        means = []
        for outcome, estimate, by_chance in zip(self.outcomes, estimates, chances, strict=True):
            if outcome.unit == "score":
                estimate = replace(estimate, p=np.nan)  # scores have no chance value
            has_no_interval = self.level is not None and np.isnan(estimate.low)
            if outcome.parts is not None and has_no_interval:
                first, second = self._estimates(
                    rows, outcome.parts, shares=(True, True), weights=weights, chances=None
                )
                estimate = subtract(
                    first, second, estimate.n_items, estimate.n_clusters, self.items.rules.level
                )
            deviation = _deviation(outcome.value[rows], paths)
            means.append(Mean(estimate, by_chance, deviation))
        return means

    def _estimates(
        self,
        rows: np.ndarray,
        values: Sequence[np.ndarray],
        *,
        shares: Sequence[bool],
        weights: np.ndarray,
        chances: Sequence[float] | None,
    ) -> list[Estimate]:
        """The mean of each of k values (n,) over some items.

        rows: row numbers of m items, int64. shares: (k,) which values are in 0..1. weights: (m,)
        with sum 1. chances: (k,) for p.
        """
        columns = np.stack([value[rows] for value in values], axis=1)
        if self.level is None:
            means = [float(weights @ column) for column in columns.T]
            return [_without_interval(mean, len(rows)) for mean in means]
        clusters = self.clusters.take(rows)
        # Without `chance` a mean has no p: chance may differ between categories.
        if self.over:
            return cluster_means(columns, clusters, self.level, shares=shares, weights=weights)
        return cluster_means(columns, clusters, self.level, shares=shares, chance=chances)


@dataclass(frozen=True)
class _Group:
    """Items with equal labels, by split."""

    labels: Labels
    """Their labels, and None for the split."""
    rows: dict[str, np.ndarray]
    """By split, the row numbers of its items, int64."""
    scored: dict[str, np.ndarray]
    """By split, the row numbers of its scored items, int64."""


def _groups_of_splits(
    items: Items, by: Sequence[str], where: np.ndarray | None
) -> Iterator[_Group]:
    """Divide the items of a mask by labels, in the order of the labels."""
    groups = _groups(items, [*by, "split"], where)
    is_scored = items.scored
    for labels, members in groupby(groups, lambda group: {**group[0], "split": None}):
        rows = {of_split["split"]: split_rows for of_split, split_rows in members}
        if items.rules.partitioned:
            rows = _with_full(rows)
        scored = {}
        for split, split_rows in rows.items():
            scored[split] = split_rows[is_scored[split_rows]]
        yield _Group(labels, rows, scored)


def _groups(
    items: Items, by: Sequence[str], where: np.ndarray | None
) -> Iterator[tuple[Labels, np.ndarray]]:
    """The labels and the row numbers of each group of items, in the order of the labels; None for
    ""."""
    columns: dict[str, Any] = {}
    for name in by:
        if name == "n":
            columns[name] = atoms(items)
        elif name in COUNTS:
            columns[name] = items.counts[:, COUNTS.index(name)]
        else:
            columns[name] = getattr(items, name)
    frame = pd.DataFrame(columns)
    if where is not None:
        frame = frame[where]

    def rank(key: tuple[Any, ...]) -> list[Any]:
        ranks = []
        for name, label in zip(by, key, strict=True):
            if name == "split":
                ranks.append(split_rank(label))
            elif name == "level":
                ranks.append((len(label), label))  # O before OA before OAR
            else:
                ranks.append(label)
        return ranks

    rows_of_key = {}
    for key, of_group in frame.groupby(list(by), sort=False):
        rows_of_key[key] = of_group.index.to_numpy()
    for key in sorted(rows_of_key, key=rank):
        labels = [None if label == "" else label for label in key]
        yield dict(zip(by, labels, strict=True)), rows_of_key[key]


def _with_full(rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Row numbers by split: of all audited items as FULL, of each partition, even if empty, and of
    other splits."""
    no_rows = np.empty(0, dtype=np.int64)
    with_empty = {**dict.fromkeys(PARTITIONS, no_rows), **rows}
    audited = [split_rows for split, split_rows in with_empty.items() if split != UNPARSED]
    return {FULL: np.sort(np.concatenate(audited)), **with_empty}


def _split_row(table: _Table, group: _Group, *, split: str, outcome: Outcome, mean: Mean) -> Row:
    """The row of a metric in one split of a group."""
    items, rows, scored = table.items, group.rows[split], group.scored[split]
    if len(rows) and not len(scored):
        # Chance depends on the questions alone, so it is known without scores.
        mean = replace(mean, chance=float(outcome.chance[rows].mean()))
    row = result_row(
        outcome,
        {**group.labels, "split": split},
        mean,
        average=table.average,
        ties=int((outcome.tie & items.read)[scored].sum()),
        unscored=len(rows) - len(scored),
    )
    is_right_or_wrong = outcome.unit == "share" and not outcome.error
    if items.unread is not None and is_right_or_wrong and table.over is None:
        return cast(Row, {**row, **_read_statistics(outcome, items, scored)})
    return row


class ReadStatistics(TypedDict):
    """Statistics of a row of a run in words."""

    unread: int
    """Items that are wrong without a label of the model."""
    value_read: float | None
    """Share right of the other items; None if there are none."""


def _read_statistics(outcome: Outcome, items: Items, rows: np.ndarray) -> ReadStatistics:
    """The statistics of some items, by their row numbers."""
    read = rows[items.read[rows]]
    share = rounded(float(outcome.value[read].mean())) if len(read) else None
    return {"unread": len(rows) - len(read), "value_read": share}


def result_row(
    outcome: Outcome,
    labels: Labels,
    mean: Mean,
    *,
    average: str,
    ties: int | None = None,
    unscored: int | None = None,
) -> Row:
    """Make a row of results from a mean.

    Args:
        outcome: The outcome that the mean is of; its values are not read.
        labels: The columns that name the group of items; for a difference with `minus`.
        mean: The mean, or the difference.
        average: Name of the average.
        ties: Items that a tie decided; None for a difference.
        unscored: Items without a score; None for a difference.

    Returns:
        The row without model, benchmark, protocol and `is_main`. Its ceiling is None.
    """
    estimate = mean.estimate
    # The approximation may pass the ends of the range.
    if outcome.unit == "difference":
        estimate = estimate.moved(lambda low, high: (max(low, -1.0), min(high, 1.0)))
    row: dict[str, Any] = {"metric": outcome.metric, "error": outcome.error or None}
    for name in ("kind", "skill", "level", "n"):
        row[name] = labels.get(name)
    for name in COUNTS:
        if name in labels:
            row[name] = labels[name]
    row |= {
        "split": labels["split"],
        "minus": labels.get("minus"),
        "is_gap": "minus" in labels,
        "unit": outcome.unit,
        "average": average,
        "value": rounded(estimate.value),
        "sd": rounded(mean.sd),
    }
    for low, high in INTERVALS:
        row[low] = rounded(getattr(estimate, low))
        row[high] = rounded(getattr(estimate, high))
    row |= {
        "population": estimate.population,
        "p": rounded(estimate.p),
        "items": estimate.n_items,
        "clusters": estimate.n_clusters,
        "ties": ties,
        "unscored": unscored,
        "chance": rounded(mean.chance),
        "ceiling": None,
    }
    return cast(Row, row)


def _differences(
    table: _Table, group: _Group, *, first: str, second: str, means: Mapping[str, list[Mean]]
) -> list[Estimate]:
    """The difference between two splits of a group, for each outcome.

    means: by split, of each outcome.
    """
    if table.level is None:
        differences = []
        for minuend, subtrahend in zip(means[first], means[second], strict=True):
            a, b = minuend.estimate, subtrahend.estimate
            differences.append(_without_interval(a.value - b.value, a.n_items))
        return differences
    independent = _independent_differences(table, group, first=first, second=second, means=means)
    if table.over is not None:
        return independent
    return _paired_differences(table, group, first=first, second=second, independent=independent)


def _independent_differences(
    table: _Table, group: _Group, *, first: str, second: str, means: Mapping[str, list[Mean]]
) -> list[Estimate]:
    """The differences of two splits as if they were independent.

    FULL contains the second split, so: mean(FULL) − mean(part) = share(rest) · (mean(rest) −
    mean(part)). The rest and the part have no items in common.
    """
    minuends, factor = means[first], 1.0
    if first == FULL:
        rest = np.setdiff1d(group.scored[first], group.scored[second])
        factor = len(rest) / len(group.scored[first])
        if len(rest):
            minuends = table.means(rest)
    differences = []
    for minuend, subtrahend in zip(minuends, means[second], strict=True):
        a, b = minuend.estimate, subtrahend.estimate
        n_items = a.n_items + b.n_items
        n_clusters = a.n_clusters + b.n_clusters
        estimate = subtract(a, b, n_items, n_clusters, table.items.rules.level)
        differences.append(scaled(estimate, factor))
    return differences


def _paired_differences(
    table: _Table, group: _Group, *, first: str, second: str, independent: list[Estimate]
) -> list[Estimate]:
    """The differences of two splits. Paired if the splits share clusters (partitions of a benchmark
    share images) and the paired interval exists; else the `independent` differences."""
    first_rows, second_rows = group.scored[first], group.scored[second]
    codes = table.clusters.codes
    if not np.isin(codes[first_rows], codes[second_rows]).any():
        return independent
    rows = np.union1d(first_rows, second_rows)
    paired = parts_differences(
        np.stack([outcome.value[rows] for outcome in table.outcomes], axis=1),
        np.isin(rows, first_rows),
        second=np.isin(rows, second_rows),
        clusters=table.clusters.take(rows),
        level=table.items.rules.level,
    )
    differences = []
    for difference, alone in zip(paired, independent, strict=True):
        has_interval = np.isfinite(difference.low)
        differences.append(difference if has_interval else alone)
    return differences


def _without_interval(value: float, n_items: int) -> Estimate:
    return Estimate(value + 0.0, np.nan, np.nan, n_items, n_clusters=0)  # + 0.0 makes 0 of -0


def _deviation(values: np.ndarray, paths: Sequence[tuple[str, ...]]) -> float:
    """The standard deviation of the means of values (n,) by first name of their paths; nan for
    fewer than two names."""
    if not paths:
        return np.nan
    first_names = [path[0] for path in paths]
    means = pd.Series(values).groupby(first_names).mean()
    return float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
