"""Datasets at a URL (s3://, gs://, file:// … through fsspec), each with a local folder in the
user's cache; and the example dataset of the package.

A dataset is made in its local folder, and each finished component is copied to the URL. Stores
cannot rename files, so manifests are copied last: a component at the URL is finished if its
manifest exists. The file `.origin` of a local folder holds its URL; it is ignored in a folder that
this module did not make for that URL. `.origin.json` is a copy of the URL's dataset.json at the
last sync: if dataset.json differs from it, the local folder has newer components.
"""

import hashlib
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import ABOUT, check_output, write_bytes, write_text
from generator.base.limits import read_text
from generator.base.listed import listed_files
from generator.base.paths import file_in
from generator.base.registry import resource

EXAMPLE = "example"
"""The name of the dataset that comes with the package."""
ORIGIN = ".origin"
_INDEX, _SEEN = "dataset.json", f"{ORIGIN}.json"
_OTHERS = ("world/", "benchmarks/", "README.md", "croissant.json")
_LONGEST_URL = 1 << 16


def is_url(path: str) -> bool:
    """Whether a path is a URL for fsspec rather than a folder.

    >>> is_url("s3://bucket/world"), is_url("C:/world"), is_url("world")
    (True, False, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+(::|://)", path) is not None


def local_folder(path: str) -> Path:
    """Returns the folder of a dataset to read: the local folder of a URL, the shipped dataset for
    `example` unless a folder has that name, else `path` itself. Raises UserError if a URL cannot be
    reached or has no dataset.
    """
    if is_url(path):
        return mirror(path)
    return _example() if path == EXAMPLE and not Path(path).exists() else Path(path)


def _example() -> Path:
    """Returns the folder of the shipped dataset in the user's cache, where it is unpacked on first
    use."""
    packed = resource("blender_assets/example.zip")
    root = (
        user_cache_path("jackalope")
        / hashlib.sha256(packed.read_bytes()).hexdigest()[:16]
        / EXAMPLE
    )
    if not root.exists():
        check_output(root, "set XDG_CACHE_HOME to another folder")
        root.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=root.parent) as folder,
            zipfile.ZipFile(packed) as files,
        ):
            files.extractall(folder)
            (Path(folder) / EXAMPLE).rename(root)
    return root


@contextmanager
def _store(url: str) -> Iterator[Any]:
    """Context of the files below a URL, as an fsspec file system. Errors become UserErrors that
    name the URL and quote the error."""
    import fsspec  # few datasets are at a URL
    from fsspec.implementations.dirfs import DirFileSystem

    try:
        files, place = fsspec.core.url_to_fs(url)
        files.invalidate_cache()
        yield DirFileSystem(place, files)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{url} needs another package: {error}.") from None
    except Exception as error:  # each kind of store raises its own errors
        raise UserError(f"{url} cannot be used: {type(error).__name__}: {error}.") from error


def _get(files: Any, root: Path, paths: Iterable[str]) -> None:
    """Copy files to the same paths below `root`. Raises UserError if a path leads out of `root`."""
    goals = {path: file_in(root, path) for path in paths}
    for folder in {goal.parent for goal in goals.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    files.get(list(goals), [str(goal) for goal in goals.values()])


def _put(files: Any, root: Path, paths: Iterable[str]) -> None:
    """Copy files below `root` to the same paths below the URL."""
    sources = {path: str(file_in(root, path)) for path in paths}
    for folder in {path.rpartition("/")[0] for path in sources}:
        files.makedirs(folder, exist_ok=True)
    files.put(list(sources.values()), list(sources))


def display_name(root: Path) -> str:
    """The name of a dataset in messages: its URL if it has one, else its folder."""
    return _url_of(root) or str(root)


def _url_of(root: Path) -> str | None:
    """The URL whose local folder is `root`, or None. `.origin` is ignored in a folder that came
    from elsewhere."""
    try:
        url = read_text(root / ORIGIN, _LONGEST_URL) if (root / ORIGIN).is_file() else ""
        own = is_url(url) and _folder_of(url).resolve() == root.resolve()
    except (UserError, ValueError):  # no text, too long, or no valid name of a folder
        return None
    return url if own else None


def _folder_of(url: str) -> Path:
    """The local folder for a URL, which need not exist: its name is a digest of the URL."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    return user_cache_path("jackalope") / "urls" / digest / url.rpartition("/")[2]


def staging(url: str) -> Path:
    """Returns the local folder of the dataset at a URL, after fetching all files of finished
    components except files of scenes. Raises UserError if the URL holds something else, or its
    dataset was deleted."""
    url = url.rstrip("/")
    root = _folder_of(url)
    check_output(root, "set XDG_CACHE_HOME to another folder")
    root.mkdir(parents=True, exist_ok=True)
    write_text(root / ORIGIN, url)
    seen = root / _SEEN
    with _store(url) as files:
        if not files.exists(_INDEX):
            if seen.exists():  # the local world lacks its images: do not publish it
                raise UserError(
                    f"{url} has no dataset any more; remove {root} to make another there."
                )
            (root / _INDEX).unlink(missing_ok=True)
            if any(not path.startswith(_OTHERS) for path in files.find("")):
                raise UserError(f"{url} holds something else than a world; choose another URL.")
        elif not seen.exists() or seen.read_bytes() != files.cat_file(_INDEX):
            there = [path for path in files.find("") if not _is_of_scene(path) and path != _INDEX]
            finished = [path for path in there if path.endswith("/manifest.json")]
            for path in finished:
                if (here := file_in(root, path)).exists() and here.read_bytes() != files.cat_file(
                    path
                ):
                    shutil.rmtree(here.parent)
            whole = {
                "",
                *map(_folder, finished),
            }  # components unfinished there may be finished here
            _get(files, root, [path for path in there if _folder(path) in whole])
            _get(files, root, [_INDEX])
            write_bytes(seen, (root / _INDEX).read_bytes())
    return root


def mirror(url: str) -> Path:
    """The local folder of the dataset at a URL; images are fetched when they are read.

    Raises UserError if the URL has no finished world.
    """
    root = staging(url)
    if not (root / _INDEX).exists():
        raise UserError(
            f"{url} is no finished dataset: it has no dataset.json; give the URL that `gen render "
            f"--out` was given."
        )
    return root


def drop_local_copy(root: Path) -> str:
    """Remove the local folder of a dataset that is complete at its URL; returns the dataset's name
    for messages.

    Raises UserError if the URL lacks components.
    """
    name = display_name(root)
    if _url_of(root) is not None:
        if not _published(root):
            raise UserError(f"{name} lacks files that {root} has; run the same command again.")
        shutil.rmtree(root)
    return name


def _published(root: Path) -> bool:
    """Whether the URL has all components that the local dataset.json lists."""
    index, seen = root / _INDEX, root / _SEEN
    return index.exists() and seen.exists() and index.read_bytes() == seen.read_bytes()


def fetch(root: Path, path: str | None = None) -> None:
    """Fetch a file of a dataset, or all its files, from its URL; does nothing for a dataset without
    a URL.

    If the local folder has newer components, "all" means all files of scenes. Raises UserError if a
    path leads out of the dataset.
    """
    if (url := _url_of(root)) is not None:
        published = _published(root)
        with _store(url) as files:
            if path is not None:
                wanted = [path] * files.exists(path)
            else:
                wanted = [each for each in files.find("") if _is_of_scene(each) or published]
            _get(files, root, wanted)


def publish(root: Path) -> None:
    """Copy new files to the dataset's URL, manifests last; does nothing for a dataset without a
    URL.

    Skips files of scenes that have the same size there, and components that have the same manifest
    there (except their certificates). Benchmarks with another manifest are replaced. Only files
    that the manifests list are copied.
    """
    url = _url_of(root)
    if url is None:
        return
    own = {name: (root / name).stat().st_size for name in listed_files(root)}
    with _store(url) as files:
        there = {name: entry["size"] for name, entry in files.find("", detail=True).items()}
        manifests = [name for name in own if name.endswith("/manifest.json")]
        same = {
            _folder(name)
            for name in manifests
            if name in there and files.cat_file(name) == (root / name).read_bytes()
        }
        mine = {_folder(name) for name in manifests if name.startswith("benchmarks/")}
        old = [
            name
            for name in there
            if _folder(name) in mine and (_folder(name) not in same or name not in own)
        ]
        # manifests first, so that no partial benchmark looks finished
        for name in sorted(old, key=lambda name: not name.endswith("manifest.json")):
            files.rm_file(name)
        new = [
            name for name in own if _folder(name) not in same or name.rpartition("/")[2] in ABOUT
        ]
        last = [name for name in new if name in manifests] + [
            name for name in own if name == _INDEX
        ]
        _put(
            files,
            root,
            [n for n in new if n not in last and not (_is_of_scene(n) and there.get(n) == own[n])],
        )
        for name in last:
            _put(files, root, [name])
    if _INDEX in own:
        write_bytes(root / _SEEN, (root / _INDEX).read_bytes())


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _is_of_scene(path: str) -> bool:
    return path.startswith("world/") and path.count("/") > 1
