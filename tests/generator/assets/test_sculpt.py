"""Meshes from declarations: a ball is the sphere that it should be."""

import numpy as np
import pytest

from generator.assets.sculpt import FACES, sculpt
from generator.assets.skeleton import Skeleton
from generator.base.errors import UserError


def skeleton(*joints: list[float]) -> Skeleton:
    return Skeleton.model_validate({"blend": 0.1, "parts": {"body": {"joints": list(joints)}}})


def test_a_ball_is_the_sphere_that_its_joint_declares() -> None:
    vertices, normals, faces = sculpt(skeleton([7.0, 0, 30.0, 4.0]))
    corners = vertices[faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi, rel=0.005)
    assert np.abs(np.linalg.norm(vertices - [0, 0, 1], axis=1) - 1).max() < 0.002
    assert np.abs(normals - (vertices - [0, 0, 1])).max() < 0.02
    assert 0.8 * FACES < len(faces) < 1.2 * FACES


def test_what_reaches_below_the_ground_is_cut_off() -> None:
    vertices, _, _ = sculpt(skeleton([0.0, 0, 0.0, 1.0]))
    assert vertices[:, 2].min() == 0
    assert vertices[:, 2].max() == pytest.approx(1, abs=0.01)  # half a ball of radius 1
    with pytest.raises(UserError, match="raise its joints"):
        sculpt(skeleton([0.0, 0, -3.0, 1.0]))
