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
_BLOCK = tarfile.BLOCKSIZE
"""Bytes of a block. A tar has a header of one block before each file, fills the file up to whole
blocks, and ends with two empty blocks."""
_RECORD = tarfile.RECORDSIZE
"""Bytes of a record; a tar is filled up to whole records."""


class Packer:
    """Packs the files of a world's scenes into tars, in the order of scene_id.

    All files of a scene are in the same tar; a tar is larger than asked for only if a single scene
    is. A finished tar is recorded in the journal and its files are deleted, so packing can be
    stopped and resumed, and needs little more disk space than the images.
    """

    def __init__(self, folder: Path, size: int, journal: Journal):
        """Prepare to pack, or to go on packing.

        Args:
            folder: Folder of the world.
            size: Most bytes of a tar.
            journal: The journal of the world.
        """
        self._folder = folder
        self._size = size
        self._journal = journal
        self._last_scenes = [last for _, _, last in journal.tars()]

    @property
    def has_tars(self) -> bool:
        """Whether there is a finished tar."""
        return bool(self._last_scenes)

    def holds(self, scene_id: str) -> bool:
        """Check whether a rendered scene is in a finished tar.

        Args:
            scene_id: The scene.

        Returns:
            Whether it is: scenes are packed in order, so the last packed scene tells.
        """
        return self.has_tars and scene_id <= self._last_scenes[-1]

    def pack(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Pack the scenes that are in no tar yet, then write packed.parquet.

        Args:
            records: Rows of the rendered scenes (records.SCENES), each with its `files`, sorted by
                scene_id.

        Raises:
            UserError: A path leads out of the world, or the journal is damaged.
        """
        (self._folder / "shards").mkdir(exist_ok=True)
        # A stop may have come after a tar was recorded and before its files were deleted.
        for row in self._journal.packed():
            file_in(self._folder, row["path"]).unlink(missing_ok=True)
        rest = (record for record in records if not self.holds(record["scene_id"]))
        scene = next(rest, None)
        while scene is not None:
            tar = f"shards/{len(self._last_scenes):06d}.tar"
            scene = self._fill(tar, scene, rest)
        write_table(self._folder / "packed.parquet", self._journal.packed(), PACKED)
        # The folders of the packed files.
        for subfolder in self._folder.iterdir():
            if subfolder.is_dir() and not any(subfolder.iterdir()):
                subfolder.rmdir()

    def _fill(
        self, tar: str, scene: Mapping[str, Any] | None, rest: Iterator[Mapping[str, Any]]
    ) -> Mapping[str, Any] | None:
        """Write a tar of `scene` and the next scenes that fit; returns the first scene that does
        not fit, or None."""
        rows: list[dict[str, Any]] = []
        last_scene = ""
        with new_tar(self._folder / tar) as writer:
            while scene is not None:
                members = self._members(scene)
                if not writer.fits(members, self._size):
                    break
                places = writer.add(members)
                rows += _packed_rows(scene, tar, places)
                last_scene = scene["scene_id"]
                scene = next(rest, None)

        # Recorded before files are deleted, so that a stop in between loses nothing.
        self._journal.add_tar(
            tar, sha256=sha256(self._folder / tar), last_scene=last_scene, rows=rows
        )
        self._last_scenes.append(last_scene)
        for row in rows:
            (self._folder / row["path"]).unlink(missing_ok=True)
        return scene

    def _members(self, record: Mapping[str, Any]) -> list[Member]:
        """The members of a tar for one scene: its files, and its row of scenes.parquet as JSON."""
        members: list[Member] = []
        for path in sorted(record["files"]):
            members.append((member_name(path), file_in(self._folder, path).read_bytes()))
        members.append((f"{record['scene_id']}.json", scene_json(record)))
        return members


def _packed_rows(
    scene: Mapping[str, Any], tar: str, places: Mapping[str, tuple[int, int]]
) -> list[dict[str, Any]]:
    """The rows of packed.parquet of a scene's files; `places` has offset and size of each member of
    the tar."""
    rows = []
    for path, digest in sorted(scene["files"].items()):
        offset, size = places[member_name(path)]
        rows.append({"path": path, "tar": tar, "offset": offset, "size": size, "sha256": digest})
    return rows


def scene_json(row: Mapping[str, Any]) -> bytes:
    """Write a row of records.SCENES as JSON.

    Args:
        row: The row; keys that are not columns are left out, columns that it lacks are null.

    Returns:
        JSON with sorted keys, UTF-8.
    """
    # Through Arrow, so that numbers have the precision that they have in scenes.parquet.
    typed = pa.RecordBatch.from_pylist([row], SCENES).to_pylist()[0]
    for entry in typed["objects"]:
        entry["attributes"] = dict(entry["attributes"])
    return json.dumps(typed, sort_keys=True).encode()


@contextmanager
def new_tar(path: Path) -> Iterator["TarWriter"]:
    """Write a tar atomically, as a context: it gets its name only when it is finished.

    Args:
        path: The tar.

    Returns:
        A context that yields the writer of the tar.
    """
    with draft_of(path) as draft, draft.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            yield TarWriter(tar)
        # The tar must be on disk before the journal says so and the images are deleted.
        file.flush()
        os.fsync(file.fileno())


class TarWriter:
    """Writes files into a tar and returns their places."""

    def __init__(self, tar: tarfile.TarFile):
        self._tar = tar
        self._used = 0

    def fits(self, members: list[Member], most: int) -> bool:
        """Check whether files fit into the tar.

        Args:
            members: The files.
            most: Most bytes of the tar.

        Returns:
            Whether the tar would have at most `most` bytes with them, or is still empty.
        """
        # A scene that is larger than a tar gets a tar of its own.
        if self._used == 0:
            return True
        of_members = sum(_space(data) for _, data in members)
        end = 2 * _BLOCK
        return _round_up(self._used + of_members + end, _RECORD) <= most

    def add(self, members: list[Member]) -> dict[str, tuple[int, int]]:
        """Add files.

        Args:
            members: The files.

        Returns:
            By name, the offset of each file in the tar and its size, in bytes.
        """
        places: dict[str, tuple[int, int]] = {}
        for name, data in members:
            # Its time, owner and group are 0, so equal contents give equal bytes.
            info = tarfile.TarInfo(name)
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))
            places[name] = (self._used + _BLOCK, len(data))
            self._used += _space(data)
        return places


def _space(data: bytes) -> int:
    """Bytes that a file takes in a tar."""
    return _BLOCK + _round_up(len(data), _BLOCK)


def _round_up(size: int, unit: int) -> int:
    """The next multiple of `unit`, by floor division of the negative."""
    return -(-size // unit) * unit


def member_name(path: str) -> str:
    """Name a scene's file in a tar. In WebDataset the part before the first dot is the sample's
    key.

    Args:
        path: Path of the file within the world.

    Returns:
        Its name in the tar.

    Example:
        >>> member_name("images/000017.png"), member_name("masks/000017.png")
        ('000017.png', '000017.masks.png')
    """
    folder, _, name = path.rpartition("/")
    if folder == "images":
        return name
    key, dot, ending = name.partition(".")
    return f"{key}.{folder}{dot}{ending}"
