"""Writes files atomically (whole or not at all), and SHA256SUMS to check them; reads JSON, TOML and
SHA256SUMS."""

import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, reason_of
from generator.base.limits import MOST_JSON, MOST_LIST, MOST_TOML, check_file, read_text

SUMS = "SHA256SUMS"
_MOST_DOTS = 200


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes. Raises UserError as `check_file`."""
    check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Context that yields a temporary path beside `path` and renames it to `path` at the end, so no
    reader sees half a file. After an error it is deleted. An old temporary file is deleted first:
    it could be a link."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def draft_folder_of(folder: Path) -> Iterator[Path]:
    """Make a folder that appears whole or not at all.

    Two processes must not make the same folder at once: both would write to `.NAME.draft`.

    Args:
        folder: The folder; it must not exist, or be empty, when the context ends.

    Returns:
        A context that yields the temporary folder `.NAME.draft` beside it and renames it to
        `folder` at the end. After an error the temporary folder is deleted; after a kill the next
        call deletes it.
    """
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with draft_of(path) as draft:
        draft.write_bytes(data)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys, so that equal data give equal bytes."""
    write_text(path, json_text(data))


def json_text(data: Mapping[str, Any]) -> str:
    """Data as `write_json` writes them."""
    return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


ABOUT = ("verify.json", "truth.parquet", "floor.json")
"""Files that describe a finished benchmark: its certificate, the truth of its texts, and how well
texts alone answer it. They are written after the other files, so SHA256SUMS does not list them."""


def write_sums(folder: Path, known: Mapping[str, str]) -> str:
    """Write SHA256SUMS of every file below `folder` (`sha256sum -c SHA256SUMS` checks it); returns
    its own digest.

    `known`: digests by relative path. They are not computed again, and these files need not exist.
    Skips hidden files,
    and manifest.json and the files of ABOUT of the folder itself.
    """
    there = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    names = {name for name in there if not name.rpartition("/")[2].startswith(".")} | known.keys()
    names -= {SUMS, "manifest.json", *ABOUT}
    write_text(
        folder / SUMS,
        "".join(f"{known.get(name) or sha256(folder / name)}  {name}\n" for name in sorted(names)),
    )
    return sha256(folder / SUMS)


def read_sums(folder: Path) -> dict[str, str]:
    """Returns digests by relative path from a folder's SHA256SUMS; a line without a path has the
    path "".

    Raises UserError if the file is not UTF-8, or as `limits.read_text`.
    """
    try:
        lines = read_text(folder / SUMS, MOST_LIST).splitlines()
    except UnicodeDecodeError:
        raise UserError(
            f"{folder / SUMS} is damaged: it is not UTF-8 text; restore it or make it again."
        ) from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Context that holds the lock file `path`. If another process holds it, waits for it.

    `busy`: message of a UserError to raise instead of waiting.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=-1 if busy is None else 0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(str(busy)) from None
    try:
        yield
    finally:
        path.unlink(
            missing_ok=True
        )  # while held: a waiting process sees that it is gone and makes a new file
        lock.release()


class Record(dict[str, Any]):
    """An object of a JSON file. Reading a missing key raises a UserError that names the file;
    readers need no check."""

    def __init__(self, pairs: Iterable[tuple[str, Any]], where: object):
        super().__init__(pairs)
        self._where = where

    def __missing__(self, key: str) -> Any:
        raise UserError(
            f"{self._where} is damaged: it has no '{key}'; restore it or make it again."
        )


def parse_json(text: str | bytes, where: object = "This JSON") -> Any:
    """Parse JSON; its objects are Records of the file `where`.

    Raises ValueError for JSON that is malformed or nested too deeply, and for repeated keys, for
    which two readers may take different values.
    """

    def distinct(pairs: list[tuple[str, Any]]) -> Record:
        data = Record(pairs, where)
        if len(data) < len(pairs):
            keys = [key for key, _ in pairs]
            raise ValueError(
                f"the key '{next(key for key in keys if keys.count(key) > 1)}' is repeated"
            )
        return data

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_ids(path: Path) -> frozenset[str]:
    """Returns the ids in a text file with one id a line. Raises UserError if it cannot be read."""
    try:
        return frozenset(read_text(path, MOST_LIST).split())
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror}; give a text file with one id a line."
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"Expected {path} to be a text file with one id a line, but it is no text: {error}."
        ) from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read the TOML file at `path`. `what`: what it declares, such as "animal", for messages.
    Raises UserError if it cannot be read or is no TOML."""
    try:
        return parse_toml(read_text(path, MOST_TOML))
    except OSError as error:
        raise UserError(
            f"Cannot read the {what} {path}: {error.strerror}; give the path of a TOML file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The {what} {path} is not valid TOML: {error}.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises tomllib.TOMLDecodeError, a ValueError, for TOML that is malformed, nested
    too deeply, or has a number that is too long."""
    if max((line.count(".") for line in text.splitlines()), default=0) > _MOST_DOTS:
        raise tomllib.TOMLDecodeError(
            f"a line has more than {_MOST_DOTS} dots"
        )  # a dotted key takes memory quadratic in its dots
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python limits the digits of an integer
        raise tomllib.TOMLDecodeError("it has a number of thousands of digits") from None


def read_json(path: Path, shape: Any = None, most: int = MOST_JSON) -> Record:
    """Read a JSON object of at most `most` bytes.

    Raises UserError when the file is larger, damaged, repeats a key, or is not of the `shape`, a
    TypedDict.
    """
    try:
        data = parse_json(read_text(path, most), path)
    except ValueError as error:  # of JSON or UTF-8
        raise UserError(f"{path} is damaged ({error}); make it again or restore it.") from None
    if not isinstance(data, Record):
        raise UserError(f"{path} is damaged: expected a JSON object; make it again or restore it.")
    if shape is not None:
        check_shape(data, shape, path)
    return data


_SHAPES: dict[Any, Any] = {}


def check_shape(data: Mapping[str, Any], shape: Any, path: Path) -> None:
    """Raise UserError if a value of the record in the file `path` has another type than in `shape`,
    a TypedDict.

    Missing keys of a `shape` with total=False raise when they are read (`Record`). Extra keys are
    allowed.
    """
    from pydantic import TypeAdapter, ValidationError

    if shape not in _SHAPES:
        _SHAPES[shape] = TypeAdapter(shape)
    try:
        _SHAPES[shape].validate_python(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        told = f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}" if place else first["msg"]
        raise UserError(f"{path} is damaged ({told}); restore it or make it again.") from None


def check_output(path: Path, mend: str = "choose another place") -> None:
    """Raise UserError if no file can be made at `path` or below it. For use before long work;
    leaves no file there."""
    places = (path.absolute(), *path.absolute().parents)
    folder = next(
        each for each in places if each.is_dir() or (each != places[0] and os.path.lexists(each))
    )
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = "it is a file" if isinstance(error, NotADirectoryError) else reason_of(error)
        raise UserError(
            f"Cannot write {path}: no file can be made in {folder} ({reason}); {mend}."
        ) from None
