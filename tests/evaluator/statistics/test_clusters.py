"""Clusters, scenes and bindings as numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.statistics.intervals import NOT_OF_BINDINGS, describe_population
from generator.base.clusters import Clusters


def test_names_become_numbers_and_bindings_weights_of_length_one() -> None:
    clusters = Clusters.from_names(
        ["b", "a", "b"], ["red cube;blue ball", "red cube;red cube", ""], ["s1", "s0", "s1"]
    )
    assert clusters.codes.tolist() == [1, 0, 1]
    assert clusters.scenes.tolist() == [1, 0, 1]
    assert clusters.weights[clusters.weight_rows].round(4).tolist() == [
        [0.7071, 0.7071],
        [0, 1],
        [0, 0],
    ]


def test_without_bindings_and_scenes_items_share_their_cluster_alone() -> None:
    clusters = Clusters.from_names(np.array(["x", "x", "y"]))
    assert clusters.scenes.tolist() == [0, 1, 2]
    assert clusters.weights.shape == (1, 0)
    assert len(clusters) == 3


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["", "r c", "r c;b s"])), min_size=1
    ),
    st.data(),
)
def test_some_of_the_items_keep_what_they_share(
    items: list[tuple[str, str]], data: st.DataObject
) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(items) - 1), min_size=1)))
    names, bindings = zip(*items, strict=True)
    some = Clusters.from_names(names, bindings).take(rows)
    taken_first = Clusters.from_names([names[i] for i in rows], [bindings[i] for i in rows])
    assert np.array_equal(
        some.codes[:, None] == some.codes, taken_first.codes[:, None] == taken_first.codes
    )
    overlap = some.weights[some.weight_rows] @ some.weights[some.weight_rows].T
    assert np.allclose(
        overlap,
        taken_first.weights[taken_first.weight_rows]
        @ taken_first.weights[taken_first.weight_rows].T,
    )


def test_items_whose_scenes_name_no_binding_speak_of_none() -> None:
    some = Clusters.from_names(["x", "y"], ["red:cube", ""])
    assert describe_population(some.take(np.array([1]))) == f"{NOT_OF_BINDINGS}; this model"
    assert describe_population(some).endswith("; 1 of 2 items name no binding")


def test_a_part_of_the_items_speaks_of_the_whole_vocabulary() -> None:
    some = Clusters.from_names(["x", "y"], ["red:cube", "blue:ball"]).take(np.array([0]))
    assert (
        describe_population(some)
        == "this vocabulary (2 values, 2 objects); bindings like these; this model"
    )
    assert (
        describe_population(some, finite_bindings=True)
        == "this vocabulary (2 values, 2 objects); this model"
    )
