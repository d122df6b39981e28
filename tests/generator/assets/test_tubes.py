"""Tubes through joints: they pass through each, and what lies off the plane of symmetry is mirrored."""

import numpy as np

from generator.assets.sculpt import STEPS, tubes_of
from generator.assets.skeleton import Skeleton

LEG = [[0.0, 0.2, 1.0, 0.1, 0.2], [0.1, 0.2, 0.5, 0.3], [0.0, 0.3, 0.0, 0.1]]


def test_a_tube_passes_through_its_joints_with_their_half_axes() -> None:
    leg, mirrored = tubes_of(Skeleton.model_validate({"blend": 0.1, "parts": {"leg": {"joints": LEG}}}))
    np.testing.assert_allclose(leg.points[::STEPS], [joint[:3] for joint in LEG], atol=1e-12)
    np.testing.assert_allclose(leg.radii[::STEPS], [[0.1, 0.2], [0.3, 0.3], [0.1, 0.1]])
    assert leg.radii.min() > 0.1 - 1e-9
    assert leg.radii.max() < 0.3 + 1e-9
    np.testing.assert_array_equal(mirrored.points, leg.points * [1, -1, 1])
    assert (leg.thickened(0.25).radii >= 0.25).all()


def test_a_row_of_teeth_is_a_spike_each() -> None:
    row = {"joints": [[0.0, 0, 1, 0.05, 0.2], [1.0, 0, 1, 0.05, 0.4]], "count": 3}
    body = {"joints": [[0.0, 0, 0.5, 0.2]]}
    _, *spikes = tubes_of(Skeleton.model_validate({"blend": 0.1, "parts": {"body": body}, "teeth": {"row": row}}))
    assert [round(float(spike.points[1, 2] - spike.points[0, 2]), 6) for spike in spikes] == [0.2, 0.3, 0.4]
    np.testing.assert_allclose([spike.points[0, 0] for spike in spikes], [0.0, 0.5, 1.0], atol=1e-12)
