"""The worker's renderer: a record for each scene, and placements that hide too much drawn again."""

from pathlib import Path
from typing import Any

from generator.dataset.records import SCENES
from generator.render.quality import read_quality
from generator.vocabulary.schema import read_vocabulary

FAMILY = read_vocabulary("clevr")


def rendered(folder: str, min_pixels: float) -> dict[str, Any]:
    """The record of a scene of two objects, or why there is none."""
    from generator.base.errors import UserError
    from generator.render.blender import worker
    from generator.scene.planned import Planned

    text = FAMILY.toml().replace(f"min_pixels = {FAMILY.placement.min_pixels}", f"min_pixels = {min_pixels}")
    values = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}
    objects = tuple((name, values) for name in list(FAMILY.objects)[:2])
    worker._PLACEMENTS = 3
    setup = {"vocabulary": text, "seed": 0, "width": 48, "height": 36, "folder": folder, "cores": [0], "outputs": ["boxes"],
             "quality": read_quality("draft").model_dump(), "engine": "cycles", "device": "cpu"}  # fmt: skip
    try:
        return worker.Renderer(setup).render(Planned("7", "c", objects, (0, 1), next(iter(FAMILY.environments))))
    except UserError as error:
        return {"failed": error.message}


def test_a_record_is_a_row_of_scenes_with_its_files(in_blender: Any, tmp_path: Path) -> None:
    record = in_blender(rendered, str(tmp_path), 1)
    assert record.keys() - {"files"} <= set(SCENES.names)
    assert sorted(record["files"]) == ["boxes/7.json", "images/7.png"]
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["7.png"]
    columns = {field.name for field in SCENES.field("objects").type.value_type}
    assert all(entry.keys() == columns for entry in record["objects"])


def test_a_scene_that_cannot_be_placed_says_what_to_lessen(in_blender: Any, tmp_path: Path) -> None:
    assert in_blender(rendered, str(tmp_path), 10**6) == {
        "failed": "no placement in 3 shows every object; lessen [placement] min_pixels or min_visible."
    }
