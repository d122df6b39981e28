"""Shards and tars: the same scenes and files as one run makes, readable by everything that reads a
dataset."""

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import mlcroissant
import pytest
import webdataset
from PIL import Image

from evaluator.training.recipe import Recipe
from evaluator.training.source import benchmark_source
from generator.base.declarations import parse_size
from generator.base.errors import UserError
from generator.base.files import ABOUT
from generator.dataset.reader import Dataset
from generator.holdout.holdout import Holdout
from generator.render.shards import ShardScenes, merge_worlds, parse_shard
from generator.scene.planned import Planned
from tests.conftest import refuse, run_command, succeed
from tests.generator.judge.datasets import edit
from tests.generator.render.digests import files
from tests.generator.worlds import rewrite

TAR_BYTES = 100_000


@pytest.fixture(scope="module")
def packed(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rendered dataset with its images in tars, one of its scenes failed after all, and its
    benchmark."""
    root = rewrite(rendered, tmp_path_factory.mktemp("packed") / "dataset", tar_bytes=TAR_BYTES)
    succeed("gen split", root)
    return root


def test_images_in_tars_are_those_of_the_folder(rendered: Path, packed: Path) -> None:
    loose, tars = Dataset.open(rendered).world, Dataset.open(packed).world
    assert not (tars.folder / "images").exists()
    assert len(list(tars.folder.glob("shards/*.tar"))) > 3
    assert all(path.stat().st_size <= TAR_BYTES for path in tars.folder.glob("shards/*.tar"))
    for scene_id in loose.scenes["scene_id"].to_pylist():
        assert tars.read(f"images/{scene_id}.png") == loose.image_path(scene_id).read_bytes()
        assert tars.image_digest(scene_id) == loose.image_digest(scene_id)
    with pytest.raises(UserError, match="has its images in tars"):
        tars.image_path("000000")
    with pytest.raises(UserError, match=r"lists no images/999999\.png"):
        tars.image("999999")


def test_webdataset_reads_the_tars(rendered: Path, packed: Path) -> None:
    rows = {row["scene_id"]: row for row in Dataset.open(rendered).world.scenes.to_pylist()}
    tars = [str(path) for path in sorted(packed.glob("world/shards/*.tar"))]
    samples = list(webdataset.WebDataset(tars, shardshuffle=False))
    assert [sample["__key__"] for sample in samples] == sorted(rows)
    for sample in samples:
        labels, row = json.loads(sample["json"]), rows[sample["__key__"]]
        for name in ("relations", "scene", "width"):
            assert labels[name] == row[name]
        with Image.open(io.BytesIO(sample["png"])) as image:
            assert image.size == (64, 64)


def test_a_dataset_in_tars_is_verified_previewed_and_trained_on(
    rendered: Path, packed: Path
) -> None:
    assert "clean" in succeed("gen verify", packed).stdout
    succeed("gen preview", packed, "--n", "2")
    whole, other = (
        benchmark_source(dataset.world, dataset.benchmark(), Recipe()).data.images
        for dataset in map(Dataset.open, (rendered, packed))
    )
    for (here, name), (there, same) in zip(whole, other, strict=True):
        assert here.image(name).tobytes() == there.image(same).tobytes()


@pytest.mark.parametrize("harm", ["tar", pytest.param("index", marks=pytest.mark.full)])
def test_changed_tars_are_found_out(rendered: Path, tmp_path: Path, harm: str) -> None:
    root = rewrite(rendered, tmp_path / "dataset", tar_bytes=TAR_BYTES)
    succeed("gen split", root)
    path = root / ("world/shards/000001.tar" if harm == "tar" else "world/packed.parquet")
    data = bytearray(path.read_bytes())
    data[700] ^= 1
    path.write_bytes(data)
    done = run_command("gen verify", root)
    assert done.returncode == 1
    assert f"{path.name} has other bytes than when it was made" in done.stderr


def test_croissant_lists_the_tars(packed: Path) -> None:
    described = mlcroissant.Dataset(str(packed / "croissant.json"))
    assert not described.metadata.issues.errors
    first = next(iter(described.records("images")))
    assert first["images/image"].size == (64, 64)


def test_parts_and_sizes_are_read() -> None:
    assert parse_shard("3/3") == (3, 3)
    assert [parse_size(spec) for spec in ("1", "2kb", "3 MB", "4G")] == [
        1,
        2000,
        3_000_000,
        4_000_000_000,
    ]
    for spec in ("0/3", "4/3", "1/2/3", "a/b"):
        with pytest.raises(UserError, match="Expected --shard to be i/n"):
            parse_shard(spec)
    for spec in ("0MB", "MB", "1TB", "1.5GB"):
        with pytest.raises(UserError, match="Expected a size such as 256MB"):
            parse_size(spec)
    plan = [Planned(f"{i:03d}", "", (), (), "") for i in range(10)]
    shards = [ShardScenes(plan, (i, 4)) for i in (1, 2, 3, 4)]
    assert sorted(scene.scene_id for shard in shards for scene in shard) == [
        scene.scene_id for scene in plan
    ]
    assert (
        [len(shard) for shard in shards] == [len(list(shard)) for shard in shards] == [3, 3, 2, 2]
    )
    assert list(ShardScenes(plan, None)) == plan


def test_merged_parts_are_the_files_of_one_run(
    rendered: Path, parts: list[Path], tmp_path: Path
) -> None:
    succeed("gen merge", *reversed(parts), "--out", tmp_path / "whole")
    assert files(tmp_path / "whole") == {
        name: d for name, d in files(rendered).items() if Path(name).name not in ABOUT
    }
    merged = succeed("gen merge", *parts, "--out", tmp_path / "whole", "--json")
    assert json.loads(merged.stdout)["scenes"]["train"] > 0
    assert [Dataset.open(part).benchmark_names() for part in parts] == [[], [], []]


def test_a_stopped_merge_continues(
    rendered: Path, parts: list[Path], tmp_path: Path, monkeypatch: Any
) -> None:
    link, calls = os.link, iter(range(1000))

    def stopping(*arguments: Any) -> None:
        if next(calls) == 100:
            raise KeyboardInterrupt
        link(*arguments)

    monkeypatch.setattr(os, "link", stopping)
    with pytest.raises(KeyboardInterrupt):
        merge_worlds(parts, tmp_path / "whole")
    assert not (tmp_path / "whole/world/manifest.json").exists()
    monkeypatch.setattr(
        os, "link", lambda *arguments: (_ for _ in ()).throw(OSError("no links here"))
    )
    merge_worlds(parts, tmp_path / "whole")
    assert files(tmp_path / "whole/world") == files(rendered / "world")


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda parts: parts[:2], "Shards are missing: 3/3"),
        (lambda parts: [*parts, parts[0]], "are both shard 1/3; give each once"),
    ],
)
def test_parts_that_are_no_whole_are_refused(
    parts: list[Path], tmp_path: Path, give: Any, message: str
) -> None:
    refuse(message, "gen merge", *give(parts), "--out", tmp_path / "whole")
    assert not (tmp_path / "whole").exists()


def test_exposed_negatives_of_a_world_without_training_are_refused(
    rendered: Path, tmp_path: Path
) -> None:
    holdout = Dataset.open(rendered).world.manifest["request"]["holdouts"][0]
    nothing = Holdout.from_dict(holdout | {"bindings": []}).to_dict()
    part = rewrite(rendered, tmp_path / "part", slice(None), shard=[1, 1], holdouts=[nothing])
    refuse(
        "negatives, which such a benchmark lacks",
        "gen merge --exposed-negatives --out",
        tmp_path / "whole",
        part,
    )
    assert not (tmp_path / "whole").exists()


def test_parts_of_another_world_and_damaged_ones_are_refused(
    rendered: Path, parts: list[Path], tmp_path: Path
) -> None:
    other = rewrite(rendered, tmp_path / "other", slice(2, None, 3), shard=[3, 3], seed=1)
    with pytest.raises(UserError, match="is a shard of another world: it has seed = 1, not 0"):
        merge_worlds([*parts[:2], other], tmp_path / "whole")
    damaged = rewrite(rendered, tmp_path / "damaged", slice(2, None, 3), shard=[3, 3])
    (damaged / "world/images/000002.png").write_bytes(b"")
    with pytest.raises(UserError, match=r"000002\.png is damaged or missing"):
        merge_worlds([*parts[:2], damaged], tmp_path / "whole")


def test_a_shard_whose_scenes_have_other_names_is_refused(
    parts: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.png").write_text("private")
    received = Path(shutil.copytree(parts[1], tmp_path / "received"))
    name = "../../../private/key"
    edit(
        received / "world",
        "scenes",
        lambda rows: rows[0].update(scene_id=name, status="failed", reason="x"),
    )
    shards = [parts[0], received, parts[2]]
    refuse(
        "scenes.parquet has the scene_id", "gen merge", *shards, "--out", tmp_path / "out" / "whole"
    )
    assert (tmp_path / "private" / "key.png").read_text() == "private"
