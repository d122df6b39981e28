"""Checks of paths and names that were read from files: an untrusted dataset or run must reach
nothing outside its folder."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from generator.base.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

# A name of a benchmark may have dots and plus signs, but cannot be hidden or lead elsewhere.
_BENCHMARK = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
_PLAIN = "[A-Za-z0-9_-]+"
_NUMBER = "[0-9]+"
# Patterns of names in tables that become file names. Candidates of a benchmark made elsewhere may
# name images freely: an image is read only if its world lists it.
_PATTERNS = {
    "scenes.parquet": {"scene_id": _NUMBER},
    "splits.parquet": {"scene_id": _NUMBER, "split": _PLAIN},
    "items.parquet": {"protocol": _PLAIN, "split": _PLAIN, "pool_id": _PLAIN},
    "pools.parquet": {"pool_id": _PLAIN},
}


def file_in(root: Path, name: object) -> Path:
    """Find a file that another file names.

    Args:
        root: The folder that the file must lie in.
        name: What the other file says, which may be anything.

    Returns:
        The path of the file below `root`; it need not exist.

    Raises:
        UserError: `name` is not a relative path without `..`, a part of it is a link, a parent is
            not a folder, or the file is not a regular file.
    """
    return _path_below(root, name, "file")


def folder_in(root: Path, name: object) -> Path:
    """Find a folder that a file names.

    Args:
        root: The folder that it must lie in.
        name: What the file says, which may be anything.

    Returns:
        The path of the folder below `root`; it need not exist.

    Raises:
        UserError: As for `file_in`.
    """
    return _path_below(root, name, "folder")


def _path_below(root: Path, name: object, kind: str) -> Path:
    """`kind`: "file" or "folder"."""
    is_text = isinstance(name, str) and "\0" not in name
    parts = str(name).split("/") if is_text else [""]
    if any(part in ("", ".", "..") for part in parts):
        raise UserError(
            f"A file in {root} names the {kind} {name!r}, which is not a path within that folder; "
            f"take it from someone you trust."
        )
    path = str(root)
    # Each part is looked at by itself: a link in the middle would lead out of the folder.
    for number, part in enumerate(parts, 1):
        path = f"{path}/{part}"
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            break
        kind_of_part = kind if number == len(parts) else "folder"
        is_of_kind = stat.S_ISREG(mode) if kind_of_part == "file" else stat.S_ISDIR(mode)
        if not is_of_kind:
            raise UserError(_refusal(path, mode, kind_of_part))
    return root.joinpath(*parts)


def check_own_files(root: Path) -> None:
    """Check that a folder holds only regular files and folders.

    Call it before writing into a folder: a link would redirect files elsewhere, and reading a pipe
    or a device may never end.

    Args:
        root: The folder; it need not exist.

    Raises:
        UserError: It holds something else.
    """
    folders = [str(root)] if root.is_dir() else []
    while folders:
        # Another command may remove its draft meanwhile.
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    raise UserError(_refusal(entry.path, mode, "file"))


def _refusal(path: str, mode: int, kind: str) -> str:
    """Why a path that is not of a kind is refused."""
    if stat.S_ISLNK(mode):
        return (
            f"{path} is a link, and links are not followed; if it is yours, copy the folder with "
            f"`cp -rL`."
        )
    return f"{path} is not a {'regular file' if kind == 'file' else kind}; remove it."


def check_names(table: "pa.Table | pa.RecordBatch", path: Path) -> None:
    """Check the names in a table that become names of files.

    Names of splits, protocols and pools have only letters, digits, `_` and `-`; ids of a world's
    scenes, only digits.

    Args:
        table: The table, or a part of it.
        path: Its file.

    Raises:
        UserError: A name could lead out of its folder.
    """
    # Imported late: commands that read no table need not wait for it.
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern_of_column = _PATTERNS.get(path.name, {})
    for column in pattern_of_column.keys() & set(table.schema.names):
        pattern = pattern_of_column[column]
        names = pc.unique(table[column]).cast(pa.string())
        is_safe = pc.match_substring_regex(names, rf"\A(?:{pattern})\z")
        unsafe = names.filter(pc.invert(is_safe))
        if len(unsafe):
            raise UserError(
                f"{path} has the {column} {unsafe[0].as_py()!r}, expected {pattern}; take it from "
                f"someone you trust."
            )


def check_name(name: object, what: str) -> str:
    """Check a name that becomes part of a file's name.

    Args:
        name: The name.
        what: What it names, such as "channel", for the message.

    Returns:
        The name.

    Raises:
        UserError: It has other characters than letters, digits, `_` and `-`.

    Example:
        >>> check_name("image-text", "channel")
        'image-text'
    """
    if not isinstance(name, str) or not re.fullmatch(_PLAIN, name):
        raise UserError(f"Expected the {what} to be letters, digits, '_' and '-', got {name!r}.")
    return name


def check_benchmark_name(name: object) -> str:
    """Check the name of a benchmark.

    Args:
        name: The name.

    Returns:
        The name.

    Raises:
        UserError: It cannot name a folder.
    """
    if not isinstance(name, str) or not _BENCHMARK.fullmatch(name):
        raise UserError(
            f"Expected the benchmark's name to be letters, digits, '.', '+', '_' and '-', got "
            f"{str(name)!r}."
        )
    return name


def split_name(source: str) -> tuple[str, Path]:
    """Split NAME=PATH at the first "=".

    Args:
        source: What the user wrote.

    Returns:
        Name and path. The name is "" if there is no "=", or if the whole is an existing path.

    Example:
        >>> split_name("mine=a/b.csv")[0]
        'mine'
    """
    name, equals, rest = source.partition("=")
    if not equals or Path(source).exists():
        return "", Path(source)
    return name, Path(rest)
