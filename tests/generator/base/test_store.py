"""Datasets at a URL: the files of a local one, there whole or not at all, read as any other."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import fsspec
import pytest

from generator.base.errors import UserError
from generator.base.store import Store, fetch_all, mirror, publish, publish_file, settle, shown, staging
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe, write_benchmarks
from generator.describe.request import first_request
from generator.holdout.holdout import Holdout
from tests.conftest import render_arguments, run_command
from tests.generator.render.test_run import start
from tests.generator.worlds import rewrite


def files(root: Path) -> dict[str, str]:
    """Digest of every file of a dataset, by relative path."""
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place: in memory, which like an object store has neither folders nor renames; and on disk."""
    yield "memory://bucket/world" if request.param == "memory" else f"file://{tmp_path}/there"
    fsspec.filesystem("memory").store.clear()


def at(url: str) -> dict[str, str]:
    """Digest of every file at a URL, by relative path."""
    store = Store(url)
    return {path: hashlib.sha256(store.read(path) or b"").hexdigest() for path in store.sizes()}


def make(rendered: Path, url: str, **more: object) -> None:
    """Write the rendered dataset's scenes and benchmark to a URL, as `gen render` does."""
    root = rewrite(rendered, staging(url), **more)
    write_benchmarks(root, Dataset.open(root).world, exposed_negatives=False)
    settle(root)


def test_a_dataset_at_a_url_has_the_files_of_a_local_one(rendered: Path, url: str, tmp_path: Path) -> None:
    make(rendered, url)
    expected = {name: digest for name, digest in files(rendered).items() if "verify.json" not in name}
    assert at(url) == expected
    assert not list((tmp_path / "cache").rglob("*.png"))
    make(rendered, url)  # again, all being there
    assert at(url) == expected


def test_tars_too(rendered: Path, url: str) -> None:
    make(rendered, url, tar_bytes=100_000)
    assert sum(path.endswith(".tar") for path in at(url)) > 3
    assert not any(path.endswith(".png") for path in at(url))
    world = Dataset.open(url).world
    assert world.image("000003").tobytes() == Dataset.open(rendered).world.image("000003").tobytes()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were copied to a URL, in order; after as many as `stop` the line is dead."""
    done: list[str] = []
    put = Store.put

    def noted(self: Store, paths: Iterable[str], root: Path) -> None:
        for path in paths:
            if len(done) == STOP.get("after"):
                raise UserError(f"{self.url} cannot be written: the line is dead.")
            put(self, [path], root)
            done.append(path)

    monkeypatch.setattr(Store, "put", noted)
    STOP.clear()
    return done


STOP: dict[str, int] = {}


def test_manifests_come_last(rendered: Path, url: str, written: list[str]) -> None:
    make(rendered, url)
    assert written[0] == "world/.request.json"
    manifests = [i for i, path in enumerate(written) if path.endswith("/manifest.json")]
    for i in manifests:
        folder = written[i].removesuffix("manifest.json")
        assert {path for path in at(url) if path.startswith(folder)} <= set(written[: i + 1])
    assert written[-1] == "dataset.json"
    assert sum(path.startswith("world/images/") for path in written) == 174  # each once


@pytest.mark.parametrize(
    "stop", [pytest.param(n, marks=[pytest.mark.full] if n in (1, 180, 190) else []) for n in (1, 100, 176, 180, 190)]
)
def test_what_is_cut_off_continues_to_the_same_files(rendered: Path, url: str, written: list[str], stop: int) -> None:
    STOP["after"] = stop
    with pytest.raises(UserError, match="the line is dead"):
        make(rendered, url)
    if stop < 176:
        with pytest.raises(UserError, match="is no finished dataset"):
            mirror(url)
    STOP.clear()
    make(rendered, url)
    assert at(url) == {name: digest for name, digest in files(rendered).items() if "verify.json" not in name}


def test_a_place_with_something_else_is_refused(rendered: Path, url: str, tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    Store(url).put(["diary"], tmp_path)
    with pytest.raises(UserError, match=f"{url} holds something else than a world"):
        make(rendered, url)
    Store(url).remove("diary")
    make(rendered, url)
    with pytest.raises(UserError, match=f"{url} holds another world: it has seed = 0, not 1"):
        make(rendered, url, seed=1)


def test_reading_takes_only_the_images_that_are_asked_for(rendered: Path, url: str, tmp_path: Path) -> None:
    make(rendered, url)
    opened, here = Dataset.open(url), Dataset.open(rendered)
    assert opened.benchmark().items.equals(here.benchmark().items)
    assert not list((tmp_path / "cache").rglob("*.png"))
    assert opened.world.image("000007").tobytes() == here.world.image("000007").tobytes()
    assert len(list((tmp_path / "cache").rglob("*.png"))) == 1
    cached = next((tmp_path / "cache").rglob("*.png"))
    cached.write_bytes(b"half")
    assert opened.world.image("000007").tobytes() == here.world.image("000007").tobytes()


def test_a_dataset_that_changed_at_its_url_is_taken_anew(
    rendered: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(rendered, url)
    mirror(url)
    holdout = Holdout.from_dict(Dataset.open(rendered).block())
    with monkeypatch.context() as other_machine:
        other_machine.setenv("XDG_CACHE_HOME", str(tmp_path / "other cache"))
        other = mirror(url)
        describe(other, Dataset.open(other).world, holdout, "second", first_request(holdout))
    assert Dataset.open(url).benchmark_names() == ["color-shape-3x3-b0", "second"]


def test_a_benchmark_written_anew_loses_its_certificate(rendered: Path, url: str) -> None:
    make(rendered, url)
    root = mirror(url)
    path = "benchmarks/color-shape-3x3-b0/verify.json"
    (root / path).write_text("{}")
    publish(root)
    assert path in at(url)
    (root / path).unlink()
    publish(root)
    assert path not in at(url)


def test_damage_at_the_url_is_found(rendered: Path, url: str, tmp_path: Path) -> None:
    make(rendered, url)
    root = mirror(url)
    bad = tmp_path / "bad" / "world/images/000004.png"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"bad")
    Store(url).put(["world/images/000004.png"], tmp_path / "bad")
    with pytest.raises(UserError, match=r"000004\.png is damaged or missing"):
        Dataset.open(url).world.image("000004")
    fetch_all(root)
    assert (root / "world/images/000004.png").read_bytes() == b"bad"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere://bucket/d", "cannot be opened: ValueError: Protocol not known: nowhere"),
        ("file:///nowhere/d", "is no finished dataset"),
    ],
)
def test_urls_without_a_dataset_are_explained(url: str, said: str) -> None:
    done = run_command("gen", "verify", url)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.full
def test_commands_take_urls(tmp_path: Path, rendered: Path) -> None:
    url = f"file://{tmp_path}/there"
    make(rendered, url)
    verified = run_command("gen", "verify", url)
    assert verified.returncode == 0, verified.stderr
    assert json.loads((tmp_path / "there/benchmarks/color-shape-3x3-b0/verify.json").read_text())["status"] == "clean"
    described = run_command("gen", "describe", url, "--protocol", "binary", "--name", "second")
    assert described.returncode == 0, described.stderr
    assert (tmp_path / "there/benchmarks/second/manifest.json").exists()
    audited = run_command("score", "audit", url, "--benchmark", "second")
    assert audited.returncode == 0, audited.stderr
    assert run_command("gen", "verify", tmp_path / "there").returncode == 0


@pytest.mark.full
def test_rendering_to_a_url_that_is_killed_continues(tmp_path: Path) -> None:
    few = ["--scenes", "train=8,val=1,seen=2,partial=2,unseen=2"]
    here = run_command(*render_arguments(tmp_path / "here", *few))
    assert here.returncode == 0, here.stderr
    url = f"file://{tmp_path}/there"
    process = start(*render_arguments(url, *few))
    while len(list((tmp_path / "cache").rglob("*.png"))) < 4:
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert list(at(url)) == ["world/.request.json"]
    done = run_command(*render_arguments(url, *few))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert done.stdout.strip() == url


def forged_origin(folder: Path, url: str) -> None:
    (folder / ".origin").write_text(url)


def test_an_origin_in_a_folder_from_elsewhere_is_no_origin(copied: Path, tmp_path: Path) -> None:
    """A sender's .origin named a place to write to, and the folder was removed once it was 'published'."""
    forged_origin(copied, f"file://{tmp_path}/site-packages")
    done = run_command("gen", "split", copied, "--holdout", "3x3", "--block-seed", "1")
    assert done.returncode == 0, done.stderr
    assert "site-packages" not in done.stdout + done.stderr
    assert not (tmp_path / "site-packages").exists()
    assert settle(copied) == str(copied)
    assert (copied / "world" / "manifest.json").exists()
    fetch_all(copied)
    publish(copied)
    assert not (tmp_path / "site-packages").exists()


@pytest.mark.parametrize("place", ["urls/0123456789abcdef/there", "elsewhere/there"])
def test_an_origin_in_the_cache_counts_only_in_the_folder_of_its_url(
    rendered: Path, tmp_path: Path, place: str
) -> None:
    folder = tmp_path / "cache" / "jackalope" / place
    shutil.copytree(rendered, folder)
    forged_origin(folder, f"file://{tmp_path}/there")
    publish(folder)
    assert not (tmp_path / "there").exists()
    assert shown(folder) == str(folder)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"no url", b"file://\0"])
def test_an_origin_that_is_no_url_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".origin").write_bytes(content)
    assert shown(tmp_path) == str(tmp_path)


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
    with pytest.raises(UserError, match="is a link"):
        publish_file(root, "world/key.txt")


def tamper(url: str, path: str, change: Callable[[str], str], tmp_path: Path) -> None:
    """Change a file at a URL as its owner could, and seal its folder again."""
    text = change((Store(url).read(path) or b"").decode())
    changed = tmp_path / "changed" / path
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(text)
    Store(url).put([path], tmp_path / "changed")


@pytest.mark.parametrize("line", ["../../pwned", "/tmp/pwned-by-a-test", "images/../../../pwned", ".."])
def test_a_path_that_leaves_the_dataset_is_not_fetched(rendered: Path, tmp_path: Path, line: str) -> None:
    """The owner of a URL chooses the names of its files, and what its sums, index and tables name."""
    url = f"file://{tmp_path}/a/b/c/there"
    make(rendered, url)
    for folder in (tmp_path / "a/b/c", tmp_path / "a/b"):
        (folder / "pwned").write_text("payload")
    tamper(url, "world/SHA256SUMS", lambda text: f"{'0' * 64}  {line}\n{text}", tmp_path)
    tamper(url, "dataset.json", lambda text: json.dumps({**json.loads(text), "benchmarks": {line: "0"}}), tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.name == "pwned"}
    assert run_command("gen", "verify", url).returncode != 0
    with pytest.raises(UserError, match="which is no path within that folder"):
        Store(url).get([line], tmp_path / "cache")
    assert {path for path in tmp_path.rglob("*") if path.name == "pwned"} == before
    assert not Path("/tmp/pwned-by-a-test").exists()
