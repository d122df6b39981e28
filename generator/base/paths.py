"""Checks of paths and names that were read from files: an untrusted dataset or run must reach
nothing outside its folder."""

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from generator.base.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

_BENCHMARK = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
_PLAIN = "[A-Za-z0-9_-]+"
_NUMBER = "[0-9]+"
# Patterns of names in tables that become file names. Candidates of a benchmark made elsewhere may
# name images freely: an image is read only if its world lists it.
_SPELT = {
    "scenes.parquet": {"scene_id": _NUMBER},
    "splits.parquet": {"scene_id": _NUMBER, "split": _PLAIN},
    "items.parquet": {"protocol": _PLAIN, "split": _PLAIN, "pool_id": _PLAIN},
    "pools.parquet": {"pool_id": _PLAIN},
}


def file_in(root: Path, name: object) -> Path:
    """Returns the path below `root` of a file that another file names as `name`; it need not exist.

    Raises UserError unless `name` is a relative path without `..`, no part of it is a link, all its
    parents are folders and it is a regular file.
    """
    return _below(root, name, stat.S_ISREG, "file")


def folder_in(root: Path, name: object) -> Path:
    """As `file_in`, for a folder."""
    return _below(root, name, stat.S_ISDIR, "folder")


def _below(root: Path, name: object, is_wanted: Callable[[int], bool], wanted: str) -> Path:
    parts = name.split("/") if isinstance(name, str) and "\0" not in name else [""]
    if any(part in ("", ".", "..") for part in parts):
        raise UserError(
            f"A file in {root} names the {wanted} {name!r}, which is no path within that folder; "
            f"take it from someone you trust."
        )
    path = str(root)
    for place, part in enumerate(parts, 1):
        path = f"{path}/{part}"
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            break
        if not (stat.S_ISDIR(mode) if place < len(parts) else is_wanted(mode)):
            raise UserError(_refused(path, mode, wanted if place == len(parts) else "folder"))
    return root.joinpath(*parts)


def check_own_files(root: Path) -> None:
    """Raise UserError if a folder holds anything except regular files and folders. It need not
    exist.

    Call it before writing into a folder: a link would redirect files elsewhere, and reading a pipe
    or a device may never end.
    """
    folders = [str(root)] if root.is_dir() else []
    while folders:
        with (
            suppress(FileNotFoundError),
            os.scandir(folders.pop()) as entries,
        ):  # another command may remove its draft
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    raise UserError(
                        _refused(entry.path, entry.stat(follow_symlinks=False).st_mode, "file")
                    )


def _refused(path: str, mode: int, wanted: str) -> str:
    if stat.S_ISLNK(mode):
        return (
            f"{path} is a link, and links are not followed; if it is yours, copy the folder with "
            f"`cp -rL`."
        )
    return f"{path} is no {'regular file' if wanted == 'file' else wanted}; remove it."


def check_names(table: "pa.Table | pa.RecordBatch", path: Path) -> None:
    """Raise UserError if the table at `path` has a name that could lead out of its folder.

    Names of splits, protocols and pools have only letters, digits, `_` and `-`; ids of a world's
    scenes, only digits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    expected = _SPELT.get(path.name, {})
    for column in expected.keys() & set(table.schema.names):
        spelt = expected[column]
        names = pc.unique(table[column]).cast(pa.string())
        wrong = names.filter(pc.invert(pc.match_substring_regex(names, rf"\A(?:{spelt})\z")))
        if len(wrong):
            raise UserError(
                f"{path} has the {column} {wrong[0].as_py()!r}, expected {spelt}; take it from "
                f"someone you trust."
            )


def check_name(name: object, what: str) -> str:
    """Returns a name that becomes part of a file's name, such as a pool's or a channel's. Raises
    UserError if it has other characters than letters, digits, `_` and `-`."""
    if not isinstance(name, str) or not re.fullmatch(_PLAIN, name):
        raise UserError(f"Expected the {what} to be letters, digits, '_' and '-', got {name!r}.")
    return name


def check_benchmark_name(name: object) -> str:
    """Returns the name of a benchmark. Raises UserError if it cannot name a folder."""
    if not isinstance(name, str) or not _BENCHMARK.fullmatch(name):
        raise UserError(
            f"Expected the benchmark's name to be letters, digits, '.', '+', '_' and '-', got "
            f"{str(name)!r}."
        )
    return name


def split_name(source: str) -> tuple[str, Path]:
    """Split NAME=PATH at the first "=" into name and path; the name is "" if there is no "=" or if
    the whole is an existing path."""
    name, equals, rest = source.partition("=")
    return ("", Path(source)) if not equals or Path(source).exists() else (name, Path(rest))
