"""The camera comes as close as the objects and the family allow, and what is left of what stays."""

import pytest

from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
from generator.scene.projection import project
from generator.scene.relations import ground_directions
from generator.vocabulary.schema import Vocabulary, read_vocabulary

CLEVR = read_vocabulary("clevr")


def with_closeness(close: float) -> Vocabulary:
    return CLEVR.model_copy(
        update={"camera": CLEVR.camera.model_copy(update={"close": close, "jitter": 0.0})}
    )


def planned(i: int) -> Planned:
    sizes = ("large", "small") if i % 2 else ("small", "small")
    objects = tuple(
        ("sphere", {"color": "red", "material": "rubber", "size": size}) for size in sizes
    )
    return Planned(f"{i:06d}", "", objects, (1, 0), "studio")


@pytest.mark.parametrize(("width", "height"), [(320, 240), (96, 96)])
def test_objects_fill_more_of_the_frame_and_stay_within_it(width: int, height: int) -> None:
    lenses, side = [], min(width, height)
    for i in range(40):
        scene = place_scene(planned(i), with_closeness(1.25), 0, 0, width, height)
        still = place_scene(planned(i), with_closeness(1.0), 0, 0, width, height)
        camera = scene.camera
        assert [obj.position for obj in scene.objects] == [obj.position for obj in still.objects]
        ours, theirs = ground_directions(camera), ground_directions(still.camera)
        assert all(ours[name] == pytest.approx(theirs[name], abs=1e-6) for name in theirs)
        lenses.append(camera.lens / still.camera.lens)
        for obj in scene.objects:
            radius = CLEVR.scale(obj.category, obj.attributes)
            x, y, z = obj.position
            column, row, depth = project(camera, x, y, z + radius, width, height)
            reach = radius / depth * camera.lens / camera.sensor * max(width, height)
            assert abs(column - width / 2) + reach <= side / 2
            assert abs(row - height / 2) + reach <= side / 2
    assert 1 <= min(lenses) < 1.1 < max(lenses) <= 1.25
    assert len(set(lenses)) > 20


def test_no_size_looks_like_the_next_larger_one() -> None:
    assert CLEVR.closest == 1.25
    assert with_closeness(4.0).closest == pytest.approx(0.95 * 0.8 / 0.5)
    assert read_vocabulary("clevr-original").closest == 1
