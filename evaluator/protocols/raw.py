"""Raw retrieval: images and their own captions against one another, in folds (protocols, section 3; CREPE, Ma et al. 2023)."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.protocols.comparison import beats, best
from evaluator.protocols.items import COUNTS, NOT_A_NUMBER, TRUNCATED, positions, split_rank, strings
from evaluator.protocols.outcomes import Outcome, Row, row
from evaluator.statistics import cluster_means
from generator.dataset.reader import Benchmark

PROTOCOLS = ("systematicity", "productivity")
MACRO = "macro (over folds)"
MOST = 20
METRICS = ("raw R@1, image to text", "raw R@1, text to image")


@dataclass(frozen=True)
class Fold:
    """N images, each with one caption of its own; no two captions of a fold have the same words."""

    name: str
    split: str
    n: int | None
    """Number of atoms of its captions, None where they are not kept apart."""
    images: list[str]
    texts: list[str]
    clusters: np.ndarray  # (N,)


def folds(benchmark: Benchmark, protocol: str) -> list[Fold]:
    """The folds of a protocol: within each split (of `productivity`: each split and number of atoms), one caption an image
    and one image a caption, in an order that their names decide; K = min(20, ⌊size/N⌋) folds of N = the smallest size.
    """
    groups = _groups(benchmark, protocol)
    if not groups or (size := min(len(members) for members in groups.values())) < 2:
        return []
    made = []
    for (split, n), members in groups.items():
        for k in range(min(MOST, len(members) // size)):
            part = members[k * size : (k + 1) * size]
            name = f"raw-{protocol}-{split}{'' if n is None else f'-{n}'}-{k}"
            clusters = np.array([cluster for _, _, cluster in part], dtype=object)
            made.append(Fold(name, split, n, [image for image, _, _ in part], [text for _, text, _ in part], clusters))
    return made


def rows(found: list[Fold], matrix_of: Callable[[str], np.ndarray], indistinct: Mapping[str, str]) -> list[Row]:
    """R@1 from image to text and from text to image: mean, interval by cluster, standard deviation over the folds.

    `matrix_of` gives the scores of a fold, float32 (images, texts). A tie is never correct; an image whose scores are no
    number, or whose caption the model reads as another of the fold, is unscored.
    """
    made = []
    of_group: dict[tuple[str, int | None], list[Fold]] = {}
    for fold in found:
        of_group.setdefault((fold.split, fold.n), []).append(fold)
    for metric, transposed in zip(METRICS, (False, True), strict=True):
        for (split, n), members in of_group.items():
            parts = [_right(fold, matrix_of(fold.name), transposed, indistinct) for fold in members]
            made.append(_row(metric, {"kind": "raw", "n": n, "split": split}, members, parts))
    return made


def _groups(benchmark: Benchmark, protocol: str) -> dict[tuple[str, int | None], list[tuple[str, str, str]]]:
    """(image, caption, cluster) by split and, for `productivity`, number of atoms; sorted by a hash of the image's name."""
    items = benchmark.items_of(protocol)
    rows = benchmark.candidates
    item = positions(rows["item_id"], items["item_id"])
    slot, truth = strings(rows["slot"]), rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
    chosen = np.flatnonzero((item >= 0) & truth & (slot == "c"))
    scene, text = (strings(rows[name])[chosen].tolist() for name in ("scene_id", "text_id"))
    split, cluster = (strings(items[name])[item[chosen]] for name in ("split", "cluster_id"))
    counts = benchmark.texts.select(COUNTS).take(positions(rows["text_id"].take(chosen), benchmark.texts["text_id"]))
    atoms = np.sum([np.nan_to_num(counts[name].to_numpy().astype(float)) for name in COUNTS], axis=0).astype(int)
    order = sorted(range(len(chosen)), key=lambda i: (_mixed(scene[i]), scene[i], text[i]))
    groups: dict[tuple[str, int | None], list[tuple[str, str, str]]] = {}
    taken: set[tuple[str, int | None, str]] = set()
    for i in order:
        group = (str(split[i]), int(atoms[i]) if protocol == "productivity" else None)
        if group[0] == "val" or {(*group, scene[i]), (*group, text[i])} & taken:
            continue
        taken |= {(*group, scene[i]), (*group, text[i])}
        groups.setdefault(group, []).append((scene[i], text[i], cluster[i]))
    return {group: groups[group] for group in sorted(groups, key=lambda g: (split_rank(g[0]), g[1] or 0))}


def _mixed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _right(
    fold: Fold, matrix: np.ndarray, transposed: bool, indistinct: Mapping[str, str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether each query finds its own (N,), whether a tie decided otherwise (N,), and why it is unscored (N,), "" for not."""
    scores = matrix.T if transposed else matrix
    own = np.eye(len(scores), dtype=bool)
    true, false = best(scores, own), best(scores, ~own)
    with np.errstate(invalid="ignore"):
        right = beats(true, false)
        tie = ~right & ~beats(false, true)
    read = [indistinct.get(text, text) for text in fold.texts]
    alike = np.array([read.count(text) > 1 for text in read])
    reasons = np.where(np.isfinite(scores).all(axis=1), "", NOT_A_NUMBER).astype(object)
    reasons[alike] = TRUNCATED
    return right, tie, reasons


def _row(metric: str, labels: Row, members: list[Fold], parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Row:
    right, tie, reasons = (np.concatenate(column) for column in zip(*parts, strict=True))
    kept = reasons == ""
    clusters = np.concatenate([fold.clusters for fold in members]).astype(str)
    by_chance = np.full(len(right), 1 / len(members[0].images))
    means = [float(r[u == ""].mean()) for r, _, u in parts if (u == "").any()]
    estimate = cluster_means(right[kept].astype(float)[:, None], clusters[kept])[0]
    outcome = Outcome(metric, right.astype(float), tie, by_chance)
    return row(
        outcome, labels, estimate, ties=int(tie[kept].sum()), unscored=int((~kept).sum()), average=MACRO,
        sd=float(np.std(means, ddof=1)) if len(means) > 1 else None, chance=float(by_chance[0]),
    )  # fmt: skip
