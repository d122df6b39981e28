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
LEVELS = (0.75, 0.9)
_SEEN_LOGITS = 1.0  # how much easier a seen combination is
_POINTS, _MASS = np.polynomial.hermite_e.hermegauss(30)


@dataclass(frozen=True)
class Spreads:
    """Standard deviations in logits of the effects on a scene."""

    name: str
    names: float
    """Of all values together, and of all objects together."""
    bindings: float
    """Of all bindings together where they are unseen."""
    clusters: float
    trainings: float
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
    """A vocabulary, the blocks of each turn, the trainings of each turn, and the number of unseen
    images in all."""

    name: str
    images: int
    kind: str
    """`rotation`, `turn` (one turn of a rotation) or `blocks` (each turn has a block of its own,
    drawn at random)."""
    turns: int
    size: tuple[int, int]
    """Values and objects of a block, or of a sub-block of a rotation."""
    trainings: int = 1
    vocabulary: tuple[int, int] = (8, 12)


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
    spreads: Spreads
    level: float

    @property
    def name(self) -> str:
        """The study in words."""
        return f"{self.design.name}, {self.level:.0%}, effects {self.spreads.name}"


@dataclass(frozen=True)
class Scene:
    """An evaluated image: two values and two objects."""

    values: tuple[int, int]
    objects: tuple[int, int]

    @property
    def cluster(self) -> str:
        """The name of its values and objects."""
        return f"{sorted(self.values)} {sorted(self.objects)}"

    def bindings(self, vocabulary: tuple[int, int]) -> list[int]:
        """The codes of its two bindings."""
        return [v * vocabulary[1] + o for v, o in zip(self.values, self.objects, strict=True)]


@dataclass(frozen=True)
class Layout:
    """The scenes of a design, and which of them each turn's trainings have not seen."""

    scenes: list[Scene]
    unseen: np.ndarray
    """(turns, scenes) bool."""
    asked: np.ndarray
    """(turns, scenes) bool: the turn's benchmark has the scene."""


@dataclass
class Effects:
    """The effects of a draw, in logits, on the two objects of a scene together."""

    study: Study
    rng: np.random.Generator
    values: np.ndarray = field(init=False)
    objects: np.ndarray = field(init=False)
    unseen_bindings: np.ndarray = field(init=False)
    seen_bindings: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        spreads, (n_values, n_objects) = self.study.spreads, self.study.design.vocabulary
        half = 2**-0.5  # a scene has two of each
        self.values = self.rng.normal(0, spreads.names * half, n_values)
        self.objects = self.rng.normal(0, spreads.names * half, n_objects)
        # Half of the variance of a binding is there whether it was seen or not.
        common = self.rng.normal(0, spreads.bindings / 2, n_values * n_objects)
        self.unseen_bindings = common + self.rng.normal(
            0, spreads.bindings / 2, n_values * n_objects
        )
        failed = self.rng.random(len(common)) < spreads.failing
        self.unseen_bindings[failed] = -20.0
        self.seen_bindings = common

    def fixed(self, values: np.ndarray, objects: np.ndarray, unseen: bool) -> np.ndarray:
        """The sums of the effects of values, objects and bindings (n,) of scenes with `values`,
        `objects` (n, 2)."""
        bindings = values * self.study.design.vocabulary[1] + objects
        of_bindings = self.unseen_bindings if unseen else self.seen_bindings
        return np.asarray(
            (self.values[values] + self.objects[objects] + of_bindings[bindings]).sum(axis=1)
        )


def layout_of(design: Design, rng: np.random.Generator) -> Layout:
    """The evaluated scenes of a design; of a block also as many seen scenes as unseen ones."""
    n_values, n_objects = design.vocabulary
    values, objects = rng.permutation(n_values), rng.permutation(n_objects)
    v, o = design.size
    if design.kind == "blocks":
        return _random_blocks(design, rng)
    count = n_values // v
    value_groups, object_groups = values.reshape(count, v), objects.reshape(count, o)
    groups = [(i, (i + k) % count, k) for k in range(count) for i in range(count)]
    of_groups = [_scenes_of(value_groups[i], object_groups[j]) for i, j, _ in groups]
    if design.kind == "turn":
        chosen = [index for index, (_, _, k) in enumerate(groups) if k == 0]
    else:
        chosen = list(range(len(groups)))
    scenes, turn_of = [], []
    for index in chosen:
        dealt = _deal(of_groups[index], design.images // len(chosen), rng)
        scenes += dealt
        turn_of += [groups[index][2]] * len(dealt)
    if design.kind == "turn":
        others = [of_groups[index] for index in range(len(groups)) if index not in chosen]
        seen = _deal([scene for group in others for scene in group], design.images, rng)
        unseen = np.array([[True] * len(scenes) + [False] * len(seen)])
        return Layout([*scenes, *seen], unseen, np.ones_like(unseen))
    unseen = np.arange(count)[:, None] == np.array(turn_of)
    return Layout(scenes, unseen, np.ones_like(unseen))


def _random_blocks(design: Design, rng: np.random.Generator) -> Layout:
    """Blocks drawn at random: each turn is asked about its own unseen scenes, and as many seen
    ones."""
    n_values, n_objects = design.vocabulary
    number = design.images // design.turns
    every_scene = _scenes_of(np.arange(n_values), np.arange(n_objects))
    scenes: list[Scene] = []
    turn_of: list[int] = []
    is_unseen: list[bool] = []
    for turn in range(design.turns):
        values = rng.permutation(n_values)[: design.size[0]]
        objects = rng.permutation(n_objects)[: design.size[1]]
        held_out = {(a, b) for a in values.tolist() for b in objects.tolist()}
        others = [
            scene
            for scene in every_scene
            if not held_out & set(zip(scene.values, scene.objects, strict=True))
        ]
        scenes += _deal(_scenes_of(values, objects), number, rng) + _deal(others, number, rng)
        turn_of += [turn] * (2 * number)
        is_unseen += [True] * number + [False] * number
    asked = np.arange(design.turns)[:, None] == np.array(turn_of)
    return Layout(scenes, asked & np.array(is_unseen), asked)


def _scenes_of(values: np.ndarray, objects: np.ndarray) -> list[Scene]:
    """All scenes of two values and two objects, each in both assignments."""
    return [
        Scene((int(a), int(b)), pair)
        for a, b in combinations(values, 2)
        for x, y in combinations(objects.tolist(), 2)
        for pair in ((x, y), (y, x))
    ]


def _deal(scenes: list[Scene], number: int, rng: np.random.Generator) -> list[Scene]:
    """`number` scenes, each as often as any other."""
    order = rng.permutation(len(scenes))
    return [scenes[order[i % len(scenes)]] for i in range(number)]


def constants(study: Study) -> tuple[float, float]:
    """The constants of unseen and of seen scenes in logits: the mean over all effects is the level,
    and one logit above."""
    spreads = study.spreads
    unseen = 2 * spreads.names**2 + spreads.bindings**2 + spreads.clusters**2
    unseen += spreads.trainings**2 + spreads.trained_bindings**2
    seen = (
        2 * spreads.names**2 + spreads.bindings**2 / 2 + spreads.clusters**2 + spreads.trainings**2
    )

    def constant(variance: float, level: float) -> float:
        return float(brentq(lambda c: _mean(np.array([c]), variance) - level, -20, 20))

    return constant(unseen, study.level), constant(
        seen, float(expit(logit(study.level) + _SEEN_LOGITS))
    )


def _mean(logits: np.ndarray, variance: float) -> float:
    """The mean share over normal effects of a variance, for scenes with these logits (n,)."""
    shares = expit(logits[:, None] + np.sqrt(variance) * _POINTS) @ _MASS / _MASS.sum()
    return float(shares.mean())


def truths(study: Study, effects: Effects) -> dict[str, tuple[float, float]]:
    """The true mean of unseen scenes and the true gap, for each claim."""
    spreads = study.spreads
    at_unseen, at_seen = constants(study)
    grid = _scenes_of(*(np.arange(n) for n in study.design.vocabulary))
    if len(grid) > 5000:
        grid = [grid[i] for i in np.random.default_rng(0).permutation(len(grid))[:5000]]
    values, objects = np.array([s.values for s in grid]), np.array([s.objects for s in grid])
    new = spreads.clusters**2 + spreads.trainings**2
    unseen = _mean(
        at_unseen + effects.fixed(values, objects, True), new + spreads.trained_bindings**2
    )
    seen = _mean(at_seen + effects.fixed(values, objects, False), new)
    seen_level = float(expit(logit(study.level) + _SEEN_LOGITS))
    level = (
        study.level * (1 - spreads.failing) ** 2
    )  # a scene is right only if neither of its bindings fails
    return {
        THIS_VOCABULARY: (unseen, seen - unseen),
        WIDER: (level, seen_level - level),
    }


def run_items(
    study: Study, layout: Layout, effects: Effects
) -> tuple[list[RunItems], list[RunItems]]:
    """The outcomes of every training of every turn on its unseen and on its seen scenes."""
    spreads, design, rng = study.spreads, study.design, effects.rng
    at_unseen, at_seen = constants(study)
    values = np.array([scene.values for scene in layout.scenes])
    objects = np.array([scene.objects for scene in layout.scenes])
    codes = values * design.vocabulary[1] + objects
    names = np.array([scene.cluster for scene in layout.scenes])
    cluster = np.unique(names, return_inverse=True)[1]
    of_cluster = rng.normal(0, spreads.clusters, cluster.max() + 1)[cluster]
    shown = np.array(
        [
            ";".join(f"v{v}:o{o}" for v, o in zip(s.values, s.objects, strict=True))
            for s in layout.scenes
        ]
    )
    scene_names = np.arange(len(layout.scenes)).astype(str)
    unseen_logits = at_unseen + effects.fixed(values, objects, True) + of_cluster
    seen_logits = at_seen + effects.fixed(values, objects, False) + of_cluster
    unseen_runs, seen_runs = [], []
    for turn in range(len(layout.unseen)):
        for training in range(design.trainings):
            unseen, asked = layout.unseen[turn], layout.asked[turn]
            of_training = rng.normal(0, spreads.trainings)
            within = rng.normal(
                0, spreads.trained_bindings / 2**0.5, design.vocabulary[0] * design.vocabulary[1]
            )
            logits = (
                np.where(unseen, unseen_logits + within[codes].sum(axis=1), seen_logits)
                + of_training
            )
            right = rng.random(len(logits)) < expit(logits)
            run = RunItems(
                block=str(turn),
                training=f"{turn}/{training}",
                scene=scene_names,
                cluster=names,
                bindings=shown,
                outcome=right.astype(float),
            )
            unseen_runs.append(run.take(asked & unseen))
            seen_runs.append(run.take(asked & ~unseen))
    return unseen_runs, seen_runs


def studies() -> list[Study]:
    """Every design with every size of effects and every level; and blocks in which a fifth of
    bindings fails."""
    found = [
        Study(design, spreads, level)
        for design in DESIGNS
        for spreads in SPREADS
        for level in LEVELS
    ]
    block = Design("one 4x4 block, 200 images", 200, "blocks", 1, (4, 4))
    return [*found, *(Study(design, FAILING, 0.9) for design in (DESIGNS[0], block))]


def measured(study: Study, draws: int) -> dict[str, np.ndarray]:
    """For each claim about unseen scenes and about the gap: (draws, 3) the error of the mean, half
    the interval's width, and whether the interval holds the truth."""
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float, bool]]] = {}
    for _ in range(draws):
        layout = layout_of(study.design, rng)
        effects = Effects(study, rng)
        unseen, seen = run_items(study, layout, effects)
        vocabulary = study.design.vocabulary
        mean = mean_over_runs(unseen, vocabulary=vocabulary)
        gap, _ = gap_over_runs(list(zip(seen, unseen, strict=True)), vocabulary=vocabulary)
        for claim, true in truths(study, effects).items():
            for what, estimate, truth in (("unseen", mean, true[0]), ("gap", gap, true[1])):
                found.setdefault(f"{what}, {claim}", []).append(_checked(estimate, truth, claim))
    return {name: np.array(rows, dtype=float) for name, rows in found.items()}


def _checked(estimate: Estimate, truth: float, claim: str) -> tuple[float, float, bool]:
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
        results = list(executor.map(measured, every, [draws] * len(every)))
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
