from generator.language.complexity import Cell, ComplexityQuota

CELLS = [Cell("L1", n, 0, 0) for n in (1, 2, 3)]


def fill(quota: ComplexityQuota, n_objects: int, fillable: set[int]) -> None:
    """One scene: fill the first cell on offer that it can fill."""
    offers = quota.take(12, n_objects)
    done = next((n for n, (_, i) in enumerate(offers) if i in fillable), None)
    quota.put_back(offers, len(offers) if done is None else done, None if done is None else offers[done][1])


def test_cells_are_filled_evenly() -> None:
    quota = ComplexityQuota(CELLS)
    for _ in range(30):
        fill(quota, 3, {0, 1, 2})
    assert quota.filled == [10, 10, 10]


def test_cells_with_more_objects_than_the_scene_are_not_on_offer() -> None:
    quota = ComplexityQuota(CELLS)
    assert {i for _, i in quota.take(12, 2)} == {0, 1}


def test_a_cell_that_is_filled_far_more_often_than_the_others_waits() -> None:
    quota = ComplexityQuota(CELLS)
    for _ in range(3):
        fill(quota, 3, {1})
        fill(quota, 3, {2})
    for _ in range(100):
        fill(quota, 3, {0})
    assert 3 < quota.filled[0] < 20


def test_a_cell_that_fails_is_offered_after_others() -> None:
    quota = ComplexityQuota(CELLS)
    fill(quota, 3, set())
    offers = quota.take(1, 3)
    quota.put_back(offers, 1, None)
    assert quota.take(3, 3)[-1][1] == offers[0][1]


def test_only_filled_cells_are_reported() -> None:
    quota = ComplexityQuota(CELLS)
    fill(quota, 3, {1})
    assert quota.to_dict() == {"L1 O=2 A=0 R=0": 1}
