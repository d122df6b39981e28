"""Writes files whole or not at all, and the SHA256SUMS that prove them whole; reads JSON, TOML and sums."""

import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from generator.base.errors import UserError, reason_of
from generator.base.limits import MOST_JSON, MOST_LIST, MOST_TOML, check_file, read_text

SUMS = "SHA256SUMS"
ROW_GROUP = 50_000
_BATCH, _GROUP_BYTES = 50, 8 << 20
_MOST_DOTS = 200


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes. Raises UserError for what is no regular file, or sparse."""
    check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def draft_of(path: Path) -> Path:
    """A name beside `path` to write to and rename. What stands there is removed, since a link would be followed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    return draft


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it, so that no reader finds half of it."""
    draft = draft_of(path)
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys, so that equal data are equal bytes."""
    write_text(path, json_text(data))


def json_text(data: Mapping[str, Any]) -> str:
    """Data as `write_json` writes them."""
    return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def write_table(path: Path, rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema) -> None:
    """Write rows as Parquet of the given schema, whole or not at all, with few rows in memory at a time.

    Raises pyarrow.ArrowInvalid when a row does not fit the schema.
    """
    draft = draft_of(path)
    try:
        with pq.ParquetWriter(draft, schema, compression="zstd") as file:
            for batches in _grouped(_batches(rows, schema)):
                file.write_table(pa.Table.from_batches(batches, schema))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _batches(rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if isinstance(rows, pa.Table):
        yield from rows.cast(schema).to_batches()
        return
    rest = iter(rows)
    while chunk := list(islice(rest, _BATCH)):
        yield pa.RecordBatch.from_pylist(chunk, schema)


def _grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Row groups of about equal size in bytes, so that memory stays small however long rows are."""
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


class TableWriter:
    """Writes a Parquet file row by row, with one row group in memory at a time."""

    def __init__(self, path: Path, schema: pa.Schema):
        self._schema, self._rows = schema, 0
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._columns: list[list[Any]] = [[] for _ in schema]

    def add(self, row: Sequence[Any]) -> None:
        """Add a row, its values in the order of the schema."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._rows += 1
        if self._rows >= ROW_GROUP:
            self._flush()

    def add_all(self, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Add many rows; columns that a row lacks are null."""
        if isinstance(rows, pa.Table):
            self._flush()
            lacking = [field for field in self._schema if field.name not in rows.column_names]
            for field in lacking:
                rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
            self._file.write_table(rows.select(self._schema.names).cast(self._schema))
            return
        names = self._schema.names
        for row in rows:
            self.add([row.get(name) for name in names])

    def close(self) -> None:
        """Write the remaining rows and close the file; a second call does nothing."""
        if self._file.is_open:
            self._flush()
            self._file.close()

    def abandon(self) -> None:
        """Close the file without writing the remaining rows."""
        if self._file.is_open:
            self._file.close()

    def _flush(self) -> None:
        if self._rows:
            arrays = [pa.array(column, field.type) for column, field in zip(self._columns, self._schema, strict=True)]
            self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._columns, self._rows = [[] for _ in self._schema], 0


def write_sums(folder: Path, known: Mapping[str, str]) -> str:
    """Write SHA256SUMS of every file below `folder` (`sha256sum -c SHA256SUMS` checks it); returns its own digest.

    `known` gives digests by relative path that need not be computed again. Hidden files, manifest.json and
    verify.json are left out.
    """
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.name not in (SUMS, "manifest.json", "verify.json")
    )
    write_text(folder / SUMS, "".join(f"{known.get(name) or sha256(folder / name)}  {name}\n" for name in names))
    return sha256(folder / SUMS)


def read_sums(folder: Path) -> dict[str, str]:
    """Digest by relative path, from a folder's SHA256SUMS; a line without a path has the path "".

    Raises UserError when the file is no text, or as `limits.read_text`.
    """
    try:
        lines = read_text(folder / SUMS, MOST_LIST).splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{folder / SUMS} is damaged: it is not UTF-8 text; restore it or make it again.") from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


class Record(dict[str, Any]):
    """An object of a JSON file. A key that it lacks is a UserError that names the file, so no reader has to look for it."""

    def __init__(self, pairs: Iterable[tuple[str, Any]], where: object):
        super().__init__(pairs)
        self._where = where

    def __missing__(self, key: str) -> Any:
        raise UserError(f"{self._where} is damaged: it has no '{key}'; restore it or make it again.")


def parse_json(text: str | bytes, where: object = "This JSON") -> Any:
    """Parse JSON; its objects are Records of the file `where`.

    Raises ValueError for JSON that is malformed or nested too deeply, and for repeated keys, of which two readers may take two
    values.
    """

    def distinct(pairs: list[tuple[str, Any]]) -> Record:
        data = Record(pairs, where)
        if len(data) < len(pairs):
            keys = [key for key, _ in pairs]
            raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' is repeated")
        return data

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_ids(path: Path) -> frozenset[str]:
    """The ids in a text file, one a line. Raises UserError where it cannot be read."""
    try:
        return frozenset(read_text(path, MOST_LIST).split())
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; give a text file with one id a line.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"Expected {path} to be a text file with one id a line, but it is no text: {error}.") from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The TOML file at `path`; `what` it declares, such as "animal". Raises UserError where it cannot be read or is no TOML."""
    try:
        return parse_toml(read_text(path, MOST_TOML))
    except OSError as error:
        raise UserError(f"Cannot read the {what} {path}: {error.strerror}; give the path of a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The {what} {path} is not valid TOML: {error}.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises tomllib.TOMLDecodeError, a ValueError, for TOML that is malformed, nested too deeply, or has a number that is too long."""
    if max((line.count(".") for line in text.splitlines()), default=0) > _MOST_DOTS:
        raise tomllib.TOMLDecodeError(
            f"a line has more than {_MOST_DOTS} dots"
        )  # a dotted key takes their square in memory
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of Python's numbers
        raise tomllib.TOMLDecodeError("it has a number of thousands of digits") from None


def read_json(path: Path, shape: Any = None, most: int = MOST_JSON) -> Record:
    """Read a JSON object of at most `most` bytes.

    Raises UserError when the file is larger, damaged, repeats a key, or is not of the `shape`, a TypedDict.
    """
    try:
        data = parse_json(read_text(path, most), path)
    except ValueError as error:  # of JSON and of UTF-8
        raise UserError(f"{path} is damaged ({error}); make it again or restore it.") from None
    if not isinstance(data, Record):
        raise UserError(f"{path} is damaged: expected a JSON object; make it again or restore it.")
    if shape is not None:
        check_shape(data, shape, path)
    return data


_SHAPES: dict[Any, TypeAdapter[Any]] = {}


def check_shape(data: Mapping[str, Any], shape: Any, path: Path) -> None:
    """Raise UserError where the record in the file `path` has a value of another type than `shape`, a TypedDict, says.

    Keys that it lacks are told where they are needed (`generator.base.files.Record`); others are let through.
    """
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
    """Raise UserError where no file can be made at `path` or below it: before the work, not after it. Leaves nothing there."""
    places = (path.absolute(), *path.absolute().parents)
    folder = next(each for each in places if each.is_dir() or (each != places[0] and os.path.lexists(each)))
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = "it is a file" if isinstance(error, NotADirectoryError) else reason_of(error)
        raise UserError(f"Cannot write {path}: no file can be made in {folder} ({reason}); {mend}.") from None


class SumsWriter:
    """Collects the lines of SHA256SUMS on disk, one file for each subfolder, and joins them sorted.

    The files of one subfolder must be added in order; subfolders may alternate. Used as a context; without `finish` it
    leaves no files behind.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._parts: dict[str, Path] = {}

    def __enter__(self) -> "SumsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for part in self._parts.values():
            part.unlink(missing_ok=True)

    def add(self, path: str, digest: str) -> None:
        """Add a file by its path below the folder, and its SHA-256."""
        subfolder, slash, _ = path.partition("/")
        part = self._parts.setdefault(subfolder + slash, self._folder / f".{SUMS}.{len(self._parts)}.{os.getpid()}")
        with part.open("a", encoding="utf-8") as file:
            file.write(f"{digest}  {path}\n")

    def finish(self) -> str:
        """Write SHA256SUMS, sorted by path; returns its own digest."""
        draft = self._folder / f".{SUMS}.{os.getpid()}"
        try:
            with draft.open("wb") as whole:
                for subfolder in sorted(self._parts):
                    with self._parts[subfolder].open("rb") as part:
                        while block := part.read(1 << 20):
                            whole.write(block)
            os.replace(draft, self._folder / SUMS)
        finally:
            draft.unlink(missing_ok=True)
        return sha256(self._folder / SUMS)
