"""Predicts the power of a design by simulation: the width of the interval to expect, and the
smallest difference of two models that `score compare` shows in 80% of cases.

Each draw makes models whose answers have effects of values, objects, bindings, clusters and
trainings on the scenes of the plan. The intervals are made by the estimator that the evaluator uses
(generator/base/crossed.py). Results are kept in the user's cache by the digest of all that decides
them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from math import sqrt
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from generator.base.clusters import Clusters
from generator.base.crossed import OF_COMPARISONS, OF_SHARES, CrossedMeans
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.holdout.holdout import Holdout
from generator.holdout.request import HoldoutRequest
from generator.plan.evaluated import EvaluatedScenes, dealt_scenes
from generator.vocabulary.schema import Vocabulary

LEVEL, POWER = 0.95, 0.8
ACCURACIES = (0.75, 0.9, 0.97)
_DRAWS = 40
"""Draws of each simulation. The mean width has a standard error of 1 to 4%."""
_ROUNDS = (30, 80)
"""Draws of the two rounds that find the smallest difference. The first only says where about it
is."""
_TOO_WIDE = 0.2
"""From this half width on, *Expect:* advises another design."""
_MOST_SCENES = 2000
"""Larger designs are simulated with so many of their scenes, evenly chosen. Widths then
hardly depend on the number of scenes, but on clusters, bindings and trainings."""
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(30)
_METHOD = 1
"""Part of the digest of kept results. Raise it when the simulation changes."""


@dataclass(frozen=True)
class Effects:
    """Standard deviations in logits of the effects on a scene."""

    names: float
    """Of all its values together, and of all its objects together."""
    bindings: float
    """Of all its bindings together, where they are unseen."""
    clusters: float
    trainings: float
    trained_bindings: float
    """Of all its bindings together within a training."""


EFFECTS: Mapping[str, Effects] = {
    "usual": Effects(names=0.5, bindings=1.0, clusters=0.5, trainings=0.2, trained_bindings=0.3),
    "large": Effects(names=0.6, bindings=2.2, clusters=0.6, trainings=0.3, trained_bindings=0.6),
}
"""`usual`: binary questions of a small model trained on the world. `large`: its R@1."""


@dataclass(frozen=True)
class Expected:
    """What a design tells about models of an accuracy."""

    accuracy: float
    """0..1."""
    trainings: int
    """Trainings of each turn or block."""
    half_width: float
    """Half the mean width (0..1) of the 95% interval of the accuracy, for this vocabulary."""
    difference: float | None
    """The smallest difference (0..1) to a less accurate model that is shown in 80% of cases, with
    one training of each model in each turn or block. None if there is none, or with several
    trainings."""


class _Design:
    """The scenes of a design with a number of trainings, prepared for many draws."""

    def __init__(self, scenes: EvaluatedScenes, trainings: int):
        self.trainings = trainings
        chosen = _evenly(len(scenes))
        blocks = np.array(scenes.blocks)[chosen]
        self._clusters = Clusters.of(
            np.array(scenes.clusters, dtype=object)[chosen],
            np.array(scenes.bindings, dtype=object)[chosen],
            vocabulary=scenes.vocabulary,
        )
        # A training is of one turn, so items are scenes, once for each training of their turn.
        self._rows = np.tile(np.arange(len(blocks)), trainings)
        block = np.unique(blocks, return_inverse=True)[1].reshape(-1)
        training = np.repeat(np.arange(trainings), len(blocks))
        self.training_of_item = (
            (block[self._rows] * trainings + training) if scenes.trained else training * 0
        )
        size = np.bincount(block)
        scene_weights = 1 / (len(size) * size[block])
        items = self._clusters.take(self._rows)
        items = Clusters(
            items.codes,
            items.scenes,
            self.training_of_item,
            items.shown,
            items.weights,
            items.factors,
            items.vocabulary,
        )
        self._means = CrossedMeans(
            items,
            scene_weights[self._rows] / trainings,
            finite_bindings=trainings > 1 or not scenes.trained,
        )
        self._comparison = CrossedMeans(self._clusters, scene_weights, prior=OF_COMPARISONS)

    def interval_width(self, outcomes: np.ndarray) -> float:
        """Half the width of the interval of the mean of outcomes (items,)."""
        low, high = self._means.estimate(outcomes, share=True).vocabulary.interval(LEVEL)
        return (high - low) / 2

    def difference(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        """The difference of two models with one training each, and the reach of its interval."""
        estimate = self._comparison.estimate(first - second).vocabulary
        low, high = estimate.interval(LEVEL)
        return estimate.value, (high - low) / 2

    def outcomes(self, accuracy: float, effects: Effects, rng: np.random.Generator) -> np.ndarray:
        """The outcomes (items,) of one new model, whose accuracy over this vocabulary is
        `accuracy` in expectation."""
        scenes = self._clusters
        logits = np.full(len(scenes), _constant(accuracy, effects))
        for main_effects, size in zip(scenes.main_effects(), scenes.vocabulary, strict=True):
            drawn = rng.normal(0, effects.names, size)
            # Over the vocabulary the effects add up to 0: the accuracy is that over the vocabulary.
            drawn -= drawn.mean()
            logits += (main_effects @ drawn[: main_effects.shape[1]])[scenes.shown]
        bindings = scenes.weights.shape[1]
        logits += (scenes.weights @ rng.normal(0, effects.bindings, bindings))[scenes.shown]
        logits += rng.normal(0, effects.clusters, scenes.codes.max() + 1)[scenes.codes]
        of_items = logits[self._rows]
        for training in np.unique(self.training_of_item):
            own = self.training_of_item == training
            within = scenes.weights @ rng.normal(0, effects.trained_bindings, bindings)
            of_items[own] += (
                rng.normal(0, effects.trainings) + within[scenes.shown[self._rows[own]]]
            )
        return (rng.random(len(of_items)) < expit(of_items)).astype(float)


def expected(
    scenes: EvaluatedScenes, accuracy: float, trainings: int, effects: Effects
) -> Expected:
    """What a design tells about models of an accuracy in 0..1; from the cache if it is there."""
    path = _cache_path(scenes, accuracy, trainings, effects)
    if path.exists():
        return Expected(**json.loads(path.read_text(encoding="utf-8")))
    design = _Design(scenes, trainings)
    found = Expected(
        accuracy,
        trainings,
        half_width(design, accuracy, effects),
        detectable(design, accuracy, effects) if trainings == 1 else None,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(found))
    except (OSError, UserError):
        pass  # without a cache it is computed again
    return found


def half_width(design: _Design, accuracy: float, effects: Effects) -> float:
    """Half the mean width of the interval of an accuracy."""
    rng = np.random.default_rng(0)
    widths = [design.interval_width(design.outcomes(accuracy, effects, rng)) for _ in range(_DRAWS)]
    return float(np.nanmean(widths))


def detectable(design: _Design, accuracy: float, effects: Effects) -> float | None:
    """The smallest difference that is shown in 80% of cases; None if no difference up to the whole
    accuracy is.

    The effects on the two models are independent, which is the worst case. A difference is shown if
    it and its error exceed the reach of the interval. Errors are taken as normal with the standard
    deviation over the draws. Reach and error depend on the accuracy of the other model, so the
    second round draws it at the difference that the first round found.
    """
    difference = 0.0
    for number in _ROUNDS:
        rng = np.random.default_rng(1)
        other = max(accuracy - difference, accuracy / 10)
        draws = [
            design.difference(
                design.outcomes(accuracy, effects, rng), design.outcomes(other, effects, rng)
            )
            for _ in range(number)
        ]
        values, reaches = np.array(draws).T
        if not np.isfinite(reaches).all():
            return None
        difference = _shown_in_most(reaches, float(values.std(ddof=1)))
        if difference >= accuracy:
            return None
    return difference


def _shown_in_most(reaches: np.ndarray, error: float) -> float:
    """The difference d for which the mean of P(d + error > reach) is POWER."""
    highest = float(reaches.max()) + 10 * error

    def surplus(difference: float) -> float:
        return float(norm.cdf((difference - reaches) / max(error, 1e-9)).mean()) - POWER

    return float(brentq(surplus, 0, highest + 1e-6))


def sentence(scenes: EvaluatedScenes) -> str:
    """The precision to expect of a design, in one line for people."""
    effects = EFFECTS["usual"]
    groups = (
        f"{scenes.cluster_count:,} group{'s' * (scenes.cluster_count > 1)} of "
        f"{scenes.binding_count:,} bindings"
    )
    over = ""
    if scenes.block_count > 1:
        over = f" over {scenes.block_count} {'turns' if scenes.rotation else 'blocks'} together"
    reach = expected(scenes, 0.75, 1, effects).half_width
    claim = (
        f"an {scenes.split} accuracy of 75%{over} will have an interval of about ±{_points(reach)} "
        f"points"
    )
    if scenes.rotation:
        twice = expected(scenes, 0.75, 2, effects).half_width
        claim += f", and ±{_points(twice)} with two trainings of each turn"
    if reach >= _TOO_WIDE:
        claim += ". That is wide: use a rotation or more blocks"
    return f"{groups}: {claim}."


def alternatives(holdout: Holdout, vocabulary: Vocabulary, number: int) -> list[EvaluatedScenes]:
    """Designs to choose from, for the vocabulary and kind of `holdout`, with `number` scenes each:
    one block, five blocks and a rotation, as far as the vocabulary is large enough."""
    of_kind = f"{holdout.kind}:{holdout.category}="
    requests = {
        "one block of 3x3": HoldoutRequest(holdout=(f"{of_kind}3x3",)),
        "five blocks of 3x3": HoldoutRequest(
            holdout=(f"{of_kind}3x3",), block_seeds=(0, 1, 2, 3, 4)
        ),
        "rotation of 4 turns": HoldoutRequest(design="rotation", holdout=(f"{of_kind}turns=4",)),
    }
    designs = []
    for name, request in requests.items():
        try:
            holdouts = request.holdouts(vocabulary)
        except UserError:
            continue  # the vocabulary is too small for this design
        designs.append(dealt_scenes(name, holdouts, vocabulary, number))
    return designs


def _evenly(scenes: int) -> np.ndarray:
    """The scenes to simulate, as row numbers."""
    return np.unique(np.linspace(0, scenes - 1, min(scenes, _MOST_SCENES)).astype(int))


def _constant(accuracy: float, effects: Effects) -> float:
    """The constant in logits at which the mean over all effects is the accuracy."""
    variance = 2 * effects.names**2 + effects.bindings**2 + effects.clusters**2
    variance += effects.trainings**2 + effects.trained_bindings**2
    mass = _MASS / _MASS.sum()
    return float(brentq(lambda c: expit(c + sqrt(variance) * _POINTS) @ mass - accuracy, -30, 30))


def _cache_path(scenes: EvaluatedScenes, accuracy: float, trainings: int, effects: Effects) -> Path:
    """The file of a result, named by the digest of all that decides it."""
    content = [
        *(_METHOD, _DRAWS, *_ROUNDS, accuracy, trainings, astuple(effects)),
        *(scenes.blocks, scenes.clusters, scenes.bindings, scenes.vocabulary, scenes.trained),
        *(sorted(prior.freedom.items()) for prior in (OF_SHARES, OF_COMPARISONS)),
        *(sorted(prior.spreads.items()) for prior in (OF_SHARES, OF_COMPARISONS)),
    ]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return user_cache_path("jackalope") / "power" / f"{digest[:32]}.json"


def _points(share: float) -> str:
    """A share in percentage points: whole numbers from 10 on, one decimal below.

    >>> _points(0.199), _points(0.042)
    ('20', '4.2')
    """
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
