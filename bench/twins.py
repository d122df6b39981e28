"""What twins cost: how precise accuracy and matching are at the same number of rendered images
(docs/splits.md).

A model's margin on an image is s(true text) − s(exchanged text). It is the sum of the model's
skill, of effects of the two bindings that the image shows, of its preference for one of the two
texts of the cluster (added where that text is true, subtracted where it is false), and of noise of
the scene and of the image. The margin decides accuracy; the sum of the margins of two images of a
cluster, whose true texts differ, decides matching. Twins share the noise of their scene.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bench.figures import Figure

IMAGES = 300
"""Of each split: the default of `gen render`."""
SKILL = 0.039
"""The mean margin of the demo's model on unseen images: a dual encoder that was trained from
scratch on 2,000 images."""
PREFERENCE = 0.050
"""The standard deviation of its preferences between clusters."""
BINDING = 0.010
"""The standard deviation of the effect of a binding. With this and NOISE the model is right in
about 70% of images, as the demo's is."""
NOISE = 0.053
"""The standard deviation of the noise of an image."""
SHARED = (0.0, 0.4)
"""The share of the noise's variance that twins have in common."""
DRAWS = 1_000
_HALF_WIDTH = 1.96
"""Standard deviations that reach to both sides of 95% of normal draws."""


@dataclass(frozen=True)
class Split:
    """A grid of values and objects, all of whose clusters are shown equally often up to one."""

    name: str
    """The name of the split."""
    values: int
    """The number of values."""
    objects: int
    """The number of objects."""
    skill: float
    """The mean margin of the model."""


UNSEEN = Split("unseen", 3, 3, SKILL)
SEEN = Split("seen", 8, 12, 2 * SKILL)


def figures() -> list[Figure]:
    """For models with and without a preference, by design and metric: how far the results of new
    draws of texts, bindings and images are from their mean in 95% of draws, and how many standard
    deviations the gap is above 0."""
    rows = []
    for preference in (0.0, PREFERENCE):
        for shared in SHARED:
            name = f"preference {preference:.3f}, {shared:.0%} shared"
            rows += _figures_of_model(name, preference, shared)
    return rows


def _figures_of_model(name: str, preference: float, shared: float) -> list[Figure]:
    """The figures of one model."""
    shares_of_designs: dict[str, list[tuple[float, float]]] = {
        "alone, accuracy": [],
        "twins, accuracy": [],
        "twins, matching": [],
    }
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        alone = [draw_margins(split, preference, shared, False, rng) for split in (UNSEEN, SEEN)]
        twins = [draw_margins(split, preference, shared, True, rng) for split in (UNSEEN, SEEN)]
        # Matching asks for the sum of two margins, in which the preference cancels.
        pairs = [margins[0::2] + margins[1::2] for margins in twins]
        for of_design, margins in zip(
            shares_of_designs.values(), (alone, twins, pairs), strict=True
        ):
            of_design.append(_shares_right(margins))
    rows = []
    for design, shares in shares_of_designs.items():
        unseen, seen = 100 * np.array(shares).T
        gap = seen - unseen
        for split, values in (("unseen", unseen), ("seen", seen), ("gap", gap)):
            spread = float(_HALF_WIDTH * values.std())
            what = f"{name}: {design}, {split} {values.mean():.1f}%"
            rows.append(Figure(what, "± points", (spread,)))
        above_zero = float(gap.mean() / gap.std())
        rows.append(Figure(f"{name}: {design}, gap above 0", "sd", (above_zero,)))
    return rows


def _shares_right(of_splits: list[np.ndarray]) -> tuple[float, float]:
    """The share of positive margins in each of two splits."""
    first, second = ((margins > 0).mean() for margins in of_splits)
    return float(first), float(second)


def draw_margins(
    split: Split, preference: float, shared: float, has_twins: bool, rng: np.random.Generator
) -> np.ndarray:
    """The margins of a new model on new images.

    Args:
        split: the grid of the images.
        preference: the standard deviation of preferences for a text.
        shared: the share of the noise's variance that twins have in common.
        has_twins: whether images 2k and 2k + 1 are twins.
        rng: the source of random numbers.

    Returns:
        (IMAGES,)
    """
    clusters = []
    for two_values in combinations(range(split.values), 2):
        for two_objects in combinations(range(split.objects), 2):
            clusters.append((*two_values, *two_objects))
    of_bindings = rng.normal(0, BINDING, (split.values, split.objects))
    of_text = rng.normal(0, preference, len(clusters))

    # Each cluster is shown equally often up to one.
    images_of_scene = 2 if has_twins else 1
    scenes = IMAGES // images_of_scene
    rounds = 1 + scenes // len(clusters)
    orders = [rng.permutation(len(clusters)) for _ in range(rounds)]
    cluster = np.repeat(np.concatenate(orders)[:scenes], images_of_scene)
    of_scene = np.repeat(rng.normal(0, np.sqrt(shared) * NOISE, scenes), images_of_scene)

    # 1: the first value belongs to the first object; -1: to the second.
    pairing = np.tile([1, -1], IMAGES // 2)
    one_value, other_value, one_object, other_object = np.array(clusters)[cluster].T
    straight = of_bindings[one_value, one_object] + of_bindings[other_value, other_object]
    crossed = of_bindings[one_value, other_object] + of_bindings[other_value, one_object]
    margin = split.skill + np.where(pairing > 0, straight, crossed) + pairing * of_text[cluster]
    return margin + of_scene + rng.normal(0, np.sqrt(1 - shared) * NOISE, IMAGES)
