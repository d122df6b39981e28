"""Checks that files are whole and reads tables as far as possible."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError
from generator.base.files import SUMS, parse_toml, read_sums, sha256
from generator.base.limits import MOST_IN_SCENE, MOST_TOML, read_bytes, read_text
from generator.base.parquet import read_batches, read_schema
from generator.base.paths import file_in
from generator.base.progress import SILENT, Progress
from generator.judge.findings import DAMAGE, Finding, finding
from generator.judge.images import Size, image_fault

Report = Callable[[Finding], None]

# Columns of tables: optional ones, ones that may not be empty, and all that are read.
_OPTIONAL = frozenset({"kind"})
_FILLED = frozenset({"scene_id", "text_id", "text", "item_id", "slot", "truth"})
_JUDGED = _FILLED | {
    "status",
    "objects",
    "scene",
    "split",
    "pool_id",
    "protocol",
    "kind",
    "width",
    "height",
}


def file_faults(
    folder: Path, digest: str | None, images: bool, progress: Progress = SILENT, size: Size | None = None
) -> Iterator[Finding]:
    """Files of a component that are missing, changed or not listed in SHA256SUMS, and images that are not as they
    should be.

    `digest`: of SHA256SUMS, as the manifest has it. `images`: whether PNG files are decoded too. `size`: width and
    height of the images, if known.

    """
    if not (folder / SUMS).exists() or sha256(folder / SUMS) != digest:
        yield finding("damaged file", f"{folder.name}/{SUMS} is not the one that the manifest names")
    sums = read_sums(folder) if (folder / SUMS).exists() else {}
    for name, expected in progress.each(sums.items(), f"files of {folder.name}", len(sums)):
        try:
            path = file_in(folder, name)
        except UserError as error:
            yield finding("unsafe path", f"{folder.name}/{SUMS} lists {name!r}: {error}")
            continue
        if not path.exists():
            yield finding("damaged file", f"{folder.name}/{name} is missing")
            continue
        try:
            if sha256(path) != expected:
                yield finding("damaged file", f"{folder.name}/{name} has other bytes than when it was made")
            image = read_bytes(path, MOST_IN_SCENE) if images and path.suffix == ".png" else None
        except UserError as error:
            yield finding("damaged file", error.message)
            continue
        if image is not None and (fault := image_fault(image, name, size)):
            yield finding("damaged image", f"{folder.name}/{name} {fault}")
    listed = {folder / name for name in sums}
    for path in folder.rglob("*"):
        if path.is_file() and path not in listed and path.name not in (SUMS, "manifest.json", "verify.json"):
            yield finding("unlisted file", f"{folder.name}/{path.relative_to(folder)} is not in {SUMS}")


def readable_table(path: Path, schema: pa.Schema, report: Report) -> pa.Table | None:
    """The judged columns of a table; if it cannot be read, reports a finding and returns None."""
    try:
        return pa.concat_tables(_parts(path, schema, 100_000))
    except DAMAGE as error:
        report(_unreadable(path, error))
        return None


def _parts(path: Path, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """The judged columns of a table, `rows` rows at a time; the first part is empty.

    Raises one of DAMAGE if the table cannot be read, lacks a column or has another one, or has an empty cell where
    none is allowed.
    """
    found = read_schema(path).names
    if missing := set(schema.names) - {*found, *_OPTIONAL}:
        raise ValueError(f"it has no column {' or '.join(sorted(missing))}")
    if strange := set(found) - set(schema.names):
        raise ValueError(f"it has the column {' and '.join(sorted(strange))}, which the format does not have")
    judged = pa.schema([field for field in schema if field.name in _JUDGED])
    yield judged.empty_table()
    there = [name for name in judged.names if name in found]
    for batch in read_batches(path, there, rows):
        part = pa.Table.from_batches([batch])
        for name in set(judged.names).difference(there):
            part = part.append_column(name, pa.nulls(len(part), judged.field(name).type))
        part = part.select(judged.names).cast(judged)
        if empty := [name for name in sorted(_FILLED.intersection(judged.names)) if part[name].null_count]:
            raise ValueError(f"it has rows without {' or '.join(empty)}")
        yield part


def readable_parts(path: Path, schema: pa.Schema, rows: int, report: Report) -> Iterator[pa.Table]:
    """The judged columns of a table, `rows` rows at a time; reports a finding where it cannot be read further."""
    try:
        yield from _parts(path, schema, rows)
    except DAMAGE as error:
        report(_unreadable(path, error))


def _unreadable(path: Path, error: Exception) -> Finding:
    return finding("damaged file", f"{path.name} cannot be read: {error}")


def labels(column: pa.ChunkedArray) -> np.ndarray:
    """The strings of a column as an array of objects; equal strings share memory."""
    coded = pc.dictionary_encode(column).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    names = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return names[np.asarray(pc.fill_null(coded.indices, len(names) - 1).to_numpy(zero_copy_only=False))]


def places(column: pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The index of each value of a column in `among`; -1 if it is not there."""
    return np.asarray(pc.fill_null(pc.index_in(column, value_set=among), -1).to_numpy(), dtype=np.int64)


def numbers(column: pa.Array) -> np.ndarray:
    """The column as int64, -1 for null."""
    return np.asarray(pc.fill_null(pc.cast(column, pa.int64()), -1).to_numpy(zero_copy_only=False))


def repeated(column: pa.ChunkedArray) -> list[str]:
    """The values that occur more than once in a column."""
    if pc.count_distinct(column).as_py() == len(column):
        return []
    return [entry["values"] for entry in pc.value_counts(column).to_pylist() if entry["counts"] > 1]


def readable_toml(path: Path) -> str:
    """The text of a TOML file. Raises UserError if it cannot be read: nothing can be judged then."""
    try:
        text = read_text(path, MOST_TOML)
        parse_toml(text)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}), so nothing can be judged; restore it or render again."
        ) from None
    return text
