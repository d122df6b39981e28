"""Outcomes of items under a metric: right or wrong, differences of these, and shares of errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evaluator.metrics.comparison import chance, recall_at_k, wrong_choices
from evaluator.metrics.questions import Won
from evaluator.protocols.items import Items

TIE, UNNAMED, UNREAD = "tie", "unnamed", "unread"
"""Kinds of errors that are not kinds of false texts: a tie with a true text, a false text without a
kind, and an answer without a label."""
Unit = Literal["share", "difference", "score"]
"""Of an outcome: 0..1, a difference of two shares, or any number."""


@dataclass(frozen=True)
class Outcome:
    """A metric on n items."""

    metric: str
    """Name of the metric."""
    value: np.ndarray
    """float64 (n,): the value of each item."""
    tie: np.ndarray
    """bool (n,): whether a tie decided it."""
    chance: np.ndarray
    """float64 (n,): its value by chance; nan for metrics without chance."""
    unit: Unit = "share"
    """What the value is."""
    parts: tuple[np.ndarray, np.ndarray] | None = None
    """The two shares (n,) of a difference; None for other metrics."""
    error: str = ""
    """For metrics that count mistakes, the kind of mistake; else ""."""
    bindings: np.ndarray | None = None
    """(n,): the bindings of all images that each item's outcome compares, joined by ";"; None if
    the outcome is about the item's own images."""

    def take(self, mask: np.ndarray) -> "Outcome":
        """Select items.

        Args:
            mask: bool (n,); or row numbers, int64.

        Returns:
            The outcome on the items where the mask is true.
        """
        parts = None
        if self.parts is not None:
            first, second = self.parts
            parts = (first[mask], second[mask])
        bindings = None if self.bindings is None else self.bindings[mask]
        return replace(
            self,
            value=self.value[mask],
            tie=self.tie[mask],
            chance=self.chance[mask],
            parts=parts,
            bindings=bindings,
        )


def right(metric: str, by_chance: float | np.ndarray, won: Won) -> Outcome:
    """The outcome of a right/wrong metric.

    Args:
        metric: Its name.
        by_chance: Its value by chance, one for all items or (n,).
        won: Which questions are right, and which are wrong only because of ties; each bool (n,).

    Returns:
        The outcome, with the value 1 or 0.

    Example:
        >>> right("accuracy", 0.5, (np.array([True, False]), np.array([False, True]))).value
        array([1., 0.])
    """
    value, tie = won
    by_chance = np.broadcast_to(by_chance, value.shape).astype(float)
    return Outcome(metric, value.astype(float), tie, by_chance)


def recall(
    items: Items, false: np.ndarray, metric: str = "R@1", *, k: int = 1, slot: str = "c"
) -> Outcome:
    """R@k of the true texts of a slot: whether fewer than k false texts score at or above the best
    of them.

    Args:
        items: n items.
        false: bool (n, m): the false texts that count.
        metric: Name of the metric.
        k: The number of ranks that count as right, 1 or more.
        slot: The slot of the true texts.

    Returns:
        The outcome. By chance all texts are equally likely to be best.
    """
    true = items.truth & (items.slot == slot)
    won = recall_at_k(items.scores, true, false, k, items.rules.tolerance)
    by_chance = chance(true.sum(axis=1), false.sum(axis=1), k)
    return right(metric, by_chance, won)


def difference(metric: str, first: Outcome, second: Outcome) -> Outcome:
    """The difference of two shares, item by item.

    Args:
        metric: Its name.
        first: An outcome.
        second: The outcome to subtract.

    Returns:
        first − second.
    """
    return Outcome(
        metric,
        value=first.value - second.value,
        tie=first.tie | second.tie,
        chance=first.chance - second.chance,
        unit="difference",
        parts=(first.value, second.value),
    )


def error_shares(items: Items, metric: str, among: np.ndarray) -> list[Outcome]:
    """The kinds of false texts that are predicted.

    The prediction of an item is the text with the best score. False texts that tie for it share it
    evenly; if a true text ties with them, the prediction counts as TIE.

    Args:
        items: n items.
        metric: Name of the metric.
        among: bool (n, m): texts that are equally likely by chance.

    Returns:
        For each kind of false text, and for TIE, the share of each item's prediction. With answers
        in words also the share of UNREAD.
    """
    shares, tie = wrong_choices(items.scores, items.truth, items.false, items.rules.tolerance)
    tie &= items.read | ~items.scored  # an answer without a label chooses no text
    sizes = np.maximum(among.sum(axis=1), 1)
    no_tie = np.zeros(len(items), dtype=bool)
    kinds = sorted(set(items.candidate_kind[items.false].tolist()))
    outcomes = []
    for kind in kinds:
        is_kind = items.false & (items.candidate_kind == kind)
        share = (shares * is_kind).sum(axis=1)
        by_chance = (is_kind & among).sum(axis=1) / sizes
        outcomes.append(Outcome(metric, share, no_tie, by_chance, error=kind or UNNAMED))
    # Ties and unread answers are no texts, so random guesses never give them.
    no_chance = np.full(len(items), np.nan)
    outcomes.append(Outcome(metric, tie.astype(float), tie, no_chance, error=TIE))
    if items.unread is not None:
        is_unread = (items.unread != "").astype(float)
        outcomes.append(Outcome(metric, is_unread, no_tie, no_chance, error=UNREAD))
    return outcomes


def merge_samples(items: Items, outcomes: Sequence[Outcome]) -> tuple[Items, list[Outcome]]:
    """Merge the samples of each item to one row with the outcome of the majority answer.

    Intervals are over items, so the samples of an item never count separately. Each right/wrong
    metric also gets its mean over the samples, and whether all samples are right. In both, a sample
    with an answer that cannot be read is wrong, and a sample with a failed request is left out. An
    item without any complete sample is unscored.

    Args:
        items: Items, of which each has `items.samples` consecutive rows; the last of these is the
            majority of the others.
        outcomes: Their outcomes.

    Returns:
        Items with one row each, and their outcomes. Items without samples are returned as they are.
    """
    n = items.samples
    if n == 1:
        return items, list(outcomes)
    majority = np.arange(n - 1, len(items), n)
    is_complete = items.scored.reshape(-1, n)[:, :-1]
    no_tie = np.zeros(len(majority), dtype=bool)
    merged = [outcome.take(majority) for outcome in outcomes]
    n_complete = np.maximum(is_complete.sum(axis=1), 1)
    for outcome in outcomes:
        if outcome.unit != "share" or outcome.error:
            continue
        # An incomplete sample adds nothing to the mean, and cannot be the one that is wrong.
        values = outcome.value.reshape(-1, n)[:, :-1]
        mean = np.where(is_complete, values, 0).sum(axis=1) / n_complete
        all_right = np.where(is_complete, values, 1).min(axis=1)
        by_chance = outcome.chance[majority]
        for name, value in ((f"mean of {n - 1}", mean), (f"all {n - 1}", all_right)):
            merged.append(Outcome(f"{outcome.metric}, {name}", value, no_tie, by_chance))

    # Without a complete sample, the first one says why.
    reason = items.unscored.reshape(-1, n)[:, 0]
    rows = items.take(majority)
    has_no_reason = (rows.unscored == "") & ~is_complete.any(axis=1)
    unscored = np.where(has_no_reason, reason, rows.unscored)
    return replace(rows, unscored=unscored, samples=1), merged


def atoms(items: Items) -> np.ndarray:
    """The number of atoms of captions.

    Args:
        items: n items.

    Returns:
        int64 (n,): the objects, attributes and relations that each item's caption names.
    """
    return np.maximum(items.counts, 0).sum(axis=1)
