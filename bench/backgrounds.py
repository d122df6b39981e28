"""How much the background alone says about the answer: a classifier of place and direction picks
the true caption.

The two captions of a question exchange the values of two objects. The classifier sees the names in
a caption, and the place and direction of the scene, which determine the whole background. It learns
from the training scenes and is asked about the other scenes.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from bench.figures import Figure
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.planned import Planned

SCENES = {"train": 6000, "val": 10, "seen": 2000, "partial": 2000, "unseen": 500}
"""Planned scenes of each split; nothing is rendered."""
WORLDS = (("pug", "color:animal=3x3"), ("pug", "texture:animal=3x3"), ("photo", "color:thing=3x3"))


def figures() -> list[Figure]:
    """Percent of questions answered rightly by the background alone; chance is 50."""
    return [figure for world in WORLDS for figure in _figures(*world)]


def _figures(family: str, holdout: str) -> Iterator[Figure]:
    options = WorldOptions(family=family, holdout=holdout, scenes=SCENES, resolution="64x64")
    planned = prepare(options).planned
    kind, _, _ = holdout.partition(":")
    # Hashed, so that names of no training scene need no column of their own.
    hasher = FeatureHasher(2**16, input_type="string")

    def features_of(split: str) -> csr_matrix:
        """Two rows for each scene of a split: its true caption, and its false one."""
        captions: list[Sequence[str]] = []
        for scene in planned:
            if scene.split == split:
                # True and false alternate, which the rows below rely on.
                captions += _features(scene, kind)
        return hasher.transform(captions)

    training = features_of("train")
    is_true = np.arange(training.shape[0]) % 2 == 0
    model = LogisticRegression(C=0.1, max_iter=500).fit(training, is_true)
    for split in ("seen", "partial", "unseen"):
        scores = model.decision_function(features_of(split))
        true, false = scores[::2], scores[1::2]
        # A tie is half right.
        share = np.where(true == false, 0.5, true > false).mean()
        what = f"{family}, {holdout}, {split}: right by the background alone"
        yield Figure(what, "%", (100 * float(share),))


def _features(scene: Planned, kind: str) -> tuple[Sequence[str], Sequence[str]]:
    """The names in the true caption and in the false one, each with the place, and each with the
    place and the direction."""
    (first, values), (second, other_values) = scene.objects
    value, other_value = values[kind], other_values[kind]
    true = (f"{value} {first}", f"{other_value} {second}")
    false = (f"{other_value} {first}", f"{value} {second}")
    # In sectors of thirty degrees: a learner finds no use for a direction that no other scene has.
    backgrounds = (scene.environment, f"{scene.environment} {scene.yaw // 30}")
    true_features = [f"{name} {background}" for name, background in product(true, backgrounds)]
    false_features = [f"{name} {background}" for name, background in product(false, backgrounds)]
    return true_features, false_features
