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
"""The file of a local folder that holds its URL."""
_INDEX = "dataset.json"
_INDEX_AT_SYNC = f"{ORIGIN}.json"
"""The copy of the URL's dataset.json at the last sync."""
_OTHERS = ("world/", "benchmarks/", "README.md", "croissant.json")
"""Beginnings of the paths of a dataset besides dataset.json."""
_LONGEST_URL = 1 << 16
"""Bytes of `.origin`."""


def is_url(path: str) -> bool:
    """Check whether a path is a URL for fsspec rather than a folder.

    Args:
        path: What the user wrote.

    Returns:
        Whether it begins with a scheme.

    Example:
        >>> is_url("s3://bucket/world"), is_url("C:/world"), is_url("world")
        (True, False, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+(::|://)", path) is not None


def local_folder(path: str) -> Path:
    """Find the folder of a dataset to read.

    Args:
        path: A folder, a URL, or `example`.

    Returns:
        The local folder of a URL; the shipped dataset for `example`, unless a folder has that name;
        else `path` itself.

    Raises:
        UserError: A URL cannot be reached or has no dataset.
    """
    if is_url(path):
        return mirror(path)
    if path == EXAMPLE and not Path(path).exists():
        return _example()
    return Path(path)


def _example() -> Path:
    """The folder of the shipped dataset in the user's cache, where it is unpacked on first use."""
    packed = resource("blender_assets/example.zip")
    # Another version of the package has another dataset, and another folder.
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()[:16]
    root = user_cache_path("jackalope") / digest / EXAMPLE
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
    # Few datasets are at a URL.
    import fsspec
    from fsspec.implementations.dirfs import DirFileSystem

    try:
        files, place = fsspec.core.url_to_fs(url)
        files.invalidate_cache()
        yield DirFileSystem(place, files)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{url} needs another package: {error}.") from None
    except Exception as error:
        # Each kind of store raises its own errors.
        raise UserError(f"{url} cannot be used: {type(error).__name__}: {error}.") from error


def _get(files: Any, root: Path, paths: Iterable[str]) -> None:
    """Copy files to the same paths below `root`. Raises UserError if a path leads out of `root`."""
    targets = {path: file_in(root, path) for path in paths}
    for folder in {target.parent for target in targets.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    files.get(list(targets), [str(target) for target in targets.values()])


def _put(files: Any, root: Path, paths: Iterable[str]) -> None:
    """Copy files below `root` to the same paths below the URL."""
    sources = {path: str(file_in(root, path)) for path in paths}
    for folder in {_folder(path) for path in sources}:
        files.makedirs(folder, exist_ok=True)
    files.put(list(sources.values()), list(sources))


def display_name(root: Path) -> str:
    """Name a dataset in messages.

    Args:
        root: Its folder.

    Returns:
        Its URL if it has one, else its folder.
    """
    return _url_of(root) or str(root)


def _url_of(root: Path) -> str | None:
    """The URL whose local folder is `root`, or None. `.origin` is ignored in a folder that came
    from elsewhere."""
    if not (root / ORIGIN).is_file():
        return None
    try:
        url = read_text(root / ORIGIN, _LONGEST_URL)
        is_of_this_folder = is_url(url) and _folder_of(url).resolve() == root.resolve()
    except (UserError, ValueError):
        # It is not text, too long, or cannot name a folder.
        return None
    return url if is_of_this_folder else None


def _folder_of(url: str) -> Path:
    """The local folder for a URL, which need not exist: its name is a digest of the URL."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    return user_cache_path("jackalope") / "urls" / digest / url.rpartition("/")[2]


def staging(url: str) -> Path:
    """Prepare the local folder of the dataset at a URL, to be read or written.

    Fetches all files of finished components except files of scenes.

    Args:
        url: The URL.

    Returns:
        The local folder.

    Raises:
        UserError: The URL cannot be reached, holds something else, or its dataset was deleted.
    """
    url = url.rstrip("/")
    root = _folder_of(url)
    check_output(root, "set XDG_CACHE_HOME to another folder")
    root.mkdir(parents=True, exist_ok=True)
    write_text(root / ORIGIN, url)
    index_at_sync = root / _INDEX_AT_SYNC
    with _store(url) as files:
        if not files.exists(_INDEX):
            # The local world lacks its images, so it must not be published again.
            if index_at_sync.exists():
                raise UserError(
                    f"{url} has no dataset any more; remove {root} to make another there."
                )
            (root / _INDEX).unlink(missing_ok=True)
            if any(not path.startswith(_OTHERS) for path in files.find("")):
                raise UserError(f"{url} holds something else than a world; choose another URL.")
        elif not index_at_sync.exists() or index_at_sync.read_bytes() != files.cat_file(_INDEX):
            _get_components(files, root)
    return root


def _get_components(files: Any, root: Path) -> None:
    """Fetch the finished components of a URL without the files of scenes, and last its index."""
    paths = [path for path in files.find("") if not _is_of_scene(path) and path != _INDEX]
    manifests = [path for path in paths if path.endswith("/manifest.json")]
    # A component that was replaced there is fetched anew.
    for manifest in manifests:
        local = file_in(root, manifest)
        if local.exists() and local.read_bytes() != files.cat_file(manifest):
            shutil.rmtree(local.parent)
    # Components that are unfinished there may be finished here; "" is the dataset's own folder.
    finished = {"", *map(_folder, manifests)}
    _get(files, root, [path for path in paths if _folder(path) in finished])
    _get(files, root, [_INDEX])
    write_bytes(root / _INDEX_AT_SYNC, (root / _INDEX).read_bytes())


def mirror(url: str) -> Path:
    """Prepare the local folder of the dataset at a URL, to be read.

    Args:
        url: The URL.

    Returns:
        The local folder; images are fetched when they are read.

    Raises:
        UserError: The URL has no finished world.
    """
    root = staging(url)
    if not (root / _INDEX).exists():
        raise UserError(
            f"{url} is not a finished dataset: it has no dataset.json; give the URL that `gen "
            f"render --out` was given."
        )
    return root


def drop_local_copy(root: Path) -> str:
    """Remove the local folder of a dataset that is complete at its URL; do nothing for a dataset
    without a URL.

    Args:
        root: The local folder.

    Returns:
        The dataset's name for messages.

    Raises:
        UserError: The URL lacks components.
    """
    name = display_name(root)
    if _url_of(root) is not None:
        if not _published(root):
            raise UserError(f"{name} lacks files that {root} has; run the same command again.")
        shutil.rmtree(root)
    return name


def _published(root: Path) -> bool:
    """Whether the URL has all components that the local dataset.json lists."""
    index, at_sync = root / _INDEX, root / _INDEX_AT_SYNC
    if not index.exists() or not at_sync.exists():
        return False
    return index.read_bytes() == at_sync.read_bytes()


def fetch(root: Path, path: str | None = None) -> None:
    """Fetch files of a dataset from its URL; do nothing for a dataset without a URL.

    Args:
        root: Its local folder.
        path: The file to fetch, if it exists there; None for all files. If the local folder has
            newer components, these are only the files of scenes.

    Raises:
        UserError: The URL cannot be reached, or a path leads out of the dataset.
    """
    url = _url_of(root)
    if url is None:
        return
    with _store(url) as files:
        if path is not None:
            paths = [path] if files.exists(path) else []
        elif _published(root):
            paths = files.find("")
        else:
            paths = [name for name in files.find("") if _is_of_scene(name)]
        _get(files, root, paths)


def publish(root: Path) -> None:
    """Copy new files to the dataset's URL, manifests last; do nothing for a dataset without a URL.

    Skips files of scenes that have the same size there, and components that have the same manifest
    there (except their certificates). Benchmarks with another manifest are replaced. Only files
    that the manifests list are copied.

    Args:
        root: The local folder of the dataset.

    Raises:
        UserError: The URL cannot be reached.
    """
    url = _url_of(root)
    if url is None:
        return
    local_sizes = {name: (root / name).stat().st_size for name in listed_files(root)}
    with _store(url) as files:
        remote_sizes = {}
        for name, entry in files.find("", detail=True).items():
            remote_sizes[name] = entry["size"]
        manifests = [name for name in local_sizes if name.endswith("/manifest.json")]
        unchanged = set()
        for name in manifests:
            if name in remote_sizes and files.cat_file(name) == (root / name).read_bytes():
                unchanged.add(_folder(name))

        # Remove what is outdated there, manifests first, so that no partial benchmark looks
        # finished.
        benchmarks = {_folder(name) for name in manifests if name.startswith("benchmarks/")}
        outdated = []
        for name in remote_sizes:
            is_current = _folder(name) in unchanged and name in local_sizes
            if _folder(name) in benchmarks and not is_current:
                outdated.append(name)
        for name in sorted(outdated, key=lambda name: not name.endswith("manifest.json")):
            files.rm_file(name)

        # Copy what is new, then the manifests one by one, and last the index.
        new_files = []
        new_manifests = []
        for name, size in local_sizes.items():
            is_about = name.rpartition("/")[2] in ABOUT
            if name == _INDEX or (_folder(name) in unchanged and not is_about):
                continue
            if name in manifests:
                new_manifests.append(name)
            # A stopped copy goes on: files of scenes never change.
            elif not (_is_of_scene(name) and remote_sizes.get(name) == size):
                new_files.append(name)
        _put(files, root, new_files)
        index = [_INDEX] if _INDEX in local_sizes else []
        for name in [*new_manifests, *index]:
            _put(files, root, [name])
    if _INDEX in local_sizes:
        write_bytes(root / _INDEX_AT_SYNC, (root / _INDEX).read_bytes())


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _is_of_scene(path: str) -> bool:
    """Whether a path is that of an image, a pixel output or a tar: in a folder of the world."""
    return path.startswith("world/") and path.count("/") > 1
