"""Raw retrieval: images and their own captions against one another, in folds (protocols, section 3; CREPE, Ma et al.
2023)."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.metrics.ranking import ranks
from evaluator.protocols.items import COUNTS, NOT_A_NUMBER, TRUNCATED, positions, split_rank, strings
from evaluator.protocols.pools import Fold
from evaluator.protocols.records import Row
from evaluator.protocols.results import Mean, result_row, right
from evaluator.protocols.scores import Scores
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.intervals import cluster_means
from generator.dataset.reader import Benchmark

KIND = "raw"
"""The kind of raw retrieval's rows."""
MACRO = "macro (over folds)"
MOST = 20
METRICS = ("raw R@1, image to text", "raw R@1, text to image")


def make_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
    """The folds of a protocol's captions, K = min(20, ⌊size/N⌋) of each group; N is the size of the smallest group.

    A group is a split, or with `by_atoms` a split and number of atoms. In it each image has one caption and each
    caption one image, in an order that a hash of the images' names decides.
    """
    groups = _groups(benchmark, protocol, by_atoms)
    if not groups or (size := min(len(members) for members in groups.values())) < 2:
        return []
    folds = []
    for (split, n), members in groups.items():
        for k in range(min(MOST, len(members) // size)):
            images, texts, clusters = zip(*members[k * size : (k + 1) * size], strict=True)
            name = f"raw-{protocol}-{split}{'' if n is None else f'-{n}'}-{k}"
            folds.append(
                Fold(name, list(images), list(texts), split=split, n=n, clusters=np.array(clusters, dtype=object))
            )
    return folds


def retrieval_rows(scores: Scores, protocol: str) -> list[Row]:
    """R@1 in the folds that the run scored, from image to text and from text to image, a row for each group.

    Mean over items, interval by cluster, standard deviation over the folds. A tie is never correct. A query is unscored
    when one of its scores is not a number, or when the model reads its caption as another one of the fold.
    """
    groups: dict[tuple[str, int | None], list[Fold]] = {}
    for fold in scores.folds.get(protocol, ()):
        groups.setdefault((fold.split, fold.n), []).append(fold)
    rows = []
    for metric, transposed in zip(METRICS, (False, True), strict=True):
        of = scores.between_images or scores if transposed else scores
        for (split, n), folds in groups.items():
            outcomes = [_recall(fold, of, transposed) for fold in folds]
            rows.append(_row(metric, {"kind": KIND, "n": n, "split": split}, folds, outcomes, scores.confidence))
    return rows


_Member = tuple[str, str, str]
"""An image, its caption and its cluster."""


def _groups(benchmark: Benchmark, protocol: str, by_atoms: bool) -> dict[tuple[str, int | None], list[_Member]]:
    """The members of each split, or split and number of atoms, sorted by a hash of the image's name."""
    items = benchmark.items_of(protocol)
    rows = benchmark.candidates
    item = positions(rows["item_id"], items["item_id"])
    slot, truth = strings(rows["slot"]), rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
    chosen = np.flatnonzero((item >= 0) & truth & (slot == "c"))
    scene, text = (strings(rows[name])[chosen].tolist() for name in ("scene_id", "text_id"))
    split, cluster = (strings(items[name])[item[chosen]] for name in ("split", "cluster_id"))
    counts = benchmark.texts.select(COUNTS).take(positions(rows["text_id"].take(chosen), benchmark.texts["text_id"]))
    atoms = np.sum([np.nan_to_num(counts[name].to_numpy().astype(float)) for name in COUNTS], axis=0).astype(int)
    order = sorted(range(len(chosen)), key=lambda i: (_hash(scene[i]), scene[i], text[i]))
    groups: dict[tuple[str, int | None], list[_Member]] = {}
    taken: set[tuple[str, int | None, str]] = set()
    for i in order:
        group = (str(split[i]), int(atoms[i]) if by_atoms else None)
        if group[0] == "val" or {(*group, scene[i]), (*group, text[i])} & taken:
            continue
        taken |= {(*group, scene[i]), (*group, text[i])}
        groups.setdefault(group, []).append((scene[i], text[i], cluster[i]))
    return {group: groups[group] for group in sorted(groups, key=lambda g: (split_rank(g[0]), g[1] or 0))}


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


_Recall = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of N queries: whether each ranks its own counterpart first, whether it lost only to a tie, why it is unscored."""


def _recall(fold: Fold, run: Scores, transposed: bool) -> _Recall:
    """R@1 of each image of a fold, or transposed of each text."""
    own = np.repeat(np.arange(len(fold.images))[:, None], 2, axis=1)
    found = ranks(run.matrix(fold), own, run.tolerance)[transposed]
    reading = [run.indistinct.get(text, text) for text in fold.texts]
    times = Counter(reading)
    reasons = np.where(found.at_or_above < 0, NOT_A_NUMBER, "").astype(object)
    reasons[[times[text] > 1 for text in reading]] = TRUNCATED
    return found.recall(1), found.lost_to_ties(1), reasons


def _row(metric: str, labels: dict[str, Any], folds: Sequence[Fold], outcomes: Sequence[_Recall], level: float) -> Row:
    value, tie, reasons = (np.concatenate(column) for column in zip(*outcomes, strict=True))
    scored = reasons == ""
    clusters = np.concatenate([fold.clusters for fold in folds]).astype(str)
    images = np.concatenate([fold.images for fold in folds]).astype(str)
    chance = 1 / len(folds[0].images)
    means = [float(won[why == ""].mean()) for won, _, why in outcomes if (why == "").any()]
    sd = float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
    shared = Clusters.of(clusters[scored], scenes=images[scored])
    estimate = cluster_means(value[scored].astype(float)[:, None], shared, level, chance=[chance])[0]
    outcome = right(metric, chance, (value, tie))
    ties, unscored = int(tie[scored].sum()), int((~scored).sum())
    return result_row(outcome, labels, Mean(estimate, chance, sd), MACRO, ties, unscored)
