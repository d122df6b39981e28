"""The floors of the measures: what describers reach that do not look, or do not bind.

`blind` knows the vocabulary and the split's statistics: it describes another image of the split,
drawn at random. `unbound` knows the values, categories and number of objects of the image itself,
and deals the values to the objects at random. A model at or below `unbound` does not bind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.descriptions.aggregation import group_images, shares_of
from evaluator.descriptions.measures import (
    GAPS,
    SHARES,
    ImageMeasures,
    Shares,
    gaps_of,
    measure_image,
)
from generator.base.streams import Stream
from generator.dataset.descriptions.description import (
    DescribedObject,
    DescribedRelation,
    Description,
    description_of,
)
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.relations import AXES

Floor = Callable[[Sequence[ImageTruth], int, Stream, bool], Description | None]
"""Describes the image of an index; None if it cannot. The last argument: whether relations are
named."""
_MOST_TRIES = 1_000
"""Images drawn before a split counts as having one cluster. If one image in fifty is of another
cluster of the split, one in a billion of the draws fails."""
DRAWS = 20
"""Descriptions drawn for each image. Over 100 images the mean of a share of one half then varies by
about one point."""


@dataclass(frozen=True, kw_only=True)
class FloorRow:
    """A floor of a measure over a group of images."""

    floor: str
    """A name of FLOORS."""
    measure: str
    """A name of `measures.SHARES`, or of GAPS."""
    labels: Mapping[str, Any]
    """The group, as in `aggregation.MeasureRow`."""
    value: float
    """The mean over images of the mean share over draws; nan if it is defined in no image."""
    n_images: int
    """Images in which it is defined."""


def describe_blindly(
    truths: Sequence[ImageTruth], index: int, stream: Stream, relations: bool = False
) -> Description | None:
    """Describe an image by another one of its split.

    The other image is of another cluster: scenes of one cluster have the same values and objects,
    and a small split has few clusters, so that drawing among all would know too much.

    Args:
        truths: the records of all images.
        index: of the image to describe.
        stream: of random numbers.
        relations: whether to name relations.

    Returns:
        The description; None if the split has only one cluster.
    """
    other = draw_other_image(truths, index, stream)
    return None if other is None else description_of(other, relations)


def draw_other_image(truths: Sequence[ImageTruth], index: int, stream: Stream) -> ImageTruth | None:
    """Draw another image of the same split and of another cluster.

    Args:
        truths: the records of all images.
        index: of the image.
        stream: of random numbers.

    Returns:
        Its record; None if the split has only one cluster.
    """
    own = truths[index]
    # Rejection: a list of the others would be made anew for every image and draw.
    for _ in range(_MOST_TRIES):
        other = truths[stream.below(len(truths))]
        if other.split == own.split and other.cluster_id != own.cluster_id:
            return other
    return None


def describe_unbound(
    truths: Sequence[ImageTruth], index: int, stream: Stream, relations: bool = False
) -> Description:
    """Describe an image by its own categories and values, bound at random.

    Args:
        truths: the records of all images.
        index: of the image to describe.
        stream: of random numbers.
        relations: whether to name relations: of each pair of objects, one of the two relations of
            each axis that is decided, by the toss of a coin.

    Returns:
        The description.
    """
    truth = truths[index]
    n = len(truth.objects)
    attributes: list[dict[str, str]] = [{} for _ in range(n)]
    for kind in truth.vocabulary.judged_kinds:
        # A permutation for each kind; objects without the kind pass their gap on.
        order = stream.shuffled(range(n))
        for target, source in enumerate(order):
            value = truth.objects[source].attributes.get(kind)
            if value is not None:
                attributes[target][kind] = value
    objects = []
    for actual, own_attributes in zip(truth.objects, attributes, strict=True):
        objects.append(DescribedObject(actual.category, own_attributes))
    described_relations = _toss_relations(truth, stream) if relations else ()
    return Description(tuple(objects), tuple(described_relations), form="json")


def _toss_relations(truth: ImageTruth, stream: Stream) -> list[DescribedRelation]:
    relations = []
    n = len(truth.objects)
    for axis in AXES:
        for subject in range(n):
            for target in range(subject + 1, n):
                if truth.holds(axis.rules[0], subject, target) is None:
                    continue
                name = axis.rules[stream.below(2)]
                relations.append(DescribedRelation(subject, name, target))
    return relations


FLOORS: dict[str, Floor] = {"blind": describe_blindly, "unbound": describe_unbound}
"""The floors by name."""


def floor_rows(
    truths: Sequence[ImageTruth],
    floor: str,
    *,
    by: Sequence[str] = ("split",),
    relations: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[FloorRow]:
    """Compute a floor of every measure.

    Args:
        truths: the records of the images.
        floor: a name of FLOORS.
        by: names of `aggregation.IMAGE_LABELS`, as for `aggregate_measures`.
        relations: whether the describer names relations.
        draws: descriptions of each image.
        seed: of the random numbers; each image and draw has a stream of its own.

    Returns:
        For each group a row for each measure of SHARES and for each paired difference of recall.
    """
    of_images = draw_floor(truths, floor, relations=relations, draws=draws, seed=seed)
    return average_floor(floor, of_images, truths, by=by)


def draw_floor(
    truths: Sequence[ImageTruth],
    floor: str,
    *,
    relations: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[list[ImageMeasures]]:
    """Describe each image as a floor does, and count the descriptions. This is what takes the time
    of `floor_rows`; its groups are made by `average_floor`.

    Args:
        truths: the records of the images.
        floor: a name of FLOORS.
        relations: whether the describer names relations.
        draws: descriptions of each image.
        seed: of the random numbers; each image and draw has a stream of its own.

    Returns:
        For each image the counts of its descriptions; none if the floor cannot describe it.
    """
    describe = FLOORS[floor]
    of_images = []
    for index, truth in enumerate(truths):
        of_image = []
        for draw in range(draws):
            # By the scene, so that the floor of an image does not depend on which others were
            # described.
            stream = Stream(seed, "floor", floor, truth.scene_id, draw)
            description = describe(truths, index, stream, relations)
            if description is not None:
                of_image.append(measure_image(description, truth))
        of_images.append(of_image)
    return of_images


def average_floor(
    floor: str,
    of_images: Sequence[Sequence[Any]],
    truths: Sequence[ImageTruth],
    *,
    by: Sequence[str] = ("split",),
    shares: Shares = SHARES,
) -> list[FloorRow]:
    """Average the descriptions of a floor over groups of images.

    Args:
        floor: a name of FLOORS.
        of_images: the counts of each image's descriptions, as `draw_floor` returns them.
        truths: the records of the images, in the same order.
        by: names of `aggregation.IMAGE_LABELS`.
        shares: the measures of these counts.

    Returns:
        As `floor_rows`.
    """
    rows = []
    for labels, members in group_images(truths, by).items():
        for measure in (*shares, *gaps_of(shares)):
            means = [_mean_share(measure, of_images[i], shares) for i in members]
            defined = [mean for mean in means if not np.isnan(mean)]
            rows.append(
                FloorRow(
                    floor=floor,
                    measure=measure,
                    labels=dict(zip(by, labels, strict=True)),
                    value=float(np.mean(defined)) if defined else np.nan,
                    n_images=len(defined),
                )
            )
    return rows


def _mean_share(measure: str, draws: Sequence[Any], shares: Shares) -> float:
    """The mean share of one image over its draws; nan if it is defined in none."""
    if measure in GAPS:
        # What an image holds does not depend on the draw, so the mean of the differences is the
        # difference of the means.
        of_held_out, of_seen = GAPS[measure]
        return _mean_share(of_held_out, draws, shares) - _mean_share(of_seen, draws, shares)
    counts, counts_of = shares_of(measure, draws, shares)
    defined = counts_of > 0
    if not defined.any():
        return float(np.nan)
    shares_of_draws = counts[defined] / counts_of[defined]
    return float(shares_of_draws.mean())
