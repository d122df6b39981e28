"""A world while it is written: its journal on disk, its tables and sums in order, memory that does not grow with it."""

import random
import shutil
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.dataset.errors import UserError
from generator.dataset.files import SUMS, read_sums, sha256
from generator.dataset.reader import Dataset
from generator.dataset.schema import SCENES
from generator.dataset.writer import WorldWriter, write_benchmark

REQUEST = {"width": 8, "height": 8}


def record(folder: Path, number: int, relations: int = 0) -> dict[str, Any]:
    """A scene with its file in place."""
    scene_id = f"{number:06d}"
    (folder / "images").mkdir(exist_ok=True)
    path = folder / "images" / f"{scene_id}.png"
    path.write_bytes(scene_id.encode())
    related = [
        {"subject": i, "relation": "left of", "object": 0, "margin": i / 7, "holds": True} for i in range(relations)
    ]
    return {
        "scene_id": scene_id, "cluster_id": "red|cube", "objects": [], "relations": related, "scene": "{}",
        "files": {f"images/{path.name}": sha256(path)},
    }  # fmt: skip


def test_scenes_added_in_any_order_and_a_failed_one(tmp_path: Path) -> None:
    numbers = list(range(300))
    random.Random(1).shuffle(numbers)
    with WorldWriter(tmp_path, REQUEST) as writer:
        for number in numbers:
            writer.add(record(writer.folder, number, relations=3))
        (writer.images / "000300.png").write_bytes(b"half")
        (writer.images / ".000301.77.png").write_bytes(b"draft")
        writer.add({"scene_id": "000300", "cluster_id": "red|cube", "failed": "the lamp broke"})
        writer.finish("")
    world = Dataset.open(tmp_path).world
    assert world.scenes["scene_id"].to_pylist() == [f"{n:06d}" for n in range(301)]
    assert world.scenes["reason"].to_pylist() == [None] * 300 + ["the lamp broke"]
    assert world.scenes["relations"].to_pylist()[7][2]["margin"] == 2 / 7
    listed = read_sums(world.folder)
    on_disk = {str(p.relative_to(world.folder)) for p in world.folder.rglob("*") if p.is_file()}
    assert on_disk == {*listed, SUMS, "manifest.json"}
    assert all(sha256(world.folder / path) == digest for path, digest in listed.items())
    assert (world.manifest["scenes"], world.manifest["failed"]) == (301, 1)


def test_memory_does_not_hold_the_records(tmp_path: Path) -> None:
    """Five times the scenes, each with 100 relations, take no more than a line's place each."""

    def peak(scenes: int) -> int:
        root = tmp_path / str(scenes)
        with WorldWriter(root, REQUEST) as writer:
            template = record(writer.folder, 0, relations=100)
            tracemalloc.start()
            for number in range(scenes):
                writer.add({**template, "scene_id": f"{number:06d}"})
            writer.finish("")
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return most

    few, many = peak(110), peak(510)
    assert many - few < 400 * 1000  # a record of 100 relations is 30,000 bytes and more in memory
    file = pq.ParquetFile(tmp_path / "510" / "world" / "scenes.parquet")
    assert file.schema_arrow.equals(SCENES)
    assert file.metadata.num_rows == 510


@pytest.mark.parametrize("scene_id", ["*", "?00001", "[0-9]*", "../../private/key", "/etc/passwd", "000002/../000001"])
def test_a_failed_scene_removes_its_own_files_alone(tmp_path: Path, scene_id: str) -> None:
    """Names were part of a glob: a scene called * removed the images of all others."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.png").write_text("private")
    with WorldWriter(tmp_path / "a" / "b", REQUEST) as writer:
        (tmp_path / "a" / "b" / "world").mkdir(exist_ok=True)
        for number in (1, 2):
            writer.add(record(writer.folder, number))
        with suppress(UserError):
            writer.add({"scene_id": scene_id, "cluster_id": "x", "failed": "the lamp broke"})
        assert sorted(path.name for path in writer.images.iterdir()) == ["000001.png", "000002.png"]
    assert (tmp_path / "private" / "key.png").exists()


@pytest.mark.parametrize("place", ["world", "world/images", "world/images/000001.png", "world/.journal.jsonl", ".lock"])
def test_a_world_is_not_continued_through_a_link(tmp_path: Path, place: str) -> None:
    with WorldWriter(tmp_path / "world", REQUEST) as writer:
        writer.add(record(writer.folder, 1))
    private = tmp_path / "private"
    begun = tmp_path / "world" / place
    if begun.is_dir():
        shutil.move(begun, private)
    else:
        private.write_text("private")
        begun.unlink(missing_ok=True)
    begun.symlink_to(private)
    before = private.read_text() if private.is_file() else sorted(private.rglob("*"))
    with (
        pytest.raises(UserError, match="is a link, and links are not followed"),
        WorldWriter(tmp_path / "world", REQUEST),
    ):
        pass
    assert (private.read_text() if private.is_file() else sorted(private.rglob("*"))) == before


def test_a_journal_that_leaves_the_world_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private")
    with WorldWriter(tmp_path / "d", REQUEST) as writer:
        writer.add({**record(writer.folder, 1), "files": {"../../key": sha256(tmp_path / "key")}})
    with pytest.raises(UserError, match="is no path within that folder"), WorldWriter(tmp_path / "d", REQUEST):
        pass
    assert (tmp_path / "key").read_text() == "private"


def test_a_benchmark_is_not_written_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other" / "benchmarks" / "mine"
    other.mkdir(parents=True)
    (other / "manifest.json").write_text("{}")
    root = tmp_path / "received"
    (root / "world").mkdir(parents=True)
    (root / "benchmarks").symlink_to(other.parent)
    with pytest.raises(UserError, match="is a link"):
        write_benchmark(root, "mine", {}, None, {})
    assert (other / "manifest.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["../../other", "a/b", "", "..", ".a", "*"])
def test_a_benchmark_has_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="Expected the benchmark's name"):
        write_benchmark(tmp_path, name, {}, None, {})
    assert list(tmp_path.iterdir()) == []


def test_a_benchmark_leaves_the_drafts_of_others(tmp_path: Path) -> None:
    drafts = [tmp_path / "benchmarks" / name for name in (".a.b.123", ".a.123", ".ab.123")]
    for draft in drafts:
        draft.mkdir(parents=True)
    write_benchmark(tmp_path, "a", {}, None, {})
    assert [draft.exists() for draft in drafts] == [True, False, True]
