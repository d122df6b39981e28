"""Matches what splits are asked: as many questions of each size in every split, so that a gap is not one of sizes."""

from collections import Counter
from collections.abc import Mapping, Set
from itertools import combinations

import networkx as nx

from generator.base.streams import Stream

Options = Mapping[str, Set[int]]
"""By scene_id the sizes of the questions that a scene can be asked."""


def matched(options: Mapping[str, Options], stream: Stream) -> dict[str, int]:
    """By scene_id the size of the question that a scene is asked; scenes that would make a split differ are missing.

    `options` has the scenes of each split. All splits get the same number of questions of each size: as many in all as
    the split with fewest allows, and as even over the sizes as can be.

    >>> found = matched({"seen": {"a": {1, 2}, "b": {1, 2}, "c": {2}}, "unseen": {"d": {1}, "e": {1, 2}}}, Stream(0))
    >>> sorted(found.values())
    [1, 1, 2, 2]
    """
    sizes = sorted({size for scenes in options.values() for each in scenes.values() for size in each})
    groups = [frozenset(each) for n in range(1, len(sizes) + 1) for each in combinations(sizes, n)]
    room = {
        group: min(sum(not group.isdisjoint(each) for each in scenes.values()) for scenes in options.values())
        for group in groups
    }
    counts = dict.fromkeys(sizes, 0)
    growing = list(sizes)
    while growing:  # Hall's theorem: scenes for all questions exist if they do for the questions of any sizes together
        size = min(growing, key=counts.__getitem__)
        counts[size] += 1
        if any(sum(counts[each] for each in group) > room[group] for group in groups if size in group):
            counts[size] -= 1
            growing.remove(size)
    return {scene_id: size for scenes in options.values() for scene_id, size in _assigned(scenes, counts, stream)}


def _assigned(scenes: Options, counts: Mapping[int, int], stream: Stream) -> list[tuple[str, int]]:
    """Scenes for `counts` of questions of each size, which exist."""
    kinds = Counter(frozenset(each) for each in scenes.values())
    graph = nx.DiGraph()
    for kind, n in kinds.items():
        graph.add_edge("scenes", kind, capacity=n)
        for size in kind:
            graph.add_edge(kind, size)
    for size, n in counts.items():
        graph.add_edge(size, "questions", capacity=n)
    _, flow = nx.maximum_flow(graph, "scenes", "questions") if kinds else (0, {})
    left = {kind: [size for size in sorted(kind) for _ in range(flow[kind][size])] for kind in kinds}
    drawn = [(scene_id, left[kind]) for scene_id, each in scenes.items() if (kind := frozenset(each)) in left]
    return [(scene_id, sizes.pop()) for scene_id, sizes in stream.shuffled(drawn) if sizes]
