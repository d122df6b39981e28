"""Floors: what describers reach that do not look, or do not bind."""

import pytest

from evaluator.descriptions.floors import describe_blindly, floor_rows
from generator.base.streams import Stream
from generator.dataset.descriptions.truth import ImageTruth
from tests.generator.dataset.descriptions.scenes import image


def test_the_floors_of_the_measures(crowded_truths: list[ImageTruth]) -> None:
    rows = {
        floor: {row.measure: row.value for row in floor_rows(crowded_truths, floor, by=(), draws=5)}
        for floor in ("blind", "unbound")
    }
    unbound, blind = rows["unbound"], rows["blind"]
    assert unbound["object recall"] == unbound["object precision"] == unbound["exact count"] == 1
    assert unbound["values invented"] == 0
    assert unbound["values right"] + unbound["values exchanged"] == pytest.approx(1)
    assert 0 < blind["object recall"] < 1
    assert blind["values invented"] > 0
    second_draw = floor_rows(crowded_truths, "unbound", by=(), draws=5)
    assert {row.measure: row.value for row in second_draw}["values right"] == unbound[
        "values right"
    ]


def test_a_split_of_one_cluster_has_no_blind_floor() -> None:
    truth = image("cube red")
    assert describe_blindly([truth, truth], 0, Stream(0)) is None
    assert all(row.n_images == 0 for row in floor_rows([truth], "blind", draws=2))
