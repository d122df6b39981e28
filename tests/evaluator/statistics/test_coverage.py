"""A reduced coverage study: intervals of bindings like these hold where the bootstrap over clusters does not."""

import pytest

from bench.coverage import Study, _case


@pytest.mark.full
@pytest.mark.parametrize("effects", [(0, 0), (2, 0), (0, 2), (2, 2)])
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("study", [Study(3, 3, 9, 150), Study(3, 4, 18, 150)])
def test_intervals_hold(study: Study, mean: float, effects: tuple[int, int]) -> None:
    """150 draws: a coverage of 93% shows less than 87% once in 300 times."""
    found = _case(study, mean, effects, 1)
    assert found.ours >= 87
    if effects[1]:
        assert found.ours > found.bootstrap + 10


@pytest.mark.full
@pytest.mark.parametrize("mean", [0.5, 0.97])
@pytest.mark.parametrize("study", [Study(6, 8, 405, 30), Study(3, 3, 9, 30, 3, 0.5), Study(3, 3, 9, 30, 10, 0.5)])
def test_intervals_of_many_clusters_and_of_blocks_hold(study: Study, mean: float) -> None:
    """30 draws: a coverage of 93% shows less than 80% once in 250 times."""
    assert _case(study, mean, (2, 0), 1).ours >= 80
