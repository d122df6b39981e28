"""Rotations: every binding is held out in exactly one of K turns over the same images.

Values and objects are dealt into K groups each. Turn k holds out the bindings of value group i with
object group i + k (modulo K), for all i: K sub-blocks on a diagonal of the grid of groups. Over the
K turns every binding is unseen once and seen K - 1 times, which is cross-validation over bindings:
the difficulty of a binding, a value, an object or an image is the same where it is unseen and where
it is seen, so it cancels in the gap (docs/splits.md).

An image is in the same pool in every turn:

    values          objects         pool
    one group       one group       evaluation: unseen in one turn, seen in all others
    one group       several groups  mostly training; a drawn fifth of the clusters is for validation
    several groups  one group         and evaluation: partial where a turn holds out some bindings
    several groups  several groups  training, in the turns that hold out none of its bindings

In the first three rows an exchange of values keeps the number of held-out bindings in every turn,
so a caption and its foil are equally familiar. In the last row it may not, so these images only
train.
"""

from collections.abc import Sequence
from itertools import product

from generator.base.streams import Stream
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import (
    SPLITS,
    Arrangement,
    Fact,
    Placing,
    cluster_of,
    draw_cluster,
    held_out_bindings,
)
from generator.vocabulary.schema import Vocabulary

MOST_DEFAULT_TURNS = 4
"""Four turns hold out a quarter of the bindings at a time. More turns cost a training each, and the
interval of the gap narrows little (docs/splits.md, "Which design?")."""
_VALIDATION_SHARE = 0.05
_EVALUATION_SHARE = 0.15
"""Shares of the clusters of the second and third row that validate and that evaluate `partial`."""

Groups = tuple[tuple[str, ...], ...]
"""The names of each group."""


def most_turns(vocabulary: Vocabulary, kind: str) -> int:
    """The largest number of turns: each group needs two names, for scenes of two different ones."""
    return min(len(vocabulary.values(kind)), len(vocabulary.objects)) // 2


def deal_groups(names: Sequence[str], number: int, stream: Stream) -> Groups:
    """Deal names into groups whose sizes differ by at most one, like cards around a table.

    >>> from generator.base.streams import Stream
    >>> groups = deal_groups(["a", "b", "c", "d", "e"], 2, Stream("example"))
    >>> sorted(map(len, groups)), sorted(name for group in groups for name in group)
    ([2, 3], ['a', 'b', 'c', 'd', 'e'])
    """
    shuffled = stream.shuffled(names)
    return tuple(tuple(shuffled[start::number]) for start in range(number))


def draw_turns(
    *, vocabulary: Vocabulary, kind: str, turns: int, block_seed: int, holdout_option: str
) -> list[Holdout]:
    """The holdout of each turn.

    Args:
        vocabulary: The world's vocabulary.
        kind: The attribute kind under test.
        turns: K, from 2 to `most_turns`.
        block_seed: Draws the groups.
        holdout_option: The value of `--holdout`, kept in each holdout.

    Returns:
        K holdouts. Their bindings are disjoint, and together they are all bindings.
    """
    # One stream for both, so that a seed means one rotation.
    stream = Stream("rotation", block_seed, kind, turns)
    value_groups = deal_groups(vocabulary.values(kind), turns, stream)
    object_groups = deal_groups(list(vocabulary.objects), turns, stream)
    return [
        Holdout(
            kind,
            vocabulary.category,
            values=tuple(vocabulary.values(kind)),
            objects=tuple(vocabulary.objects),
            block_seed=block_seed,
            bindings=turn_bindings(value_groups, object_groups, turn),
            design="rotation",
            asked=(holdout_option,),
            turn=turn,
            value_groups=value_groups,
            object_groups=object_groups,
        )
        for turn in range(turns)
    ]


def turn_bindings(value_groups: Groups, object_groups: Groups, turn: int) -> tuple[Binding, ...]:
    """The bindings that a turn holds out: value group i with object group i + turn (modulo K).

    >>> turn_bindings((("red",), ("blue",)), (("cube",), ("cone",)), 1)
    (('red', 'cone'), ('blue', 'cube'))
    """
    bindings: list[Binding] = []
    for i, values in enumerate(value_groups):
        objects = object_groups[(i + turn) % len(object_groups)]
        bindings.extend(product(values, objects))
    return tuple(bindings)


class RotationRule:
    """Assigns scenes to the splits of one turn, for any number of objects.

    Which images are for training, validation and evaluation does not depend on the turn: it follows
    from the groups, and for the second and third row of the module's table from a draw for each
    cluster. So an evaluation image is in no turn's training.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary = vocabulary
        self.holdout = holdout
        self.splits = (*SPLITS, *(dose.split for dose in holdout.doses))
        self._dosed_scenes = {scene_id for dose in holdout.doses for scene_id in dose.scenes}
        self._dosed_split = {
            binding: dose.split for dose in holdout.doses for binding in dose.bindings
        }
        self._group_of_value = _group_numbers(holdout.value_groups)
        self._group_of_object = _group_numbers(holdout.object_groups)
        # The same key in every turn: a cluster is drawn once for all of them.
        groups = [",".join(group) for group in (*holdout.value_groups, *holdout.object_groups)]
        self._draw = draw_cluster("rotation splits", holdout.block_seed, holdout.kind, *groups)

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """Split and held-out content of a scene with these bindings, left object first."""
        held_out = held_out_bindings(arrangement, self.holdout)
        pool = self.pool(arrangement)
        if pool == "evaluation":
            split = self._evaluation_split(arrangement, held_out)
        elif pool == "train" and scene_id in self._dosed_scenes:
            split = "train"
        else:
            # A turn does not train or validate on an image that shows what it holds out.
            split = None if held_out else pool
        return Placing(split, held_out)

    def _evaluation_split(
        self, arrangement: Arrangement, held_out: Sequence[Binding]
    ) -> str | None:
        if not held_out:
            return "seen"
        dosed_splits = {self._dosed_split.get(binding, "unseen") for binding in held_out}
        if len(held_out) == len(arrangement):
            # All bindings are of one sub-block, so they have one dose.
            return next(iter(dosed_splits))
        # Partial scenes are about bindings that training never shows.
        return "partial" if dosed_splits == {"unseen"} else None

    def pool(self, arrangement: Arrangement) -> str:
        """`train`, `val` or `evaluation`: the pool of a scene in every turn."""
        value_groups = {self._group_of_value[value] for value, _ in arrangement}
        object_groups = {self._group_of_object[category] for _, category in arrangement}
        is_sub_block = len(value_groups) == len(object_groups) == 1
        if not is_sub_block and len(value_groups) > 1 and len(object_groups) > 1:
            return "train"
        draw = self._draw(cluster_of(arrangement))
        # With two turns, images of a group and two groups have a held-out binding in both, so
        # validation comes from the sub-blocks; else it spares them, since they answer the question.
        validates = is_sub_block == (len(self.holdout.value_groups) == 2)
        if validates and draw < _VALIDATION_SHARE:
            return "val"
        if is_sub_block or draw < _VALIDATION_SHARE + _EVALUATION_SHARE:
            return "evaluation"
        return "train"


def _group_numbers(groups: Groups) -> dict[str, int]:
    return {name: number for number, group in enumerate(groups) for name in group}
