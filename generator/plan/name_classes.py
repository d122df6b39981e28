"""Decides which names should be equally frequent in the scenes of a split.

Not all names can be. In the split `unseen`, every binding is held out, so only names of the block
occur; in `train`, a value of the block occurs only with objects outside it. Names are therefore
divided into classes, and counts are made even within each class (`generator/plan/balance.py`). The
fewer classes, the more even the split, so this module looks for splits in which all names can be
equally frequent.
"""

from collections.abc import Hashable, Sequence
from itertools import chain

from scipy.optimize import linprog

from generator.dataset.own_frames import other_triples
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Arrangement, cluster_of
from generator.plan.candidates import Candidates

_LEAST_CLUSTER_SHARE = 0.1
"""The least frequency of a cluster, relative to the mean, with which names count as balanceable."""

NameClasses = tuple[dict[str, Hashable], dict[str, Hashable]]
"""For values and for objects, the class of each name."""


def name_classes(
    holdout: Holdout, candidates: Candidates, *, split: str, numbers_of_objects: Sequence[int]
) -> NameClasses:
    """Give the class of each value and of each object; names of a class should be equally frequent
    in the split.

    Args:
        holdout: what is held out.
        candidates: of the holdout's rule.
        split: the split.
        numbers_of_objects: the number of objects of each scene.

    Returns:
        One class for all names of a role, or one for its absent names and one for the others, where
        they can be that even. Otherwise a class holds the names that are held out with the same
        names, which may replace each other in any scene.
    """
    values, objects = candidates.names
    if holdout.treats_names_alike and split == "train":
        return dict.fromkeys(values), dict.fromkeys(objects)
    if _names_can_be_even(holdout, candidates, split=split, numbers_of_objects=numbers_of_objects):
        return (
            {value: value in holdout.absent_values for value in values},
            {category: category in holdout.absent_objects for category in objects},
        )
    return (
        {value: holdout.value_like(value) for value in values},
        _classes_of_like_objects(holdout, objects),
    )


def _names_can_be_even(
    holdout: Holdout, candidates: Candidates, *, split: str, numbers_of_objects: Sequence[int]
) -> bool:
    """Whether the scenes of a split can show all values, and all objects, equally often; absent
    names aside."""
    # Only these splits have scenes without held-out bindings. Of a holdout that is no block, it is
    # not known.
    if split not in ("train", "val", "seen") or not holdout.is_block:
        return False

    # No object of such a scene has both a value and a category of the block. If all names were
    # equally frequent, the shares of objects with the one and with the other would be these.
    values, objects = candidates.names
    share_with_block_value = len(holdout.values) / len(values)
    share_with_block_object = len(holdout.objects) / len(objects)
    if share_with_block_value + share_with_block_object > 1:
        return False

    # Of two objects, `val` and `seen` have few clusters, which may lack some pairs of names.
    if split != "train" and set(numbers_of_objects) == {2}:
        return _clusters_can_be_even(candidates, candidates.pairs.get(split, ()))
    return True


def _classes_of_like_objects(holdout: Holdout, objects: Sequence[str]) -> dict[str, Hashable]:
    """The class of each object by all that is held out with it: values, relations, directions in
    its own frame."""
    triples = other_triples(holdout.triples)
    class_of_object: dict[str, Hashable] = {}
    for category in objects:
        relations = frozenset(
            (relation, other) for subject, relation, other in triples if subject == category
        )
        own_directions = holdout.own_frames.get(category, ())
        class_of_object[category] = (holdout.object_like(category), relations, own_directions)
    return class_of_object


def _clusters_can_be_even(candidates: Candidates, pairs: Sequence[Arrangement]) -> bool:
    """Whether some frequencies of the clusters of two objects make all values, and all objects,
    equally frequent.

    This is a linear program without an objective: find a frequency f(c) of at least 0.1 for each
    cluster, with mean 1, so that for every name the sum of f(c) over the clusters with this name is
    2 / (number of names of its role) of the sum over all clusters.
    """
    names_of_cluster = {cluster_of(pair): set(chain.from_iterable(pair)) for pair in pairs}
    n_clusters = len(names_of_cluster)
    if n_clusters == 0:
        return False

    # One equation for each name: the sum over clusters of f(c) (has name - share) is 0.
    equations = []
    for role_names in candidates.names:
        present = [name for name in role_names if name not in candidates.absent_names]
        # A cluster has two of the names of each role.
        share = 2 / len(present)
        for name in present:
            equations.append([(name in names) - share for names in names_of_cluster.values()])
    right_sides = [0] * len(equations)
    # And one for the mean: the sum of f(c) is the number of clusters.
    equations.append([1] * n_clusters)
    right_sides.append(n_clusters)

    no_objective = [0] * n_clusters
    solution = linprog(
        no_objective, A_eq=equations, b_eq=right_sides, bounds=(_LEAST_CLUSTER_SHARE, None)
    )
    return bool(solution.success)
