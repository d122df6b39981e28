"""The judge over a world of all eight relations: wrong margins and floating objects are found."""

import json
import shutil
from pathlib import Path

from generator.judge.verify import verify_dataset
from tests.generator.judge.test_verify import Rows, edit
from tests.generator.relations import BENCHMARK


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
    findings = verify_dataset(copied, None)[BENCHMARK]["findings"]
    for scene_id, told in planted.items():
        assert any(scene_id in finding["what"] and told in finding["what"] for finding in findings), (scene_id, told)
