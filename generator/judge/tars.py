"""Checks that packed.parquet gives the true places of files in tars, and that these files are whole."""

import hashlib
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.base.limits import MOST_IN_SCENE, check_file
from generator.base.parquet import read_table
from generator.base.paths import file_in
from generator.dataset.records import PACKED
from generator.judge.findings import DAMAGE
from generator.judge.png import Size, image_fault


def tar_faults(folder: Path, size: Size | None = None) -> Iterator[str]:
    """Faults of the tars of a world; none if it has no tars. `size`: width and height of its images, if known."""
    if not (folder / "packed.parquet").exists():
        return
    listed: dict[str, list[dict[str, Any]]] = defaultdict(list)
    try:
        for row in read_table(folder / "packed.parquet", PACKED).to_pylist():
            listed[row["tar"]].append(row)
    except DAMAGE as error:
        yield f"packed.parquet cannot be read: {error}"
    for tar, rows in listed.items():
        try:
            yield from (f"{tar}: {fault}" for fault in _faults(file_in(folder, tar), rows, size))
        except DAMAGE as error:
            yield f"{tar} cannot be read: {error}"


def packed_paths(folder: Path) -> set[str]:
    """The paths in packed.parquet; none if it cannot be read, which `tar_faults` reports."""
    return set(packed_digests(folder))


def packed_digests(folder: Path) -> dict[str, str]:
    """SHA-256 by path, from packed.parquet; none if it cannot be read, which `tar_faults` reports."""
    try:
        table = read_table(folder / "packed.parquet", columns=["path", "sha256"])
        return dict(zip(table["path"].to_pylist(), table["sha256"].to_pylist(), strict=True))
    except DAMAGE:
        return {}


def _faults(path: Path, rows: list[dict[str, Any]], size: Size | None) -> Iterator[str]:
    found = members_of(path)
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
            if row["size"] > MOST_IN_SCENE:
                yield f"{row['path']} has {row['size']:,} bytes, more than any file of a scene"
                continue
            file.seek(row["offset"])
            data = file.read(row["size"])
            if hashlib.sha256(data).hexdigest() != row["sha256"]:
                yield f"{row['path']} has other bytes than when it was made"
            elif name.endswith(".png") and (fault := image_fault(data, row["path"], size)):
                yield f"{row['path']} {fault}"


def members_of(path: Path) -> list[tarfile.TarInfo]:
    """The members of a tar as its headers state them; nothing is unpacked, and no header leads to another.

    Raises UserError where it is sparse, and one of DAMAGE where it is compressed, or where a header is damaged or states
    more bytes than the tar has.
    """
    check_file(path)
    size, at, found = path.stat().st_size, 0, []
    with path.open("rb") as file:
        while (block := file.read(tarfile.BLOCKSIZE)) and any(block):
            member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            member.offset_data = at + tarfile.BLOCKSIZE
            at = member.offset_data + -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            if member.size < 0 or at > size:
                raise ValueError(f"its member {member.name!r} has {member.size:,} bytes, which are not there")
            found.append(member)
            file.seek(at)
    return found


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Whether a member is a regular file that unpacks beside its tar."""
    return member.isreg() and re.fullmatch(r"[0-9]+(\.[A-Za-z0-9]+)+", member.name) is not None
