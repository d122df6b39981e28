"""Props: every type that a vocabulary may name, about one metre high, varied by the stream."""

from typing import Any, get_args

import numpy as np
import pytest

from generator.vocabulary.environments import PropType


def built(prop_type: str, seed: int) -> list[Any]:
    from generator.base.streams import Stream
    from generator.render.blender.scenery import build_prop

    return build_prop(prop_type, ["#808080", "#404040"], Stream(seed))


@pytest.mark.parametrize("prop_type", get_args(PropType))
def test_a_prop_is_about_a_metre_high_and_stands_on_the_ground(in_blender: Any, prop_type: str) -> None:
    one, again, other = (in_blender(built, prop_type, seed) for seed in (0, 0, 1))
    assert one == again != other
    vertices = np.concatenate([mesh[0] for mesh, _ in one])
    assert 0.5 < vertices[:, 2].max() < 1.4
    assert -0.5 < vertices[:, 2].min() < 0.2
    assert all(0 <= channel <= 1 for _, color in one for channel in color)
