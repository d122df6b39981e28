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
    groups = group_images(truths, by)
    clusters = clusters_of(truths)
    rows = []
    # Sorted here, since images come in the order of their scenes, in which a rare number of objects
    # may be first.
    for labels in sorted(groups, key=lambda labels: tuple(map(_sort_key, labels))):
        members = groups[labels]
        named = dict(zip(by, labels, strict=True))
        counted = _count_measures([images[i] for i in members], shares)
        estimates = _estimate_means(counted, clusters.take(np.array(members)), level)
        for measure, estimate in zip(counted, estimates, strict=True):
            rows.append(measure.row(named, estimate))
    return rows


def group_images(
    truths: Sequence[ImageTruth], by: Sequence[str]
) -> dict[tuple[Any, ...], list[int]]:
    """Group images by their labels.

    Args:
        truths: the records of the images.
        by: names of IMAGE_LABELS; empty for one group of all images.

    Returns:
        By labels, the places of the images in `truths`.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, truth in enumerate(truths):
        labels = tuple(IMAGE_LABELS[name](truth) for name in by)
        groups.setdefault(labels, []).append(i)
    return groups


def clusters_of(truths: Sequence[ImageTruth]) -> Clusters:
    """Return what images share, for intervals.

    Args:
        truths: the records of n images.

    Returns:
        The clusters, scenes and bindings of the images.
    """
    bindings = []
    for truth in truths:
        # In the form in which questions record bindings, so that both have the same intervals.
        names = [OF.join(binding) for binding in truth.bindings]
        bindings.append(SEPARATOR.join(sorted(names)))
    return Clusters.from_names(
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


@dataclass(frozen=True, kw_only=True)
class _CountedMeasure:
    """A measure or a paired difference of two, counted in the n images of a group."""

    name: str
    """A name of `measures.SHARES`, or of GAPS."""
    defined: np.ndarray
    """bool (n,): whether an image has something to count."""
    of_images: np.ndarray
    """float64, one for each image in which it is defined: its share, or the difference."""
    is_share: bool
    """Whether `of_images` are in 0..1."""
    total: float
    """As `MeasureRow.total`."""
    total_of: float
    """As `MeasureRow.total_of`."""

    def row(self, labels: Mapping[str, Any], estimate: Estimate) -> MeasureRow:
        """The row of the measure. labels: the group; estimate: of its mean."""
        return MeasureRow(
            measure=self.name,
            labels=labels,
            estimate=estimate,
            n_images=int(self.defined.sum()),
            n_undefined=int((~self.defined).sum()),
            total=self.total,
            total_of=self.total_of,
        )


def _count_measures(images: Sequence[Any], shares: Shares) -> list[_CountedMeasure]:
    """Count every measure of `shares`, then every paired difference of them, in some images."""
    counts_by_measure = {measure: shares_of(measure, images, shares) for measure in shares}
    counted = []
    for measure, (counts, counts_of) in counts_by_measure.items():
        # An image without anything to count has no share: as 0 it would lower the mean, as 1 raise
        # it.
        defined = counts_of > 0
        counted.append(
            _CountedMeasure(
                name=measure,
                defined=defined,
                of_images=counts[defined] / counts_of[defined],
                is_share=True,
                total=float(counts.sum()),
                total_of=float(counts_of.sum()),
            )
        )
    for gap in gaps_of(shares):
        # Over images with facts of both sorts: effects of the image cancel.
        of_held_out, of_seen = GAPS[gap]
        held_out, n_held_out = counts_by_measure[of_held_out]
        seen, n_seen = counts_by_measure[of_seen]
        both = (n_held_out > 0) & (n_seen > 0)
        differences = held_out[both] / n_held_out[both] - seen[both] / n_seen[both]
        counted.append(
            _CountedMeasure(
                name=gap,
                defined=both,
                of_images=differences,
                is_share=False,
                total=float(differences.sum()),
                total_of=float(both.sum()),
            )
        )
    return counted


def _estimate_means(
    counted: Sequence[_CountedMeasure], clusters: Clusters, level: float
) -> list[Estimate]:
    """The mean of each measure over the images in which it is defined.

    Most measures are defined in the same images. These are estimated together, because what
    depends on the images alone takes most of the time.
    """
    places_by_images: dict[bytes, list[int]] = {}
    for place, measure in enumerate(counted):
        places_by_images.setdefault(measure.defined.tobytes(), []).append(place)
    estimates = [NOTHING] * len(counted)
    for places in places_by_images.values():
        together = [counted[place] for place in places]
        means = cluster_means(
            np.stack([measure.of_images for measure in together], axis=1),
            clusters.take(together[0].defined),
            level,
            shares=[measure.is_share for measure in together],
        )
        for place, mean in zip(places, means, strict=True):
            estimates[place] = mean
    return estimates


def _sort_key(label: Any) -> tuple[str, Any]:
    """Numbers by size, and names by letter."""
    return ("", label) if isinstance(label, int) else (str(label), 0)
