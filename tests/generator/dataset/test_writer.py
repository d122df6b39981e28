"""A world while it is written: its journal on disk, its tables and sums in order, memory that does
not grow with it."""

import random
import shutil
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.files import SUMS, read_json, read_sums, sha256
from generator.dataset.reader import Dataset
from generator.dataset.records import SCENES
from generator.dataset.writer import BenchmarkWriter, WorldWriter, write_benchmark

REQUEST = {"width": 8, "height": 8}


def record(folder: Path, number: int, relations: int = 0) -> dict[str, Any]:
    """A scene with its file in place."""
    scene_id = f"{number:06d}"
    (folder / "images").mkdir(exist_ok=True)
    path = folder / "images" / f"{scene_id}.png"
    path.write_bytes(scene_id.encode())
    related = [{"subject": i, "relation": "left of", "object": 0} for i in range(relations)]
    return {
        "scene_id": scene_id,
        "cluster_id": "red|cube",
        "objects": [],
        "relations": related,
        "scene": "{}",
        "files": {f"images/{path.name}": sha256(path)},
    }


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
    assert world.scenes["relations"].to_pylist()[7][2]["subject"] == 2
    listed = read_sums(world.folder)
    on_disk = {str(p.relative_to(world.folder)) for p in world.folder.rglob("*") if p.is_file()}
    assert on_disk == {*listed, SUMS, "manifest.json"}
    assert all(sha256(world.folder / path) == digest for path, digest in listed.items())
    assert (world.manifest["scenes"], world.manifest["failed"]) == (301, 1)


@pytest.mark.full
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


@pytest.mark.parametrize(
    "scene_id", ["*", "?00001", "[0-9]*", "../../private/key", "/etc/passwd", "000002/../000001"]
)
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


@pytest.mark.parametrize(
    "place", ["world", "world/images", "world/images/000001.png", "world/.journal.db", ".lock"]
)
def test_a_world_is_not_continued_through_a_link(tmp_path: Path, place: str) -> None:
    with WorldWriter(tmp_path / "world", REQUEST) as writer:
        writer.add(record(writer.folder, 1))
    private = tmp_path / "private"
    linked_file = tmp_path / "world" / place
    if linked_file.is_dir():
        shutil.move(linked_file, private)
    else:
        private.write_text("private")
        linked_file.unlink(missing_ok=True)
    linked_file.symlink_to(private)
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
    with (
        pytest.raises(UserError, match="is not a path within that folder"),
        WorldWriter(tmp_path / "d", REQUEST),
    ):
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


def test_a_world_has_one_writer_and_what_it_added_is_kept(tmp_path: Path) -> None:
    with WorldWriter(tmp_path, REQUEST) as first:
        for number in (3, 1):
            first.add({**record(first.folder, number), "cluster_id": "first"})
        first.add(record(first.folder, 1))
        with (
            pytest.raises(UserError, match="Another command is writing"),
            WorldWriter(tmp_path, REQUEST),
        ):
            pass
    (tmp_path / "world/images/000003.png").write_bytes(b"torn")
    with WorldWriter(tmp_path, REQUEST) as second:
        assert ("000001" in second.done, "000003" in second.done, len(second.done)) == (
            True,
            False,
            1,
        )
        second.add(record(second.folder, 2))
        second.finish("")
    scenes = Dataset.open(tmp_path).world.scenes
    assert scenes["scene_id"].to_pylist() == ["000001", "000002"]
    assert scenes["cluster_id"].to_pylist() == ["red|cube"] * 2


@pytest.mark.parametrize("damage", [b"no database", b"\0" * 9000])
def test_damaged_journal_is_refused(tmp_path: Path, damage: bytes) -> None:
    with WorldWriter(tmp_path, REQUEST) as writer:
        writer.add(record(writer.folder, 1))
    (tmp_path / "world/.journal.db").write_bytes(damage)
    with pytest.raises(
        UserError, match=r"journal\.db is damaged .*; remove it, and all scenes are rendered again"
    ):
        WorldWriter(tmp_path, REQUEST).__enter__()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A dataset of no scenes, for benchmarks."""
    with WorldWriter(tmp_path / "d", REQUEST) as writer:
        writer.finish("")
    return tmp_path / "d"


def _texts(word: str) -> dict[str, list[dict[str, Any]]]:
    return {"texts": [{"text_id": word, "text": word}]}


def _words(root: Path, name: str) -> list[str]:
    words: list[str] = Dataset.open(root).benchmark(name).texts["text"].to_pylist()
    return words


def test_the_draft_of_one_benchmark_is_not_that_of_another(root: Path) -> None:
    """`a` and `a.b` once shared the pattern by which abandoned drafts were found."""
    with (
        BenchmarkWriter(root, "a.b") as long,
        BenchmarkWriter(root, "a.draft") as longer,
        BenchmarkWriter(root, "a.lock"),
    ):
        for writer in (long, longer):
            writer.add_all("texts", _texts("long")["texts"])
        write_benchmark(root, "a", _texts("short"), None, {})
        for writer in (long, longer):
            writer.finish(None, {})
    assert (_words(root, "a"), _words(root, "a.b"), _words(root, "a.draft")) == (
        ["short"],
        ["long"],
        ["long"],
    )
    assert sorted(read_json(root / "dataset.json")["benchmarks"]) == ["a", "a.b", "a.draft"]
    assert Dataset.open(root).benchmark_names() == ["a", "a.b", "a.draft"]


def test_a_benchmark_has_one_writer(root: Path) -> None:
    write_benchmark(root, "a", _texts("old"), None, {})
    with BenchmarkWriter(root, "a") as first:
        first.add_all("texts", _texts("new")["texts"])
        with pytest.raises(
            UserError, match=r"Another command is writing the benchmark a of .*; wait for it"
        ):
            write_benchmark(root, "a", _texts("other"), None, {})
        assert _words(root, "a") == ["old"]
        first.finish(None, {})
    assert _words(root, "a") == ["new"]


WRITE = """
import sys
from pathlib import Path
from generator.dataset.writer import write_benchmark
for turn in range(10):
    write_benchmark(Path(sys.argv[1]), sys.argv[2], {"texts": [{"text_id": "t", "text": sys.argv[2]}]}, None, {})
"""


def test_concurrent_writers_keep_all_benchmarks_in_the_index(root: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(root), name]) for name in ("a", "b", "c")
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert read_json(root / "dataset.json")["benchmarks"] == {
        name: Dataset.open(root).benchmark(name).digest for name in ("a", "b", "c")
    }


def test_a_kill_while_a_benchmark_is_replaced_keeps_the_old_one(root: Path) -> None:
    write_benchmark(root, "a", _texts("old"), None, {})
    code = """
import os, sys
from pathlib import Path
from generator.dataset import writer
replace = os.replace
def kill_at_the_draft(source, target):
    if str(source).endswith(".draft"):
        os.kill(os.getpid(), 9)
    replace(source, target)
writer.os.replace = kill_at_the_draft
writer.write_benchmark(Path(sys.argv[1]), "a", {"texts": [{"text_id": "t", "text": "new"}]}, None, {})
"""
    assert subprocess.run([sys.executable, "-c", code, str(root)], check=False).returncode == -9
    with BenchmarkWriter(root, "a"):
        pass
    assert _words(root, "a") == ["old"]
    assert Dataset.open(root).benchmark_names() == ["a"]
