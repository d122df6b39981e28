"""A world while it is written: its journal on disk, its tables and sums in order, memory that does not grow with it."""

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from generator.dataset.files import SUMS, read_sums, sha256
from generator.dataset.reader import Dataset
from generator.dataset.schema import SCENES
from generator.dataset.writer import WorldWriter

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
