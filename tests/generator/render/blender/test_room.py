"""The room of panels: within its breadth and height, with a gap for the window."""

from typing import Any

import numpy as np

ROOM = {"distance": 9.0, "breadth": 16.0, "height": 6.0, "colors": ["#59626e", "#b4bdc8"]}


def panels() -> list[Any]:
    from generator.base.streams import Stream
    from generator.render.blender.scenery import build_room
    from generator.vocabulary.environments import RoomSpec

    return [mesh[0] for mesh, _ in build_room(RoomSpec.model_validate(ROOM), 12.0, Stream("room"))]


def test_walls_stand_where_they_are_declared(in_blender: Any) -> None:
    found = [np.array(each) for each in in_blender(panels)]
    vertices = np.concatenate(found)
    assert abs(vertices[:, 2].max() - 6) < 0.1
    assert abs(np.abs(vertices[:, 0]).max() - 8.5) < 0.1
    assert vertices[:, 1].min() > -12 - 0.1
    middle = [
        each
        for each in found
        if each[:, 0].min() < 0.5 < each[:, 0].max() and each[:, 2].min() < 3.3 < each[:, 2].max()
    ]
    assert not middle  # one looks through the window there
