"""Checks that files are whole, and reads tables as far as possible."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.arrays import read_png
from generator.base.errors import UserError
from generator.base.files import ABOUT, SUMS, parse_toml, read_sums, sha256
from generator.base.limits import MOST_IN_SCENE, MOST_TOML, read_bytes, read_text
from generator.base.paths import file_in
from generator.base.progress import SILENT, Progress
from generator.base.tables import read_batches, read_schema
from generator.judge.certificate import DAMAGE, Finding, finding

Report = Callable[[Finding], None]
Size = tuple[int, int]

_MODES = {"images": ("RGB", "RGB"), "masks": ("L", "grayscale")}
"""By folder of a world, Pillow's mode of its PNG files and the name of the mode in findings."""
_DEPTH_AT = 24
"""Offset in a PNG file of the bits per channel: signature 8, chunk head 8, width 4, height 4."""

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

    Models read decoded pixels, so how pixels are packed in the file is not checked.

    Args:
        data: The bytes of the file.
        path: Its path within the world, such as images/000017.png. Images must be 8-bit RGB, masks
            8-bit grayscale; files of other folders may have any mode.
        size: Its expected width and height in pixels; None if they are not known.
    """
    try:
        image = read_png(data)
    except ValueError as error:
        return f"does not decode: {error}"
    if size is not None and image.size != size:
        width, height = image.size
        return f"has {width}x{height} pixels, not {size[0]}x{size[1]} as the manifest says"
    folder = path.partition("/")[0]
    if folder in _MODES:
        mode, description = _MODES[folder]
        # Pillow reads 16-bit RGB as "RGB" too, so the depth is read from the header.
        if image.mode != mode or data[_DEPTH_AT] != 8:
            return f"is not 8-bit {description}"
    metadata = sorted(str(key) for key in image.info.keys() - {"interlace"})
    if metadata:
        return f"has metadata beside its pixels: {', '.join(metadata)}"
    return None
