"""The scene graph: a networkx graph of the objects of a scene and the relations between them."""

from itertools import permutations

import networkx as nx

from generator.scene.relations import Space, decided
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary


def scene_graph(scene: Scene, vocabulary: Vocabulary) -> nx.MultiDiGraph:
    """The graph of a scene: a node per object (`category`, `attributes`), an edge per relation and ordered pair.

    An edge has the key `relation`, `margin` (signed metres by which the first object stands in the relation to the
    second, see docs/vocabularies.md) and `holds` (True, False, or None where the margin does not decide).
    """
    graph = nx.MultiDiGraph()
    for index, obj in enumerate(scene.objects):
        graph.add_node(index, category=obj.category, attributes=obj.attributes)
    space = Space(scene, vocabulary)
    for i, j in permutations(range(len(scene.objects)), 2):
        for name, relation in vocabulary.relations.items():
            margin = space.margin(relation, i, j)
            graph.add_edge(i, j, key=name, margin=margin, holds=decided(margin, relation))
    return graph
