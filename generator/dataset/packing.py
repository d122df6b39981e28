"""Packs the files of a world's scenes into tars that WebDataset reads; equal contents give equal
bytes."""

import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.files import draft_of, sha256
from generator.base.paths import file_in
from generator.base.tables import write_table
from generator.dataset.journal import Journal
from generator.dataset.records import PACKED, SCENES

Member = tuple[str, bytes]
"""Name and bytes of a file in a tar."""
_BLOCK, _RECORD = tarfile.BLOCKSIZE, tarfile.RECORDSIZE


class Packer:
    """Packs the files of a world's scenes into tars of at most `size` bytes, in order of scene_id.

    All files of a scene are in the same tar; a tar is larger than `size` only if a single scene is.
    A finished tar is recorded in the journal and its files are deleted, so packing can be stopped
    and resumed, and needs little more disk space than the images.
    """

    def __init__(self, folder: Path, size: int, journal: Journal):
        self._folder, self._size, self._journal = folder, size, journal
        self._last = [last for _, _, last in journal.tars()]

    @property
    def begun(self) -> bool:
        """Whether there is a finished tar."""
        return bool(self._last)

    def holds(self, scene_id: str) -> bool:
        """Whether a rendered scene is in a finished tar."""
        return self.begun and scene_id <= self._last[-1]

    def pack(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Pack the scenes that are in no tar yet, then write packed.parquet.

        `records` are rows of the rendered scenes (records.SCENES), each with its `files`, sorted by
        scene_id.
        """
        (self._folder / "shards").mkdir(exist_ok=True)
        for row in self._journal.packed():
            file_in(self._folder, row["path"]).unlink(missing_ok=True)
        rest = (record for record in records if not self.holds(record["scene_id"]))
        scene = next(rest, None)
        while scene is not None:
            scene = self._fill(f"shards/{len(self._last):06d}.tar", scene, rest)
        write_table(self._folder / "packed.parquet", self._journal.packed(), PACKED)
        for subfolder in self._folder.iterdir():
            if subfolder.is_dir() and not any(subfolder.iterdir()):
                subfolder.rmdir()

    def _fill(
        self, tar: str, scene: Mapping[str, Any] | None, rest: Iterator[Mapping[str, Any]]
    ) -> Mapping[str, Any] | None:
        """Write a tar of `scene` and the next scenes that fit; returns the first scene that does
        not fit, or None."""
        rows: list[dict[str, Any]] = []
        last = ""
        with new_tar(self._folder / tar) as writer:
            while scene is not None and writer.fits(members := self._members(scene), self._size):
                offsets = writer.add(members)
                for path, digest in sorted(scene["files"].items()):
                    offset, size = offsets[member_name(path)]
                    rows.append(
                        {"path": path, "tar": tar, "offset": offset, "size": size, "sha256": digest}
                    )
                last, scene = scene["scene_id"], next(rest, None)
        self._journal.add_tar(tar, sha256(self._folder / tar), last, rows)
        self._last.append(last)
        for row in rows:
            (self._folder / row["path"]).unlink(missing_ok=True)
        return scene

    def _members(self, record: Mapping[str, Any]) -> list[Member]:
        """The members of a tar for one scene: its files, and its row of scenes.parquet as JSON."""
        files = [
            (member_name(path), file_in(self._folder, path).read_bytes())
            for path in sorted(record["files"])
        ]
        return [*files, (f"{record['scene_id']}.json", scene_json(record))]


def scene_json(row: Mapping[str, Any]) -> bytes:
    """A row of records.SCENES as JSON; other keys of `row` are left out."""
    typed = pa.RecordBatch.from_pylist([row], SCENES).to_pylist()[0]
    for entry in typed["objects"]:
        entry["attributes"] = dict(entry["attributes"])
    return json.dumps(typed, sort_keys=True).encode()


@contextmanager
def new_tar(path: Path) -> Iterator["TarWriter"]:
    """Context that writes a tar atomically: it gets its name only when it is finished."""
    with draft_of(path) as draft, draft.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            yield TarWriter(tar)
        file.flush()
        os.fsync(file.fileno())


class TarWriter:
    """Writes files into a tar and returns their places."""

    def __init__(self, tar: tarfile.TarFile):
        self._tar, self._used = tar, 0

    def fits(self, members: list[Member], most: int) -> bool:
        """Whether the tar would have at most `most` bytes with these members, or is still empty."""
        whole = self._used + sum(_space(data) for _, data in members) + 2 * _BLOCK
        return self._used == 0 or -(-whole // _RECORD) * _RECORD <= most

    def add(self, members: list[Member]) -> dict[str, tuple[int, int]]:
        """Add files; returns the offset and the size of each in the tar, in bytes."""
        found = {}
        for name, data in members:
            info = tarfile.TarInfo(name)  # time, owner and group are 0
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))
            found[name] = (self._used + _BLOCK, len(data))
            self._used += _space(data)
        return found


def _space(data: bytes) -> int:
    return _BLOCK + -(-len(data) // _BLOCK) * _BLOCK


def member_name(path: str) -> str:
    """Name of a scene's file in a tar. In WebDataset the part before the first dot is the sample's
    key.

    >>> member_name("images/000017.png"), member_name("masks/000017.png")
    ('000017.png', '000017.masks.png')
    """
    folder, _, name = path.rpartition("/")
    key, dot, ending = name.partition(".")
    return name if folder == "images" else f"{key}.{folder}{dot}{ending}"
