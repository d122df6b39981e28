"""The journal of a rendering: a line on disk for each finished scene, so that memory holds no records."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from generator.base.limits import check_file

logger = logging.getLogger(__name__)
Record = dict[str, Any]
_SECONDS = 1.0
"""Lines of this many seconds are forced to disk together: the most work that a power cut costs."""


class Journal:
    """Records of scenes in a file of JSON lines. Memory holds only the offset of each scene's latest line."""

    def __init__(self, path: Path):
        self._path = path
        self._places: dict[str, int] = {}
        self._forced = 0.0

    def __contains__(self, scene_id: object) -> bool:
        return scene_id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a scene's record. It survives a kill, and after a second a power cut too."""
        with self._path.open("ab") as file:
            self._places[record["scene_id"]] = file.tell()
            file.write(_line(record))
            if time.monotonic() - self._forced >= _SECONDS:
                _force(file)
                self._forced = time.monotonic()

    def close(self) -> None:
        """Force all lines to disk."""
        if self._path.exists():
            with self._path.open("ab") as file:
                _force(file)

    def resume(self, whole: Callable[[Record], bool]) -> None:
        """Read the records of an earlier run and keep those for which `whole` is true.

        The other lines are removed: a scene that is rendered again must not be found twice. Lines that are no records, as
        a kill or a power cut leaves them, are removed too, and logged.
        """
        if not self._path.exists():
            return
        check_file(self._path)
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        damaged = 0
        try:
            with self._path.open("rb") as file, draft.open("wb") as kept:
                for line in file:
                    record = read_line(line)
                    if record is None or not isinstance(record.get("scene_id"), str):
                        damaged += 1
                    elif whole(record):
                        self._places[record["scene_id"]] = kept.tell()
                        kept.write(_line(record))
                _force(kept)
            os.replace(draft, self._path)
        finally:
            draft.unlink(missing_ok=True)
        if damaged:
            logger.warning(
                f"{damaged} line{'s' * (damaged != 1)} of {self._path} were cut short or damaged and are dropped; their scenes are rendered again."
            )

    def records(self) -> Iterator[Record]:
        """The latest record of every scene, sorted by scene_id."""
        if not self._places:
            return
        with self._path.open("rb") as file:
            for scene_id in sorted(self._places):
                file.seek(self._places[scene_id])
                yield json.loads(file.readline())

    def forget(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)


def read_line(line: bytes) -> Record | None:
    """The object of a line of JSON; None where the line has no end or is damaged.

    >>> read_line(b'{"a": 1}\\n'), read_line(b'{"a": 1'), read_line(b"\\0\\0\\n")
    ({'a': 1}, None, None)
    """
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):  # of JSON and of UTF-8; nested too deeply
        return None
    return record if isinstance(record, dict) else None


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"


def _force(file: IO[bytes]) -> None:
    """Force what was written to disk."""
    file.flush()
    os.fsync(file.fileno())
