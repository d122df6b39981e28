"""The files that a dataset consists of, by its manifests; copies these files and no others.

A dataset of a stranger may hold links to files of the user, and files that no manifest lists. Every
command that passes files on (exports, uploads, merges, copies of experiments) takes them from here,
so that neither can slip in.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from generator.base.errors import UserError
from generator.base.files import ABOUT, SUMS, read_sums
from generator.base.paths import file_in, folder_in

_OF_DATASET = ("dataset.json", "README.md", "croissant.json")
"""Files of a dataset beside its components."""
_OF_COMPONENT = (SUMS, "manifest.json", *ABOUT)
"""Files that SHA256SUMS does not list: it cannot list itself, and the others are written after
it."""


def listed_files(root: Path) -> list[str]:
    """List the files of a dataset.

    Args:
        root: Folder of the dataset.

    Returns:
        Paths relative to `root`, each once: files that SHA256SUMS of its finished components list,
        and files that belong to every component and every dataset. A listed file is left out where
        it does not exist: images of a dataset at a URL are fetched when they are read.

    Raises:
        UserError: A path leaves the dataset, or leads through a link.
    """
    names = list(_OF_DATASET)
    for component in _finished_components(root):
        for name in (*read_sums(folder_in(root, component)), *_OF_COMPONENT):
            names.append(f"{component}/{name}")
    return [name for name in dict.fromkeys(names) if file_in(root, name).exists()]


def _finished_components(root: Path) -> Iterator[str]:
    """The folders of a dataset that have a manifest and sums, relative to `root`. Hidden folders
    are drafts."""
    benchmarks = folder_in(root, "benchmarks")
    components = ["world"]
    if benchmarks.is_dir():
        names = sorted(path.name for path in benchmarks.glob("[!.]*"))
        components += [f"benchmarks/{name}" for name in names]
    for component in components:
        has_manifest = file_in(root, f"{component}/manifest.json").exists()
        if has_manifest and file_in(root, f"{component}/{SUMS}").exists():
            yield component


def copy_files(root: Path, names: Iterable[str], out: Path) -> None:
    """Copy files below `root` to the same paths below `out`, which replaces files there.

    The copies are hard links where the file system allows it: commands replace files and never
    change them in place.

    Args:
        root: Folder of the files.
        names: Their paths relative to `root`.
        out: Folder of the copies.

    Raises:
        UserError: A file is missing, or its path leaves its folder or leads through a link.
    """
    for name in names:
        source, target = file_in(root, name), file_in(out, name)
        if not source.exists():
            raise UserError(f"{source} is missing; restore it or make the dataset again.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:
            # Another file system, or one without hard links.
            shutil.copyfile(source, target)


def copy_dataset(root: Path, out: Path) -> None:
    """Copy the files of a dataset.

    Args:
        root: Folder of the dataset.
        out: Folder of the copy.

    Raises:
        UserError: As for `listed_files` and `copy_files`.
    """
    copy_files(root, listed_files(root), out)
