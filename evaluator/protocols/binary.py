"""Binary accuracy of the true text against its foil, with minimal captions or with the environment
in both captions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import matching_score
from evaluator.protocols.items import Items, reported_splits
from evaluator.protocols.outcomes import Outcome, difference, recall
from evaluator.protocols.pairs import matching
from evaluator.protocols.records import Row
from evaluator.protocols.results import (
    Protocol,
    ProtocolResults,
    category_means,
    kinds_and_skills,
    tabulate,
)
from evaluator.protocols.scores import Scores, joined_bindings

_MOSTLY_PAIRED = 0.75
"""Matching is the main metric if at least this share of the items of every reported split has a
counterpart.

Worlds with twins, and grids, have counterparts for nearly all items. Without twins, `seen` has them
for about a tenth (300 images of 1,308 clusters), so that a gap would compare few items of `seen`
with all of `unseen`."""


class Binary(Protocol):
    """Accuracy by kind of foil and split, and over all kinds where there are several (Peng et al.
    2026, section 3.1). Chance 1/2.

    Two items with the same two texts, of which each is true of one image, are counterparts.
    Together they are a question of `matching`, as in `pairs` (protocols, section 14), chance 1/2.
    It is the main metric if nearly all items of each split have a counterpart.

    If the benchmark's authors average over categories: also that mean, and accuracy by skill if a
    kind has several.
    """

    name = "binary"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        accuracy = recall(items, items.false, "accuracy")
        n_kinds = len(set(items.kind))
        # Of a single kind, the row over all kinds would repeat that of the kind.
        rows = tabulate(items, [accuracy]) if n_kinds > 1 else []
        rows += tabulate(items, [accuracy], ["kind"])
        if scores.averages_categories:
            categories = kinds_and_skills(items)
            rows += category_means(items, [accuracy], categories)
            if len(set(categories)) > n_kinds:
                rows += tabulate(items, [accuracy], ["kind", "skill"], gaps=False)
        if not items.graded:
            # Choices in words are no sums of scores; `pairs` asks this question in words.
            return ProtocolResults(items, [accuracy], rows)
        counterparts = find_counterparts(items, scores.twins)
        if not len(counterparts):
            return ProtocolResults(items, [accuracy], rows)
        matched, matching_rows = _match(items, counterparts)
        outcomes = [accuracy, matched]
        if _are_mostly_paired(items, counterparts):
            return ProtocolResults(items, outcomes, matching_rows + rows, main=matched.metric)
        return ProtocolResults(items, outcomes, rows + matching_rows)


def find_counterparts(items: Items, twins: Mapping[str, str]) -> np.ndarray:
    """Pairs of items of one split and kind that have the same two texts, the true one of each being
    the other's foil.

    Twins are paired first, since their images differ in nothing else; other items in the order of
    their scenes. An item is in one pair at most. The pairs depend on the benchmark alone, never on
    scores.

    Args:
        items: any items; those with one true and one false text can have a counterpart.
        twins: the twin of each scene that has one, in both directions.

    Returns:
        Row numbers (pairs, 2), sorted; in each pair the item that comes first in `items` is first.
    """
    # For each two texts of a split and kind: the items of which the alphabetically first one is
    # true, and those of which the other is.
    sides: dict[tuple[str, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    n_true = items.truth.sum(axis=1)
    n_false = items.false.sum(axis=1)
    has_two_texts = (n_true == 1) & (n_false == 1)
    for row in np.flatnonzero(has_two_texts).tolist():
        true_text = items.text_id[row, items.truth[row].argmax()]
        false_text = items.text_id[row, items.false[row].argmax()]
        texts = sorted((true_text, false_text))
        key = (items.split[row], items.kind[row], *texts)
        side = texts.index(true_text)
        sides[key][side].append(row)

    pairs: list[tuple[int, int]] = []
    for one_side, other_side in sides.values():
        pairs += _pair_rows(items, twins, one_side=one_side, other_side=other_side)
    in_order = sorted(sorted(pair) for pair in pairs)
    # The reshape is for no pairs at all.
    return np.array(in_order, dtype=int).reshape(-1, 2)


def _pair_rows(
    items: Items, twins: Mapping[str, str], *, one_side: Sequence[int], other_side: Sequence[int]
) -> list[tuple[int, int]]:
    """Pairs of a row of each side: twins first, then the others in order."""
    row_of_scene = {items.scene_id[row]: row for row in other_side}
    pairs, unpaired = [], []
    for row in one_side:
        twin = twins.get(items.scene_id[row], "")
        # Taken out of the dictionary, so that no row is in two pairs.
        twin_row = row_of_scene.pop(twin, None)
        if twin_row is None:
            unpaired.append(row)
        else:
            pairs.append((row, twin_row))
    paired = {other for _, other in pairs}
    rest = [row for row in other_side if row not in paired]
    return [*pairs, *zip(unpaired, rest, strict=False)]


def _match(items: Items, counterparts: np.ndarray) -> tuple[Outcome, list[Row]]:
    """The metric `matching` of counterparts: its outcome at the first item of each pair, nan
    elsewhere, and its rows.

    A row counts pairs as its items. A pair is unscored if one of its items is.
    """
    first, second = counterparts.T
    true = best_score(items.scores, items.truth)
    false = best_score(items.scores, items.false)
    # Each item's true text is the other's foil.
    table = np.empty((len(counterparts), 2, 2), items.scores.dtype)  # image, text
    table[:, 0, 0] = true[first]
    table[:, 0, 1] = false[first]
    table[:, 1, 1] = true[second]
    table[:, 1, 0] = false[second]
    outcome = matching(matching_score(table, items.rules.tolerance))

    # The rows are of the pairs, which have the bindings of both images.
    pair_bindings = None
    if items.bindings is not None:
        bindings_of_both = zip(items.bindings[first], items.bindings[second], strict=True)
        joined = [joined_bindings(*bindings) for bindings in bindings_of_both]
        pair_bindings = np.array(joined, dtype=object)
    pairs = items.take(first)
    # The reason of the first item of a pair, else that of the second, which is "" if it is scored.
    unscored = np.where(pairs.scored, items.unscored[second], pairs.unscored)
    pairs = replace(pairs, bindings=pair_bindings, unscored=unscored)
    rows = tabulate(pairs, [outcome]) if len(set(pairs.kind)) > 1 else []
    rows += tabulate(pairs, [outcome], ["kind"])

    # The outcome is of all items: nan where there is no pair.
    value = np.full(len(items), np.nan)
    value[first] = np.where(pairs.scored, outcome.value, np.nan)
    tie = np.zeros(len(items), dtype=bool)
    tie[first] = outcome.tie & pairs.scored
    item_bindings = None
    if items.bindings is not None:
        item_bindings = items.bindings.copy()
        item_bindings[first] = pair_bindings
    chance = np.full(len(items), outcome.chance[0])
    return Outcome(outcome.metric, value, tie, chance, bindings=item_bindings), rows


def _are_mostly_paired(items: Items, counterparts: np.ndarray) -> bool:
    """Whether at least _MOSTLY_PAIRED of the items of every reported split have a counterpart."""
    has_counterpart = np.isin(np.arange(len(items)), counterparts)
    splits_of_items = set(items.split)
    splits = reported_splits(splits_of_items) or sorted(splits_of_items)
    shares = []
    for split in splits:
        in_split = items.split == split
        shares.append(has_counterpart[in_split].mean())
    return min(shares) >= _MOSTLY_PAIRED


class Context(Protocol):
    """Accuracy with minimal captions and with the environment in the captions, and their paired
    difference, by kind and split."""

    name = "context"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.requiring(items.has_slots("n", "context"))
        foils = items.false & (items.slot == "n")
        minimal = recall(items, foils, "accuracy, minimal")
        foils_with_context = items.false & (items.slot == "context")
        context = recall(items, foils_with_context, "accuracy, with context", slot="context")
        outcomes = [minimal, context, difference("context - minimal", context, minimal)]
        return ProtocolResults(items, outcomes, tabulate(items, outcomes, ["kind"]))
