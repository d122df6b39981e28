"""Predicts the power of a design: the expected interval, and the smallest detectable difference of two models.

The evaluator's intervals generalize to similar bindings (docs/statistics.md): a scene's difficulty depends on its
bindings and on its cluster. The size of these effects depends on the model, so typical sizes are assumed. `half_width`
is Student's t for the mean in logits under these effects; one constant is fitted to the evaluator's intervals of
simulated outcomes (docs/statistics.md). The evaluator's package is not used here; the tests compare the two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from scipy.special import expit, logit, ndtri, stdtrit

from generator.holdout.holdout import Holdout
from generator.holdout.membership import ALL, ASYMMETRIC, Arrangement, Rule, cluster_of
from generator.holdout.possible import splits_that_stay_empty
from generator.holdout.request import WorldPart, design_of
from generator.plan.minimal_pairs import plan_with_twins
from generator.plan.plan import plan_parts
from generator.scene.layouts import facts
from generator.scene.planned import Planned
from generator.vocabulary.schema import Vocabulary

MAIN_EFFECT, BINDING_EFFECT, CLUSTER_EFFECT = 0.5, 1.0, 0.5
"""Standard deviations, in logits, of the effects on a scene's difficulty: all its values together (likewise all its
objects), all its bindings together, and its cluster."""
_ENOUGH = 6  # values, or objects: below, one block's interval hardly depends on how much they vary
LEVEL, POWER = 0.95, 0.8
ACCURACIES = (0.5, 0.75, 0.9, 0.97)
BLOCK_SEEDS = (1, 3, 5, 10)
_TOO_WIDE = 0.25
"""From this half width on, an interval around 75% reaches from 50%, the chance level of two choices, to 100%."""
_PRIOR_FREEDOM = 3  # degrees of freedom that each block's own effects add to the spread of blocks
_SHRINK = 0.346  # E logistic(m + sZ) is close to logistic(m / sqrt(1 + 0.346 s²)) (Zeger, Liang and Albert 1988)
_UNKNOWN_SPREAD = 0.8  # fitted; far from 50% the mean depends on the effects' size, which few bindings estimate badly


@dataclass(frozen=True)
class SplitSize:
    """The size of a split: its numbers of scenes, clusters and bindings, the mean number of objects per scene, and in
    `levels` the numbers of distinct values and of distinct objects in its bindings."""

    split: str
    scenes: int
    clusters: int
    bindings: int
    objects: float
    levels: tuple[int, int]

    @classmethod
    def of(cls, split: str, shown: Iterable[tuple[str, Arrangement]]) -> "SplitSize":
        """The size, from the cluster and the arrangement of each scene."""
        scenes = list(shown)
        bindings = {binding for _, arrangement in scenes for binding in arrangement}
        objects = sum(len(arrangement) for _, arrangement in scenes) / max(1, len(scenes))
        levels = len({value for value, _ in bindings}), len({category for _, category in bindings})
        return cls(split, len(scenes), len({cluster for cluster, _ in scenes}), len(bindings), objects, levels)

    def times(self, block_seeds: int) -> "SplitSize":
        """The joint size of `block_seeds` splits of this size, as if no two shared a binding."""
        return replace(
            self,
            scenes=block_seeds * self.scenes,
            clusters=block_seeds * self.clusters,
            bindings=block_seeds * self.bindings,
            levels=(block_seeds * self.levels[0], block_seeds * self.levels[1]),
        )


@dataclass(frozen=True)
class Expected:
    """The expected precision for a number of block seeds and a model's accuracy (0..1).

    half_width: half the width of the 95% interval of the accuracy. difference: the smallest difference to another model
    of about that accuracy that is detected in 80% of cases, None if no difference is.
    """

    block_seeds: int
    accuracy: float
    half_width: float
    difference: float | None


def told_split(rule: Rule) -> str:
    """The split whose accuracy is the main result: `unseen`, or the last split of class lists.

    Where no scene can be `unseen`, it is `asymmetric_unseen`, which shows what is held out.
    """
    if "unseen" in splits_that_stay_empty(rule.holdout) and rule.holdout.asymmetric:
        return ASYMMETRIC[1]
    return "unseen" if "unseen" in rule.splits else rule.splits[-1]


def expected(split: SplitSize, block_seeds: Sequence[int] = BLOCK_SEEDS) -> list[Expected]:
    """The expected precision on a split, for each of ACCURACIES and each number of block seeds."""
    return [
        Expected(seeds, accuracy, half_width(split, accuracy, seeds), difference(split.times(seeds), accuracy))
        for accuracy in ACCURACIES
        for seeds in block_seeds
    ]


def half_width(split: SplitSize, accuracy: float, block_seeds: int = 1) -> float:
    """Half the width (0..1) of the expected 95% interval of a model's accuracy, which is in 0..1, exclusive.

    The variance of the mean in logits is the sum of the variances of values, objects, bindings, clusters, and scenes.
    Each binding has the weight √objects / bindings in the mean; the squared weights of a scene's bindings add up to 1.
    The interval of one block allows for a larger variance, because the effects' size is unknown. It holds the effects
    of values, or of objects, fixed if there are fewer than 6.

    Several block seeds are pooled as in the evaluator, by a moderated t. Its variance is the weighted mean of the
    variance in the intervals and the variance between blocks.
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
    """The variance of the mean in logits and its degrees of freedom (Satterthwaite 1946). The effects' variances are
    multiplied by `unknown`; effects of fewer than `enough` values, or objects, are held fixed."""
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
    """The factor by which an interval enlarges the effects' variance, because their size is unknown."""
    return float(1 + _UNKNOWN_SPREAD * logit(accuracy) ** 2 / sqrt(split.bindings))


def _half(accuracy: float, reach: float) -> float:
    """Half the width (0..1) of an interval that extends `reach` logits to both sides."""
    return float(expit(logit(accuracy) + reach) - expit(logit(accuracy) - reach)) / 2


def difference(split: SplitSize, accuracy: float) -> float | None:
    """The smallest difference (0..1) between two models near an accuracy that `score compare` finds in 80% of cases.

    The effects on the two models are assumed to be independent, which is the worst case, so the difference has twice
    the variance of one accuracy. As in the evaluator, the difference is (t₁ + t₂) standard errors. None if it is above
    1.
    """
    unknown = _unknown(split, accuracy) if min(split.levels) >= _ENOUGH else 1
    variance, freedom = _variance(split, accuracy, unknown, _ENOUGH)
    error = accuracy * (1 - accuracy) * sqrt(2 * variance)
    least = float((stdtrit(freedom, (1 + LEVEL) / 2) + stdtrit(freedom, POWER)) * error)
    return least if least <= 1 else None


def sentence(split: SplitSize) -> str:
    """The expected precision on a split, in one line for people."""
    one, five = (_points(half_width(split, 0.75, seeds)) for seeds in (1, 5))
    more = "" if split.split == ALL else f"; with 5 block seeds ±{five}"
    if half_width(split, 0.75, 1) >= _TOO_WIDE:
        return (
            f"Too small: ±{one} points for an {split.split} accuracy of 75% ({split.clusters:,} "
            f"group{'s' * (split.clusters > 1)} of {split.bindings:,} bindings{more}). Use a rotation or more blocks."
        )
    return (
        f"{split.clusters:,} group{'s' * (split.clusters > 1)} of {split.bindings:,} bindings: an {split.split} "
        f"accuracy of 75% will have an interval of about ±{one} points{more}."
    )


def _points(share: float) -> str:
    """A share in percentage points: whole numbers from 1 on, one decimal below.

    >>> _points(0.199), _points(0.0042)
    ('20', '0.4')
    """
    return f"{100 * share:.0f}" if share >= 0.01 else f"{100 * share:.1f}"


def _shrink() -> float:
    """The square of the factor by which these effects shrink the mean in logits of a logistic model."""
    return 1 / (1 + _SHRINK * (2 * MAIN_EFFECT**2 + BINDING_EFFECT**2 + CLUSTER_EFFECT**2))


def sizes_to_plan(
    holdouts: Sequence[Holdout],
    parts: Sequence[WorldPart],
    vocabulary: Vocabulary,
    seed: int,
    objects: tuple[int, int] = (2, 2),
    exchange: str | None = None,
) -> list[SplitSize]:
    """Predict `planned_sizes` for the first holdouts of a world of these parts. `exchange`: what twins exchange; None
    for a world without twins.

    Plans only the scenes of these splits. Raises UserError if a split has no scene.
    """
    told = []
    for part in parts[: len(holdouts)]:
        split = told_split(design_of(part.holdout).rule(vocabulary, part.holdout))
        told.append(WorldPart(part.holdout, None if part.counts is None else {split: part.counts[split]}))
    if exchange is None:
        plan = plan_parts(vocabulary, told, seed, objects)
    else:
        plan = plan_with_twins(vocabulary, told, seed, objects, exchange)
    return planned_sizes(plan, holdouts, vocabulary)


def planned_sizes(planned: Iterable[Planned], holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[SplitSize]:
    """For each holdout of a plan, the size of its split `told_split`.

    Scenes of the grid are not planned for a split; the holdouts' rules assign them.
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
