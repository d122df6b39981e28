"""Plans worlds of ladders (`gen ladder`): the same scenes in several steps of one factor.

1. Two-object scenes without a holdout are planned with twins, whose objects exchange their values
   of the tested kind. So values, objects and bindings are balanced as in other worlds, and of two
   captions that differ by the exchange, each is true equally often: a model that sees only the
   texts is at chance at every step.
2. Each scene gets the distractors that the hardest step shows. They have other categories and
   other values than the targets.
3. Each scene is listed once a step, hardest first, then its twin once a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.holdout.membership import ALL, cluster_of
from generator.holdout.request import WorldPart
from generator.plan.minimal_pairs import plan_with_twins
from generator.scene.exchange import Exchange
from generator.scene.ladder import (
    CAPTION_LENGTH,
    CONTRAST,
    DISTRACTORS,
    FACTORS,
    INTERFERENCE,
    OCCLUSION,
    SIZE,
    Ladder,
    steps_of_images,
)
from generator.scene.layouts import Layout, draw_layout
from generator.scene.planned import Attributes, Planned, scene_id
from generator.vocabulary.schema import Vocabulary

STEPS = 6
"""Default number of steps."""
MOST_STEPS = 8
"""The most steps: with nine, captions of ten objects would be longer than the context of many
models."""
_LAYOUTS = 1000
"""Layouts that are drawn before a scene counts as impossible: with stacks, one of a few dozen has
no object on a later one."""
_TARGETS = 2
_DIGITS = 4
"""Of the hidden shares; the names of items have them."""


@dataclass(frozen=True)
class LadderRequest:
    """What the ladders of a world grade."""

    factor: str
    """One of generator.scene.ladder.FACTORS."""
    steps: int = STEPS
    """The number of steps, 2 to MOST_STEPS."""

    @property
    def n_distractors(self) -> int:
        """How many objects beside the targets the hardest step shows."""
        has_distractors = self.factor in (DISTRACTORS, INTERFERENCE, CAPTION_LENGTH)
        return self.steps - 1 if has_distractors else 0

    @property
    def objects(self) -> tuple[int, int]:
        """The least and the most objects of a scene."""
        most = _TARGETS + self.n_distractors
        return (_TARGETS, most) if self.factor == DISTRACTORS else (most, most)

    @property
    def magnitudes(self) -> tuple[float, ...]:
        """The magnitude of the factor at each step, from the easiest to the hardest."""
        return magnitudes(self.factor, self.steps)


def magnitudes(factor: str, steps: int) -> tuple[float, ...]:
    """Return the magnitudes of a factor.

    Args:
        factor: One of FACTORS.
        steps: The number of steps.

    Returns:
        For `distractors`, their number; for `interference`, the number of distractors with a
        target's value; for `caption-length`, the number of objects that a caption names; for
        `size`, the image area of an object as a share of that of the first step; for `contrast`,
        the share that is kept; for `occlusion`, the share of each target that is hidden.

    Example:
        >>> magnitudes("contrast", 4), magnitudes("caption-length", 3)
        ((1.0, 0.5, 0.25, 0.125), (2.0, 3.0, 4.0))
    """
    if factor in (SIZE, CONTRAST):
        return tuple(0.5**step for step in range(steps))
    if factor == OCCLUSION:
        # Less than 1, so that every step shows something of each target.
        return tuple(round(step / steps, _DIGITS) for step in range(steps))
    if factor == CAPTION_LENGTH:
        return tuple(float(n) for n in range(_TARGETS, _TARGETS + steps))
    return tuple(float(n) for n in range(steps))


def check_ladder(request: LadderRequest, vocabulary: Vocabulary) -> None:
    """Check that a family has what the ladders need.

    Args:
        request: What is graded.
        vocabulary: Of the world.

    Raises:
        UserError: The factor is unknown, the number of steps is impossible, or the family has too
            few objects or values.
    """
    if request.factor not in FACTORS:
        raise UserError(
            f"Unknown factor '{request.factor}'; {did_you_mean(request.factor, list(FACTORS))}"
        )
    if not 2 <= request.steps <= MOST_STEPS:
        raise UserError(
            f"--steps {request.steps}: expected 2 to {MOST_STEPS}, since a ladder compares steps."
        )
    n_objects = _TARGETS + request.n_distractors
    if n_objects > len(vocabulary.objects):
        raise UserError(
            f"--factor {request.factor} with {request.steps} steps needs {n_objects} different "
            f"objects, and the family '{vocabulary.name}' has {len(vocabulary.objects)}; take "
            f"fewer --steps or another --family."
        )
    n_values = len(vocabulary.values(vocabulary.tested))
    if request.n_distractors and n_values <= _TARGETS:
        raise UserError(
            f"--factor {request.factor} needs a {vocabulary.tested} beside those of the two "
            f"targets, and the family '{vocabulary.name}' has {n_values}; take another --family."
        )


def plan_ladders(
    vocabulary: Vocabulary, part: WorldPart, *, seed: int, request: LadderRequest
) -> list[Planned]:
    """Plan the scenes of a world of ladders.

    Args:
        vocabulary: Of the world.
        part: An empty holdout, and the number of ladders: the two halves of a ladder, which
            exchange their values, count as two.
        seed: Of the plan.
        request: What is graded.

    Returns:
        The scenes in order. Those after the first one of a ladder have its id in `twin_of`.

    Raises:
        UserError: The family has too few objects or values, or no layout for so many objects.
    """
    check_ladder(request, vocabulary)
    plan: list[Planned] = []
    for number, original in enumerate(_originals(vocabulary, part, seed)):
        scene = original
        if request.n_distractors:
            stream = Stream("ladder", seed, number)
            scene = _with_distractors(original, request, vocabulary=vocabulary, stream=stream)
        else:
            ladder = Ladder(request.factor, request.magnitudes, 0, False, (0, 1), ())
            scene = original._replace(ladder=ladder)
        plan += _steps(scene, first_number=len(plan))
    return plan


def _originals(vocabulary: Vocabulary, part: WorldPart, seed: int) -> Iterator[Planned]:
    """The two-object scenes that have an exchange twin, as many as half of the requested ones."""
    requested = (part.counts or {})[ALL]
    n_pairs = requested // 2
    n_planned = requested
    originals: list[Planned] = []
    # Some scenes can have no twin; then more are planned.
    while len(originals) < n_pairs:
        larger_part = replace(part, counts={ALL: n_planned})
        plan = plan_with_twins(vocabulary, [larger_part], seed)
        originals = [scene for scene in plan if scene.exchange is not None and not scene.twin_of]
        n_planned *= 2
    yield from originals[:n_pairs]


def _with_distractors(
    original: Planned, request: LadderRequest, *, vocabulary: Vocabulary, stream: Stream
) -> Planned:
    """A scene with distractors among its two objects, and with a new layout."""
    kind = vocabulary.tested
    target_categories = {category for category, _ in original.objects}
    target_values = {attributes[kind] for _, attributes in original.objects}
    other_categories = [name for name in vocabulary.objects if name not in target_categories]
    distractors = []
    for category in stream.shuffled(other_categories)[: request.n_distractors]:
        attributes = _draw_attributes(vocabulary, target_values, stream)
        distractors.append((category, attributes))

    # The targets stay in their order from left to right, so that the exchange keeps its meaning.
    n_objects = _TARGETS + request.n_distractors
    targets = stream.sample(range(n_objects), _TARGETS)
    first, second = targets
    places = stream.shuffled([i for i in range(n_objects) if i not in targets])
    objects = dict(zip(targets, original.objects, strict=True))
    objects |= dict(zip(places, distractors, strict=True))
    ordered = tuple(objects[i] for i in range(n_objects))

    arrangement = tuple((attributes[kind], category) for category, attributes in ordered)
    appears_at = {first: 0, second: 0}
    if request.factor == DISTRACTORS:
        # Each step adds a distractor.
        for step, place in enumerate(places, 1):
            appears_at[place] = step
    categories = [category for category, _ in ordered]
    layout = draw_supported_layout(categories, appears_at, stream=stream, vocabulary=vocabulary)
    return original._replace(
        cluster_id=cluster_of(arrangement),
        objects=ordered,
        depth_order=layout.depth_order,
        rests_on=layout.rests_on,
        clumps=layout.clumps,
        exchange=Exchange(kind, first, second),
        ladder=Ladder(request.factor, request.magnitudes, 0, False, (first, second), tuple(places)),
    )


def draw_supported_layout(
    categories: Sequence[str],
    appears_at: Mapping[int, int],
    *,
    stream: Stream,
    vocabulary: Vocabulary,
) -> Layout:
    """Draw a layout in which nothing stands on an object that appears later.

    Args:
        categories: The category of each object, from left to right.
        appears_at: The step at which an object appears; 0 for all others.
        stream: Draws the layout.
        vocabulary: Of the world.

    Returns:
        The layout.

    Raises:
        UserError: None of many layouts is such a one.
    """
    for _ in range(_LAYOUTS):
        layout = draw_layout(categories, stream, vocabulary)
        has_support = True
        for upper, lower in enumerate(layout.rests_on):
            if lower is None:
                continue
            if appears_at.get(lower, 0) > appears_at.get(upper, 0):
                has_support = False
        if has_support:
            return layout
    raise UserError(
        f"No layout of {len(categories)} objects keeps every object on the ground or on one that "
        f"appears before it; take fewer --steps, or a family without stacks such as clevr-many."
    )


def _draw_attributes(vocabulary: Vocabulary, target_values: set[str], stream: Stream) -> Attributes:
    """Random values of every kind for a distractor; of the tested kind none of the targets'."""
    attributes = {}
    for kind in vocabulary.attributes:
        values: Sequence[str] = list(vocabulary.values(kind))
        if kind == vocabulary.tested:
            values = [value for value in values if value not in target_values]
        attributes[kind] = values[stream.below(len(values))]
    return attributes


def _steps(scene: Planned, first_number: int) -> Iterator[Planned]:
    """The scenes of a ladder, hardest first; `first_number`: that of the first of them."""
    assert scene.ladder is not None
    first_id = scene_id(first_number)
    number = first_number
    for is_exchanged in (False, True):
        for step in reversed(steps_of_images(scene.ladder)):
            yield scene._replace(
                scene_id=scene_id(number),
                twin_of=None if number == first_number else first_id,
                ladder=scene.ladder._replace(step=step, is_exchanged=is_exchanged),
            )
            number += 1
