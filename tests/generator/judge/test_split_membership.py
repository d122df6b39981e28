"""Scenes in wrong splits, and images in two splits, are named."""

import shutil
from pathlib import Path

from tests.generator.judge.datasets import (
    CROWDS,
    SPLITS,
    judged,
    make,
    said,
    scene_in,
    seal,
)


def test_one_image_in_two_splits(copied: Path, benchmark: Path) -> None:
    first, second = (copied / f"world/images/{scene_in(benchmark, split)}.png" for split in ("train", "seen"))
    shutil.copyfile(first, second)
    seal(copied / "world")
    assert "is in seen and train" in said(judged(copied), "shared image")


def test_scenes_of_one_to_ten_objects_stand_in_the_split_of_their_bindings(tmp_path: Path) -> None:
    scenes = {**CROWDS, "000004": ["red cube"], "000005": ["blue cube"] * 9 + ["red sphere"]}
    splits = {**SPLITS, "000004": "unseen", "000005": "partial"}
    assert judged(make(tmp_path / "right", scenes, splits))["status"] == "clean"
    other = {"seen": "partial", "partial": "seen", "unseen": "partial", "val": "unseen"}
    wrong = {scene_id: other[split] for scene_id, split in splits.items()}
    certificate = judged(make(tmp_path / "wrong", scenes, wrong))
    assert certificate["faults"] == {"wrong split": 6}
    assert "scene 000002 is in partial and shows 3 held-out bindings" in said(certificate, "wrong split")
