"""Suites are rendered for real: the same digests by other workers, after a kill, and from shards;
changes are found."""

import json
import os
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow.parquet as pq
import pytest
import tomli_w

from generator.base.files import write_sums
from generator.dataset.reader import Dataset
from tests.conftest import once, refuse, run_command, run_process, succeed

OWN = """
name = "own"
version = 1
about = "A small suite."

[tracks.bind]
about = "Colors on shapes."
trained = true

[tracks.bind.worlds.block]
about = "A block."
family = "clevr"
holdout = ["2x3"]
scenes = "train=10,val=1,seen=2,partial=2,unseen=2"
resolution = "48x48"
quality = "draft"
runs = [{ protocols = ["pairs"] }]

[tracks.plain]
about = "Nothing is held out."

[tracks.plain.worlds.shapes]
about = "Shapes."
family = "clevr"
holdout = ["none"]
scenes = "6"
resolution = "48x48"
quality = "draft"
texts = [{ name = "interference", protocols = ["confusion"] }]
runs = [{ benchmark = "interference" }]
parts.tiny = { scenes = "2" }
"""


def declared(folder: Path) -> Path:
    path = folder / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def worlds(root: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((root / "suite.json").read_text("utf-8"))
    return dict(record["worlds"])


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite that one worker made. Not to be changed."""

    def make(root: Path) -> None:
        done = run_process("gen", "suite", declared(root.parent), "--workers", "1", "--out", root)
        assert done.returncode == 0, done.stderr

    return once(tmp_path_factory, "suite", make)


def test_a_suite_is_a_folder_of_datasets(suite: Path) -> None:
    assert list(worlds(suite)) == ["bind/block", "plain/shapes"]
    plain = Dataset.open(suite / "plain/shapes")
    assert plain.benchmark_names() == ["interference", "none"]
    assert plain.world.scenes.num_rows == 6
    assert (suite / "suite.toml").read_text("utf-8") == OWN
    # The images' digest, computed from the files alone.
    lines = b""
    for path in sorted((suite / "plain/shapes/world/images").iterdir()):
        name = f"images/{path.name}"
        lines += json.dumps([[name, sha256(path.read_bytes()).hexdigest()]]).encode() + b"\n"
    assert worlds(suite)["plain/shapes"]["images"] == sha256(lines).hexdigest()


@pytest.mark.full
def test_two_workers_and_a_second_run_give_the_same_digests(suite: Path, tmp_path: Path) -> None:
    command = ["gen", "suite", declared(tmp_path), "--workers", "2", "--out", tmp_path / "two"]
    first = succeed(*command, "--json")
    data = json.loads(first.stdout)
    assert (data["name"], data["part"], data["form"]) == ("own-1", "full", "standard")
    assert data["worlds"] == worlds(suite) == worlds(tmp_path / "two")
    assert "bind/block: 17 images of 48x48 (draft), 1 s of one core." in first.stderr
    assert "23 images: about 1 s with 2 cores" in first.stderr
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    second_run = succeed(*command)
    assert "images are already rendered" not in second_run.stderr
    assert times == {path: path.stat().st_mtime_ns for path in times}


@pytest.mark.full
def test_a_killed_run_goes_on_with_the_same_digests(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    arguments = ["suite", str(declared(tmp_path)), "--workers", "1", "--out", str(out)]
    code = "import sys; sys.argv[0] = 'gen'; from generator.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], start_new_session=True, stderr=subprocess.DEVNULL
    )
    images = out / "bind/block/world/images"
    deadline = monotonic() + 120
    while sum(1 for _ in images.glob("[!.]*.png")) < 3:
        assert monotonic() < deadline
        assert process.poll() is None
        sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert worlds(out) == {}
    done = succeed("gen", *arguments)
    assert "images are already rendered" in done.stderr
    assert worlds(out) == worlds(suite)


@pytest.mark.full
def test_shards_are_merged_to_the_same_digests(suite: Path, tmp_path: Path) -> None:
    path = declared(tmp_path)
    for shard in ("1/2", "2/2"):
        done = succeed("gen suite", path, "--workers", "1", "--shard", shard, cwd=tmp_path)
        assert "gen merge SHARD" in done.stderr
    shards = [tmp_path / f"own-1-shard-{number}-of-2" for number in (1, 2)]
    succeed("gen merge", *shards, "--out", tmp_path / "whole")
    assert worlds(tmp_path / "whole") == worlds(suite)
    refuse("Shards are missing", "gen merge", shards[0], "--out", tmp_path / "half")


def test_another_form_has_other_contents(suite: Path, tmp_path: Path) -> None:
    fresh = ["--fresh", "7", "--track", "plain", "--workers", "1"]
    done = succeed("gen suite", declared(tmp_path), *fresh, "--no-verify", cwd=tmp_path)
    root = tmp_path / "own-1-fresh-7"
    assert done.stdout.strip() == root.name
    (fresh_world,) = worlds(root).values()
    for name in ("plan", "texts", "images"):
        assert fresh_world[name] != worlds(suite)["plain/shapes"][name]
    refuse(
        "it has form = fresh-7, not standard",
        *("gen suite", declared(tmp_path), "--out", root),
    )
    tiny = ["gen suite", declared(tmp_path), "--part", "tiny", "--out", root]
    refuse("it has part = full, not tiny", *tiny, "--fresh", "7")


def test_only_the_worlds_of_the_part_have_to_be_the_same(suite: Path, tmp_path: Path) -> None:
    root = tmp_path / "again"
    shutil.copytree(suite, root)
    path = declared(tmp_path)
    path.write_text("# A comment\n" + OWN.replace('scenes = "2"', 'scenes = "4"'), "utf-8")
    succeed("gen suite", path, "--out", root)
    path.write_text(OWN.replace('scenes = "6"', 'scenes = "8"'), "utf-8")
    refuse("was begun with another declaration", "gen suite", path, "--out", root)


def test_a_whole_suite_is_verified(suite: Path) -> None:
    done = succeed("gen verify", suite)
    block, *rest = done.stdout.splitlines()
    assert block.startswith("bind/block/color-shape-2x3-b")
    assert block.endswith(": clean")
    assert rest == [
        "plain/shapes/interference: clean",
        "plain/shapes/none: clean",
        "digests: clean",
    ]
    refuse("is a suite, so --benchmark", "gen verify", suite, "--benchmark", "none")


def test_a_changed_image_is_found(suite: Path, tmp_path: Path) -> None:
    root = tmp_path / "changed"
    shutil.copytree(suite, root)
    image = next((root / "bind/block/world/images").iterdir())
    image.write_bytes(image.read_bytes()[:-1] + b"\0")
    done = run_command("gen verify", root)
    assert done.returncode == 1
    assert f"images/{image.name}" in done.stderr


def test_a_change_that_hides_in_new_sums_is_found(suite: Path, tmp_path: Path) -> None:
    """Whoever changes a table and its sums makes a sound dataset, but not this one."""
    root = tmp_path / "changed"
    shutil.copytree(suite, root)
    folder = root / "plain/shapes/benchmarks/interference"
    table = pq.read_table(folder / "items.parquet")
    pq.write_table(table.slice(1), folder / "items.parquet")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["sums"] = write_sums(folder, {})
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    done = run_command("gen verify", root, "--no-reproduce", "--json")
    report = json.loads(done.stdout)["digests"]
    assert done.returncode == 1
    assert report["status"] == "failed"
    (found,) = report["findings"]
    assert found["what"].startswith("plain/shapes: the texts have the digest")


def test_published_digests_are_compared(suite: Path, tmp_path: Path) -> None:
    path = declared(tmp_path)
    own = worlds(suite)["plain/shapes"]
    world = {"plan": own["plan"], "texts": own["texts"], "images": {own["blender"]: "0" * 64}}
    digests = tmp_path / "own.digests.toml"
    digests.write_text(tomli_w.dumps({"parts": {"full": {"plain/shapes": world}}}), "utf-8")
    command = ["gen suite", path, "--track", "plain", "--workers", "1", "--out", tmp_path / "out"]
    done = run_command(*command)
    assert done.returncode == 1
    assert "Not as published: plain/shapes: the images have the digest" in done.stderr
    world["images"] = {own["blender"]: own["images"], "9.9": "0" * 64}
    digests.write_text(tomli_w.dumps({"parts": {"full": {"plain/shapes": world}}}), "utf-8")
    succeed(*command)
    # A wrong plan stops before anything is rendered.
    world["plan"] = "0" * 64
    digests.write_text(tomli_w.dumps({"parts": {"full": {"plain/shapes": world}}}), "utf-8")
    refuse("published is 000000000000", *command[:-1], tmp_path / "other")
    assert not (tmp_path / "other/plain/shapes/world/images").exists()
    digests.write_text("parts = 3", "utf-8")
    refuse("The digests", *command)


@pytest.mark.full
def test_jobs_of_slurm_make_the_same(suite: Path, slurm: Path, tmp_path: Path) -> None:
    farm = ["--farm", "slurm", "--jobs", "1", "--workers", "1", "--partition", "long"]
    command = ["gen", "suite", declared(tmp_path), *farm, "--out", tmp_path / "out"]
    dry = succeed(*command, "--dry-run", "--json")
    scripts = json.loads(dry.stdout)["scripts"]
    assert len(scripts) == 2
    assert all("--partition=long" in script for script in scripts)
    assert not (tmp_path / "out").exists()
    done = run_process(*command)
    assert done.returncode == 0, done.stderr
    # Both worlds are submitted before the first is waited for.
    assert done.stderr.count("Submitted 1 jobs") == 2
    assert worlds(tmp_path / "out") == worlds(suite)


@pytest.mark.full
def test_workers_of_ray_make_the_same(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_process(
        "gen", "suite", declared(tmp_path), "--farm", "ray", "--workers", "1", "--out", out
    )
    assert done.returncode == 0, done.stderr
    assert worlds(out) == worlds(suite)


def test_an_address_without_ray_renders_nothing(tmp_path: Path) -> None:
    command = ("gen suite", declared(tmp_path), "--address", "auto", "--out", tmp_path / "out")
    refuse("add --farm ray", *command)
    assert not (tmp_path / "out/bind/block/world/images").exists()


def test_mistakes_of_worlds_name_the_world(tmp_path: Path) -> None:
    path = declared(tmp_path)
    for old, new, message in (
        ('family = "clevr"', 'family = "cleevr"', "bind/block: Unknown family"),
        ('protocols = ["confusion"]', 'protocols = ["confuse"]', "plain/shapes: Unknown"),
        ('["2x3"]', '["99x99"]', "bind/block: "),
        ('"confusion"] }', '"confusion"], counts = "Z=3" }', "plain/shapes: "),
        ('holdout = ["none"]', 'holdout = ["2x2"]\nblock = 3', "block"),
    ):
        path.write_text(OWN.replace(old, new, 1), "utf-8")
        refuse(message, "gen suite", path, "--out", tmp_path / "out")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine", "utf-8")
    refuse("holds something else", "gen suite", declared(tmp_path), "--out", other)
