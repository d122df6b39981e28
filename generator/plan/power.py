"""What a design will be able to tell: the interval to expect, and the smallest difference between two models.

The evaluator's intervals speak of bindings like these (docs/statistics.md): how hard a scene is depends on its bindings
and on its cluster. How much is a property of the model, so typical sizes are assumed. `half_width` is Student's t for
the mean in logits under these effects, with one constant that was fitted to the evaluator's intervals of simulated
outcomes (docs/statistics.md). The evaluator's package is not used here; the tests compare the two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from scipy.special import expit, logit, ndtri, stdtrit

from generator.holdout.holdout import Holdout
from generator.holdout.membership import ALL, Arrangement, Rule, cluster_of
from generator.holdout.request import WorldPart, design_of
from generator.plan.minimal_pairs import with_twins
from generator.plan.plan import plan_parts
from generator.scene.layouts import facts
from generator.scene.planned import Planned
from generator.vocabulary.schema import Vocabulary

MAIN_EFFECT, BINDING_EFFECT, CLUSTER_EFFECT = 0.5, 1.0, 0.5
"""Standard deviations in logits of what a scene's values together, its objects, its bindings together, and its cluster,
add to how hard it is."""
_ENOUGH = 6  # fewer values, or objects, are held by the interval of one block (evaluator.statistics.clusters)
LEVEL, POWER = 0.95, 0.8
ACCURACIES = (0.5, 0.75, 0.9, 0.97)
BLOCK_SEEDS = (1, 3, 5, 10)
_PRIOR_FREEDOM = 3  # of the evaluator's pooling (evaluator.statistics.pooled)
_SHRINK = 0.346  # E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s²)) (Zeger, Liang and Albert 1988)
_UNKNOWN_SPREAD = 0.8  # fitted; far from 50% the mean depends on the effects' size, which few bindings tell


@dataclass(frozen=True)
class SplitSize:
    """The name of a split, the numbers of its scenes, clusters and bindings, the mean number of objects of a scene, and
    how many different values, and objects, its bindings have."""

    split: str
    scenes: int
    clusters: int
    bindings: int
    objects: float
    levels: tuple[int, int]

    @classmethod
    def of(cls, split: str, shown: Iterable[tuple[str, Arrangement]]) -> "SplitSize":
        """From the cluster and the arrangement of each scene."""
        scenes = list(shown)
        bindings = {binding for _, arrangement in scenes for binding in arrangement}
        objects = sum(len(arrangement) for _, arrangement in scenes) / max(1, len(scenes))
        levels = len({value for value, _ in bindings}), len({category for _, category in bindings})
        return cls(split, len(scenes), len({cluster for cluster, _ in scenes}), len(bindings), objects, levels)

    def times(self, block_seeds: int) -> "SplitSize":
        """The splits of so many blocks of this size together, as if no two shared a binding."""
        return replace(
            self,
            scenes=block_seeds * self.scenes,
            clusters=block_seeds * self.clusters,
            bindings=block_seeds * self.bindings,
            levels=(block_seeds * self.levels[0], block_seeds * self.levels[1]),
        )


@dataclass(frozen=True)
class Expected:
    """What so many block seeds tell of a model of an accuracy (0..1).

    half_width: half the width of the 95% interval of the accuracy. difference: the smallest difference to another model
    of that accuracy which is shown in 80% of cases, None where none is.
    """

    block_seeds: int
    accuracy: float
    half_width: float
    difference: float | None


def told_split(rule: Rule) -> str:
    """The split whose accuracy is the claim: `unseen`, or the last one of class lists."""
    return "unseen" if "unseen" in rule.splits else rule.splits[-1]


def expected(split: SplitSize, block_seeds: Sequence[int] = BLOCK_SEEDS) -> list[Expected]:
    """What a split tells, for some accuracies and numbers of block seeds."""
    return [
        Expected(seeds, accuracy, half_width(split, accuracy, seeds), difference(split.times(seeds), accuracy))
        for accuracy in ACCURACIES
        for seeds in block_seeds
    ]


def half_width(split: SplitSize, accuracy: float, block_seeds: int = 1) -> float:
    """Half the width (0..1) of the 95% interval to expect where a model has an accuracy in 0..1, exclusive.

    The variance of the mean in logits is that of the effects of values and objects, bindings, clusters, and scenes.
    Each binding counts √objects / bindings in the mean over scenes whose bindings have squared weights that add up to
    1. The interval of one block allows for more than this variance, as it does not know the effects' size, and holds
    values or objects of which there are few.

    Several block seeds are pooled as in the evaluator: by a moderated t, whose variance is the weighted mean of the one
    that the intervals say and the one between blocks.
    """
    normal = ndtri((1 + LEVEL) / 2)
    variance, freedom = _variance(split, accuracy, _unknown(split, accuracy), _ENOUGH if block_seeds == 1 else 0)
    alone = _half(accuracy, stdtrit(freedom, (1 + LEVEL) / 2) * sqrt(variance))
    if block_seeds == 1:
        return alone
    between = (_half(accuracy, normal * sqrt(_variance(split, accuracy, 1, 0)[0])) / alone) ** 2
    prior = _PRIOR_FREEDOM * block_seeds
    more = prior + block_seeds - 1
    scale = stdtrit(more, (1 + LEVEL) / 2) / normal * sqrt((prior + (block_seeds - 1) * between) / more)
    return float(scale * alone / sqrt(block_seeds))


def _variance(split: SplitSize, accuracy: float, unknown: float, enough: int) -> tuple[float, float]:
    """The variance of the mean in logits, its effects taken `unknown` times, and its degrees of freedom
    (Satterthwaite 1946). Of fewer than `enough` values, or objects, the effects are held."""
    effects = unknown * _shrink()
    held = sum(n - 1 for n in split.levels if n < enough)
    parts = (
        *((effects * MAIN_EFFECT**2 * split.objects / n, n - 1) for n in split.levels if n >= enough),
        (effects * BINDING_EFFECT**2 * split.objects / split.bindings, split.bindings - 1 - held),
        (effects * CLUSTER_EFFECT**2 / split.clusters, split.clusters - 1 - held),
        (1 / (split.scenes * accuracy * (1 - accuracy)), split.scenes - 1),
    )
    variance = sum(part for part, _ in parts)
    return variance, variance**2 / sum(part**2 / max(df, 0.5) for part, df in parts)


def _unknown(split: SplitSize, accuracy: float) -> float:
    """How many times the effects' variance an interval allows for, as it does not know their size."""
    return float(1 + _UNKNOWN_SPREAD * logit(accuracy) ** 2 / sqrt(split.bindings))


def _half(accuracy: float, reach: float) -> float:
    """Half the width (0..1) of an interval that reaches so many logits to both sides."""
    return float(expit(logit(accuracy) + reach) - expit(logit(accuracy) - reach)) / 2


def difference(split: SplitSize, accuracy: float) -> float | None:
    """The smallest difference (0..1) between two models of about an accuracy that `score compare` finds in 80% of
    cases.

    The effects on the two models are taken as independent, which is the worst case, so the variance of the difference
    is twice that of one share. As in the evaluator the difference is (t₁ + t₂) standard errors. None where it is above
    1.
    """
    unknown = _unknown(split, accuracy) if min(split.levels) >= _ENOUGH else 1
    variance, freedom = _variance(split, accuracy, unknown, _ENOUGH)
    error = accuracy * (1 - accuracy) * sqrt(2 * variance)
    least = float((stdtrit(freedom, (1 + LEVEL) / 2) + stdtrit(freedom, POWER)) * error)
    return least if least <= 1 else None


def sentence(split: SplitSize) -> str:
    """What a split will be able to tell, in one line for people."""
    one, five = (_points(half_width(split, 0.75, seeds)) for seeds in (1, 5))
    more = "" if split.split == ALL else f"; with 5 block seeds ±{five}"
    return (
        f"{split.clusters:,} group{'s' * (split.clusters > 1)} of {split.bindings:,} bindings: an {split.split} "
        f"accuracy of 75% will have an interval of about ±{one} points{more}."
    )


def _points(share: float) -> str:
    """A share in points, without decimals from one point up.

    >>> _points(0.199), _points(0.0042)
    ('20', '0.4')
    """
    return f"{100 * share:.0f}" if share >= 0.01 else f"{100 * share:.1f}"


def _shrink() -> float:
    """The square of how much the mean in logits moves with the constant of a logistic model with these effects."""
    return 1 / (1 + _SHRINK * (2 * MAIN_EFFECT**2 + BINDING_EFFECT**2 + CLUSTER_EFFECT**2))


def sizes_to_plan(
    holdouts: Sequence[Holdout],
    parts: Sequence[WorldPart],
    vocabulary: Vocabulary,
    seed: int,
    objects: tuple[int, int] = (2, 2),
    pairs: bool = False,
) -> list[SplitSize]:
    """What `planned_sizes` will be for the first holdouts of a world of such parts, with `pairs` their twins included;
    only the scenes of these splits are planned.

    Raises UserError where no scene belongs to one.
    """
    told = []
    for part in parts[: len(holdouts)]:
        split = told_split(design_of(part.holdout).rule(vocabulary, part.holdout))
        told.append(WorldPart(part.holdout, None if part.counts is None else {split: part.counts[split]}))
    plan = plan_parts(vocabulary, told, seed, objects)
    if pairs:
        plan = with_twins(plan, design_of(holdouts[0]).rule(vocabulary, holdouts[0]), seed)
    return planned_sizes(plan, holdouts, vocabulary)


def planned_sizes(planned: Iterable[Planned], holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[SplitSize]:
    """For each holdout of a plan, the size of the split whose accuracy is the claim (`told_split`).

    Over the grid, where no scene is planned for a split, scenes belong to the splits that the holdouts' rules give
    them.
    """
    rules = [design_of(holdout).rule(vocabulary, holdout) for holdout in holdouts]
    splits = [told_split(rule) for rule in rules]
    shown: list[list[tuple[str, Arrangement]]] = [[] for _ in holdouts]
    for each in planned:
        for part in range(len(rules)) if each.split is None else [each.part]:
            if each.split not in (None, splits[part]):
                continue
            arrangement = each.arrangement(holdouts[part].kind)
            placing = rules[part].place(arrangement, facts(each, vocabulary), each.scene_id)
            if (each.split or placing.split) == splits[part]:
                shown[part].append((cluster_of(arrangement, placing.triples), arrangement))
    return [SplitSize.of(*each) for each in zip(splits, shown, strict=True)]
