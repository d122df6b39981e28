"""Which arrangements belong to which split of a held-out block, with familiarity the same for truth and foil."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from generator.dataset.errors import UserError
from generator.holdout import Holdout
from generator.streams import Stream
from generator.vocabulary import Vocabulary

SPLITS = ("train", "val", "seen", "partial", "unseen")
_VAL_SHARE, _SEEN_SHARE = 0.05, 0.15

Binding = tuple[str, str]
Arrangement = tuple[Binding, Binding]


def arrangements(vocabulary: Vocabulary, kind: str) -> Iterator[Arrangement]:
    """Every ordered pair of bindings that differ in both value and object: n(n-1) m(m-1) of them for n values, m objects.

    The order is that of the image, left object first.
    """
    for first, second in permutations(vocabulary.objects, 2):
        for value, other in permutations(vocabulary.values(kind), 2):
            yield ((value, first), (other, second))


def swapped(arrangement: Arrangement) -> Arrangement:
    """The arrangement with the two values exchanged."""
    (value, thing), (other_value, other_thing) = arrangement
    return ((other_value, thing), (value, other_thing))


def cluster_of(arrangement: Arrangement) -> str:
    """Name of the group of arrangements with the same values and objects in any order or pairing.

    >>> cluster_of((("red", "cube"), ("blue", "sphere")))
    'blue+red|cube+sphere'
    """
    values, objects = zip(*arrangement, strict=True)
    return "+".join(sorted(values)) + "|" + "+".join(sorted(objects))


def held_out_bindings(arrangement: Arrangement, holdout: Holdout) -> list[Binding]:
    """The bindings of the arrangement that are held out."""
    return [binding for binding in arrangement if holdout.holds_out(*binding)]


@dataclass(frozen=True)
class Placing:
    """Where an arrangement goes: its split (None for none) and the held-out bindings of it and of its swap."""

    split: str | None
    held_out: list[Binding]
    held_out_swapped: int

    @property
    def symmetric(self) -> bool:
        """Whether truth and swapped foil are equally familiar."""
        return len(self.held_out) == self.held_out_swapped


class SplitPlan:
    """Assignment of every arrangement of a world to a split of a benchmark, a function of the holdout alone.

    Clusters go to one split whole: those with 0, 1 or 2 held-out bindings in every arrangement to train, val or
    seen; to partial; to unseen. In a cluster whose swaps differ in familiarity the seen arrangements train and the
    others are in no split (Peng et al. 2026, section 4.1: positive and negative equally familiar).
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.holdout = holdout
        seen: list[str] = []
        self._counts: dict[str, int] = {}
        for arrangement in arrangements(vocabulary, holdout.kind):
            cluster = cluster_of(arrangement)
            if cluster in self._counts:
                continue
            placing = self._familiarity(arrangement)
            self._counts[cluster] = len(placing.held_out) if placing.symmetric else -1
            if self._counts[cluster] == 0:
                seen.append(cluster)
        shuffled = Stream("splits", holdout.block_seed, holdout.kind, *holdout.values, *holdout.objects).shuffled(seen)
        n_val, n_seen = round(len(seen) * _VAL_SHARE), round(len(seen) * _SEEN_SHARE)
        if not (n_val and n_seen and 1 in self._counts.values()):
            raise UserError(
                f"A {len(holdout.values)}x{len(holdout.objects)} block in this vocabulary leaves {len(seen)} seen groups of "
                f"scenes, too few for train, val, seen and partial splits; hold out less or add values or objects."
            )
        self._val = set(shuffled[:n_val])
        self._seen = set(shuffled[n_val : n_val + n_seen])

    def place(self, arrangement: Arrangement) -> Placing:
        """Split and familiarity of an arrangement; its values and objects need only be words."""
        placing = self._familiarity(arrangement)
        count = self._counts.get(cluster := cluster_of(arrangement))
        if count is None:
            return placing
        if count == 0:
            split: str | None = "val" if cluster in self._val else "seen" if cluster in self._seen else "train"
        elif count < 0:
            split = None if placing.held_out else "train"
        else:
            split = ("partial", "unseen")[count - 1]
        return Placing(split, placing.held_out, placing.held_out_swapped)

    def _familiarity(self, arrangement: Arrangement) -> Placing:
        return Placing(
            None,
            held_out_bindings(arrangement, self.holdout),
            len(held_out_bindings(swapped(arrangement), self.holdout)),
        )
