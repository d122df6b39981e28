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
_OF_COMPONENT = (SUMS, "manifest.json", *ABOUT)
"""Files that SHA256SUMS does not list: it cannot list itself, and the others are written after
it."""


def listed_files(root: Path) -> list[str]:
    """Paths of the files of a dataset, relative to `root`: those that SHA256SUMS of its finished
    components list, and those that belong to every component and every dataset.

    A listed file is left out where it does not exist: images of a dataset at a URL are fetched when
    they are read.

    Raises:
        UserError: a path leaves the dataset, or leads through a link.
    """
    names = list(_OF_DATASET)
    for component in _finished_components(root):
        in_component = (*read_sums(folder_in(root, component)), *_OF_COMPONENT)
        names += [f"{component}/{name}" for name in in_component]
    return [name for name in dict.fromkeys(names) if file_in(root, name).exists()]


def _finished_components(root: Path) -> Iterator[str]:
    """The folders of a dataset that have a manifest and sums, relative to `root`. Hidden folders
    are drafts."""
    benchmarks = folder_in(root, "benchmarks")
    names = sorted(path.name for path in benchmarks.glob("[!.]*")) if benchmarks.is_dir() else []
    for component in ("world", *(f"benchmarks/{name}" for name in names)):
        if (
            file_in(root, f"{component}/manifest.json").exists()
            and file_in(root, f"{component}/{SUMS}").exists()
        ):
            yield component


def copy_files(root: Path, names: Iterable[str], out: Path) -> None:
    """Copy files below `root` to the same paths below `out`, which replaces files there.

    The copies are hard links where the file system allows it: commands replace files and never
    change them in place.

    Raises:
        UserError: a file is missing, or its path leaves its folder or leads through a link.
    """
    for name in names:
        source, goal = file_in(root, name), file_in(out, name)
        if not source.exists():
            raise UserError(f"{source} is missing; restore it or make the dataset again.")
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.unlink(missing_ok=True)
        try:
            os.link(source, goal)
        except OSError:  # another file system, or one without hard links
            shutil.copyfile(source, goal)


def copy_dataset(root: Path, out: Path) -> None:
    """Copy the files of a dataset into `out`. Raises UserError as `listed_files` and
    `copy_files`."""
    copy_files(root, listed_files(root), out)
