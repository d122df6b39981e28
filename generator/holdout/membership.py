"""Assigns scenes to the splits of a holdout, so that truth and foil are equally familiar."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from typing import Protocol

from generator.base.streams import Stream
from generator.dataset.own_frames import is_own_direction
from generator.holdout.holdout import Binding, Holdout, Triple
from generator.vocabulary.schema import Vocabulary

SPLITS = ("train", "val", "seen", "partial", "unseen")
UNSEEN_ATOMS = "unseen_atoms"
ALL = "all"
"""The only split of a world in which nothing is held out."""
ASYMMETRIC = ("asymmetric_seen", "asymmetric_unseen")
"""The splits of asymmetric clusters, with `asymmetric`. In the first, a true caption names nothing
held out and its foil does; in the second, the reverse."""
FAMILIAR = ("val", "seen", "partial", *ASYMMETRIC)
"""The splits in which training shows every binding of a scene, except held-out ones."""
CLAIMS = ("seen", "unseen", "id_test", "ood_test", ALL)
"""The splits that the claims of a benchmark are about."""
# Shares of the symmetric clusters without anything held out that validate and that evaluate, and of
# the asymmetric clusters that evaluate. Training gets the rest.
_VAL_SHARE, _SEEN_SHARE, _ASYMMETRIC_SHARE = 0.05, 0.15, 0.2

Arrangement = tuple[Binding, ...]
"""The binding of each object of a scene, left object first."""
Fact = tuple[int, str, int]
"""A relation that holds between two objects of a scene: (subject, relation, object), objects
numbered from the left."""


def arrangements(vocabulary: Vocabulary, kind: str) -> Iterator[Arrangement]:
    """Every ordered pair of bindings that differ in both value and object: n(n-1) m(m-1) pairs for
    n values, m objects.

    The order is that of the image, left object first.
    """
    for first, second in permutations(vocabulary.objects, 2):
        for value, other in permutations(vocabulary.values(kind), 2):
            yield ((value, first), (other, second))


def cluster_of(arrangement: Arrangement, triples: Sequence[Triple] = ()) -> str:
    """Name of an arrangement's cluster: all arrangements with the same values and objects in any
    order or pairing.

    If relations are held out, scenes of a cluster also show the same held-out `triples`.

    >>> cluster_of((("red", "cube"), ("blue", "sphere"), ("red", "cone")))
    'blue+red+red|cone+cube+sphere'
    """
    values, objects = zip(*arrangement, strict=True)
    parts = ["+".join(sorted(values)), "+".join(sorted(objects))]
    if triples:
        parts.append("+".join(sorted({" ".join(triple) for triple in triples})))
    return "|".join(parts)


def held_out_bindings(arrangement: Arrangement, holdout: Holdout) -> list[Binding]:
    """List the held-out bindings of an arrangement.

    Args:
        arrangement: The bindings of a scene, left object first.
        holdout: The holdout.

    Returns:
        The bindings, with duplicates.
    """
    return [binding for binding in arrangement if holdout.holds_out(*binding)]


def held_out_facts(arrangement: Arrangement, facts: Sequence[Fact], holdout: Holdout) -> list[Fact]:
    """List the facts of a scene whose triples are held out.

    Args:
        arrangement: The bindings of the scene, left object first.
        facts: Relations as (object, relation, object), objects by their places.
        holdout: The holdout.

    Returns:
        The facts.
    """
    categories = [category for _, category in arrangement]
    return [
        (i, name, j)
        for i, name, j in facts
        if holdout.holds_out_triple(categories[i], name, categories[j])
    ]


def tested_facts(
    arrangement: Arrangement, facts: Sequence[Fact], *, holdout: Holdout, split: str
) -> list[Fact]:
    """List the facts of an evaluated scene that its captions test: the held-out ones.

    An image that is seen in this turn of a rotation of own directions is unseen in the other turn,
    and is asked the same there. So its captions test what the other turn holds out.

    Args:
        arrangement: The bindings of the scene, left object first.
        facts: Relations as (object, relation, object), objects by their places.
        holdout: The holdout.
        split: The split of the scene.

    Returns:
        The facts; empty if captions may name any relation.
    """
    if holdout.rotates_frames and split == "seen":
        return [fact for fact in facts if is_own_direction(fact[1])]
    return held_out_facts(arrangement, facts, holdout)


@dataclass(frozen=True)
class Placing:
    """What a rule says of a scene."""

    split: str | None
    """Its split; None if it is in no split."""
    held_out: list[Binding]
    """Its held-out bindings, with duplicates."""
    triples: tuple[Triple, ...] = ()
    """Its held-out triples, sorted, without duplicates."""


class Rule(Protocol):
    """Assigns scenes to the splits of a holdout."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the scenes."""
        ...

    @property
    def holdout(self) -> Holdout:
        """The holdout."""
        ...

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of all splits, in the order in which tables list them."""
        ...

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """The split of a scene, and what it shows of the holdout.

        Args:
            arrangement: the binding of each object, left object first.
            facts: the relations that hold; only held-out ones matter.
            scene_id: of the scene, by which some rules divide scenes with the same content.
        """
        ...


def draw_cluster(*key: str | int) -> Callable[[str], float]:
    """A function that gives each cluster its number in 0..1, drawn from the stream of `key` and the
    cluster."""

    @lru_cache(100_000)  # creating a seeded generator is the slowest step of assigning a scene
    def draw(cluster: str) -> float:
        return Stream(*key, cluster).uniform(0, 1)

    return draw


class SplitPlan:
    """The rule of bindsplit, coverage and systematicity, for any number of objects; a function of
    the holdout alone.

    An object is held out by its binding, or by a held-out relation to another object. The split of
    a scene follows from how many of its objects are:

        nothing held out                                      train, val or seen
        everything: every binding, and every object in a
        held-out triple                                       unseen
        some                                                  partial

    Evaluation needs truth and foil equally familiar: pairing the same values with the same objects
    in another way must not change the number of held-out bindings. Clusters where this is so are
    symmetric, and a symmetric cluster goes to one split as a whole. In other clusters, scenes
    without anything held out are in train, the rest in no split (Peng et al. 2026, section 4.1). If
    the holdout is `asymmetric`, a fifth of these other clusters have separate splits:
    `asymmetric_seen` for scenes without anything held out, else `asymmetric_unseen`.

    A scene with a value or object that is absent from training is in `unseen_atoms` (Ma et al.
    2023, section 3.3). If nothing is held out, every scene is in `all`.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary = vocabulary
        self.holdout = holdout
        self.splits = _splits_of(holdout)
        # Other blocks draw other clusters for validation, whatever their seed.
        triples = [" ".join(triple) for triple in holdout.triples]
        key = [*holdout.values, *holdout.objects, *triples]
        self._draw_split = draw_cluster("splits", holdout.block_seed, holdout.kind, *key)
        self._draw_asymmetric = draw_cluster("asymmetric", holdout.block_seed, holdout.kind, *key)

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """Split and held-out content of a scene with these bindings, left object first, and
        relations."""
        held_out = held_out_bindings(arrangement, self.holdout)
        relations: list[Fact] = []
        if self.holdout.triples:
            relations = held_out_facts(arrangement, facts, self.holdout)
        split = self._split(arrangement, held_out, relations)
        return Placing(split, held_out, named_triples(arrangement, relations))

    def _split(
        self, arrangement: Arrangement, held_out: Sequence[Binding], relations: Sequence[Fact]
    ) -> str | None:
        """The split of a scene, from its held-out bindings and relations."""
        holdout = self.holdout
        # Before all else: such a scene tests the absent name, whatever else it shows.
        if any(holdout.absent(*binding) for binding in arrangement):
            return UNSEEN_ATOMS
        if holdout.is_empty:
            return ALL
        # Asymmetric scenes cannot be evaluated fairly: the more familiar text would be the guess.
        if is_symmetric(arrangement, holdout):
            if not held_out and not relations:
                return self._familiar_split(arrangement)
            if self._all_held_out(len(arrangement), held_out, relations):
                return "unseen"
            return "partial"

        if holdout.asymmetric:
            is_for_evaluation = self._draw_asymmetric(cluster_of(arrangement)) < _ASYMMETRIC_SHARE
            if is_for_evaluation:
                has_asymmetric_pair = any(
                    asymmetric(*pair, holdout) for pair in combinations(arrangement, 2)
                )
                # These splits speak of bindings; a held-out relation would mix in another
                # familiarity.
                if relations or not has_asymmetric_pair:
                    return None
                return ASYMMETRIC[bool(held_out)]
        return None if held_out or relations else "train"

    def _all_held_out(self, n: int, held_out: Sequence[Binding], relations: Sequence[Fact]) -> bool:
        """Whether all n objects of a scene are held out, by bindings and by relations, if the
        holdout has either."""
        if self.holdout.bindings and len(held_out) < n:
            return False
        related = {end for subject, _, other in relations for end in (subject, other)}
        return not self.holdout.triples or len(related) == n

    def _familiar_split(self, arrangement: Arrangement) -> str:
        draw = self._draw_split(cluster_of(arrangement))
        if draw < _VAL_SHARE:
            return "val"
        return "seen" if draw < _VAL_SHARE + _SEEN_SHARE else "train"


def _splits_of(holdout: Holdout) -> tuple[str, ...]:
    if holdout.is_empty:
        return (ALL,)
    splits = list(SPLITS)
    if holdout.asymmetric:
        splits += ASYMMETRIC
    if holdout.absent_values or holdout.absent_objects:
        splits.append(UNSEEN_ATOMS)
    return tuple(splits)


def is_symmetric(arrangement: Arrangement, holdout: Holdout) -> bool:
    """Check that an arrangement's values can be exchanged without changing its number of held-out
    bindings.

    This is so if all values are held out with the same of these objects, or each with all or none
    of them.

    Args:
        arrangement: The bindings of a scene, left object first.
        holdout: The holdout.

    Returns:
        Whether every pairing of its values with its objects has the same number.
    """
    # With one object, or no held-out binding, there is nothing to exchange.
    if len(arrangement) < 2 or not holdout.bindings:
        return True
    values, objects = map(frozenset, zip(*arrangement, strict=True))
    held_out = {holdout.objects_with(value) & objects for value in values}
    return len(held_out) == 1 or held_out == {frozenset(), objects}


def asymmetric(one: Binding, other: Binding, holdout: Holdout) -> bool:
    """Check whether exchanging the values of two bindings changes whether either is held out.

    Args:
        one: A binding.
        other: Another one.
        holdout: The holdout.

    Returns:
        Whether it does.
    """
    value, category = one
    other_value, other_category = other
    exchanged = ((other_value, category), (value, other_category))
    has_held_out = any(holdout.holds_out(*binding) for binding in (one, other))
    exchanged_has = any(holdout.holds_out(*binding) for binding in exchanged)
    return has_held_out != exchanged_has


def named_triples(arrangement: Arrangement, facts: Sequence[Fact]) -> tuple[Triple, ...]:
    """List the facts of a scene as triples of categories.

    Args:
        arrangement: The bindings of the scene, left object first.
        facts: Relations as (object, relation, object), objects by their places.

    Returns:
        The triples, sorted, without duplicates.
    """
    categories = [category for _, category in arrangement]
    triples = {(categories[i], name, categories[j]) for i, name, j in facts}
    return tuple(sorted(triples))
