"""Which design tells most: half-widths and coverage of both claims, by simulation (docs/splits.md,
"Which design?").

Each draw makes a model with effects in logits: of values, objects, bindings, clusters and
trainings, and of bindings within a training. Bindings have effects of their own where they are
unseen. The design decides which bindings each training leaves out and which images are evaluated.
Two intervals are made from the outcomes, and each is compared with the truth of its claim:

- this vocabulary: the mean over all combinations of the vocabulary whose effects were drawn, over
  new clusters and trainings;
- values and objects like these: the mean over all effects.

An oracle knows the variance components: its half-width is 1.96 standard deviations of the mean
minus the truth, over the draws.

`JACKALOPE_DRAWS` sets the number of draws of each design (40 by default, minutes; 300 for two
digits).
"""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from multiprocessing import get_context

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from bench.figures import Figure
from evaluator.statistics.intervals import THIS_VOCABULARY, WIDER, Estimate
from evaluator.statistics.runs import RunItems, gap_over_runs, mean_over_runs

DRAWS = 40
"""Draws of each design, without JACKALOPE_DRAWS."""
LEVELS = (0.75, 0.9)
"""Shares of right answers on unseen combinations."""
_SEEN_LOGITS = 1.0
"""How much easier a seen combination is."""
_FAILED = -20.0
"""The effect of a binding that fails altogether, in logits: no answer is right."""
_MOST_SCENES = 5_000
"""The mean over a vocabulary is taken over so many of its scenes."""
# Gauss-Hermite quadrature of a standard normal distribution.
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(30)


@dataclass(frozen=True)
class Spreads:
    """Standard deviations in logits of the effects on a scene."""

    name: str
    """What the sizes stand for."""
    names: float
    """Of all values together, and of all objects together."""
    bindings: float
    """Of all bindings together where they are unseen."""
    clusters: float
    """Of the cluster."""
    trainings: float
    """Of the training."""
    trained_bindings: float
    """Of all bindings together within a training, where they are unseen."""
    failing: float = 0.0
    """The share of bindings that fail altogether where they are unseen."""


SPREADS = (
    Spreads("as in docs/statistics.md", 0.5, 1.0, 0.5, 0.2, 0.3),
    Spreads("as large as R@1 of the demo", 0.6, 2.2, 0.6, 0.3, 0.6),
)
FAILING = Spreads("small, but a fifth of bindings fails", 0.0, 0.0, 0.5, 0.0, 0.0, failing=0.2)


@dataclass(frozen=True)
class Design:
    """Which bindings each training leaves out, and how many images are evaluated."""

    name: str
    """In words."""
    images: int
    """The number of unseen images in all."""
    kind: str
    """`rotation`, `turn` (one turn of a rotation) or `blocks` (each turn has a block of its own,
    drawn at random)."""
    turns: int
    """The number of turns or blocks."""
    size: tuple[int, int]
    """Values and objects of a block, or of a sub-block of a rotation."""
    trainings: int = 1
    """Of each turn or block."""
    vocabulary: tuple[int, int] = (8, 12)
    """The number of values and of objects."""


DESIGNS = (
    Design("one 3x3 block, 200 images", 200, "blocks", 1, (3, 3)),
    Design("one 3x3 block", 1000, "blocks", 1, (3, 3)),
    Design("five random 3x3 blocks", 1000, "blocks", 5, (3, 3)),
    Design("ten random 3x3 blocks", 1000, "blocks", 10, (3, 3)),
    Design("one 4x6 block", 1000, "blocks", 1, (4, 6)),
    Design("rotation of 2 (4x6), one turn", 1000, "turn", 1, (4, 6)),
    Design("rotation of 2 (4x6), a training a turn", 1000, "rotation", 2, (4, 6)),
    Design("rotation of 2 (4x6), two trainings a turn", 1000, "rotation", 2, (4, 6), 2),
    Design("rotation of 4 (2x3), a training a turn", 1000, "rotation", 4, (2, 3)),
    Design("rotation of 4 (2x3), two trainings a turn", 1000, "rotation", 4, (2, 3), 2),
    Design("rotation of 4 (2x3), two trainings, 200 images", 200, "rotation", 4, (2, 3), 2),
    Design(
        "rotation of 4 (4x6) of 16x24 words, two trainings",
        1000,
        "rotation",
        4,
        (4, 6),
        2,
        (16, 24),
    ),
)


@dataclass(frozen=True)
class Study:
    """A design with a size of effects and a share of right answers on unseen combinations."""

    design: Design
    """What is held out and evaluated."""
    spreads: Spreads
    """The sizes of effects."""
    level: float
    """The share of right answers on unseen combinations, in 0..1."""

    @property
    def name(self) -> str:
        """The study in words."""
        return f"{self.design.name}, {self.level:.0%}, effects {self.spreads.name}"


@dataclass(frozen=True)
class Scene:
    """An evaluated image: two values and two objects."""

    values: tuple[int, int]
    """The codes of its values."""
    objects: tuple[int, int]
    """The codes of its objects, in the order of their values."""

    @property
    def cluster(self) -> str:
        """The name of its values and objects."""
        return f"{sorted(self.values)} {sorted(self.objects)}"

    def bindings(self, vocabulary: tuple[int, int]) -> list[int]:
        """The codes of its two bindings."""
        pairs = zip(self.values, self.objects, strict=True)
        return [value * vocabulary[1] + object_ for value, object_ in pairs]


@dataclass(frozen=True)
class Layout:
    """The evaluated scenes of a design, and what each turn does with them."""

    scenes: list[Scene]
    """The evaluated scenes of all turns."""
    unseen: np.ndarray
    """(turns, scenes) bool: the turn's trainings have not seen the scene's combinations."""
    evaluated: np.ndarray
    """(turns, scenes) bool: the turn's benchmark has the scene."""


@dataclass
class Effects:
    """The effects of a draw, in logits, on the two objects of a scene together."""

    study: Study
    """Gives the sizes of the effects."""
    rng: np.random.Generator
    """The source of random numbers."""
    values: np.ndarray = field(init=False)
    """(values,) the effect of each value."""
    objects: np.ndarray = field(init=False)
    """(objects,) the effect of each object."""
    unseen_bindings: np.ndarray = field(init=False)
    """(values · objects,) the effect of each binding where it is unseen."""
    seen_bindings: np.ndarray = field(init=False)
    """(values · objects,) its effect where it was seen."""

    def __post_init__(self) -> None:
        spreads = self.study.spreads
        n_values, n_objects = self.study.design.vocabulary
        n_bindings = n_values * n_objects
        # A scene has two of each, and sizes are those of both together.
        half = 2**-0.5
        self.values = self.rng.normal(0, spreads.names * half, n_values)
        self.objects = self.rng.normal(0, spreads.names * half, n_objects)
        # Half of the variance of a binding is there whether it was seen or not.
        common = self.rng.normal(0, spreads.bindings / 2, n_bindings)
        self.unseen_bindings = common + self.rng.normal(0, spreads.bindings / 2, n_bindings)
        fails = self.rng.random(n_bindings) < spreads.failing
        self.unseen_bindings[fails] = _FAILED
        self.seen_bindings = common

    def fixed(self, values: np.ndarray, objects: np.ndarray, unseen: bool) -> np.ndarray:
        """The sum of the effects of values, objects and bindings on each scene.

        Args:
            values: (n, 2) codes.
            objects: (n, 2) codes.
            unseen: whether the bindings were left out of training.

        Returns:
            (n,) in logits.
        """
        bindings = values * self.study.design.vocabulary[1] + objects
        of_bindings = self.unseen_bindings if unseen else self.seen_bindings
        effects = self.values[values] + self.objects[objects] + of_bindings[bindings]
        return np.asarray(effects.sum(axis=1))


def draw_layout(design: Design, rng: np.random.Generator) -> Layout:
    """The evaluated scenes of a design; of a block also as many seen scenes as unseen ones."""
    n_values, n_objects = design.vocabulary
    values = rng.permutation(n_values)
    objects = rng.permutation(n_objects)
    # Random blocks may overlap, and share no images.
    if design.kind == "blocks":
        return _random_blocks(design, rng)
    count = n_values // design.size[0]
    value_groups = values.reshape(count, design.size[0])
    object_groups = objects.reshape(count, design.size[1])

    # Turn k holds out the bindings of value group i with object group i + k.
    sub_blocks = []
    turn_of_block = []
    for turn in range(count):
        for i in range(count):
            object_group = object_groups[(i + turn) % count]
            sub_blocks.append(_scenes_of(value_groups[i], object_group))
            turn_of_block.append(turn)
    # A single turn is the first of a rotation.
    chosen = [i for i, turn in enumerate(turn_of_block) if design.kind == "rotation" or turn == 0]
    scenes: list[Scene] = []
    turn_of_scene: list[int] = []
    for i in chosen:
        dealt = _deal(sub_blocks[i], design.images // len(chosen), rng)
        scenes += dealt
        turn_of_scene += [turn_of_block[i]] * len(dealt)
    if design.kind == "rotation":
        unseen = np.arange(count)[:, None] == np.array(turn_of_scene)
        return Layout(scenes, unseen, np.ones_like(unseen))

    # A single turn has no image that is seen elsewhere, so it gets seen scenes of other turns.
    others: list[Scene] = []
    for i, sub_block in enumerate(sub_blocks):
        if i not in chosen:
            others += sub_block
    seen = _deal(others, design.images, rng)
    unseen = np.array([[True] * len(scenes) + [False] * len(seen)])
    return Layout([*scenes, *seen], unseen, np.ones_like(unseen))


def _random_blocks(design: Design, rng: np.random.Generator) -> Layout:
    """Blocks drawn at random: each turn is asked about its own unseen scenes, and as many seen
    ones."""
    n_values, n_objects = design.vocabulary
    number = design.images // design.turns
    all_scenes = _scenes_of(np.arange(n_values), np.arange(n_objects))
    scenes: list[Scene] = []
    turn_of_scene: list[int] = []
    is_unseen: list[bool] = []
    for turn in range(design.turns):
        values = rng.permutation(n_values)[: design.size[0]]
        objects = rng.permutation(n_objects)[: design.size[1]]
        held_out = set()
        for value in values.tolist():
            held_out |= {(value, object_) for object_ in objects.tolist()}
        outside = []
        for scene in all_scenes:
            if not held_out & set(zip(scene.values, scene.objects, strict=True)):
                outside.append(scene)
        scenes += _deal(_scenes_of(values, objects), number, rng)
        scenes += _deal(outside, number, rng)
        turn_of_scene += [turn] * (2 * number)
        is_unseen += [True] * number + [False] * number
    evaluated = np.arange(design.turns)[:, None] == np.array(turn_of_scene)
    return Layout(scenes, evaluated & np.array(is_unseen), evaluated)


def _scenes_of(values: np.ndarray, objects: np.ndarray) -> list[Scene]:
    """All scenes of two values and two objects, each in both assignments."""
    scenes = []
    for one_value, other_value in combinations(values, 2):
        for one_object, other_object in combinations(objects.tolist(), 2):
            pair = int(one_value), int(other_value)
            scenes.append(Scene(pair, (one_object, other_object)))
            scenes.append(Scene(pair, (other_object, one_object)))
    return scenes


def _deal(scenes: list[Scene], number: int, rng: np.random.Generator) -> list[Scene]:
    """`number` scenes, each as often as any other."""
    order = rng.permutation(len(scenes))
    return [scenes[order[i % len(scenes)]] for i in range(number)]


def constants(study: Study) -> tuple[float, float]:
    """The constants of unseen and of seen scenes in logits.

    The mean over all effects is the level on unseen scenes, and one logit above on seen ones.
    """
    spreads = study.spreads
    of_scene = 2 * spreads.names**2 + spreads.clusters**2 + spreads.trainings**2
    unseen = of_scene + spreads.bindings**2 + spreads.trained_bindings**2
    seen = of_scene + spreads.bindings**2 / 2
    return _constant(unseen, study.level), _constant(seen, _seen_level(study))


def _seen_level(study: Study) -> float:
    """The share of right answers on seen combinations."""
    return float(expit(logit(study.level) + _SEEN_LOGITS))


def _constant(variance: float, level: float) -> float:
    """The constant in logits at which the mean share over normal effects is the level."""
    return float(brentq(lambda c: _mean(np.array([c]), variance) - level, -20, 20))


def _mean(logits: np.ndarray, variance: float) -> float:
    """The mean share over normal effects of a variance, for scenes with these logits (n,)."""
    shares = expit(logits[:, None] + np.sqrt(variance) * _POINTS) @ _MASS / _MASS.sum()
    return float(shares.mean())


def true_values(study: Study, effects: Effects) -> dict[str, tuple[float, float]]:
    """The true mean of unseen scenes and the true gap, for each claim."""
    spreads = study.spreads
    unseen_constant, seen_constant = constants(study)
    grid = _scenes_of(*(np.arange(n) for n in study.design.vocabulary))
    if len(grid) > _MOST_SCENES:
        # The same scenes for every draw, so that the truth varies with effects alone.
        order = np.random.default_rng(0).permutation(len(grid))
        grid = [grid[i] for i in order[:_MOST_SCENES]]
    values = np.array([scene.values for scene in grid])
    objects = np.array([scene.objects for scene in grid])

    # About this vocabulary: clusters and trainings are new, all else was drawn.
    of_new = spreads.clusters**2 + spreads.trainings**2
    unseen_logits = unseen_constant + effects.fixed(values, objects, True)
    unseen = _mean(unseen_logits, of_new + spreads.trained_bindings**2)
    seen = _mean(seen_constant + effects.fixed(values, objects, False), of_new)

    # About values and objects like these. A scene is right only if neither of its bindings fails.
    level = study.level * (1 - spreads.failing) ** 2
    return {
        THIS_VOCABULARY: (unseen, seen - unseen),
        WIDER: (level, _seen_level(study) - level),
    }


def draw_runs(
    study: Study, layout: Layout, effects: Effects
) -> tuple[list[RunItems], list[RunItems]]:
    """Draw the outcomes of every training of every turn.

    Args:
        study: what is simulated.
        layout: the scenes.
        effects: those that all trainings share, and the random numbers.

    Returns:
        The items of each training on its unseen scenes, and on its seen scenes.
    """
    spreads, design, rng = study.spreads, study.design, effects.rng
    unseen_constant, seen_constant = constants(study)
    values = np.array([scene.values for scene in layout.scenes])
    objects = np.array([scene.objects for scene in layout.scenes])
    bindings = values * design.vocabulary[1] + objects
    n_bindings = design.vocabulary[0] * design.vocabulary[1]

    # Names, as they stand in a run's tables.
    clusters = np.array([scene.cluster for scene in layout.scenes])
    cluster = np.unique(clusters, return_inverse=True)[1]
    binding_names = []
    for scene in layout.scenes:
        pairs = zip(scene.values, scene.objects, strict=True)
        binding_names.append(";".join(f"v{value}:o{object_}" for value, object_ in pairs))
    scene_names = np.arange(len(layout.scenes)).astype(str)

    # Effects that all trainings share.
    of_cluster = rng.normal(0, spreads.clusters, cluster.max() + 1)[cluster]
    unseen_logits = unseen_constant + effects.fixed(values, objects, True) + of_cluster
    seen_logits = seen_constant + effects.fixed(values, objects, False) + of_cluster

    unseen_runs, seen_runs = [], []
    for turn in range(len(layout.unseen)):
        unseen, evaluated = layout.unseen[turn], layout.evaluated[turn]
        for training in range(design.trainings):
            of_training = rng.normal(0, spreads.trainings)
            of_bindings = rng.normal(0, spreads.trained_bindings / 2**0.5, n_bindings)
            trained_logits = unseen_logits + of_bindings[bindings].sum(axis=1)
            logits = np.where(unseen, trained_logits, seen_logits) + of_training
            right = rng.random(len(logits)) < expit(logits)
            run = RunItems(
                block=str(turn),
                training=f"{turn}/{training}",
                scene=scene_names,
                cluster=clusters,
                bindings=np.array(binding_names),
                outcome=right.astype(float),
            )
            unseen_runs.append(run.take(evaluated & unseen))
            seen_runs.append(run.take(evaluated & ~unseen))
    return unseen_runs, seen_runs


def studies() -> list[Study]:
    """Every design with every size of effects and every level; and blocks in which a fifth of
    bindings fails."""
    studies = []
    for design in DESIGNS:
        for spreads in SPREADS:
            studies += [Study(design, spreads, level) for level in LEVELS]
    larger_block = Design("one 4x4 block, 200 images", 200, "blocks", 1, (4, 4))
    return [*studies, *(Study(design, FAILING, 0.9) for design in (DESIGNS[0], larger_block))]


def simulate(study: Study, draws: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Errors, widths and coverage of intervals over draws of models.

    Args:
        study: what is simulated.
        draws: how often.
        seed: of the random numbers. The prior guesses were chosen with seed 0; take others to test
            them.

    Returns:
        For each claim about unseen scenes and about the gap: (draws, 3) the error of the mean, half
        the interval's width, and whether the interval holds the truth.
    """
    rng = np.random.default_rng(seed)
    vocabulary = study.design.vocabulary
    checks: dict[str, list[tuple[float, float, bool]]] = {}
    for _ in range(draws):
        layout = draw_layout(study.design, rng)
        effects = Effects(study, rng)
        unseen, seen = draw_runs(study, layout, effects)
        mean = mean_over_runs(unseen, vocabulary=vocabulary)
        gap, _ = gap_over_runs(list(zip(seen, unseen, strict=True)), vocabulary=vocabulary)
        for claim, (true_mean, true_gap) in true_values(study, effects).items():
            checks.setdefault(f"unseen, {claim}", []).append(_check(mean, true_mean, claim))
            checks.setdefault(f"gap, {claim}", []).append(_check(gap, true_gap, claim))
    return {name: np.array(rows, dtype=float) for name, rows in checks.items()}


def _check(estimate: Estimate, truth: float, claim: str) -> tuple[float, float, bool]:
    """The error of an estimate, half its interval's width, and whether that holds the truth."""
    low, high = estimate.low, estimate.high
    if claim == WIDER:
        low, high = estimate.low_wider, estimate.high_wider
    return estimate.value - truth, (high - low) / 2, low <= truth <= high


def figures() -> list[Figure]:
    """For each study and claim: the oracle's half-width, the mean printed half-width and the
    coverage of 95% intervals."""
    draws = int(os.environ.get("JACKALOPE_DRAWS", DRAWS))
    every = studies()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as executor:
        results = list(executor.map(simulate, every, [draws] * len(every)))
    rows = []
    for study, result in zip(every, results, strict=True):
        for name, numbers in result.items():
            error, half, held = numbers.T
            what = f"{study.name}: {name}"
            rows += [
                Figure(f"{what}, oracle ±", "points", (196 * float(error.std()),)),
                Figure(f"{what}, printed ±", "points", (100 * float(half.mean()),)),
                Figure(f"{what}, coverage", "%", (100 * float(held.mean()),)),
            ]
    return rows
