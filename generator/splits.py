"""Which arrangements belong to which split of a held-out block, with familiarity the same for truth and foil."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from generator.holdout import Holdout
from generator.streams import Stream
from generator.vocabulary import Vocabulary

SPLITS = ("train", "val", "seen", "partial", "unseen")
_VAL_SHARE, _SEEN_SHARE = 0.05, 0.15

Binding = tuple[str, str]
Arrangement = tuple[Binding, ...]


def arrangements(vocabulary: Vocabulary, kind: str) -> Iterator[Arrangement]:
    """Every ordered pair of bindings that differ in both value and object: n(n-1) m(m-1) of them for n values, m objects.

    The order is that of the image, left object first.
    """
    for first, second in permutations(vocabulary.objects, 2):
        for value, other in permutations(vocabulary.values(kind), 2):
            yield ((value, first), (other, second))


def cluster_of(arrangement: Arrangement) -> str:
    """Name of the group of arrangements with the same values and objects in any order or pairing.

    >>> cluster_of((("red", "cube"), ("blue", "sphere"), ("red", "cone")))
    'blue+red+red|cone+cube+sphere'
    """
    values, objects = zip(*arrangement, strict=True)
    return "+".join(sorted(values)) + "|" + "+".join(sorted(objects))


def held_out_bindings(arrangement: Arrangement, holdout: Holdout) -> list[Binding]:
    """The bindings of the arrangement that are held out, each as often as it occurs."""
    return [binding for binding in arrangement if holdout.holds_out(*binding)]


@dataclass(frozen=True)
class Placing:
    """Where an arrangement goes: its split (None for none), its held-out bindings, and whether truth and foils are
    equally familiar: every other pairing of its values with its objects has as many held-out bindings."""

    split: str | None
    held_out: list[Binding]
    symmetric: bool


class SplitPlan:
    """Assignment of every arrangement, of any number of objects, to a split of a benchmark; a function of the holdout alone.

    Of n objects let p have a value of the block and q a category of the block. Pairings of the same values with the
    same objects have from max(0, p + q - n) to min(p, q) held-out bindings: the same number in all exactly when p or
    q is 0 or n. Such a cluster is symmetric and goes to one split whole: train, val or seen without held-out
    bindings, unseen with n, partial between. In the others the arrangements without held-out binding train, the rest
    are in no split (Peng et al. 2026, section 4.1: positive and negative equally familiar).
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary = vocabulary
        self.holdout = holdout

    def place(self, arrangement: Arrangement) -> Placing:
        """Split and familiarity of an arrangement."""
        n = len(arrangement)
        held_out = held_out_bindings(arrangement, self.holdout)
        values = sum(value in self.holdout.values for value, _ in arrangement)
        objects = sum(thing in self.holdout.objects for _, thing in arrangement)
        symmetric = values in (0, n) or objects in (0, n)
        split: str | None = None
        if not held_out:
            split = self._familiar_split(arrangement) if symmetric else "train"
        elif symmetric:
            split = "unseen" if len(held_out) == n else "partial"
        return Placing(split, held_out, symmetric)

    def _familiar_split(self, arrangement: Arrangement) -> str:
        block = self.holdout
        stream = Stream("splits", block.block_seed, block.kind, *block.values, *block.objects, cluster_of(arrangement))
        draw = stream.uniform(0, 1)
        if draw < _VAL_SHARE:
            return "val"
        return "seen" if draw < _VAL_SHARE + _SEEN_SHARE else "train"
