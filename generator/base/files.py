"""Writes files atomically (whole or not at all), and SHA256SUMS to check them; reads JSON, TOML and
SHA256SUMS."""

import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, reason_of
from generator.base.limits import MOST_JSON, MOST_LIST, MOST_TOML, check_file, read_text

SUMS = "SHA256SUMS"
_MOST_DOTS = 200
"""Most dots of a line of TOML."""


def sha256(path: Path) -> str:
    """Compute the SHA-256 of a file.

    Args:
        path: The file.

    Returns:
        The digest of its bytes, in hexadecimal.

    Raises:
        UserError: It is not a regular file, or is sparse.
        OSError: It cannot be read.
    """
    check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically.

    Args:
        path: The file.
        text: Its text, written as UTF-8.
    """
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Write a file so that no reader sees half of it.

    Args:
        path: The file.

    Returns:
        A context that yields a temporary path beside it and renames it to `path` at the end. After
        an error the temporary file is deleted.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    # An old temporary file could be a link to a file of the user.
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
    """Write a file atomically.

    Args:
        path: The file.
        data: Its bytes.
    """
    with draft_of(path) as draft:
        draft.write_bytes(data)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file atomically.

    Args:
        path: The file.
        data: Its contents. Keys are sorted, so that equal data give equal bytes.
    """
    write_text(path, json_text(data))


def json_text(data: Mapping[str, Any]) -> str:
    r"""Write data as JSON.

    Args:
        data: The data.

    Returns:
        The text that `write_json` writes.

    Example:
        >>> json_text({"b": 1, "a": "é"})
        '{\n  "a": "é",\n  "b": 1\n}\n'
    """
    return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


ABOUT = ("verify.json", "truth.parquet", "floor.json")
"""Files that describe a finished benchmark: its certificate, the truth of its texts, and how well
texts alone answer it. They are written after the other files, so SHA256SUMS does not list them."""


def write_sums(folder: Path, known: Mapping[str, str]) -> str:
    """Write SHA256SUMS of every file below a folder, which `sha256sum -c SHA256SUMS` checks.

    Skips hidden files, and manifest.json and the files of ABOUT of the folder itself.

    Args:
        folder: The folder.
        known: Digests by relative path. They are not computed again, and these files need not
            exist.

    Returns:
        The SHA-256 of SHA256SUMS.
    """
    names = set(known)
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            names.add(path.relative_to(folder).as_posix())
    names -= {SUMS, "manifest.json", *ABOUT}
    lines = []
    for name in sorted(names):
        digest = known.get(name) or sha256(folder / name)
        lines.append(f"{digest}  {name}\n")
    write_text(folder / SUMS, "".join(lines))
    return sha256(folder / SUMS)


def read_sums(folder: Path) -> dict[str, str]:
    """Read the SHA256SUMS of a folder.

    Args:
        folder: The folder.

    Returns:
        Digests by relative path; a line without a path has the path "".

    Raises:
        UserError: The file is not UTF-8, is not a regular file, or is too large.
        OSError: It cannot be read.
    """
    try:
        lines = read_text(folder / SUMS, MOST_LIST).splitlines()
    except UnicodeDecodeError:
        raise UserError(
            f"{folder / SUMS} is damaged: it is not UTF-8 text; restore it or make it again."
        ) from None
    digests = {}
    for line in lines:
        digest, _, name = line.partition("  ")
        digests[name] = digest
    return digests


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock file.

    Args:
        path: The lock file; its folder is made.
        busy: Message of the error if another process holds it; None to wait for that process.

    Returns:
        A context, within which the lock is held.

    Raises:
        UserError: Another process holds the lock, and `busy` is given.
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
        # Deleted while it is held: a waiting process sees that it is gone and makes a new file.
        path.unlink(missing_ok=True)
        lock.release()


class JsonObject(dict[str, Any]):
    """An object of a JSON file. Reading a missing key raises a UserError that names the file;
    readers need no check."""

    def __init__(self, pairs: Iterable[tuple[str, Any]], where: object):
        """Make the object.

        Args:
            pairs: Its keys and values.
            where: Its file, for messages.
        """
        super().__init__(pairs)
        self._where = where

    def __missing__(self, key: str) -> Any:
        raise UserError(
            f"{self._where} is damaged: it has no '{key}'; restore it or make it again."
        )


def parse_json(text: str | bytes, where: object = "This JSON") -> Any:
    """Parse JSON.

    Args:
        text: The JSON.
        where: Its file, for messages about missing keys.

    Returns:
        The data; its objects are JsonObjects.

    Raises:
        ValueError: It is malformed or nested too deeply, or a key is repeated, for which two
            readers may take different values.
    """

    def object_of(pairs: list[tuple[str, Any]]) -> JsonObject:
        data = JsonObject(pairs, where)
        if len(data) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated = [key for key, count in counts.items() if count > 1]
            raise ValueError(f"the key '{repeated[0]}' is repeated")
        return data

    try:
        return json.loads(text, object_pairs_hook=object_of)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_ids(path: Path) -> frozenset[str]:
    """Read a text file with one id a line.

    Args:
        path: The file.

    Returns:
        The ids.

    Raises:
        UserError: It cannot be read.
    """
    try:
        return frozenset(read_text(path, MOST_LIST).split())
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror}; give a text file with one id a line."
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"Expected {path} to be a text file with one id a line, but it is not text: {error}."
        ) from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: The file.
        what: What it declares, such as "animal", for messages.

    Returns:
        Its contents.

    Raises:
        UserError: It cannot be read or is not valid TOML.
    """
    try:
        return parse_toml(read_text(path, MOST_TOML))
    except OSError as error:
        raise UserError(
            f"Cannot read the {what} {path}: {error.strerror}; give the path of a TOML file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The {what} {path} is not valid TOML: {error}.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Args:
        text: The TOML.

    Returns:
        Its contents.

    Raises:
        tomllib.TOMLDecodeError: A ValueError: it is malformed, nested too deeply, or has a number
            that is too long.
    """
    # A dotted key takes memory quadratic in its dots.
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise tomllib.TOMLDecodeError(f"a line has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        # Python limits the digits of an integer.
        raise tomllib.TOMLDecodeError("it has a number of thousands of digits") from None


def read_json(path: Path, shape: Any = None, most: int = MOST_JSON) -> JsonObject:
    """Read a file with a JSON object.

    Args:
        path: The file.
        shape: Declaration of the object, a TypedDict; None for any object.
        most: Most bytes of the file.

    Returns:
        The object.

    Raises:
        UserError: The file is larger, damaged, repeats a key, or is not of the `shape`.
        OSError: It cannot be read.
    """
    try:
        data = parse_json(read_text(path, most), path)
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}); make it again or restore it.") from None
    if not isinstance(data, JsonObject):
        raise UserError(f"{path} is damaged: expected a JSON object; make it again or restore it.")
    if shape is not None:
        check_shape(data, shape, path)
    return data


_SHAPES: dict[Any, Any] = {}
"""pydantic's validator by TypedDict; making one takes milliseconds."""


def check_shape(data: Mapping[str, Any], shape: Any, path: Path) -> None:
    """Check the types of a record that was read from a file. Extra keys are allowed.

    Args:
        data: The record.
        shape: Its declaration, a TypedDict. Missing keys of one with total=False raise when they
            are read (`JsonObject`).
        path: Its file, for the message.

    Raises:
        UserError: A value has another type, or a required key is missing.
    """
    # Commands that read no JSON need not wait for this import.
    from pydantic import TypeAdapter, ValidationError

    if shape not in _SHAPES:
        _SHAPES[shape] = TypeAdapter(shape)
    try:
        _SHAPES[shape].validate_python(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = first["msg"]
        if place:
            reason = f"{place}: {reason[0].lower()}{reason[1:]}"
        raise UserError(f"{path} is damaged ({reason}); restore it or make it again.") from None


def check_output(path: Path, remedy: str = "choose another place") -> None:
    """Check that a file can be made at a path or below it. For use before long work; leaves no file
    there.

    Args:
        path: The path, which need not exist.
        remedy: What the user can do otherwise, for the message.

    Raises:
        UserError: No file can be made there.
    """
    folder = _nearest_existing(path.absolute())
    try:
        # Permissions do not tell: the file system may be full or read-only.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = "it is a file" if isinstance(error, NotADirectoryError) else reason_of(error)
        raise UserError(
            f"Cannot write {path}: no file can be made in {folder} ({reason}); {remedy}."
        ) from None


def _nearest_existing(path: Path) -> Path:
    """The path if it is a folder, else the nearest of its parents that exists, of whatever kind."""
    if path.is_dir():
        return path
    return next(parent for parent in path.parents if os.path.lexists(parent))
