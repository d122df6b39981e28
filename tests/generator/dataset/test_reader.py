"""The tables carry what later protocols need: pools, two-image groups, hard positives, benchmarks made elsewhere."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.dataset.records import CANDIDATES, PACKED
from generator.dataset.writer import write_benchmark
from tests.conftest import run_command
from tests.generator.dataset.conftest import FIRST
from tests.generator.judge.datasets import edit, seal
from tests.generator.worlds import rewrite
from tests.hostile_files import pixel_bomb
from tests.paths import SHARED

SUGARCREPE = SHARED / "data" / "sugarcrepe" / "swap_att.json"


def text_row(text: str, form: str | None = None) -> dict:
    return {
        "text_id": hashlib.sha256(text.encode()).hexdigest()[:16],
        "text": text,
        "form": form,
        "template": None,
        "level": None,
        "n_objects": None,
        "n_attributes": None,
        "n_relations": None,
    }


def item_row(item_id: str, protocol: str, **more: object) -> dict:
    return {
        "item_id": item_id,
        "protocol": protocol,
        "kind": None,
        "skill": None,
        "split": "test",
        "cluster_id": item_id,
        "pool_id": None,
        "held_out_positive": None,
        "held_out_negative": None,
        **more,
    }


def candidate(item_id: str, scene_id: str, text: dict, slot: str, truth: bool, **more: object) -> dict:
    return {
        "item_id": item_id,
        "scene_id": scene_id,
        "text_id": text["text_id"],
        "slot": slot,
        "truth": truth,
        "kind": None,
        "changed": [],
        "of": None,
        **more,
    }


def test_a_two_image_group_and_a_hard_positive(copied: Path) -> None:
    c0, c1 = text_row("a red cube and a blue sphere"), text_row("a blue cube and a red sphere")
    p, n = text_row("a blue sphere and a red cube"), text_row("a red sphere and a blue cube")
    group = [
        candidate("pair", scene, text, slot, scene[-1] == slot)
        for scene in ("s0", "s1")
        for slot, text in (("0", c0), ("1", c1))
    ]
    hard = [
        candidate("hard", "s0", c0, "c", True),
        candidate("hard", "s0", p, "p", True, of=c0["text_id"]),
        candidate("hard", "s0", n, "n", False, of=c0["text_id"], changed=["0:color:red>blue"]),
    ]
    tables = {
        "texts": [c0, c1, p, n],
        "items": [item_row("pair", "pairs", kind="swap"), item_row("hard", "hard-positives", kind="swap-order")],
        "candidates": group + hard,
    }
    write_benchmark(copied, "carried", tables, None, {})
    read = Dataset.open(copied).benchmark("carried")
    assert read.candidates.to_pylist() == group + hard
    assert read.items.to_pylist() == tables["items"]
    assert read.items_of("pairs")["item_id"].to_pylist() == ["pair"]
    assert read.text_of[p["text_id"]] == "a blue sphere and a red cube"
    assert read.holdout is None
    assert read.splits.num_rows == read.pools.num_rows == 0


def test_candidates_without_a_kind_have_none(copied: Path) -> None:
    row = candidate("i", "s0", text_row("a red cube"), "c", True)
    old = pa.Table.from_pylist([row], schema=CANDIDATES).drop_columns("kind")
    write_benchmark(copied, "old", {"candidates": old}, None, {})
    assert Dataset.open(copied).benchmark("old").candidates.to_pylist() == [row]
    without = {name: value for name, value in row.items() if name != "kind"}
    write_benchmark(copied, "old", {"candidates": [without]}, None, {})
    assert Dataset.open(copied).benchmark("old").candidates.to_pylist() == [row]


def test_a_pool_of_7392_captions(copied: Path) -> None:
    own = Dataset.open(copied).benchmark()
    write_benchmark(copied, "again", {"texts": own.texts, "pools": own.pools}, None, {})
    again = Dataset.open(copied).benchmark("again")
    assert again.pools.equals(own.pools)
    assert again.pools.num_rows == 7392


@pytest.mark.skipif(
    not SUGARCREPE.exists(), reason="SugarCrepe lies beside the checkout only where the project is developed"
)
def test_an_item_of_sugarcrepe(copied: Path) -> None:
    key, item = next(iter(json.loads(SUGARCREPE.read_text()).items()))
    texts = [text_row(item["caption"]), text_row(item["negative_caption"])]
    rows = [
        candidate(key, item["filename"], texts[0], "c", True),
        candidate(key, item["filename"], texts[1], "n", False),
    ]
    write_benchmark(
        copied, "sugarcrepe", {"texts": texts, "items": [item_row(key, "binary")], "candidates": rows}, None, {}
    )
    read = Dataset.open(copied).benchmark("sugarcrepe")
    assert [read.text_of[row["text_id"]] for row in read.candidates.to_pylist()] == [
        item["caption"],
        item["negative_caption"],
    ]
    assert read.texts["form"].to_pylist() == [None, None]


def test_rows_that_do_not_fit_are_refused(copied: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write_benchmark(copied, "wrong", {"items": [item_row("x", "binary", held_out_positive="many")]}, None, {})
    assert not (copied / "benchmarks" / "wrong").exists()
    assert [path.name for path in (copied / "benchmarks").iterdir()] == ["color-shape-3x3-b0"]


BENCHMARK = "benchmarks/color-shape-3x3-b0"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (
            lambda root: (root / "world/manifest.json").unlink(),
            "is unfinished; run the same `gen render` command again",
        ),
        (lambda root: (root / BENCHMARK / "manifest.json").unlink(), "is unfinished; run `gen split`"),
        (lambda root: (root / "world/SHA256SUMS").write_text("x"), "SHA256SUMS is damaged"),
        (lambda root: (root / "world/manifest.json").write_text("{"), "manifest.json is damaged"),
        (lambda root: (root / BENCHMARK / "texts.parquet").unlink(), "texts.parquet is damaged or missing"),
        (
            lambda root: (root / BENCHMARK / "splits.parquet").write_bytes(b"PAR1"),
            "splits.parquet is damaged or missing",
        ),
        (lambda root: (root / "world").rename(root / "welt"), "is no dataset"),
    ],
)
def test_unfinished_and_damaged_datasets_say_so(copied: Path, harm: Callable[[Path], object], said: str) -> None:
    harm(copied)
    done = run_command("gen", "preview", copied)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (copied / "preview.png").exists()


def test_damaged_scenes_cannot_be_split_again(copied: Path) -> None:
    (copied / "world/scenes.parquet").write_bytes(b"PAR1")
    done = run_command("gen", "split", copied, "--block-seed", "5")
    assert done.returncode == 2
    assert "scenes.parquet is damaged" in done.stderr


@pytest.fixture
def received(made: Path, tmp_path: Path) -> Path:
    """A dataset of someone else's beside a private folder of ours."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("private")
    return Path(shutil.copytree(made, tmp_path / "received"))


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "read",
    [
        lambda dataset: dataset.world.image("000000"),
        lambda dataset: dataset.world.image_path("000000"),
        lambda dataset: dataset.world.read("images/000000.png"),
    ],
)
def test_an_image_that_is_a_link_is_not_read(received: Path, read: Callable[[Dataset], object]) -> None:
    image = received / "world/images/000000.png"
    (received.parent / "private" / "same.png").write_bytes(image.read_bytes())  # even where its digest is right
    link(image, received.parent / "private" / "same.png")
    with pytest.raises(UserError, match=r"000000\.png is a link, and links are not followed"):
        read(Dataset.open(received))


@pytest.mark.parametrize(
    "name", ["world/vocabulary.toml", "world/manifest.json", "world/SHA256SUMS", "world/scenes.parquet"]
)
def test_a_file_that_is_a_link_or_a_pipe_is_not_read(received: Path, name: str) -> None:
    def read() -> None:
        world = Dataset.open(received).world
        assert world.vocabulary_text
        assert world.scenes

    link(received / name, received.parent / "private" / "key")
    with pytest.raises(UserError, match="is a link"):
        read()
    (received / name).unlink()
    os.mkfifo(received / name)
    with pytest.raises(UserError, match="is no regular file"):
        read()


@pytest.mark.parametrize("folder", ["world", "benchmarks", f"benchmarks/{FIRST}"])
def test_a_folder_that_is_a_link_is_not_entered(received: Path, folder: str) -> None:
    moved = received.parent / "private" / "moved"
    shutil.move(received / folder, moved)
    (received / folder).symlink_to(moved)
    with pytest.raises(UserError, match="is a link"):
        Dataset.open(received).benchmark(FIRST)


@pytest.mark.parametrize("path", ["../../private/key", "/etc/passwd", "images/../../../private/key"])
def test_no_path_leads_out_of_the_world(received: Path, path: str) -> None:
    data = (received.parent / "private" / "key").read_bytes()
    sums = received / "world" / "SHA256SUMS"
    sums.write_text(f"{hashlib.sha256(data).hexdigest()}  {path}\n" + sums.read_text())
    manifest = json.loads((received / "world/manifest.json").read_text())
    manifest["sums"] = hashlib.sha256(sums.read_bytes()).hexdigest()
    (received / "world/manifest.json").write_text(json.dumps(manifest))
    world = Dataset.open(received).world
    with pytest.raises(UserError, match="is no path within that folder"):
        world.read(path)


@pytest.mark.parametrize("tar", ["../../private/key", "/etc/passwd", ".."])
def test_no_tar_lies_outside_the_world(received: Path, tar: str) -> None:
    data = (received.parent / "private" / "key").read_bytes()
    row = {
        "path": "images/000000.png",
        "tar": tar,
        "offset": 0,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    pq.write_table(pa.Table.from_pylist([row], schema=PACKED), received / "world/packed.parquet")
    seal(received / "world")
    with pytest.raises(UserError, match="is no path within that folder"):
        Dataset.open(received).world.read("images/000000.png")


@pytest.mark.parametrize("name", ["../../private/key", "*", "a/b", "000000\n", "x"])
def test_a_scene_is_named_by_digits(received: Path, name: str) -> None:
    edit(received / "world", "scenes", lambda rows: rows[0].update(scene_id=name))
    world = Dataset.open(received).world
    with pytest.raises(UserError, match=r"scenes\.parquet has the scene_id "):
        assert world.scenes
    with pytest.raises(UserError, match=r"scenes\.parquet has the scene_id "):
        list(world.batches("scenes", ["scene_id"]))


@pytest.mark.parametrize(
    ("table", "column"), [("splits", "split"), ("items", "protocol"), ("items", "pool_id"), ("pools", "pool_id")]
)
def test_names_that_become_files_are_plain(received: Path, table: str, column: str) -> None:
    edit(received / "benchmarks" / FIRST, table, lambda rows: rows[0].update({column: "../../private"}))
    with pytest.raises(UserError, match=rf"{table}\.parquet has the {column} '\.\./\.\./private', expected"):
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
    ("data", "said"), [(pixel_bomb(500), "500x500 pixels, expected at most 64x48"), (b"GIF89a", "no PNG file")]
)
def test_an_image_that_is_larger_than_stated_or_no_png_is_not_decoded(
    made: Path, tmp_path: Path, data: bytes, said: str
) -> None:
    root = shutil.copytree(made, tmp_path / "dataset")
    (root / "world/images/000001.png").write_bytes(data)
    seal(root / "world")
    with pytest.raises(UserError, match=said):
        Dataset.open(root).world.image("000001")


@pytest.mark.parametrize(("offset", "size"), [(-1, 3), (0, -1), (0, 1 << 40)])
def test_a_place_that_no_file_of_a_scene_can_have_is_refused(
    offset: int, size: int, made: Path, tmp_path: Path
) -> None:
    world = Dataset.open(rewrite(made, tmp_path / "packed", tar_bytes=1 << 20)).world
    rows = pq.read_table(world.folder / "packed.parquet").to_pylist()
    rows[0] |= {"offset": offset, "size": size}
    pq.write_table(pa.Table.from_pylist(rows, PACKED), world.folder / "packed.parquet")
    seal(world.folder)
    with pytest.raises(UserError, match=f"at {offset} with {size} bytes"):
        Dataset.open(tmp_path / "packed").world.read(rows[0]["path"])
