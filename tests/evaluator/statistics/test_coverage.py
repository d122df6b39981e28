"""A reduced coverage study: intervals of bindings like these hold where the bootstrap over clusters does not."""

import pytest

from bench.coverage import Study, case


@pytest.mark.full
@pytest.mark.parametrize("effects", [(0, 0), (2, 0), (0, 2), (2, 2)])
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("study", [Study(3, 3, 9, 150), Study(3, 4, 18, 150)])
def test_intervals_hold(study: Study, mean: float, effects: tuple[int, int]) -> None:
    """150 draws: a coverage of 93% shows less than 87% once in 300 times."""
    (found,) = case(study, mean, effects, 1)
    assert found.ours >= 87
    if effects[1]:
        assert found.ours > found.bootstrap + 10


@pytest.mark.full
@pytest.mark.parametrize("mean", [0.5, 0.97])
def test_intervals_of_many_clusters_hold(mean: float) -> None:
    """30 draws: a coverage of 93% shows less than 80% once in 250 times."""
    assert case(Study(6, 8, 405, 30), mean, (2, 0), 1)[0].ours >= 80


@pytest.mark.full
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.97, 0.99])
def test_pooled_intervals_hold_near_100_percent_too(mean: float) -> None:
    """40 draws of ten blocks, 200 of two: of a coverage of 93% 40 show less than 82% once in 100 times."""
    for found in case(Study(3, 3, 9, 40, (2, 5, 10)), mean, (0, 1), 1):
        assert found.ours >= 82, found
