"""Checks that packed.parquet gives the true places of files in tars, and that these files are whole."""

import hashlib
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.dataset.errors import UserError
from generator.dataset.paths import file_in
from generator.dataset.schema import PACKED
from generator.judge.png import Size, image_fault

DAMAGE = (OSError, ValueError, KeyError, EOFError, tarfile.TarError, pa.ArrowException)


def tar_faults(folder: Path, size: Size | None = None) -> Iterator[str]:
    """Faults of the tars of a world; none if it has no tars. `size`: width and height of its images, if known."""
    if not (folder / "packed.parquet").exists():
        return
    listed: dict[str, list[dict[str, Any]]] = defaultdict(list)
    try:
        for row in pq.read_table(folder / "packed.parquet", schema=PACKED).to_pylist():
            listed[row["tar"]].append(row)
    except DAMAGE as error:
        yield f"packed.parquet cannot be read: {error}"
    for tar, rows in listed.items():
        try:
            yield from (f"{tar}: {fault}" for fault in _faults(file_in(folder, tar), rows, size))
        except (*DAMAGE, UserError) as error:
            yield f"{tar} cannot be read: {error}"


def packed_paths(folder: Path) -> set[str]:
    """The paths in packed.parquet; none if it cannot be read, which `tar_faults` reports."""
    return set(packed_digests(folder))


def packed_digests(folder: Path) -> dict[str, str]:
    """SHA-256 by path, from packed.parquet; none if it cannot be read, which `tar_faults` reports."""
    try:
        table = pq.read_table(folder / "packed.parquet", columns=["path", "sha256"])
        return dict(zip(table["path"].to_pylist(), table["sha256"].to_pylist(), strict=True))
    except DAMAGE:
        return {}


def _faults(path: Path, rows: list[dict[str, Any]], size: Size | None) -> Iterator[str]:
    with tarfile.open(path) as tar:
        found = tar.getmembers()
    yield from (
        f"its member {each.name!r} would not unpack as a file of a scene" for each in found if not _is_plain(each)
    )
    members = {(member.offset_data, member.size): member.name for member in found}
    with path.open("rb") as file:
        for row in rows:
            name = members.get((row["offset"], row["size"]))
            scene_id = row["path"].rpartition("/")[2].partition(".")[0]
            if name is None or name.partition(".")[0] != scene_id:
                yield f"{row['path']} is not where packed.parquet says"
                continue
            file.seek(row["offset"])
            data = file.read(row["size"])
            if hashlib.sha256(data).hexdigest() != row["sha256"]:
                yield f"{row['path']} has other bytes than when it was made"
            elif name.endswith(".png") and (fault := image_fault(data, row["path"], size)):
                yield f"{row['path']} {fault}"


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Whether a member is a regular file that unpacks beside its tar."""
    return member.isreg() and re.fullmatch(r"[0-9]+(\.[A-Za-z0-9]+)+", member.name) is not None
