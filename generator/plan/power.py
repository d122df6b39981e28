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
from dataclasses import asdict, astuple, dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from generator.base.clusters import Clusters
from generator.base.crossed import (
    OF_COMPARISONS,
    OF_SHARES,
    CrossedMeans,
    variance_of_difference,
)
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.holdout.holdout import Holdout
from generator.holdout.request import HoldoutRequest
from generator.plan.evaluated import EvaluatedScenes, dealt_scenes
from generator.vocabulary.schema import Vocabulary

LEVEL, POWER = 0.95, 0.8
"""The level of the intervals, and the share of cases in which a difference shall be shown."""
ACCURACIES = (0.75, 0.9, 0.97)
"""The accuracies that `gen plan --power` prints."""
_WIDTH_DRAWS = 40
"""Draws of the mean width, which then has a standard error of 1 to 4%."""
_DIFFERENCE_DRAWS = (20, 20, 30, 80)
"""Draws of each round that finds the smallest difference. Each round draws the less accurate model
at the difference that the round before found. All but the last only come near it; with 80 draws the
power at the result has a standard error of 2 points."""
_SETTLED = 1e-3
"""Where a fit may end. The evaluator's fits go on for digits that a mean over draws does not
have."""
_TOO_WIDE = 0.2
"""From this half width on, *Expect:* advises another design."""
_MOST_SCENES = 2000
"""Larger designs are simulated with so many of their scenes, evenly chosen. Widths then
hardly depend on the number of scenes, but on clusters, bindings and trainings."""
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(30)
"""Nodes and weights of Gauss-Hermite quadrature: means over a standard normal variable."""
_METHOD = 3
"""Part of the digest of kept results. Raise it when the simulation changes."""


@dataclass(frozen=True)
class Effects:
    """Standard deviations in logits of the effects on a scene."""

    names: float
    """Of all its values together, and of all its objects together."""
    bindings: float
    """Of all its bindings together, where they are unseen."""
    clusters: float
    """Of its cluster."""
    trainings: float
    """Of the training of the model."""
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


class SimulatedDesign:
    """The scenes of a design with a number of trainings, prepared for many draws of models."""

    def __init__(self, scenes: EvaluatedScenes, trainings: int):
        """Prepare the estimators of means and differences.

        Args:
            scenes: of the design.
            trainings: of each turn or block.
        """
        self.trainings = trainings
        chosen = _evenly(len(scenes))
        self._clusters = Clusters.from_names(
            np.array(scenes.clusters, dtype=object)[chosen],
            np.array(scenes.bindings, dtype=object)[chosen],
            vocabulary=scenes.vocabulary,
        )
        blocks = np.array(scenes.blocks)[chosen]
        block = np.unique(blocks, return_inverse=True)[1].reshape(-1)

        # A training is of one turn, so items are scenes, once for each training of their turn.
        self._scene_of_item = np.tile(np.arange(len(blocks)), trainings)
        training = np.repeat(np.arange(trainings), len(blocks))
        self.training_of_item = np.zeros(len(training), dtype=int)
        if scenes.trained:
            self.training_of_item = block[self._scene_of_item] * trainings + training

        # Blocks count equally, and so do the trainings of a block.
        size = np.bincount(block)
        scene_weights = 1 / (len(size) * size[block])
        items = replace(self._clusters.take(self._scene_of_item), trainings=self.training_of_item)
        self._means = CrossedMeans(
            items,
            scene_weights[self._scene_of_item] / trainings,
            finite_bindings=trainings > 1 or not scenes.trained,
            settled=_SETTLED,
        )
        self._differences = CrossedMeans(
            self._clusters, scene_weights, prior=OF_COMPARISONS, settled=_SETTLED
        )
        self._scene_weights = scene_weights

    def interval_width(self, outcomes: np.ndarray) -> float:
        """Half the width of the interval of the mean of outcomes (items,)."""
        low, high = self._means.estimate(outcomes, share=True).vocabulary.interval(LEVEL)
        return (high - low) / 2

    def difference(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        """The difference of two models with one training each, and the reach of its interval.

        Args:
            first: (scenes,) outcomes of a model.
            second: (scenes,) outcomes of another.

        Returns:
            The difference in -1..1, and half the width of its interval.
        """
        shares = [
            self._differences.shrunk_share(float(self._scene_weights @ outcomes))
            for outcomes in (first, second)
        ]
        variance = variance_of_difference(*shares)
        estimate = self._differences.estimate(first - second, variance=variance).vocabulary
        low, high = estimate.interval(LEVEL)
        return estimate.value, (high - low) / 2

    def outcomes(self, accuracy: float, effects: Effects, rng: np.random.Generator) -> np.ndarray:
        """The outcomes of one new model.

        Args:
            accuracy: its accuracy over this vocabulary, in expectation (0..1).
            effects: the sizes of its effects, which are drawn.
            rng: the source of random numbers.

        Returns:
            (items,) 0 or 1.
        """
        scenes = self._clusters
        n_bindings = scenes.weights.shape[1]
        n_clusters = scenes.codes.max() + 1

        # Effects that all trainings share: names, bindings, clusters.
        logits = np.full(len(scenes), _constant(accuracy, effects))
        for main_effects, size in zip(scenes.main_effects(), scenes.vocabulary, strict=True):
            of_names = rng.normal(0, effects.names, size)
            # Over the vocabulary the effects add up to 0: the accuracy is that over the vocabulary.
            of_names -= of_names.mean()
            # Names that no scene shows have no column.
            n_shown = main_effects.shape[1]
            of_rows = main_effects @ of_names[:n_shown]
            logits += of_rows[scenes.weight_rows]
        of_bindings = rng.normal(0, effects.bindings, n_bindings)
        of_rows = scenes.weights @ of_bindings
        logits += of_rows[scenes.weight_rows]
        of_clusters = rng.normal(0, effects.clusters, n_clusters)
        logits += of_clusters[scenes.codes]

        # Effects of each training: on all of its items alike, and on bindings.
        of_items = logits[self._scene_of_item]
        for training in np.unique(self.training_of_item):
            own = self.training_of_item == training
            of_bindings = rng.normal(0, effects.trained_bindings, n_bindings)
            of_rows = scenes.weights @ of_bindings
            weight_rows = scenes.weight_rows[self._scene_of_item[own]]
            of_training = rng.normal(0, effects.trainings)
            of_items[own] += of_training + of_rows[weight_rows]
        is_correct = rng.random(len(of_items)) < expit(of_items)
        return is_correct.astype(float)


def expected(
    scenes: EvaluatedScenes, accuracy: float, trainings: int, effects: Effects
) -> Expected:
    """What a design tells about models of an accuracy; from the cache if it is there.

    Args:
        scenes: of the design.
        accuracy: of the model, or of the more accurate of two models (0..1).
        trainings: of each turn or block.
        effects: the sizes of the models' effects.

    Returns:
        The width to expect and, for one training, the smallest difference.
    """
    path = _cache_path(scenes, accuracy, trainings=trainings, effects=effects)
    if path.exists():
        return Expected(**json.loads(path.read_text(encoding="utf-8")))
    design = SimulatedDesign(scenes, trainings)
    expectation = Expected(
        accuracy,
        trainings,
        half_width(design, accuracy, effects),
        detectable(design, accuracy, effects) if trainings == 1 else None,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(expectation))
    except (OSError, UserError):
        # Without a cache it is computed again.
        pass
    return expectation


def half_width(design: SimulatedDesign, accuracy: float, effects: Effects) -> float:
    """Simulate the interval of an accuracy.

    Args:
        design: the scenes and trainings.
        accuracy: of the model (0..1).
        effects: the sizes of its effects.

    Returns:
        Half the mean width of the interval over new models.
    """
    rng = np.random.default_rng(0)
    widths = []
    for _ in range(_WIDTH_DRAWS):
        widths.append(design.interval_width(design.outcomes(accuracy, effects, rng)))
    return float(np.nanmean(widths))


def detectable(design: SimulatedDesign, accuracy: float, effects: Effects) -> float | None:
    """The smallest difference to a less accurate model that is shown in 80% of cases.

    The effects on the two models are independent, which is the worst case. A difference d is shown
    if d + error > reach, where the error and the reach of the interval vary between draws. The
    margin error - reach is taken as normal, so the smallest d is its mean, negated, plus 0.84
    standard deviations. Both depend on how accurate the other model is, so the search is repeated
    with the difference that it found.

    Args:
        design: with one training of each turn or block.
        accuracy: of the more accurate model (0..1).
        effects: the sizes of the effects.

    Returns:
        A difference in 0..1; None if no difference up to the whole accuracy is shown.
    """
    difference = 0.0
    for draws in _DIFFERENCE_DRAWS:
        # The same random numbers in each round, so that rounds differ by the difference alone.
        rng = np.random.default_rng(1)
        other_accuracy = max(accuracy - difference, accuracy / 10)
        values, reaches = np.empty(draws), np.empty(draws)
        for draw in range(draws):
            first = design.outcomes(accuracy, effects, rng)
            second = design.outcomes(other_accuracy, effects, rng)
            values[draw], reaches[draw] = design.difference(first, second)
        if not np.isfinite(reaches).all():
            return None
        margins = values - values.mean() - reaches
        difference = float(reaches.mean() + norm.ppf(POWER) * margins.std(ddof=1))
    return difference if difference < accuracy else None


def sentence(scenes: EvaluatedScenes) -> str:
    """The precision to expect of a design, in one line for people.

    Args:
        scenes: of the design.

    Returns:
        The line, which ends with advice where the interval will be wide.
    """
    effects = EFFECTS["usual"]
    over = ""
    if scenes.block_count > 1:
        over = f" over {scenes.block_count} {'turns' if scenes.rotation else 'blocks'} together"
    width = expected(scenes, 0.75, 1, effects).half_width
    bindings = "combination" if scenes.binding_count == 1 else "combinations"
    line = (
        f"scenes of {scenes.binding_count:,} {bindings}: {scenes.split} accuracy of 75%{over} will "
        f"have an interval of about ±{_points(width)} points"
    )
    if scenes.rotation:
        with_two = expected(scenes, 0.75, 2, effects).half_width
        line += f", and ±{_points(with_two)} with two trainings of each turn"
    if width >= _TOO_WIDE:
        line += ". Too wide for a paper: use a rotation or more blocks"
    return f"{line}."


def alternatives(holdout: Holdout, vocabulary: Vocabulary, number: int) -> list[EvaluatedScenes]:
    """Designs to choose from: one block, five blocks and a rotation, as far as the vocabulary is
    large enough.

    Args:
        holdout: its kind and category are those of the designs.
        vocabulary: of the world.
        number: of scenes of each design.

    Returns:
        The scenes of each design.
    """
    of_kind = f"{holdout.kind}:{holdout.category}="
    block, rotation = f"{of_kind}3x3", f"{of_kind}turns=4"
    requests = {
        "one block of 3x3": HoldoutRequest(holdout=(block,)),
        "five blocks of 3x3": HoldoutRequest(holdout=(block,), block_seeds=(0, 1, 2, 3, 4)),
        "rotation of 4 turns": HoldoutRequest(design="rotation", holdout=(rotation,)),
    }
    designs = []
    for name, request in requests.items():
        try:
            holdouts = request.holdouts(vocabulary)
        except UserError:
            continue  # the vocabulary is too small for this design
        designs.append(dealt_scenes(name, holdouts, vocabulary=vocabulary, number=number))
    return designs


def _evenly(scenes: int) -> np.ndarray:
    """The scenes to simulate, as row numbers."""
    return np.unique(np.linspace(0, scenes - 1, min(scenes, _MOST_SCENES)).astype(int))


def _constant(accuracy: float, effects: Effects) -> float:
    """The constant in logits at which the mean over all effects is the accuracy."""
    # Effects are independent and normal, so their sum is normal too. Names count twice: values and
    # objects.
    variance = 2 * effects.names**2 + effects.bindings**2 + effects.clusters**2
    variance += effects.trainings**2 + effects.trained_bindings**2
    spread = sqrt(variance)
    mass = _MASS / _MASS.sum()

    def excess(constant: float) -> float:
        """The mean over all effects less the accuracy."""
        return float(expit(constant + spread * _POINTS) @ mass) - accuracy

    return float(brentq(excess, -30, 30))


def _cache_path(
    scenes: EvaluatedScenes, accuracy: float, *, trainings: int, effects: Effects
) -> Path:
    """The file of a result, named by the digest of all that decides it."""
    content = [
        *(_METHOD, _WIDTH_DRAWS, *_DIFFERENCE_DRAWS, accuracy, trainings, astuple(effects)),
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
