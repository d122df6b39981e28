"""Chooses how large the question about each scene is, so that splits have equally many questions of
each size."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import combinations

import networkx as nx

from generator.base.streams import Stream

SizeOptions = Mapping[str, Set[int]]
"""The possible sizes of a scene's question, by scene_id."""


def match_sizes(options: Mapping[str, SizeOptions], stream: Stream) -> dict[str, int]:
    """Choose the size of each scene's question so that all splits have equally many questions of
    each size.

    The number of questions of a size is as large as every split allows, and as even over the sizes
    as possible. Scenes that would make the splits differ are left out. Whether a split has enough
    scenes follows from Hall's theorem: it has if, for every subset of sizes, at least as many
    scenes can have one of them as questions need one of them.

    1. For every subset of sizes, count the scenes that can have one of them, in the split that has
       fewest.
    2. Add questions one by one, of the size that has fewest, until no subset has room.
    3. Give each split these questions by a maximum flow.

    Args:
        options: the scenes of each split with their possible sizes.
        stream: the random numbers.

    Returns:
        The size by scene_id.

    >>> seen = {"a": {1, 2}, "b": {1, 2}, "c": {2}}
    >>> unseen = {"d": {1}, "e": {1, 2}}
    >>> sorted(match_sizes({"seen": seen, "unseen": unseen}, Stream(0)).values())
    [1, 1, 2, 2]
    """
    possible_sizes: set[int] = set()
    for scenes in options.values():
        possible_sizes.update(*scenes.values())
    sizes = sorted(possible_sizes)

    # 1. Scenes for each subset of sizes.
    room = {}
    for n in range(1, len(sizes) + 1):
        for subset in map(frozenset, combinations(sizes, n)):
            n_scenes = [_count_scenes(scenes, subset) for scenes in options.values()]
            room[subset] = min(n_scenes)

    # 2. Questions of each size.
    counts = dict.fromkeys(sizes, 0)
    growing = list(sizes)
    while growing:
        size = min(growing, key=counts.__getitem__)
        counts[size] += 1
        if _is_overfull(counts, room, size):
            counts[size] -= 1
            growing.remove(size)

    # 3. A size for each scene.
    size_of: dict[str, int] = {}
    for scenes in options.values():
        size_of.update(_assign_sizes(scenes, counts, stream))
    return size_of


def _is_overfull(counts: Mapping[int, int], room: Mapping[frozenset[int], int], size: int) -> bool:
    """Whether some sizes, `size` among them, have more questions together than there are scenes for
    them."""
    for subset, n_scenes in room.items():
        n_questions = sum(counts[member] for member in subset)
        if size in subset and n_questions > n_scenes:
            return True
    return False


def _count_scenes(scenes: SizeOptions, sizes: Set[int]) -> int:
    """The number of scenes that can have one of some sizes."""
    return sum(not sizes.isdisjoint(of_scene) for of_scene in scenes.values())


def _assign_sizes(
    scenes: SizeOptions, counts: Mapping[int, int], stream: Stream
) -> Iterator[tuple[str, int]]:
    """Yield scenes with their sizes, `counts` of each size; the caller ensures that enough scenes
    exist.

    Scenes with the same possible sizes are alike, so the flow goes from such groups of scenes to
    sizes; scenes are then drawn from each group.
    """
    group_sizes = Counter(frozenset(of_scene) for of_scene in scenes.values())
    if not group_sizes:
        return
    graph = nx.DiGraph()
    for group, n_scenes in group_sizes.items():
        graph.add_edge("scenes", group, capacity=n_scenes)
        for size in group:
            graph.add_edge(group, size)
    for size, n_questions in counts.items():
        graph.add_edge(size, "questions", capacity=n_questions)
    _, flow = nx.maximum_flow(graph, "scenes", "questions")

    # For each group, the sizes that its scenes are still to get.
    sizes_left: dict[frozenset[int], list[int]] = {}
    for group in group_sizes:
        sizes_left[group] = []
        # Sorted, because the order of a set is not fixed.
        for size in sorted(group):
            sizes_left[group] += [size] * flow[group][size]
    scene_groups = [(scene_id, frozenset(of_scene)) for scene_id, of_scene in scenes.items()]
    for scene_id, group in stream.shuffled(scene_groups):
        if sizes_left[group]:
            yield scene_id, sizes_left[group].pop()
