"""The tables carry what later protocols need: pools, two-image groups, hard positives, benchmarks
made elsewhere."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.dataset.records import PACKED
from generator.dataset.writer import write_benchmark
from tests.conftest import refuse
from tests.generator.dataset.conftest import FIRST
from tests.generator.judge.datasets import edit, seal
from tests.generator.worlds import rewrite
from tests.hostile_files import pixel_bomb


def test_a_two_image_group_and_a_hard_positive(copied: Path) -> None:
    words = {
        "c0": "a red cube and a ball",
        "c1": "a red ball and a cube",
        "p": "a ball and a red cube",
    }
    true = {"item_id": "pair", "scene_id": "s0", "text_id": "c0", "slot": "0", "truth": True}
    true |= {"kind": None, "changed": [], "of": None}
    candidates = [
        true,
        {**true, "text_id": "c1", "slot": "1", "truth": False, "changed": ["0:color:red>blue"]},
        {**true, "scene_id": "s1", "text_id": "c1", "slot": "1"},
        {**true, "item_id": "hard", "text_id": "p", "slot": "p", "kind": "swap-order", "of": "c0"},
    ]
    items = [
        {"item_id": "pair", "protocol": "pairs", "kind": "swap", "cluster_id": "pair"},
        {
            "item_id": "hard",
            "protocol": "hard-positives",
            "kind": "swap-order",
            "cluster_id": "hard",
        },
    ]
    texts = [{"text_id": name, "text": text} for name, text in words.items()]
    write_benchmark(
        copied, "carried", {"texts": texts, "items": items, "candidates": candidates}, None, {}
    )
    read = Dataset.open(copied).benchmark("carried")
    assert read.candidates.to_pylist() == candidates
    assert read.items.select(["item_id", "protocol", "kind", "cluster_id"]).to_pylist() == items
    assert read.items_of("pairs")["item_id"].to_pylist() == ["pair"]
    assert read.text_of == words
    assert read.holdout is None
    assert read.splits.num_rows == read.pools.num_rows == 0


def test_rows_that_do_not_fit_are_refused(copied: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write_benchmark(
            copied, "wrong", {"items": [{"item_id": "x", "held_out_positive": "many"}]}, None, {}
        )
    assert not (copied / "benchmarks" / "wrong").exists()
    assert [path.name for path in (copied / "benchmarks").iterdir()] == ["color-shape-3x3-b0"]


BENCHMARK = "benchmarks/color-shape-3x3-b0"


@pytest.mark.parametrize(
    ("path", "data", "words"),
    [
        ("world/manifest.json", None, "is unfinished; run the same `gen render` command again"),
        (f"{BENCHMARK}/manifest.json", None, "is unfinished; run `gen split`"),
        ("world/SHA256SUMS", b"x", "SHA256SUMS is damaged"),
        ("world/manifest.json", b"{", "manifest.json is damaged"),
        (f"{BENCHMARK}/texts.parquet", None, "texts.parquet is damaged or missing"),
        (f"{BENCHMARK}/splits.parquet", b"PAR1", "splits.parquet is damaged or missing"),
    ],
)
def test_unfinished_and_damaged_datasets_say_so(
    copied: Path, path: str, data: bytes | None, words: str
) -> None:
    if data is None:
        (copied / path).unlink()
    else:
        (copied / path).write_bytes(data)
    refuse(words, "gen preview", copied)
    assert not (copied / "preview.png").exists()


@pytest.fixture
def received(small_dataset: Path, tmp_path: Path) -> Path:
    """A dataset of someone else's beside a private folder of ours."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("private")
    return Path(shutil.copytree(small_dataset, tmp_path / "received"))


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_an_image_that_is_a_link_is_not_read(received: Path) -> None:
    image = received / "world/images/000000.png"
    (received.parent / "private" / "same.png").write_bytes(
        image.read_bytes()
    )  # even where its digest is right
    link(image, received.parent / "private" / "same.png")
    world = Dataset.open(received).world
    for read in (
        world.image,
        world.image_path,
        lambda scene_id: world.read(f"images/{scene_id}.png"),
    ):
        with pytest.raises(UserError, match=r"000000\.png is a link, and links are not followed"):
            read("000000")


@pytest.mark.parametrize(
    "name", ["vocabulary.toml", "manifest.json", "SHA256SUMS", "scenes.parquet"]
)
def test_a_file_that_is_a_link_or_a_pipe_is_not_read(received: Path, name: str) -> None:
    def read() -> None:
        world = Dataset.open(received).world
        assert world.vocabulary_text
        assert world.scenes

    path = received / "world" / name
    link(path, received.parent / "private" / "key")
    with pytest.raises(UserError, match="is a link"):
        read()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="is not a regular file"):
        read()


@pytest.mark.parametrize("folder", ["world", "benchmarks", f"benchmarks/{FIRST}"])
def test_a_folder_that_is_a_link_is_not_entered(received: Path, folder: str) -> None:
    moved = received.parent / "private" / "moved"
    shutil.move(received / folder, moved)
    (received / folder).symlink_to(moved)
    with pytest.raises(UserError, match="is a link"):
        Dataset.open(received).benchmark(FIRST)


@pytest.mark.parametrize("path", ["../../private/key", "/etc/passwd"])
def test_no_path_leads_out_of_the_world(received: Path, path: str) -> None:
    data = (received.parent / "private" / "key").read_bytes()
    sums = received / "world" / "SHA256SUMS"
    sums.write_text(f"{hashlib.sha256(data).hexdigest()}  {path}\n" + sums.read_text())
    manifest = json.loads((received / "world/manifest.json").read_text())
    manifest["sums"] = hashlib.sha256(sums.read_bytes()).hexdigest()
    (received / "world/manifest.json").write_text(json.dumps(manifest))
    world = Dataset.open(received).world
    with pytest.raises(UserError, match="is not a path within that folder"):
        world.read(path)


@pytest.mark.parametrize("tar", ["../../private/key", "/etc/passwd", ".."])
def test_no_tar_lies_outside_the_world(received: Path, tar: str) -> None:
    data = (received.parent / "private" / "key").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    row = {
        "path": "images/000000.png",
        "tar": tar,
        "offset": 0,
        "size": len(data),
        "sha256": digest,
    }
    pq.write_table(pa.Table.from_pylist([row], schema=PACKED), received / "world/packed.parquet")
    seal(received / "world")
    with pytest.raises(UserError, match="is not a path within that folder"):
        Dataset.open(received).world.read("images/000000.png")


@pytest.mark.parametrize("name", ["../../private/key", "x"])
def test_a_scene_is_named_by_digits(received: Path, name: str) -> None:
    edit(received / "world", "scenes", lambda rows: rows[0].update(scene_id=name))
    world = Dataset.open(received).world
    for read in (lambda: world.scenes, lambda: list(world.batches("scenes", ["scene_id"]))):
        with pytest.raises(UserError, match=r"scenes\.parquet has the scene_id "):
            read()


@pytest.mark.parametrize(("table", "column"), [("splits", "split"), ("items", "protocol")])
def test_names_that_become_files_are_plain(received: Path, table: str, column: str) -> None:
    edit(
        received / "benchmarks" / FIRST,
        table,
        lambda rows: rows[0].update({column: "../../private"}),
    )
    with pytest.raises(
        UserError, match=rf"{table}\.parquet has the {column} '\.\./\.\./private', expected"
    ):
        getattr(Dataset.open(received).benchmark(FIRST), table)


def test_a_benchmark_with_an_odd_name_is_refused(received: Path) -> None:
    (received / "benchmarks" / "a\nb").mkdir()
    with pytest.raises(UserError, match="Expected the benchmark's name to be letters, digits"):
        Dataset.open(received).benchmark_names()


def test_a_world_says_only_outputs_that_there_are(received: Path) -> None:
    path = received / "world/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["request"]["outputs"] = ["../../../private"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="unknown output"):
        assert Dataset.open(received).world.outputs


@pytest.mark.parametrize(
    ("data", "words"),
    [(pixel_bomb(500), "500x500 pixels, expected at most 64x48"), (b"GIF89a", "not a PNG file")],
)
def test_an_image_that_is_larger_than_stated_or_no_png_is_not_decoded(
    received: Path, data: bytes, words: str
) -> None:
    (received / "world/images/000001.png").write_bytes(data)
    seal(received / "world")
    with pytest.raises(UserError, match=words):
        Dataset.open(received).world.image("000001")


@pytest.mark.parametrize(("offset", "size"), [(-1, 3), (0, -1), (0, 1 << 40)])
def test_a_place_that_no_file_of_a_scene_can_have_is_refused(
    offset: int, size: int, small_dataset: Path, tmp_path: Path
) -> None:
    world = Dataset.open(rewrite(small_dataset, tmp_path / "packed", tar_bytes=1 << 20)).world
    rows = pq.read_table(world.folder / "packed.parquet").to_pylist()
    rows[0] |= {"offset": offset, "size": size}
    pq.write_table(pa.Table.from_pylist(rows, PACKED), world.folder / "packed.parquet")
    seal(world.folder)
    with pytest.raises(UserError, match=f"at {offset} with {size} bytes"):
        Dataset.open(tmp_path / "packed").world.read(rows[0]["path"])
