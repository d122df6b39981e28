"""Means of the measures over images, with intervals, and the paired difference of recall."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluator.descriptions.measures import GAPS, SHARES, Shares, gaps_of
from evaluator.statistics.intervals import LEVEL, NOTHING, Estimate, cluster_means
from generator.base.clusters import OF, SEPARATOR, Clusters
from generator.dataset.descriptions.truth import ImageTruth

IMAGE_LABELS: dict[str, Callable[[ImageTruth], Any]] = {
    "split": lambda truth: truth.split,
    "objects": lambda truth: len(truth.objects),
    "interference": lambda truth: truth.interference,
    "load": lambda truth: truth.load,
}
"""What images are grouped by: the split, the number of objects, the number of features that several
objects share, and the number of atoms of a full description."""


@dataclass(frozen=True, kw_only=True)
class MeasureRow:
    """A measure over a group of images."""

    measure: str
    """A name of `measures.SHARES`, or of GAPS."""
    labels: Mapping[str, Any]
    """The group: values by name of IMAGE_LABELS; empty for all images."""
    estimate: Estimate
    """The mean over images of each image's share, with its intervals."""
    n_images: int
    """Images of the group in which the measure is defined."""
    n_undefined: int
    """Images of the group that have nothing to count, such as no described object for precision."""
    total: float
    """Sum over images of what is counted."""
    total_of: float
    """Sum over images of how many there are. The ratio of these sums weighs images by their
    atoms; `estimate` weighs them equally."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as flat JSON data.

        Returns:
            Measure, labels, the fields of the estimate, and the counts; None for numbers that are
            not known.
        """
        row: dict[str, Any] = {"measure": self.measure, **self.labels}
        for name, value in asdict(self.estimate).items():
            is_unknown = isinstance(value, float) and not np.isfinite(value)
            row[name] = None if is_unknown else value
        totals = {"total": self.total, "total_of": self.total_of}
        return {**row, "images": self.n_images, "undefined": self.n_undefined, **totals}


def aggregate_measures(
    images: Sequence[Any],
    truths: Sequence[ImageTruth],
    *,
    by: Sequence[str] = ("split",),
    level: float = LEVEL,
    shares: Shares = SHARES,
) -> list[MeasureRow]:
    """Average every measure over groups of images.

    Args:
        images: the counts of each image, such as ImageMeasures.
        truths: their records, in the same order.
        by: names of IMAGE_LABELS; empty for one group of all images.
        level: of the intervals, in 0..1.
        shares: the measures of these counts.

    Returns:
        For each group, in order of its labels, a row for each measure of `shares` and for each
        paired difference of them (`measures.GAPS`).

    Raises:
        KeyError: `by` has another name.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, truth in enumerate(truths):
        labels = tuple(IMAGE_LABELS[name](truth) for name in by)
        groups.setdefault(labels, []).append(i)
    clusters = clusters_of(truths)
    rows = []
    for labels in sorted(groups, key=lambda labels: tuple(map(_sort_key, labels))):
        members = groups[labels]
        named = dict(zip(by, labels, strict=True))
        of_group = [images[i] for i in members]
        own_clusters = clusters.take(np.array(members))
        for measure in shares:
            counts = shares_of(measure, of_group, shares)
            rows.append(_mean_row(measure, named, counts, own_clusters, level))
        for gap in gaps_of(shares):
            rows.append(_gap_row(gap, named, of_group, own_clusters, level=level, shares=shares))
    return rows


def clusters_of(truths: Sequence[ImageTruth]) -> Clusters:
    """Return what images share, for intervals.

    Args:
        truths: the records of n images.

    Returns:
        The clusters, scenes and bindings of the images.
    """
    bindings = []
    for truth in truths:
        names = [OF.join(binding) for binding in truth.bindings]
        bindings.append(SEPARATOR.join(sorted(names)))
    return Clusters.of(
        [truth.cluster_id for truth in truths], bindings, [truth.scene_id for truth in truths]
    )


def shares_of(
    measure: str, images: Sequence[Any], shares: Shares = SHARES
) -> tuple[np.ndarray, np.ndarray]:
    """Return a measure's counts.

    Args:
        measure: a name of `shares`.
        images: the counts of n images.
        shares: the measures of these counts.

    Returns:
        What is counted, and of how many: float64 (n,) each.
    """
    count, count_of = shares[measure]
    counts = np.array([count(image) for image in images], dtype=float)
    counts_of = np.array([count_of(image) for image in images], dtype=float)
    return counts, counts_of


def _mean_row(
    measure: str,
    labels: Mapping[str, Any],
    counted: tuple[np.ndarray, np.ndarray],
    clusters: Clusters,
    level: float,
) -> MeasureRow:
    """The row of a measure. counted: what is counted in each image, and of how many."""
    counts, counts_of = counted
    defined = counts_of > 0
    estimate = NOTHING
    if defined.any():
        of_images = counts[defined] / counts_of[defined]
        estimate = cluster_means(of_images[:, None], clusters.take(defined), level)[0]
    return MeasureRow(
        measure=measure,
        labels=labels,
        estimate=estimate,
        n_images=int(defined.sum()),
        n_undefined=int((~defined).sum()),
        total=float(counts.sum()),
        total_of=float(counts_of.sum()),
    )


def _gap_row(
    gap: str,
    labels: Mapping[str, Any],
    images: Sequence[Any],
    clusters: Clusters,
    *,
    level: float,
    shares: Shares,
) -> MeasureRow:
    """The mean over images with facts of both sorts of their difference of recall: effects of the
    image cancel."""
    of_held_out, of_seen = GAPS[gap]
    held_out, n_held_out = shares_of(of_held_out, images, shares)
    seen, n_seen = shares_of(of_seen, images, shares)
    defined = (n_held_out > 0) & (n_seen > 0)
    estimate = NOTHING
    differences = np.zeros(0)
    if defined.any():
        differences = held_out[defined] / n_held_out[defined] - seen[defined] / n_seen[defined]
        own_clusters = clusters.take(defined)
        estimate = cluster_means(differences[:, None], own_clusters, level, shares=[False])[0]
    return MeasureRow(
        measure=gap,
        labels=labels,
        estimate=estimate,
        n_images=int(defined.sum()),
        n_undefined=int((~defined).sum()),
        total=float(differences.sum()),
        total_of=float(defined.sum()),
    )


def _sort_key(label: Any) -> tuple[str, Any]:
    """Numbers by size, and names by letter."""
    return ("", label) if isinstance(label, int) else (str(label), 0)
