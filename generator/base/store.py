"""Datasets at a URL (s3://, gs://, file:// … through fsspec), each made and read in a folder of the user's cache.

A dataset is written in its folder and copied to the URL when a component is finished. A URL has no renames, so
manifests are copied last: a component there is finished when its manifest exists. The file `.origin` of a folder names
its URL, and counts only where this module made that folder for that URL.
"""

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import check_output, write_text
from generator.base.limits import read_text
from generator.base.paths import file_in

ORIGIN = ".origin"
_INDEX, _BEGUN = "dataset.json", "world/.request.json"
_LONGEST_URL = 1 << 16


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

        self.url = url.rstrip("/")
        with self._errors("opened"):
            self._fs, root = fsspec.core.url_to_fs(self.url)
            self._root = self._fs._strip_protocol(root).rstrip("/")

    def sizes(self) -> dict[str, int]:
        """Size in bytes of every file below the URL, by path."""
        with self._errors("read"):
            self._fs.invalidate_cache()
            found = self._fs.find(self._root, detail=True)
        return {name[len(self._root) + 1 :]: entry["size"] for name, entry in found.items()}

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""
        with self._errors("read"):
            try:
                return bytes(self._fs.cat_file(self._at(path)))
            except FileNotFoundError:
                return None

    def get(self, paths: Iterable[str], root: Path) -> None:
        """Copy files to the same paths below `root`. Raises UserError when one leaves it."""
        goals = {path: file_in(root, path) for path in paths}
        for folder in {goal.parent for goal in goals.values()}:
            folder.mkdir(parents=True, exist_ok=True)
        with self._errors("read"):
            self._fs.get([self._at(path) for path in goals], [str(goal) for goal in goals.values()])

    def put(self, paths: Iterable[str], root: Path) -> None:
        """Copy files below `root` to the same paths below the URL. Raises UserError for a link."""
        sources = {path: str(file_in(root, path)) for path in paths}
        with self._errors("written"):
            for folder in {self._at(path).rpartition("/")[0] for path in sources}:
                self._fs.makedirs(folder, exist_ok=True)
            self._fs.put(list(sources.values()), [self._at(path) for path in sources])

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with self._errors("written"):
            if self._fs.exists(self._at(path)):
                self._fs.rm_file(self._at(path))

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except ImportError as error:
            raise UserError(f"{self.url} needs another package: {error}.") from None
        except Exception as error:  # every store has errors of its own
            raise UserError(f"{self.url} cannot be {done}: {type(error).__name__}: {error}.") from error


def store_of(root: Path) -> Store | None:
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
        own = is_url(url) and _folder_of(url).resolve() == root.resolve()
    except (UserError, ValueError):  # no text, too much of it, or no name that a folder can have
        return None
    return url if own else None


def _folder_of(url: str) -> Path:
    """The local folder for a URL, which need not exist: its name is a digest of the URL."""
    url = url.rstrip("/")
    return (
        user_cache_path("jackalope") / "urls" / hashlib.sha256(url.encode()).hexdigest()[:16] / url.rpartition("/")[2]
    )


def staging(url: str) -> Path:
    """The local folder in which the dataset for a URL is made or read, with all files that are there but those of
    scenes."""
    store, root = Store(url), _folder_of(url)
    check_output(root, "set XDG_CACHE_HOME to another folder")
    root.mkdir(parents=True, exist_ok=True)
    write_text(root / ORIGIN, store.url)
    index = store.read(_INDEX)
    if index is None:
        (root / _INDEX).unlink(missing_ok=True)
    elif not (root / _INDEX).exists() or (root / _INDEX).read_bytes() != index:
        shutil.rmtree(root / "benchmarks", ignore_errors=True)
        store.get([path for path in store.sizes() if not _is_of_scene(path) and path != _INDEX], root)
        store.get([_INDEX], root)
    return root


def mirror(url: str) -> Path:
    """The local folder of the dataset at a URL; images are fetched when they are read.

    Raises UserError when there is no finished world.
    """
    root = staging(url)
    if not (root / _INDEX).exists():
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
    """Fetch a file of a dataset from its URL, if it exists there; does nothing for a dataset without a URL.

    Raises UserError when the path leaves the dataset.
    """
    store = store_of(root)
    if store is not None and store.read(path) is not None:
        store.get([path], root)


def fetch_all(root: Path) -> None:
    """Fetch every file from the dataset's URL, also files that exist locally."""
    if (store := store_of(root)) is not None:
        store.get([path for path in store.sizes() if path != _BEGUN], root)


def claim(root: Path) -> None:
    """Note at a dataset's URL which world is begun there. Raises UserError when the URL holds something else."""
    store = store_of(root)
    if store is None or (root / _INDEX).exists():
        return
    begun = store.read(_BEGUN)
    if begun not in (None, (root / _BEGUN).read_bytes()):
        raise UserError(f"{store.url} holds the beginning of another world; remove it or choose another --out.")
    if begun is None and store.sizes():
        raise UserError(f"{store.url} holds something else than a world; choose another --out.")
    store.put([_BEGUN], root)


def publish_file(root: Path, path: str) -> None:
    """Copy one file to the dataset's URL; does nothing for a dataset without a URL."""
    if (store := store_of(root)) is not None:
        store.put([path], root)


def publish(root: Path) -> None:
    """Copy new files to the dataset's URL, manifests last; does nothing for a dataset without a URL.

    Images that exist there in the same size are skipped. Benchmarks are replaced. Hidden files and links are not
    copied.
    """
    store = store_of(root)
    if store is None:
        return
    there = store.sizes()
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    own = {path.relative_to(root).as_posix(): path for path in files}
    own = {name: path for name, path in own.items() if not any(part.startswith(".") for part in name.split("/"))}
    replaced = {name.rpartition("/")[0] for name in own if name.startswith("benchmarks/")}
    old = [path for path in there if path.rpartition("/")[0] in replaced]
    for name in sorted(old, key=lambda name: not name.endswith("manifest.json")):  # none seems finished meanwhile
        store.remove(name)
    last = [name for name in own if name.endswith("/manifest.json")] + [name for name in own if name == _INDEX]
    new = [name for name, path in own.items() if not (_is_of_scene(name) and there.get(name) == path.stat().st_size)]
    store.put([name for name in new if name not in last], root)
    for name in last:
        store.put([name], root)
    store.remove(_BEGUN)


def _is_of_scene(path: str) -> bool:
    return path.startswith("world/") and path.count("/") > 1
