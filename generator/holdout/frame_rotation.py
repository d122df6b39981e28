"""Rotations of own directions: every axis of every object's own frame is held out in one of two
turns over the same images.

The axes (left and right, in front and behind) are two groups, and the objects are dealt into two
groups A and B. Turn k holds out axis group i with object group i + k (modulo 2), as in a rotation
of bindings: turn 0 left and right of A and in front and behind of B, turn 1 the reverse.

In a planned scene each of two objects has the other one straight on one axis: within the margin of
the other axis. So one turn holds out what the object shows, and the other does not.

    turn that holds it out      pool of the cluster     in that turn    in the other turn
    the same for both objects   evaluation              unseen          seen
                                train or validation     no split        train or val
    one turn for each object    any                     no split        no split

An image that is evaluated is seen in one turn and unseen in the other, so the difficulty of an
object, an axis and an image cancels in the gap (docs/splits.md). A cluster is in the same pool in
both turns, so no turn trains on what the other evaluates.
"""

from collections.abc import Sequence

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.own_frames import is_own_direction
from generator.dataset.relations import AXIS_OF
from generator.holdout.holdout import Holdout, closed
from generator.holdout.membership import (
    SPLITS,
    Arrangement,
    Fact,
    Placing,
    cluster_of,
    draw_cluster,
    held_out_facts,
    named_triples,
)
from generator.holdout.rotation import Groups, deal_groups, turn_bindings
from generator.holdout.syntax import own_directions
from generator.vocabulary.schema import Vocabulary

TURNS = 2
"""One turn for each axis of an object's own frame. Training could not show an object without one of
the two axes, so no more can be held out at a time."""
_FEWEST_OBJECTS = 2 * TURNS
"""A scene shows two different objects, which may be of one group."""

# Shares of the clusters that validate and that evaluate, as in a block of relations
# (membership.py). All clusters can evaluate, so most are left for training.
_VALIDATION_SHARE = 0.05
_EVALUATION_SHARE = 0.15


def draw_frame_turns(
    *, spec: str, vocabulary: Vocabulary, turns: int, block_seed: int
) -> list[Holdout]:
    """The holdout of each turn.

    Args:
        spec: The value of `--holdout`, for messages.
        vocabulary: The world's vocabulary.
        turns: The number that the user gave; only 2 is possible.
        block_seed: Deals the objects.

    Returns:
        Two holdouts. Their (direction, object) are disjoint, and together they are all.

    Raises:
        UserError: The number is another one, or the vocabulary lacks an axis or objects.
    """
    axes = _axes(spec, vocabulary)
    if turns != TURNS:
        raise UserError(
            f"--holdout {spec}: a rotation of own directions has {TURNS} turns, one for each axis "
            f"of an object's own frame; take relation:object=turns={TURNS}."
        )
    # A family with own directions is refused if one of its objects has no front.
    objects = list(vocabulary.objects)
    if len(objects) < _FEWEST_OBJECTS:
        raise UserError(
            f"--holdout {spec}: a rotation of own directions needs at least {_FEWEST_OBJECTS} "
            f"objects with a front, two in each group, and the family '{vocabulary.name}' has "
            f'{len(objects)}; hold out a direction of one, such as "own-left: {objects[0]}".'
        )
    # Only objects are dealt: the two axes are the groups of directions.
    stream = Stream("frame rotation", block_seed)
    object_groups = deal_groups(objects, TURNS, stream)
    holdouts = []
    for turn in range(TURNS):
        # Any subject stands for all of them, which the closure adds.
        triples = [
            (objects[0], direction, ground)
            for direction, ground in turn_bindings(axes, object_groups, turn)
        ]
        holdouts.append(
            Holdout(
                vocabulary.tested,
                vocabulary.category,
                block_seed=block_seed,
                triples=closed(triples, vocabulary, True),
                design="rotation",
                asked=(f"relation:object=turns={TURNS}",),
                turn=turn,
                value_groups=axes,
                object_groups=object_groups,
            )
        )
    return holdouts


def _axes(spec: str, vocabulary: Vocabulary) -> Groups:
    """The own directions of a family, by axis. Raises UserError if it has less than two axes."""
    directions_of_axis: dict[object, list[str]] = {}
    for direction in own_directions(spec, vocabulary):
        directions_of_axis.setdefault(AXIS_OF[direction], []).append(direction)
    if len(directions_of_axis) < TURNS:
        raise UserError(
            f"--holdout {spec}: the family '{vocabulary.name}' has only one axis in an object's "
            f"own frame, and a rotation needs both, left and right as well as in front and behind; "
            f"take pug-frames or things-frames, or hold out a block such as relation:object=2x3."
        )
    return tuple(tuple(directions) for directions in directions_of_axis.values())


class FrameRotationRule:
    """Assigns scenes to the splits of one turn.

    Whether a cluster trains, validates or evaluates does not depend on the turn: it is drawn by the
    groups, which both turns share.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary = vocabulary
        self.holdout = holdout
        self.splits = SPLITS
        groups = [",".join(group) for group in (*holdout.value_groups, *holdout.object_groups)]
        self._draw = draw_cluster("rotation splits", holdout.block_seed, holdout.kind, *groups)

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """Split and held-out content of a scene with these bindings, left object first, and
        relations."""
        held_out = held_out_facts(arrangement, facts, self.holdout)
        split = self._split(arrangement, facts, held_out)
        return Placing(split, [], named_triples(arrangement, held_out))

    def _split(
        self, arrangement: Arrangement, facts: Sequence[Fact], held_out: Sequence[Fact]
    ) -> str | None:
        unseen_grounds = {ground for _, _, ground in held_out}
        seen_grounds = set()
        for fact in facts:
            _, relation, ground = fact
            if is_own_direction(relation) and fact not in held_out:
                seen_grounds.add(ground)

        pool = self._pool(arrangement)
        if held_out:
            # What the other turn holds out too would be unseen there as well.
            is_unseen = not seen_grounds and len(unseen_grounds) == len(arrangement)
            return "unseen" if is_unseen and pool == "evaluation" else None
        if pool == "evaluation":
            # The other turn leaves it unseen only if it shows a side of every object.
            return "seen" if len(seen_grounds) == len(arrangement) else None
        return pool

    def _pool(self, arrangement: Arrangement) -> str:
        """`train`, `val` or `evaluation`: the pool of a cluster in both turns."""
        draw = self._draw(cluster_of(arrangement))
        if draw < _VALIDATION_SHARE:
            return "val"
        return "evaluation" if draw < _VALIDATION_SHARE + _EVALUATION_SHARE else "train"
