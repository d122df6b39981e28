"""Scenes in wrong splits, and images in two splits, are named."""

import shutil
from pathlib import Path

from tests.generator.judge.datasets import (
    CROWDS,
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
    single = {"one": ["red cube"], "ten": ["blue cube"] * 9 + ["red sphere"]}
    splits = {name: name for name in CROWDS} | {"one": "unseen", "ten": "partial"}
    assert judged(make(tmp_path / "right", {**CROWDS, **single}, splits))["status"] == "clean"
    wrong = {
        "seen": "partial",
        "partial": "unseen",
        "unseen": "partial",
        "val": "unseen",
        "one": "partial",
        "ten": "seen",
    }
    certificate = judged(make(tmp_path / "wrong", {**CROWDS, **single}, wrong))
    assert certificate["faults"] == {"wrong split": 6}
    assert "scene unseen is in partial and shows 3 held-out bindings" in said(certificate, "wrong split")
