"""How much the background alone says about the answer: a classifier of place and direction picks
the true caption.

The two captions of a question exchange the values of two objects. The classifier sees the names in
a caption, and the place and direction of the scene, which determine the whole background. It learns
from the training scenes and is asked about the other scenes.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from bench.figures import Figure
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.planned import Planned

SCENES = {"train": 6000, "val": 10, "seen": 2000, "partial": 2000, "unseen": 500}
WORLDS = (("pug", "color:animal=3x3"), ("pug", "texture:animal=3x3"), ("photo", "color:thing=3x3"))


def figures() -> list[Figure]:
    """Percent of questions answered rightly by the background alone; chance is 50."""
    return [figure for world in WORLDS for figure in _figures(*world)]


def _figures(family: str, holdout: str) -> Iterator[Figure]:
    planned = prepare(
        WorldOptions(family=family, holdout=holdout, scenes=SCENES, resolution="64x64")
    ).planned
    kind, hasher = holdout.split(":")[0], FeatureHasher(2**16, input_type="string")
    split = {name: [scene for scene in planned if scene.split == name] for name in SCENES}
    learnt = [named_object for scene in split["train"] for named_object in _told(scene, kind)]
    answers = [i % 2 == 0 for i in range(len(learnt))]
    model = LogisticRegression(C=0.1, max_iter=500).fit(hasher.transform(learnt), answers)
    for name in ("seen", "partial", "unseen"):
        scores = model.decision_function(
            hasher.transform([t for scene in split[name] for t in _told(scene, kind)])
        )
        true, false = scores[::2], scores[1::2]
        share = np.where(true == false, 0.5, true > false).mean()
        yield Figure(
            f"{family}, {holdout}, {name}: right by the background alone",
            "%",
            (100 * float(share),),
        )


def _told(scene: Planned, kind: str) -> tuple[Sequence[str], Sequence[str]]:
    """The names in the true caption and in the false one, each with the place and the direction."""
    (first, one), (second, other) = scene.objects
    true, false = (
        [f"{value} {category}" for value, category in zip(values, (first, second), strict=True)]
        for values in ((one[kind], other[kind]), (other[kind], one[kind]))
    )
    where = (scene.environment, f"{scene.environment} {scene.yaw // 30}")
    return tuple(
        [f"{named} {place}" for named, place in product([*named], where)] for named in (true, false)
    )
