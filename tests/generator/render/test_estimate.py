from pathlib import Path
from typing import Any

import pytest

from generator.base.errors import UserError
from generator.render.estimate import check_space, render_seconds, seconds_a_scene
from generator.vocabulary.families import vocabulary_text


def request(family: str = "clevr", size: int = 64, **more: Any) -> dict[str, Any]:
    return {
        "vocabulary": vocabulary_text(family), "quality": {"name": "standard"}, "width": size, "height": size,
        "outputs": [], "objects": (2, 2), **more,
    }  # fmt: skip


def test_landscapes_take_longer_and_no_image_is_free() -> None:
    clevr, pug = ([seconds_a_scene(request(name, size)) for size in (0, 64, 224)] for name in ("clevr", "pug"))
    assert 0 < clevr[0] == pug[0] < clevr[1] < clevr[2] < pug[2] / 2


def test_objects_and_pixel_outputs_take_time() -> None:
    least = seconds_a_scene(request())
    assert seconds_a_scene(request(objects=(3, 10))) > least
    assert seconds_a_scene(request(outputs=["masks"])) > least


def test_workers_share_the_time() -> None:
    one, four = (render_seconds(1000, 0.5, workers) for workers in (1, 4))
    start_up = render_seconds(0, 0.5, 1)
    assert one - start_up == pytest.approx(4 * (four - start_up))


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    check_space(tmp_path / "new", 10, request())
    with pytest.raises(UserError, match="free some space"):
        check_space(tmp_path / "new", 10**12, request())
    assert not (tmp_path / "new").exists()
