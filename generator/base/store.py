"""Datasets at a URL (s3://, gs://, file:// … through fsspec), each with a local folder in the user's cache.

A URL has no renames, so manifests are written last: a component is finished when its manifest exists. The file `.origin`
of a local folder names its URL, and counts only where this module made that folder for that URL.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.errors import UserError
from generator.base.files import SUMS, check_output, read_json, read_sums, write_bytes, write_text
from generator.base.limits import read_text
from generator.base.paths import check_benchmark_name, file_in

ORIGIN = ".origin"
_LAST = ("manifest.json", "dataset.json")
_STAGING, _MIRRORS = "staging", "mirrors"
_LONGEST_URL = 1 << 16
_PARALLEL = 8  # transfers at a time

T = TypeVar("T")


def is_url(path: str) -> bool:
    """Whether a path is a URL for fsspec rather than a folder.

    >>> is_url("s3://bucket/world"), is_url("C:/world"), is_url("world")
    (True, False, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+(::|://)", path) is not None


class Store:
    """The files below a URL. Errors of the store become UserErrors that name the URL and quote the store."""

    def __init__(self, url: str):
        import fsspec  # few datasets are at a URL

        self.url = _plain(url)
        self._fs, self._root = self._try("opened", lambda: fsspec.core.url_to_fs(self.url))

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""

        def found() -> bytes | None:
            try:
                return bytes(self._fs.cat_file(self._at(path)))
            except FileNotFoundError:
                return None

        return self._try("read", found)

    def write(self, path: str, source: Path) -> None:
        """Copy a local file to a path below the URL."""

        def copy() -> None:
            self._fs.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(source), self._at(path))

        self._try("written", copy)

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        self._try("written", lambda: self._fs.exists(self._at(path)) and self._fs.rm_file(self._at(path)))

    def sizes(self) -> dict[str, int]:
        """Size in bytes of every file below the URL, by path."""
        root = self._fs._strip_protocol(self._root).rstrip("/")
        self._fs.invalidate_cache()
        found = self._try("read", lambda: self._fs.find(root, detail=True))
        return {name[len(root) + 1 :]: entry["size"] for name, entry in found.items()}

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    def _try(self, done: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except ImportError as error:
            raise UserError(f"{self.url} needs another package: {error}.") from None
        except Exception as error:  # every store has errors of its own
            raise UserError(f"{self.url} cannot be {done}: {type(error).__name__}: {error}.") from error


def origin_of(root: Path) -> Store | None:
    """The store whose local folder `root` is; None for any other folder."""
    url = _url_of(root)
    return None if url is None else Store(url)


def shown(root: Path) -> str:
    """The name of a dataset in messages: its URL if it has one, else its folder."""
    return _url_of(root) or str(root)


def _url_of(root: Path) -> str | None:
    """The URL whose local folder `root` is. A folder that came from elsewhere may hold any `.origin`; it has no URL."""
    try:
        url = read_text(root / ORIGIN, _LONGEST_URL) if (root / ORIGIN).is_file() else ""
        own = [_place(url, kind).resolve() for kind in (_STAGING, _MIRRORS)] if is_url(url) else []
    except (UserError, ValueError):  # no text, too much of it, or no name that a folder can have
        return None
    return url if root.resolve() in own else None


def staging(url: str) -> Path:
    """The local folder in which a dataset for a URL is made; finished components are fetched from the URL."""
    return _local_folder(url, _STAGING)


def mirror(url: str) -> Path:
    """A local folder with the tables of the dataset at a URL; images are fetched when they are read.

    Raises UserError when there is no finished world.
    """
    root = _local_folder(url, _MIRRORS)
    if not (root / "dataset.json").exists():
        raise UserError(
            f"{url} is no finished dataset: it has no dataset.json; give the URL that `gen render --out` was given."
        )
    return root


def settle(root: Path) -> str:
    """Remove the local folder of a dataset that is complete at its URL; returns the dataset's name for messages."""
    name = shown(root)
    if _url_of(root) is not None:
        shutil.rmtree(root)
    return name


def fetch(root: Path, path: str) -> None:
    """Fetch a file of a dataset from its URL, if it exists; does nothing for a dataset without a URL.

    Raises UserError when the path leaves the dataset.
    """
    store = origin_of(root)
    place = file_in(root, path)
    data = store.read(path) if store else None
    if data is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, data)


def fetch_all(root: Path) -> None:
    """Fetch every file that the sums list from the dataset's URL, also files that exist locally."""
    if origin_of(root) is None:
        return
    parts = [sums.parent for sums in (root / "world" / SUMS, *root.glob(f"benchmarks/*/{SUMS}")) if sums.exists()]
    paths = [f"{part.relative_to(root).as_posix()}/{name}" for part in parts for name in read_sums(part)]
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for _ in pool.map(lambda path: fetch(root, path), paths):
            pass


def publish_file(root: Path, path: str) -> None:
    """Copy one file to the dataset's URL; does nothing for a dataset without a URL."""
    if (store := origin_of(root)) is not None:
        store.write(path, file_in(root, path))


def publish(root: Path) -> None:
    """Copy new files to the dataset's URL, manifests last; does nothing for a dataset without a URL.

    Images that exist there in the same size are skipped: they were copied when they were rendered. Links are skipped too.
    """
    store = origin_of(root)
    if store is None:
        return
    there = store.sizes()
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())
    paths = [path.relative_to(root).as_posix() for path in files]
    paths = [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]
    first = [path for path in paths if path.rpartition("/")[2] not in _LAST]
    _clear(store, there, paths)
    _send(store, root, [path for path in first if not _is_there(path, there, root)])
    for path in sorted(set(paths) - set(first), key=lambda path: path == "dataset.json"):
        store.write(path, root / path)
    store.remove("world/.request.json")


def _clear(store: Store, there: Iterable[str], paths: list[str]) -> None:
    """Remove benchmarks that are about to be replaced, their manifests first, so that none seems finished meanwhile."""
    replaced = {path.rpartition("/")[0] for path in paths if path.startswith("benchmarks/")}
    old = [path for path in there if path.rpartition("/")[0] in replaced]
    for path in sorted(old, key=lambda path: not path.endswith("manifest.json")):
        store.remove(path)


def _is_there(path: str, there: dict[str, int], root: Path) -> bool:
    return path.count("/") > 1 and path.startswith("world/") and there.get(path) == (root / path).stat().st_size


def _send(store: Store, root: Path, paths: Iterable[str]) -> None:
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for _ in pool.map(lambda path: store.write(path, root / path), paths):
            pass


def _plain(url: str) -> str:
    return url.rstrip("/")


def _place(url: str, kind: str) -> Path:
    """The local folder for a URL, which need not exist: its name is a digest of the URL."""
    name = hashlib.sha256(_plain(url).encode()).hexdigest()[:16]
    return user_cache_path("jackalope") / kind / name / _plain(url).rpartition("/")[2]


def _local_folder(url: str, kind: str) -> Path:
    store = Store(url)
    root = _place(url, kind)
    check_output(root, "set XDG_CACHE_HOME to another folder")
    root.mkdir(parents=True, exist_ok=True)
    write_text(root / ORIGIN, store.url)
    index = store.read("dataset.json")
    if index is None:
        (root / "dataset.json").unlink(missing_ok=True)
    elif not (root / "dataset.json").exists() or (root / "dataset.json").read_bytes() != index:
        _fetch_tables(store, root, index)
    return root


def _fetch_tables(store: Store, root: Path, index: bytes) -> None:
    """Fetch all files but those of scenes, dataset.json last."""
    draft = root / f"{ORIGIN}.index.{os.getpid()}"
    draft.write_bytes(index)
    listed = read_json(draft, _Index)
    shutil.rmtree(root / "benchmarks", ignore_errors=True)
    for folder in ("world", *(f"benchmarks/{check_benchmark_name(name)}" for name in listed["benchmarks"])):
        fetch(root, f"{folder}/{SUMS}")
        for name in read_sums(root / folder):
            if "/" not in name:
                fetch(root, f"{folder}/{name}")
        fetch(root, f"{folder}/verify.json")
        fetch(root, f"{folder}/manifest.json")
    for card in ("README.md", "croissant.json"):
        fetch(root, card)
    os.replace(draft, root / "dataset.json")


class _Index(TypedDict, total=False):
    benchmarks: dict[str, str]


class Mirroring:
    """Copies files of scenes to the dataset's URL while others are rendered; does nothing for a dataset without a URL."""

    def __init__(self, root: Path):
        self._root, self._store = root, origin_of(root)
        self._pool = ThreadPoolExecutor(_PARALLEL)
        self._under_way: list[Future[None]] = []
        if self._store is not None:
            self._claim(self._store)

    def _claim(self, store: Store) -> None:
        """Write the request to the URL. Raises UserError when the URL holds something else."""
        begun = store.read("world/.request.json")
        own = (self._root / "world" / ".request.json").read_bytes()
        if begun not in (None, own):
            raise UserError(f"{store.url} holds the beginning of another world; remove it or choose another --out.")
        if begun is None and store.sizes():
            raise UserError(f"{store.url} holds something else than a world; choose another --out.")
        store.write("world/.request.json", self._root / "world" / ".request.json")

    def add(self, paths: Iterable[str]) -> None:
        """Start copying files of the world. Raises UserError when an earlier copy failed."""
        if self._store is not None:
            self._check([each for each in self._under_way if each.done()])
            self._under_way = [each for each in self._under_way if not each.done()]
            for path in paths:
                where = f"world/{path}"
                self._under_way.append(self._pool.submit(self._store.write, where, file_in(self._root, where)))

    def close(self) -> None:
        """Wait for running copies and cancel those that have not started."""
        self._pool.shutdown(cancel_futures=True)

    def _check(self, ended: list[Future[None]]) -> None:
        for each in ended:
            each.result()
