"""The journal of a rendering: a line on disk for each finished scene, so that memory holds no records."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Journal:
    """Records of scenes in a file of JSON lines. Memory holds only the offset of each scene's latest line."""

    def __init__(self, path: Path):
        self._path = path
        self._places: dict[str, int] = {}

    def __contains__(self, scene_id: object) -> bool:
        return scene_id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a scene's record; it survives a kill."""
        with self._path.open("ab") as file:
            self._places[record["scene_id"]] = file.tell()
            file.write(_line(record))

    def resume(self, whole: Callable[[Record], bool]) -> None:
        """Read the records of an earlier run and keep those for which `whole` is true.

        The other lines are removed: a line that a kill cut short would run into the next, and a scene that is rendered
        again must not be found twice.
        """
        if not self._path.exists():
            return
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            with self._path.open("rb") as file, draft.open("wb") as kept:
                for line in file:
                    if line.endswith(b"\n") and whole(record := json.loads(line)):
                        self._places[record["scene_id"]] = kept.tell()
                        kept.write(_line(record))
            os.replace(draft, self._path)
        finally:
            draft.unlink(missing_ok=True)

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


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
