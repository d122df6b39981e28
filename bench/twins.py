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
SKILL, PREFERENCE = 0.039, 0.050
"""The mean margin, and the standard deviation of preferences between clusters, of the demo's model
on unseen images: a dual encoder that was trained from scratch on 2,000 images."""
BINDING, NOISE = 0.010, 0.053
"""Standard deviations of the other parts. With these the model is right in about 70% of images, as
the demo's is."""
SHARED = (0.0, 0.4)
"""The share of the noise's variance that twins have in common."""
DRAWS = 1_000
_HALF_WIDTH = 1.96


@dataclass(frozen=True)
class Split:
    """A grid of values × objects, all of whose clusters are shown equally often up to one. skill:
    the mean margin."""

    name: str
    values: int
    objects: int
    skill: float


UNSEEN = Split("unseen", 3, 3, SKILL)
SEEN = Split("seen", 8, 12, 2 * SKILL)


def figures() -> list[Figure]:
    """For models with and without a preference, by design and metric: how far the results of new
    draws of texts, bindings and images are from their mean in 95% of draws, and how many standard
    deviations the gap is above 0."""
    found = []
    for preference in (0.0, PREFERENCE):
        for shared in SHARED:
            name = f"preference {preference:.3f}, {shared:.0%} shared"
            found += _of_model(name, preference, shared)
    return found


def _of_model(name: str, preference: float, shared: float) -> list[Figure]:
    """The figures of one model."""
    shares: dict[str, list[tuple[float, float]]] = {
        "alone, accuracy": [],
        "twins, accuracy": [],
        "twins, matching": [],
    }
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        alone = [draw_margins(split, preference, shared, False, rng) for split in (UNSEEN, SEEN)]
        twins = [draw_margins(split, preference, shared, True, rng) for split in (UNSEEN, SEEN)]
        shares["alone, accuracy"].append(_shares_right(alone))
        shares["twins, accuracy"].append(_shares_right(twins))
        shares["twins, matching"].append(
            _shares_right([margins[0::2] + margins[1::2] for margins in twins])
        )
    found = []
    for design, of_draws in shares.items():
        unseen, seen = 100 * np.array(of_draws).T
        gap = seen - unseen
        for split, values in (("unseen", unseen), ("seen", seen), ("gap", gap)):
            spread = _HALF_WIDTH * values.std()
            found.append(
                Figure(
                    f"{name}: {design}, {split} {values.mean():.1f}%", "± points", (float(spread),)
                )
            )
        found.append(
            Figure(f"{name}: {design}, gap above 0", "sd", (float(gap.mean() / gap.std()),))
        )
    return found


def _shares_right(of_splits: list[np.ndarray]) -> tuple[float, float]:
    """The share of positive margins in each of two splits."""
    first, second = ((margins > 0).mean() for margins in of_splits)
    return float(first), float(second)


def draw_margins(
    split: Split, preference: float, shared: float, has_twins: bool, rng: np.random.Generator
) -> np.ndarray:
    """The margins (IMAGES,) of a new model on new images. Images 2k and 2k + 1 are twins if there
    are twins."""
    values, objects = (
        combinations(range(split.values), 2),
        list(combinations(range(split.objects), 2)),
    )
    clusters = np.array(
        [(*two_values, *two_objects) for two_values in values for two_objects in objects]
    )
    of_bindings = rng.normal(0, BINDING, (split.values, split.objects))
    of_text = rng.normal(0, preference, len(clusters))

    scenes = IMAGES // 2 if has_twins else IMAGES
    rounds = 1 + scenes // len(clusters)
    cluster_of_scene = np.concatenate([rng.permutation(len(clusters)) for _ in range(rounds)])[
        :scenes
    ]
    noise_of_scene = rng.normal(0, np.sqrt(shared) * NOISE, scenes)
    images_of_scene = 2 if has_twins else 1
    cluster, noise = (
        np.repeat(cluster_of_scene, images_of_scene),
        np.repeat(noise_of_scene, images_of_scene),
    )
    # 1: the first value belongs to the first object; −1: to the second.
    pairing = np.tile([1, -1], IMAGES // 2)

    one_value, other_value, one_object, other_object = clusters[cluster].T
    straight = of_bindings[one_value, one_object] + of_bindings[other_value, other_object]
    crossed = of_bindings[one_value, other_object] + of_bindings[other_value, one_object]
    margin = split.skill + np.where(pairing > 0, straight, crossed) + pairing * of_text[cluster]
    return margin + noise + rng.normal(0, np.sqrt(1 - shared) * NOISE, IMAGES)
