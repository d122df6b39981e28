"""CREPE (protocols, section 3; Ma et al. 2023): compounds seen and unseen in training, captions of
growing complexity, and raw retrieval between images and their own captions in folds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.metrics.ranking import ranks
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Outcome, atoms, recall, right
from evaluator.protocols.pools import Fold, make_folds
from evaluator.protocols.records import Row, by_key
from evaluator.protocols.results import (
    OVER_ITEMS,
    Labels,
    Mean,
    Protocol,
    ProtocolResults,
    category_means,
    result_row,
    tabulate,
)
from evaluator.protocols.scores import Scores
from evaluator.statistics.intervals import cluster_means
from generator.base.clusters import Clusters
from generator.dataset.reader import Benchmark
from generator.dataset.records import RAW

RAW_METRICS = ("raw R@1, image to text", "raw R@1, text to image")
"""Right if the best candidate is true of the query, whichever it is. The main numbers: a model that
knows the truth reaches 100%. Only for folds whose truth is known."""
OWN_METRICS = ("raw R@1, image to its own text", "raw R@1, text to its own image")
"""Right only if the best candidate is the one that the query was made with, as in CREPE (appendix
B.2). There other true candidates are "false negatives", so that even a model that knows the truth
does not reach 100%."""


class Systematicity(Protocol):
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split; raw retrieval by
    split. Only R@1 if scores are not graded."""

    name = "systematicity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = _without_raw(scores.items(self.name))
        recall_at_1 = recall(items, items.false, "R@1", k=1)
        recall_at_3 = recall(items, items.false, "R@3", k=3)
        mean = Outcome(
            "mean of R@1 and R@3",
            value=np.mean([recall_at_1.value, recall_at_3.value], axis=0),
            tie=recall_at_1.tie | recall_at_3.tie,
            chance=np.mean([recall_at_1.chance, recall_at_3.chance], axis=0),
        )
        # A choice in words names one text, so it has no second and third one.
        outcomes = [recall_at_1, recall_at_3, mean] if items.graded else [recall_at_1]
        rows = tabulate(items, outcomes, ["kind"])
        if len(set(items.skill)) > 1:  # compounds of attributes and of relations
            rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False)
        return ProtocolResults(items, outcomes, rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=False)


class Productivity(Protocol):
    """R@1 by kind of negatives (atom, swap, neg, all), over all captions and by number of atoms n;
    raw retrieval by n.

    For CREPE itself, whose authors plot R@1 by n, also the mean over n.
    """

    name = "productivity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = _without_raw(scores.items(self.name))
        outcomes = [recall(items, items.false)]
        rows = tabulate(items, outcomes, ["kind"])
        rows += tabulate(items, outcomes, ["kind", "n"], gaps=False)
        if scores.averages_categories:
            kinds_and_sizes = zip(items.kind, atoms(items), strict=True)
            sizes = [(kind, str(n)) for kind, n in kinds_and_sizes]
            rows += category_means(items, outcomes, sizes, overall=False)
        return ProtocolResults(items, outcomes, rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=True)


def _without_raw(items: Items) -> Items:
    """The items without those of raw retrieval, which are compared only with the captions of their
    folds."""
    return items.take(items.kind != RAW)


@dataclass(frozen=True)
class _Queries:
    """The queries of raw retrieval in a fold: its N images, or its N texts."""

    outcome: Outcome
    """The outcome of each query."""
    scored: np.ndarray
    """bool (N,): whether each query is scored."""


def retrieval_rows(scores: Scores, protocol: str) -> list[Row]:
    """Raw retrieval: R@1 in folds, from image to text and from text to image.

    A tie is never correct. A query is unscored when one of its scores is not a number, or when the
    model cannot tell a true candidate from a false one.

    Args:
        scores: The scores of a run.
        protocol: Name of the protocol whose folds are read.

    Returns:
        For each of RAW_METRICS and OWN_METRICS, a row for each split, skill and number of atoms:
        the mean over items, its interval by cluster, and the standard deviation over the folds.
        RAW_METRICS are left out of groups whose truth is not known. [] if the run did not score
        the folds.
    """
    folds = scores.folds.get(protocol, ())
    has_several_skills = len({fold.skill for fold in folds}) > 1
    groups = by_key(((fold.split, fold.skill, fold.n), fold) for fold in folds)
    rows = []
    for metric in (*RAW_METRICS, *OWN_METRICS):
        to_images = metric in (RAW_METRICS[1], OWN_METRICS[1])
        scores_of_metric = scores
        if to_images and scores.between_images:
            scores_of_metric = scores.between_images
        for (split, skill, n), members in groups.items():
            if metric in RAW_METRICS and any(fold.truth is None for fold in members):
                continue
            queries = [
                _queries(fold, scores_of_metric, metric=metric, to_images=to_images)
                for fold in members
            ]
            labels = {
                "kind": RAW,
                "skill": skill if has_several_skills else None,
                "n": n,
                "split": split,
            }
            rows.append(_retrieval_row(scores, members, queries=queries, labels=labels))
    return rows


def _retrieval_row(
    scores: Scores, folds: Sequence[Fold], *, queries: Sequence[_Queries], labels: Labels
) -> Row:
    """The row of one metric over the folds of a group, each with its queries."""
    scored = np.concatenate([of_fold.scored for of_fold in queries])
    outcomes = [of_fold.outcome for of_fold in queries]
    value = np.concatenate([outcome.value for outcome in outcomes])[scored]
    tie = np.concatenate([outcome.tie for outcome in outcomes])[scored]
    chance = np.concatenate([outcome.chance for outcome in outcomes])[scored]
    # Chance is known without a scored query: it follows from the number of true candidates.
    first_outcome = outcomes[0]
    known_chance = chance if len(chance) else first_outcome.chance
    by_chance = float(known_chance.mean())

    cluster_names = np.concatenate([fold.clusters for fold in folds])[scored]
    images = np.concatenate([fold.images for fold in folds])[scored]
    bindings = [scores.bindings.get(image, "") for image in images]
    clusters = Clusters.from_names(cluster_names, bindings, images, vocabulary=scores.vocabulary)
    estimate = cluster_means(value[:, None], clusters, scores.rules.level, chance=[by_chance])[0]

    # The spread of the folds' own means, as CREPE reports it.
    means = []
    for of_fold in queries:
        if of_fold.scored.any():
            scored_values = of_fold.outcome.value[of_fold.scored]
            means.append(float(scored_values.mean()))
    sd = float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
    return result_row(
        first_outcome,
        labels,
        Mean(estimate, by_chance, sd),
        average=OVER_ITEMS,
        ties=int(tie.sum()),
        unscored=int((~scored).sum()),
    )


def _queries(fold: Fold, scores: Scores, *, metric: str, to_images: bool) -> _Queries:
    """The images of a fold as queries, or with `to_images` its texts."""
    n = len(fold.images)
    true_pairs = np.repeat(np.arange(n)[:, None], 2, axis=1)  # image i and its own caption i
    if metric in RAW_METRICS and fold.truth is not None:
        true_pairs = fold.truth
    of_images, of_texts = ranks(scores.matrix(fold), true_pairs, scores.rules.tolerance)
    ranked = of_texts if to_images else of_images
    truth = np.zeros((n, n), dtype=bool)
    truth[true_pairs[:, 0], true_pairs[:, 1]] = True
    by_chance = truth.sum(axis=0 if to_images else 1) / n
    is_ambiguous = _ambiguous(fold, scores, truth=truth, to_images=to_images)
    outcome = right(metric, by_chance, (ranked.recall(1), ranked.lost_to_ties(1)))
    return _Queries(outcome, scored=(ranked.at_or_above >= 0) & ~is_ambiguous)


def _ambiguous(fold: Fold, scores: Scores, *, truth: np.ndarray, to_images: bool) -> np.ndarray:
    """Whether the model's input is the same for a text that is true of an image and for one that is
    not, bool (N,): of each image, or with `to_images` of each text. truth: bool (images, texts)."""
    inputs = [scores.indistinct.get(text, text) for text in fold.texts]
    texts_of_input = by_key((text, column) for column, text in enumerate(inputs))
    # Such a text ties with a false one whatever the model knows, so its queries are unscored.
    is_ambiguous = np.zeros(len(fold.images), dtype=bool)
    for columns in texts_of_input.values():
        if len(columns) == 1:
            continue
        of_input = truth[:, columns]
        has_both = of_input.any(axis=1) & ~of_input.all(axis=1)
        if not to_images:
            is_ambiguous |= has_both
        elif has_both.any():
            is_ambiguous[columns] = True
    return is_ambiguous
