"""Datasets at a URL: the files of a local one, there whole or not at all, read as any other."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest

from generator.api import render
from generator.base import store
from generator.base.errors import UserError
from generator.base.files import ABOUT
from generator.base.store import display_name, drop_local_copy, fetch, mirror, publish, staging
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import first_request
from generator.exports.huggingface import Publication, export_hf
from generator.holdout.holdout import Holdout
from tests.conftest import SCENES, refuse, render_arguments, run_command, succeed
from tests.generator.render.test_run import start
from tests.generator.worlds import rewrite

BENCHMARK = "benchmarks/color-shape-3x3-b0"


def files(root: Path) -> dict[str, str]:
    """Digest of every file of a dataset but those of ABOUT, such as certificates, by relative
    path."""
    paths = sorted(
        path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")
    )
    paths_by_name = {str(path.relative_to(root)): path for path in paths if path.name not in ABOUT}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths_by_name.items()
    }


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["memory", pytest.param("file", marks=pytest.mark.full)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place: in memory, which like an object store has neither folders nor renames; and on
    disk."""
    yield "memory://bucket/world" if request.param == "memory" else f"file://{tmp_path}/there"
    fsspec.filesystem("memory").store.clear()


def at(url: str) -> dict[str, str]:
    """Digest of every file at a URL, by relative path."""
    place, root = fsspec.core.url_to_fs(url)
    place.invalidate_cache()
    return {
        path.removeprefix(f"{root}/"): hashlib.sha256(place.cat_file(path)).hexdigest()
        for path in place.find(root)
    }


def put(url: str, path: str, data: bytes) -> None:
    """Write a file at a URL, as its owner could."""
    place, root = fsspec.core.url_to_fs(url)
    place.makedirs(f"{root}/{path}".rpartition("/")[0], exist_ok=True)
    place.pipe_file(f"{root}/{path}", data)


def make(rendered: Path, url: str, **more: object) -> None:
    """Write the rendered dataset's scenes and benchmark to a URL, as `gen render` does."""
    root = rewrite(rendered, staging(url), **more)
    write_benchmarks(root, Dataset.open(root).world, exposed_negatives=False)
    drop_local_copy(root)


def test_a_dataset_at_a_url_has_the_files_of_a_local_one(
    rendered: Path, url: str, cache: Path
) -> None:
    for _ in range(2):  # again, all being there
        make(rendered, url)
        assert at(url) == files(rendered)
        assert not list(cache.rglob("*.png"))


def test_tars_too(rendered: Path, url: str) -> None:
    make(rendered, url, tar_bytes=100_000)
    assert sum(path.endswith(".tar") for path in at(url)) > 3
    assert not any(path.endswith(".png") for path in at(url))
    assert Dataset.open(url).world.read("images/000003.png") == Dataset.open(rendered).world.read(
        "images/000003.png"
    )


@contextmanager
def cut_off(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """Within this context one cannot copy more files to a URL than `after`; it expects that someone
    tries."""
    whole, done = store._put, iter(range(after))

    def put_some(place: Any, root: Path, paths: Iterable[str]) -> None:
        for path in paths:
            if next(done, None) is None:
                raise UserError("the line is dead.")
            whole(place, root, [path])

    with monkeypatch.context() as patch:
        patch.setattr(store, "_put", put_some)
        with pytest.raises(UserError, match="the line is dead"):
            yield


@pytest.mark.parametrize("stop", [1, 100, pytest.param(176, marks=pytest.mark.full), 182])
def test_manifests_come_last_and_what_is_cut_off_continues_to_the_same_files(
    rendered: Path, url: str, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    whole = store._put

    def put_and_note(place: Any, root: Path, paths: Iterable[str]) -> None:
        for path in paths:
            whole(place, root, [path])
            done.append(path)
            if path.endswith("/manifest.json"):
                folder = path.removesuffix("manifest.json")
                assert {name for name in at(url) if name.startswith(folder)} <= {*done}

    monkeypatch.setattr(store, "_put", put_and_note)
    with cut_off(monkeypatch, stop):
        make(rendered, url)
    if stop < 176:
        with pytest.raises(UserError, match="is not a finished dataset"):
            mirror(url)
    make(rendered, url)
    assert at(url) == files(rendered)
    assert done[-1] == "dataset.json"
    assert sum(path.startswith("world/images/") for path in done) == 174  # each once


@pytest.mark.parametrize("stop", [0, 3])
def test_a_benchmark_whose_copying_is_cut_off_costs_none_and_is_copied_later(
    rendered: Path, url: str, stop: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(rendered, url)
    before = {name: digest for name, digest in at(url).items() if name.startswith(BENCHMARK)}
    holdout = Holdout.from_dict(Dataset.open(rendered).block())

    def write(seed: int, replaces: bool) -> str:
        root, request = mirror(url), replace(first_request(holdout), seed=seed)
        describe_world(
            root,
            Dataset.open(root).world,
            holdout=holdout,
            name="second",
            request=request,
            replace=replaces,
        )
        return Dataset.open(url).benchmark("second").digest

    for seed in (0, 1):
        with cut_off(monkeypatch, stop):
            write(seed, True)
        assert before.items() <= at(url).items()
        fetch(mirror(url))
        assert Dataset.open(url).benchmark("second").manifest["texts"]["seed"] == seed
        assert Dataset.open(url).benchmark_names() == [BENCHMARK.partition("/")[2], "second"]
        written = write(seed, False)
        with monkeypatch.context() as other_machine:
            other_machine.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache {seed}"))
            assert Dataset.open(url).benchmark("second").digest == written


def test_a_shard_whose_copying_is_cut_off_stays_until_it_is_copied(
    rendered: Path, url: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    with cut_off(monkeypatch, 100):
        rewrite(rendered, staging(url), shard=(1, 1))
    with pytest.raises(UserError, match="run the same command again"):
        drop_local_copy(staging(url))
    render(
        out=url,
        shard="1/1",
        scenes=SCENES,
        resolution="64x64",
        quality="draft",
        device="cpu",
        workers=1,
    )
    copied_rows, expected = (
        {path for path in of if path.startswith("world/")} for of in (at(url), files(rendered))
    )
    assert copied_rows == expected
    assert "dataset.json" in at(url)
    assert not list(cache.rglob("*.png"))


def test_a_dataset_that_is_gone_from_its_url_is_not_copied_there_without_its_images(
    rendered: Path, url: str
) -> None:
    make(rendered, url)
    mirror(url)
    place, root = fsspec.core.url_to_fs(url)
    place.rm(root, recursive=True)
    with pytest.raises(UserError, match="has no dataset any more; remove"):
        make(rendered, url)


def test_an_export_for_the_hub_has_every_listed_file_of_a_dataset_at_a_url(
    rendered: Path, url: str, tmp_path: Path
) -> None:
    make(rendered, url)
    expected = at(url)
    put(url, "world/depth/000003.npy", b"of somebody else")
    opened = Dataset.open(url)
    export_hf(opened, opened.benchmark(), about=Publication("Small worlds"), out=tmp_path / "out")
    assert files(tmp_path / "out" / "dataset") == expected


def test_a_place_with_something_else_is_refused(rendered: Path, url: str) -> None:
    put(url, "diary", b"dear diary")
    with pytest.raises(UserError, match=f"{url} holds something else than a world"):
        make(rendered, url)
    assert list(at(url)) == ["diary"]
    make(rendered, f"{url}/new")
    with pytest.raises(UserError, match=f"{url}/new holds another world: it has seed = 0, not 1"):
        make(rendered, f"{url}/new", seed=1)


def test_reading_takes_only_the_images_that_are_asked_for(
    rendered: Path, url: str, cache: Path
) -> None:
    make(rendered, url)
    opened, image = Dataset.open(url), Dataset.open(rendered).world.read("images/000007.png")
    assert opened.benchmark().items.equals(Dataset.open(rendered).benchmark().items)
    assert not list(cache.rglob("*.png"))
    assert opened.world.read("images/000007.png") == image
    (cached,) = cache.rglob("*.png")
    cached.write_bytes(b"half")
    assert opened.world.read("images/000007.png") == image


def test_a_dataset_that_changed_at_its_url_is_taken_anew(
    rendered: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(rendered, url)
    mirror(url)
    holdout = Holdout.from_dict(Dataset.open(rendered).block())
    with monkeypatch.context() as other_machine:
        other_machine.setenv("XDG_CACHE_HOME", str(tmp_path / "other cache"))
        other = mirror(url)
        describe_world(
            other,
            Dataset.open(other).world,
            holdout=holdout,
            name="second",
            request=first_request(holdout),
        )
    assert Dataset.open(url).benchmark_names() == ["color-shape-3x3-b0", "second"]


def test_a_benchmark_written_anew_loses_its_certificate(rendered: Path, url: str) -> None:
    make(rendered, url)
    root, path = mirror(url), f"{BENCHMARK}/verify.json"
    (root / path).write_text("{}")
    publish(root)
    assert path in at(url)
    (root / path).unlink()
    publish(root)
    assert path not in at(url)


def test_damage_at_the_url_is_found(rendered: Path, url: str) -> None:
    make(rendered, url)
    root = mirror(url)
    put(url, "world/images/000004.png", b"bad")
    with pytest.raises(UserError, match=r"000004\.png is damaged or missing"):
        Dataset.open(url).world.image("000004")
    (root / "world/images/000004.png").unlink()
    fetch(root)
    assert (root / "world/images/000004.png").read_bytes() == b"bad"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nowhere://bucket/d", "cannot be used: ValueError: Protocol not known: nowhere"),
        ("file:///nowhere/d", "is not a finished dataset"),
    ],
)
def test_urls_without_a_dataset_are_explained(url: str, words: str) -> None:
    refuse(words, "gen verify", url)


@pytest.mark.full
def test_commands_take_urls(tmp_path: Path, rendered: Path) -> None:
    url = f"file://{tmp_path}/there"
    make(rendered, url)
    for command in (
        ["gen", "verify", url],
        ["gen", "describe", url, "--protocol", "binary", "--name", "second"],
        ["score", "audit", url, "--benchmark", "second"],
        ["gen", "verify", tmp_path / "there"],
    ):
        succeed(*command)
        assert (
            json.loads((tmp_path / "there" / BENCHMARK / "verify.json").read_text())["status"]
            == "clean"
        )


@pytest.mark.full
def test_rendering_to_a_url_that_is_killed_continues(tmp_path: Path, cache: Path) -> None:
    few = ["--scenes", "train=8,val=1,seen=2,partial=2,unseen=2"]
    succeed(*render_arguments(tmp_path / "here", *few))
    url = f"file://{tmp_path}/there"
    process = start(*render_arguments(url, *few))
    while len(list(cache.rglob("*.png"))) < 4:
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert not at(url)
    done = succeed(*render_arguments(url, *few))
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert done.stdout.strip() == url


@pytest.mark.full
def test_the_shipped_dataset_is_there_by_name(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is clean, made again byte for byte, and lies in the cache; a folder of that name comes
    first."""
    monkeypatch.chdir(tmp_path)
    assert "made again byte for byte" in succeed("gen verify example").stderr
    assert cache in Dataset.open("example").root.parents
    (tmp_path / "example").mkdir()
    refuse("no folder 'world'", "gen info example")


@pytest.mark.parametrize("place", ["elsewhere", "cache/jackalope/urls/0123456789abcdef/there"])
def test_an_origin_counts_only_in_the_folder_of_its_url(
    rendered: Path, tmp_path: Path, place: str
) -> None:
    """A sender's .origin named a place to write to, and the folder was removed once it was
    'published'."""
    folder = shutil.copytree(rendered, tmp_path / place)
    (folder / ".origin").write_text(f"file://{tmp_path}/there")
    done = succeed("gen split", folder, "--holdout", "4x6", "--block-seed", "1")
    assert f"file://{tmp_path}/there" not in done.stdout + done.stderr
    fetch(folder)
    publish(folder)
    assert drop_local_copy(folder) == str(folder)
    assert (folder / "world" / "manifest.json").exists()
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"no url", b"file://\0"])
def test_an_origin_that_is_no_url_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".origin").write_bytes(content)
    assert display_name(tmp_path) == str(tmp_path)


def test_links_are_never_published(rendered: Path, url: str, tmp_path: Path) -> None:
    make(rendered, url)
    root = mirror(url)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("private")
    (root / "world" / "key.txt").symlink_to(tmp_path / "private" / "key")
    (root / "world" / "keys").symlink_to(tmp_path / "private")
    before = set(at(url))
    publish(root)
    assert set(at(url)) == before


@pytest.mark.parametrize("line", ["../../pwned", "images/../../../pwned", ".."])
def test_a_path_that_leaves_the_dataset_is_not_fetched(
    rendered: Path, tmp_path: Path, line: str
) -> None:
    """The owner of a URL chooses the names of its files, and what its sums, index and tables
    name."""
    url = f"file://{tmp_path}/a/b/c/there"
    make(rendered, url)
    for folder in (tmp_path / "a/b/c", tmp_path / "a/b"):
        (folder / "pwned").write_text("payload")
    there = tmp_path / "a/b/c/there"
    index = json.loads((there / "dataset.json").read_text())
    put(
        url,
        "world/SHA256SUMS",
        f"{'0' * 64}  {line}\n{(there / 'world/SHA256SUMS').read_text()}".encode(),
    )
    put(url, "dataset.json", json.dumps({**index, "benchmarks": {line: "0"}}).encode())
    before = {path for path in tmp_path.rglob("*") if path.name == "pwned"}
    assert run_command("gen", "verify", url).returncode != 0
    with pytest.raises(UserError):
        fetch(mirror(url), line)
    assert {path for path in tmp_path.rglob("*") if path.name == "pwned"} == before
