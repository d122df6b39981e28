"""Checks that files are whole, and reads tables as far as possible.

The header of an image is read before decompression, so that a tiny file cannot fill the memory.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.arrays import MOST_SIDE, read_png
from generator.base.errors import UserError
from generator.base.files import ABOUT, SUMS, parse_toml, read_sums, sha256
from generator.base.limits import MOST_IN_SCENE, MOST_TOML, read_bytes, read_text
from generator.base.paths import file_in
from generator.base.progress import SILENT, Progress
from generator.base.tables import read_batches, read_schema
from generator.judge.certificate import DAMAGE, Finding, finding

Report = Callable[[Finding], None]
Size = tuple[int, int]
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MODES = {"images": (2, "RGB"), "masks": (0, "grayscale")}  # PNG's colour type, and its name
_PIXELS = b"IHDR", b"IDAT", b"IEND"

# Columns of tables: optional columns, columns without empty cells, and all columns that are read.
_OPTIONAL = frozenset({"kind", "skill"})
_FILLED = frozenset({"scene_id", "text_id", "text", "item_id", "slot", "truth"})
_JUDGED = _FILLED | {
    "status",
    "objects",
    "relations",
    "scene",
    "split",
    "pool_id",
    "protocol",
    "kind",
    "skill",
    "width",
    "height",
}


def file_faults(
    folder: Path,
    digest: str | None,
    images: bool,
    progress: Progress = SILENT,
    size: Size | None = None,
) -> Iterator[Finding]:
    """Files of a component that are missing, changed or not listed in SHA256SUMS, and damaged
    images.

    `digest`: of SHA256SUMS, from the manifest. `images`: whether to decode PNG files too. `size`:
    expected width and
    height of the images, if known.

    """
    if not (folder / SUMS).exists() or sha256(folder / SUMS) != digest:
        yield finding(
            "damaged file", f"{folder.name}/{SUMS} does not match its digest in the manifest"
        )
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
                yield finding(
                    "damaged file", f"{folder.name}/{name} has other bytes than when it was made"
                )
            image = read_bytes(path, MOST_IN_SCENE) if images and path.suffix == ".png" else None
        except UserError as error:
            yield finding("damaged file", error.message)
            continue
        if image is not None and (fault := image_fault(image, name, size)):
            yield finding("damaged image", f"{folder.name}/{name} {fault}")
    listed = {folder / name for name in (*sums, SUMS, "manifest.json", *ABOUT)}
    for path in folder.rglob("*"):
        if path.is_file() and path not in listed:
            yield finding(
                "unlisted file", f"{folder.name}/{path.relative_to(folder)} is not in {SUMS}"
            )


def readable_table(path: Path, schema: pa.Schema, report: Report) -> pa.Table | None:
    """The judged columns of a table; if it cannot be read, reports a finding and returns None."""
    try:
        return pa.concat_tables(_parts(path, schema, 100_000))
    except DAMAGE as error:
        report(_unreadable(path, error))
        return None


def _parts(path: Path, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """The judged columns of a table, `rows` rows at a time; the first part is empty.

    Raises one of DAMAGE if the table cannot be read, lacks a column, or has an unknown column or a
    forbidden empty cell.
    """
    there = read_schema(path)
    if there.metadata or any(field.metadata for field in there):
        raise ValueError("it has metadata, which the format does not have")
    found = there.names
    if missing := set(schema.names) - {*found, *_OPTIONAL}:
        raise ValueError(f"it has no column {' or '.join(sorted(missing))}")
    if strange := set(found) - set(schema.names):
        raise ValueError(
            f"it has the column {' and '.join(sorted(strange))}, which the format does not have"
        )
    judged = pa.schema([field for field in schema if field.name in _JUDGED])
    yield judged.empty_table()
    named = [name for name in judged.names if name in found]
    for batch in read_batches(path, named, rows):
        part = pa.Table.from_batches([batch])
        for name in set(judged.names).difference(named):
            part = part.append_column(name, pa.nulls(len(part), judged.field(name).type))
        part = part.select(judged.names).cast(judged)
        if empty := [
            name for name in sorted(_FILLED.intersection(judged.names)) if part[name].null_count
        ]:
            raise ValueError(f"it has rows without {' or '.join(empty)}")
        yield part


def readable_parts(path: Path, schema: pa.Schema, rows: int, report: Report) -> Iterator[pa.Table]:
    """The judged columns of a table, `rows` rows at a time; stops with a finding if it cannot be
    read further."""
    try:
        yield from _parts(path, schema, rows)
    except DAMAGE as error:
        report(_unreadable(path, error))


def _unreadable(path: Path, error: Exception) -> Finding:
    return finding("damaged file", f"{path.name} cannot be read: {error}")


def labels(column: pa.ChunkedArray) -> np.ndarray:
    """The strings of a column as an array of objects; equal strings share memory."""
    coded = pc.dictionary_encode(column.combine_chunks())
    names = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return names[pc.fill_null(coded.indices, len(names) - 1).to_numpy(zero_copy_only=False)]


def places(column: pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The index of each value of a column in `among`; -1 if it is not there."""
    return np.asarray(
        pc.fill_null(pc.index_in(column, value_set=among), -1).to_numpy(), dtype=np.int64
    )


def repeated(column: pa.ChunkedArray) -> list[str]:
    """The values that occur more than once in a column."""
    if pc.count_distinct(column).as_py() == len(column):
        return []
    return [entry["values"] for entry in pc.value_counts(column).to_pylist() if entry["counts"] > 1]


def readable_toml(path: Path) -> str:
    """The text of a TOML file. Raises UserError if it cannot be read: nothing can be judged
    then."""
    try:
        text = read_text(path, MOST_TOML)
        parse_toml(text)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}), so nothing can be judged; restore it or render "
            f"again."
        ) from None
    return text


def image_fault(data: bytes, path: str = "", size: Size | None = None) -> str | None:
    """The fault of the bytes of a PNG file; None if there is none.

    `path`: within the world, such as images/000017.png; images must be 8-bit RGB, masks 8-bit
    grayscale. `size`:
    expected width and height in pixels. Each is checked only if it is given.
    """
    try:
        chunks = dict(_chunks(data))
        fault = _header_fault(chunks[b"IHDR"], path, size) or _metadata(chunks)
        if fault is None:
            read_png(data)
        return fault
    except (SyntaxError, ValueError, KeyError, struct.error) as error:
        return f"does not decode: {error}"


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each chunk. Raises ValueError or struct.error if the file is cut
    short."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("it is no PNG file")
    name, at = b"", len(_SIGNATURE)
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, at)
        if at + 12 + length > len(data):
            raise ValueError("it is cut short")
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length


def _header_fault(header: bytes, path: str, size: Size | None) -> str | None:
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if size is not None and (width, height) != size:
        return f"has {width}x{height} pixels, not {size[0]}x{size[1]} as the manifest says"
    if max(width, height) > MOST_SIDE:
        return (
            f"has {width}x{height} pixels, more than the {MOST_SIDE}x{MOST_SIDE} of the largest "
            f"image"
        )
    mode = _MODES.get(path.partition("/")[0])
    if mode is not None and (depth, color, interlaced) != (8, mode[0], 0):
        return f"is not 8-bit {mode[1]} without interlacing"
    return None


def _metadata(chunks: Iterable[bytes]) -> str | None:
    others = [name.decode("ascii", "replace") for name in chunks if name not in _PIXELS]
    return f"has metadata: chunks {', '.join(others)} beside its pixels" if others else None
