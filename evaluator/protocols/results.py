"""Base class of protocols; outcomes of items under a metric, and their aggregation to rows of the
table of results."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, ClassVar, Literal, TypedDict, cast

import numpy as np
import pandas as pd

from evaluator.metrics.comparison import chance, recall_at_k, wrong_choices
from evaluator.metrics.questions import Won, category_weights
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
TIE, UNNAMED, UNREAD = "tie", "unnamed", "unread"
OVER_CATEGORIES = "macro (over categories)"
Unit = Literal["share", "difference", "score"]
Labels = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A metric on n items: its value (n,), whether a tie decided it (n,), and its value by chance
    (n,), nan for none.

    unit: `share` (0..1), `difference` of two shares (`parts`), or `score`, any number. error: for
        metrics that count
    mistakes, the kind of mistake; else "". bindings: of all images that each item's outcome
    compares, joined by ";";
    None if the outcome is about the item's own images.
    """

    metric: str
    value: np.ndarray
    tie: np.ndarray
    chance: np.ndarray
    unit: Unit = "share"
    parts: tuple[np.ndarray, np.ndarray] | None = None
    error: str = ""
    bindings: np.ndarray | None = None

    def take(self, mask: np.ndarray) -> "Outcome":
        """The outcome on the items where the mask (n,) is true."""
        parts = None if self.parts is None else (self.parts[0][mask], self.parts[1][mask])
        bindings = None if self.bindings is None else self.bindings[mask]
        return replace(
            self,
            value=self.value[mask],
            tie=self.tie[mask],
            chance=self.chance[mask],
            parts=parts,
            bindings=bindings,
        )


@dataclass(frozen=True)
class ProtocolResults:
    """A protocol's items, their outcomes and rows of results.

    The first outcome is of every item: the page and `items.jsonl` show it.
    """

    items: Items
    outcomes: list[Outcome]
    rows: list[Row]
    fits: list[dict[str, Any]] = field(default_factory=list)
    """Linear fits of the outcomes."""
    cells: list[Row] = field(default_factory=list)
    """Rows by every combination of counts."""
    main: str | None = None
    """The main metric, for tables, figures and comparisons; None: the metric of the first
    outcome."""

    def __post_init__(self) -> None:
        items, outcomes = per_item(self.items, self.outcomes)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "outcomes", outcomes)

    @property
    def main_metric(self) -> str:
        """The name of the main metric."""
        return self.main or self.outcomes[0].metric

    def parts(self, size: int) -> Iterator[tuple[Items, list[Outcome]]]:
        """The items and outcomes in parts of at most `size` items; one empty part if there are no
        items."""
        for start in range(0, max(1, len(self.items)), size):
            rows = np.arange(start, min(start + size, len(self.items)))
            yield self.items.take(rows), [outcome.take(rows) for outcome in self.outcomes]


class Protocol(ABC):
    """Computes results from the scores of a benchmark's items. To add a protocol, write it in a
    file and register it in `__init__.py`. Its tables and figures follow from its rows
    (evaluator.report)."""

    name: ClassVar[str]
    """The protocol's name in the benchmark's items."""
    compares_images: ClassVar[bool] = False
    """Whether scores of different images are compared; a model may have a separate channel for
    this."""

    @abstractmethod
    def measure(self, scores: Scores) -> ProtocolResults:
        """The outcome of every item, and rows of results."""

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        """The folds of its raw retrieval, which the model scores too; [] for most protocols."""
        return []


def right(metric: str, by_chance: float | np.ndarray, won: Won) -> Outcome:
    """The outcome of a right/wrong metric. won: which questions are right, and which are wrong only
    because of ties."""
    value, tie = won
    return Outcome(
        metric, value.astype(float), tie, np.broadcast_to(by_chance, value.shape).astype(float)
    )


def recall(
    items: Items, false: np.ndarray, metric: str = "R@1", k: int = 1, slot: str = "c"
) -> Outcome:
    """R@k of the true texts of a slot against the false texts of a mask (n, m)."""
    true = items.truth & (items.slot == slot)
    won = recall_at_k(items.scores, true, false, k, items.tolerance)
    return right(metric, chance(true.sum(axis=1), false.sum(axis=1), k), won)


def per_item(items: Items, outcomes: Sequence[Outcome]) -> tuple[Items, list[Outcome]]:
    """Merge the samples of each item to one row with the outcomes of the majority answer. Each
    right/wrong metric also gets its mean over the samples, and whether all samples are right.

    A sample with an answer that cannot be read is wrong. Both leave out samples with a failed
    request. An item without any complete sample is unscored. Intervals are over items, so the
    samples of an item never count separately.
    """
    n = items.samples
    if n == 1:
        return items, list(outcomes)
    last = np.arange(n - 1, len(items), n)
    read = items.scored.reshape(-1, n)[:, :-1]
    found = [each.take(last) for each in outcomes]
    for each in outcomes:
        if each.unit == "share" and not each.error:
            values, no_tie = each.value.reshape(-1, n)[:, :-1], np.zeros(len(last), dtype=bool)
            mean = np.where(read, values, 0).sum(axis=1) / np.maximum(read.sum(axis=1), 1)
            every = np.where(read, values, 1).min(axis=1)
            for name, value in ((f"mean of {n - 1}", mean), (f"all {n - 1}", every)):
                found.append(Outcome(f"{each.metric}, {name}", value, no_tie, each.chance[last]))
    none = ~read.any(axis=1)
    first = items.unscored.reshape(-1, n)[:, 0]
    whole = items.take(last)
    return replace(
        whole, unscored=np.where((whole.unscored == "") & none, first, whole.unscored), samples=1
    ), found


def difference(metric: str, first: Outcome, second: Outcome) -> Outcome:
    """first − second, item by item."""
    value, by_chance = first.value - second.value, first.chance - second.chance
    return Outcome(
        metric, value, first.tie | second.tie, by_chance, "difference", (first.value, second.value)
    )


def error_shares(items: Items, metric: str, among: np.ndarray) -> list[Outcome]:
    """For each kind of false text, and for ties, the share (n,) of each item's prediction.

    The prediction is the text with the best score. False texts that tie for it share it evenly; if
    a true text ties with them, the prediction counts as `tie`. By chance all texts of the mask
    `among` (n, m) are equally likely.
    """
    shares, tie = wrong_choices(items.scores, items.truth, items.false, items.tolerance)
    tie &= items.read | ~items.scored  # an answer without a label chooses no text
    sizes, no_tie = np.maximum(among.sum(axis=1), 1), np.zeros(len(items), dtype=bool)
    outcomes = []
    for kind in sorted(set(items.candidate_kind[items.false].tolist())):
        of = items.false & (items.candidate_kind == kind)
        share, by_chance = (shares * of).sum(axis=1), (of & among).sum(axis=1) / sizes
        outcomes.append(Outcome(metric, share, no_tie, by_chance, error=kind or UNNAMED))
    none = np.full(len(items), np.nan)
    outcomes.append(Outcome(metric, tie.astype(float), tie, none, error=TIE))
    if items.unread is not None:
        outcomes.append(
            Outcome(metric, (items.unread != "").astype(float), no_tie, none, error=UNREAD)
        )
    return outcomes


@dataclass(frozen=True)
class Mean:
    """The mean of an outcome over some items, and its chance. sd: over n, categories or folds. nan
    for none."""

    estimate: Estimate
    chance: float = np.nan
    sd: float = np.nan


@dataclass(frozen=True)
class Categories:
    """Categories with equal weights in a macro mean: a name, and each item's path (n,) for
    `category_weights`."""

    name: str
    paths: Sequence[tuple[str, ...]]


def over_n(items: Items) -> Categories:
    """Categories by the captions' number of atoms."""
    return Categories("macro (over n)", [(str(n),) for n in atoms(items)])


def _means(
    outcomes: Sequence[Outcome],
    kept: np.ndarray,
    clusters: Clusters,
    level: float | None,
    over: Categories | None,
) -> list[Mean]:
    """The mean of each outcome over the items with row numbers `kept`; or over categories, with the
    standard deviation over the first names of their paths. level: of the intervals, None for no
    intervals.

    If the differences of items give no interval, it is combined from the intervals of the two
    means.
    """
    if not len(kept):
        return [Mean(NOTHING)] * len(outcomes)
    paths = [over.paths[i] for i in kept] if over else []
    weights = category_weights(paths) if over else np.full(len(kept), 1 / len(kept))
    chances = [float(weights @ outcome.chance[kept]) for outcome in outcomes]

    def estimates(values: Sequence[np.ndarray], shares: Sequence[bool]) -> list[Estimate]:
        columns = np.stack([each[kept] for each in values], axis=1)
        if level is None:
            return [_without_interval(float(weights @ column), len(kept)) for column in columns.T]
        if over:
            return cluster_means(columns, clusters, level, shares=shares, weights=weights)
        return cluster_means(columns, clusters, level, shares=shares, chance=chances)

    found = []
    shares = [outcome.unit == "share" for outcome in outcomes]
    each_found = zip(
        outcomes, estimates([each.value for each in outcomes], shares), chances, strict=True
    )
    for outcome, estimate, by_chance in each_found:
        if outcome.unit == "score":
            estimate = replace(estimate, p=np.nan)  # scores have no chance value
        if outcome.parts is not None and np.isnan(estimate.low) and level is not None:
            first, second = estimates(outcome.parts, (True, True))
            estimate = subtract(first, second, estimate.n_items, estimate.n_clusters, level)
        found.append(Mean(estimate, by_chance, _deviation(outcome.value[kept], paths)))
    return found


def _without_interval(value: float, n_items: int) -> Estimate:
    return Estimate(value + 0.0, np.nan, np.nan, n_items, n_clusters=0)  # + 0.0 makes 0 of -0


def _deviation(values: np.ndarray, paths: Sequence[tuple[str, ...]]) -> float:
    """The standard deviation of the means of values (n,) by first name of their paths; nan for
    fewer than two names."""
    if not paths:
        return np.nan
    means = pd.Series(values).groupby([path[0] for path in paths]).mean()
    return float(np.std(means, ddof=1)) if len(means) > 1 else np.nan


def category_means(
    items: Items,
    outcomes: Sequence[Outcome],
    categories: Sequence[tuple[str, ...]],
    overall: bool = True,
) -> list[Row]:
    """For each share, the mean over categories: of each kind with several categories, and with
    `overall` of all kinds.

    categories (n,): a path for each item, its kind first. Means leave out unscored items.
    """
    shares = [
        replace(each, metric=f"{each.metric}, mean of categories")
        for each in outcomes
        if each.unit == "share"
    ]
    several = {
        kind for kind, paths in Counter(path[0] for path in set(categories)).items() if paths > 1
    }
    rows = []
    if overall and len({path[0] for path in categories}) > 1:
        rows += tabulate(items, shares, gaps=False, over=Categories(OVER_CATEGORIES, categories))
    inside = np.array([path[0] in several for path in categories], dtype=bool)
    within = Categories(OVER_CATEGORIES, [path[1:] or ("",) for path in categories])
    rows += tabulate(items, shares, ["kind"], gaps=False, over=within, where=inside)
    return [{**row, "sd": None} for row in rows]


def kinds_and_skills(items: Items) -> list[tuple[str, ...]]:
    """The category (n,) of each item: its kind, then the parts of its skill, which "/"
    separates."""
    return [
        (kind, *(skill.split("/") if skill else ()))
        for kind, skill in zip(items.kind, items.skill, strict=True)
    ]


def tabulate(
    items: Items,
    outcomes: Sequence[Outcome],
    by: Sequence[str] = (),
    gaps: bool = True,
    over: Categories | None = None,
    where: np.ndarray | None = None,
) -> list[Row]:
    """A row for each outcome, group of items and split; then, with `gaps`, the differences between
    splits.

    `by` names the labels that group items: kind, skill, level, n (atoms of the caption) or one of
    its three counts.
    over: the categories of a macro mean; by default the mean is over items. where: mask (n,) of the
        items to use.
    Unscored items are counted, but left out of means. Partitioned items have a row FULL for all
    items, and a row for
    each partition, without a mean if the partition is empty.
    """
    if items.samples > 1:
        last = slice(items.samples - 1, None, items.samples)
        where = None if where is None else where[last]
        over = None if over is None else replace(over, paths=over.paths[last])
        items, outcomes = per_item(items, outcomes)
    rows: list[list[Row]] = [[] for _ in outcomes]
    clusters, scored = items.clusters, items.scored
    average = over.name if over else "micro (over items)"
    level = items.confidence if items.intervals else None

    def means(kept: np.ndarray) -> list[Mean]:
        return _means(outcomes, kept, clusters.take(kept), level, over)

    for labels, members in groupby(
        _groups(items, [*by, "split"], where), lambda group: {**group[0], "split": None}
    ):
        chosen_of = {named["split"]: chosen for named, chosen in members}
        if items.partitioned:
            chosen_of = _with_full(chosen_of)
        kept_of = {split: chosen[scored[chosen]] for split, chosen in chosen_of.items()}
        means_of = {split: means(kept) for split, kept in kept_of.items()}
        for i, outcome in enumerate(outcomes):
            for split, chosen in chosen_of.items():
                mean, kept = means_of[split][i], kept_of[split]
                if len(chosen) and not len(kept):
                    mean = replace(mean, chance=float(outcome.chance[chosen].mean()))
                ties = int((outcome.tie & items.read)[kept].sum())
                unscored = len(chosen) - len(kept)
                row = result_row(outcome, {**labels, "split": split}, mean, average, ties, unscored)
                if (
                    items.unread is not None
                    and outcome.unit == "share"
                    and not outcome.error
                    and over is None
                ):
                    row = cast(Row, {**row, **_of_read(outcome, items, kept)})
                rows[i].append(row)
        for first, second in GAPS if gaps else ():
            if len(kept_of.get(first, ())) and len(kept_of.get(second, ())):
                found = _difference(first, second, kept_of, means_of, means, level)
                if over is None and level is not None:
                    found = _paired(
                        found, outcomes, clusters, kept_of[first], kept_of[second], level
                    )
                of = {**labels, "split": first, "minus": second}
                for i, outcome in enumerate(outcomes):
                    if outcome.unit == "share":
                        gap = replace(outcome, unit="difference")
                        rows[i].append(result_row(gap, of, Mean(found[i]), average))
    return [row for of_outcome in rows for row in of_outcome]


class OfRead(TypedDict):
    """Statistics of a row of a run in words."""

    unread: int
    value_read: float | None


def _of_read(outcome: Outcome, items: Items, kept: np.ndarray) -> OfRead:
    """How many of the items `kept` are wrong without a label of the model, and the share right of
    the others."""
    read = kept[items.read[kept]]
    share = rounded(float(outcome.value[read].mean())) if len(read) else None
    return {"unread": len(kept) - len(read), "value_read": share}


def result_row(
    outcome: Outcome,
    labels: Labels,
    mean: Mean,
    average: str,
    ties: int | None = None,
    unscored: int | None = None,
) -> Row:
    """A row of results from a mean; `measure` adds the model, the benchmark, the protocol, whether
    the metric is the main one, and the ceiling."""
    found = mean.estimate
    if outcome.unit == "difference":
        found = found.moved(lambda low, high: (max(low, -1.0), min(high, 1.0)))
    row = {
        "metric": outcome.metric,
        "error": outcome.error or None,
        **{name: labels.get(name) for name in ("kind", "skill", "level", "n")},
        **{name: labels[name] for name in COUNTS if name in labels},
        "split": labels["split"],
        "minus": labels.get("minus"),
        "is_gap": "minus" in labels,
        "unit": outcome.unit,
        "average": average,
        "value": rounded(found.value),
        "sd": rounded(mean.sd),
        **{end: rounded(getattr(found, end)) for ends in INTERVALS for end in ends},
        "speaks_of": found.speaks_of,
        "p": rounded(found.p),
        "items": found.n_items,
        "clusters": found.n_clusters,
        "ties": ties,
        "unscored": unscored,
        "chance": rounded(mean.chance),
        "ceiling": None,
    }
    return cast(Row, row)


def atoms(items: Items) -> np.ndarray:
    """The total number of objects, attributes and relations that each item's caption names (n,)."""
    return np.maximum(items.counts, 0).sum(axis=1)


def _groups(
    items: Items, by: Sequence[str], where: np.ndarray | None
) -> Iterator[tuple[Labels, np.ndarray]]:
    """The labels and the row numbers of each group of items, in the order of the labels; None for
    ""."""
    columns: dict[str, Any] = {}
    for name in by:
        if name in ("n", *COUNTS):
            columns[name] = atoms(items) if name == "n" else items.counts[:, COUNTS.index(name)]
        else:
            columns[name] = getattr(items, name)
    frame = pd.DataFrame(columns)
    found = (frame if where is None else frame[where]).groupby(list(by), sort=False)

    def rank(key: tuple[Any, ...]) -> list[Any]:
        ranks = {"split": split_rank, "level": lambda level: (len(level), level)}
        return [
            ranks[name](label) if name in ranks else label
            for name, label in zip(by, key, strict=True)
        ]

    for key, rows in sorted(
        ((key, rows.index.to_numpy()) for key, rows in found), key=lambda group: rank(group[0])
    ):
        labels = [None if label == "" else label for label in key]
        yield dict(zip(by, labels, strict=True)), rows


def _with_full(chosen_of: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Row numbers by split: of all audited items as FULL, of each partition, even if empty, and of
    other splits."""
    nothing = np.empty(0, dtype=np.int64)
    found = {**dict.fromkeys(PARTITIONS, nothing), **chosen_of}
    full = np.concatenate([chosen for split, chosen in found.items() if split != UNPARSED])
    return {FULL: np.sort(full), **found}


def _paired(
    independent: Sequence[Estimate],
    outcomes: Sequence[Outcome],
    clusters: Clusters,
    first: np.ndarray,
    second: np.ndarray,
    level: float,
) -> list[Estimate]:
    """The differences between two splits, given by row numbers. Paired if the splits share clusters
    (partitions of a benchmark share images) and the paired interval exists; else the `independent`
    differences."""
    if not np.isin(clusters.codes[first], clusters.codes[second]).any():
        return list(independent)
    rows = np.union1d(first, second)
    parts, inside = (np.isin(rows, first), np.isin(rows, second)), clusters.take(rows)
    found = parts_differences(
        np.stack([each.value[rows] for each in outcomes], axis=1), *parts, inside, level
    )
    return [
        paired if np.isfinite(paired.low) else alone
        for paired, alone in zip(found, independent, strict=True)
    ]


def _difference(
    first: str,
    second: str,
    kept_of: Mapping[str, np.ndarray],
    means_of: Mapping[str, list[Mean]],
    means: Callable[[np.ndarray], list[Mean]],
    level: float | None,
) -> list[Estimate]:
    """The difference between two splits for each outcome. level: of the intervals, None for no
    intervals.

    FULL contains the second split, so: mean(FULL) − mean(part) = share(rest) · (mean(rest) −
    mean(part)).
    """
    share, mine = 1.0, means_of[first]
    if level is None:
        pairs = zip(mine, means_of[second], strict=True)
        return [
            _without_interval(a.estimate.value - b.estimate.value, a.estimate.n_items)
            for a, b in pairs
        ]
    if first == FULL:
        rest = np.setdiff1d(kept_of[first], kept_of[second])
        share, mine = len(rest) / len(kept_of[first]), means(rest) if len(rest) else mine
    sides = ([mean.estimate for mean in side] for side in (mine, means_of[second]))
    return [
        scaled(subtract(a, b, a.n_items + b.n_items, a.n_clusters + b.n_clusters, level), share)
        for a, b in zip(*sides, strict=True)
    ]
