"""Scene records that contradict the poses are named."""

import json
import shutil
from pathlib import Path

from generator.judge.verify import verify_dataset
from tests.generator.judge.datasets import Rows, edit, judged, said
from tests.generator.relations import BENCHMARK as RELATIONS


def test_a_wrong_record(copied: Path) -> None:
    def plant(rows: Rows) -> None:
        relation = rows[0]["relations"][0]
        relation["holds"] = not relation["holds"]
        rows[1]["objects"][0]["category"] = "teapot"

    edit(copied / "world", "scenes", plant)
    found = said(judged(copied), "wrong record")
    assert "scene 000000: object 0 left of object 1 is listed as" in found
    assert "scene 000001: object 0 is listed as teapot" in found


def test_a_record_that_is_none(copied: Path) -> None:
    def plant(rows: Rows) -> None:
        rows[0]["scene"] = "[]"
        rows[1]["relations"][0] = rows[1]["relations"][1]
        rows[2]["relations"][0]["object"] = 7

    edit(copied / "world", "scenes", plant)
    found = said(judged(copied), "wrong record")
    assert "scene 000000: its record cannot be read" in found
    assert "scene 000001: 8 relations are listed, not one for each ordered pair and relation" in found
    assert "scene 000002: 8 relations are listed" in found


def test_wrong_margins_and_what_hovers_are_found(relations_world: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(relations_world, tmp_path / "dataset"))
    planted: dict[str, str] = {}

    def spoil(found: Rows) -> None:
        for name in ("near", "far", "on", "beneath"):
            row = next(
                row for row in found if row["scene_id"] not in planted and any(r["relation"] == name and r["holds"] for r in row["relations"])
            )  # fmt: skip
            relation = next(r for r in row["relations"] if r["relation"] == name and r["holds"])
            if name in ("near", "on"):
                relation["margin"] += 0.001
            else:
                relation["holds"] = None
            planted[row["scene_id"]] = f" {name} of object"
        row = next(
            row for row in found if row["scene_id"] not in planted and any(r["relation"] == "on" and r["holds"] for r in row["relations"])
        )  # fmt: skip
        scene = json.loads(row["scene"])
        upper = next(r["subject"] for r in row["relations"] if r["relation"] == "on" and r["holds"])
        scene["objects"][upper]["position"][2] += 0.02
        row["scene"] = json.dumps(scene)
        planted[row["scene_id"]] = "above the ground and rests on no object"

    edit(copied / "world", "scenes", spoil)
    findings = verify_dataset(copied, None)[RELATIONS]["findings"]
    for scene_id, told in planted.items():
        assert any(scene_id in finding["what"] and told in finding["what"] for finding in findings), (scene_id, told)
