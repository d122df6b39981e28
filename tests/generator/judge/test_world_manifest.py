"""Manifests of worlds declare the scenes, sizes, vocabulary and files that are there."""

from collections import Counter
from pathlib import Path

from generator.judge.world_manifest import declared_faults, planned_faults, scene_file_faults

REQUEST = {"width": 4, "height": 3, "vocabulary": "v", "holdouts": [{}]}
ROWS = Counter({("ok", 4, 3): 5, ("failed", 4, 3): 1})


def test_what_is_declared_truly_has_no_fault() -> None:
    assert list(declared_faults({"request": REQUEST, "scenes": 6, "failed": 1}, ROWS, "v")) == []


def test_other_counts_sizes_and_words_are_named() -> None:
    manifest = {"request": {**REQUEST, "width": 8, "holdouts": []}, "scenes": 5, "failed": 0}
    faults = Counter(each["fault"] for each in declared_faults(manifest, ROWS, "w"))
    assert faults == {"wrong manifest": 3, "wrong count": 2, "another vocabulary": 1}
    assert {each["fault"] for each in declared_faults({}, ROWS, "v")} == {
        "wrong manifest",
        "wrong count",
        "another vocabulary",
    }


def test_a_plan_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    assert list(planned_faults(tmp_path, REQUEST)) == []
    (tmp_path / "plan.parquet").write_bytes(b"PAR1")
    assert [each["fault"] for each in planned_faults(tmp_path, REQUEST)] == ["wrong format"]


def test_files_are_those_of_the_scenes() -> None:
    manifest = {"request": {**REQUEST, "outputs": ["masks"]}}
    files = {"images/1.png", "masks/1.png", "scenes.parquet", "vocabulary.toml"}
    assert list(scene_file_faults(manifest, ["1"], files, set())) == []
    found = list(scene_file_faults(manifest, ["1", "2"], {*files, "images/3.png"} - {"masks/1.png"}, set()))
    assert [each["what"] for each in found] == [
        "scene 2 has no image", "scene 1 has no masks/1.png", "scene 2 has no masks/2.png", "world/images/3.png belongs to no scene",
    ]  # fmt: skip


def test_files_lie_in_tars_where_the_manifest_says_so() -> None:
    tars = {"request": {**REQUEST, "tar_bytes": 9}}
    assert list(scene_file_faults(tars, ["1"], {"shards/000000.tar"}, {"images/1.png"})) == []
    (found,) = scene_file_faults(tars, ["1"], {"images/1.png"}, set())
    assert found["fault"] == "wrong manifest"
    (found,) = scene_file_faults(tars, ["1"], {"images/1.png"}, {"images/1.png"})
    assert found["what"] == "world/images/1.png lies in a tar and in a folder"
