"""The journal of a world while it is written: finished scenes and tars, in an SQLite database."""

import errno
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.limits import check_file

Record = dict[str, Any]
_SECONDS = 1.0
"""Seconds between commits: the most work that a kill or a power cut can lose."""
_TABLES = """
PRAGMA trusted_schema = OFF;
CREATE TABLE IF NOT EXISTS scenes (scene_id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tars
    (tar TEXT PRIMARY KEY, sha256 TEXT, last TEXT, rows TEXT) WITHOUT ROWID;
"""


class Journal:
    """Records of scenes by scene_id, and finished tars. Memory does not grow with them.

    Raises UserError where the file is damaged.
    """

    def __init__(self, path: Path):
        self._path, self._committed = path, 0.0
        check_file(path)
        with self._damage():
            self._database = sqlite3.connect(path)
            self._database.executescript(_TABLES)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (
            sqlite3.DatabaseError,
            ValueError,
            TypeError,
            RecursionError,
        ) as error:  # of JSON, and of empty cells
            raise UserError(
                f"{self._path} is damaged ({error}); remove it, and all scenes are rendered again."
            ) from None

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Context that turns SQLite's error for a full disk into an OSError, as other files raise
        it."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from None

    def __contains__(self, scene_id: object) -> bool:
        return bool(
            self._database.execute(
                "SELECT 1 FROM scenes WHERE scene_id = ?", (scene_id,)
            ).fetchone()
        )

    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM scenes").fetchone()[0])

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a scene's record; it replaces an earlier record of the scene."""
        row = (record["scene_id"], json.dumps(record, sort_keys=True))
        with self._room():
            self._database.execute("INSERT OR REPLACE INTO scenes VALUES (?, ?)", row)
        if time.monotonic() - self._committed >= _SECONDS:
            self.commit()

    def commit(self) -> None:
        """Force everything to disk."""
        with self._room():
            self._database.commit()
        self._committed = time.monotonic()

    def keep(self, whole: Callable[[Record], bool]) -> None:
        """Remove the scenes for which `whole` is false; they are rendered again."""
        rest = [(record["scene_id"],) for record in self.records() if not whole(record)]
        with self._room():
            self._database.executemany("DELETE FROM scenes WHERE scene_id = ?", rest)
        self.commit()

    def records(self) -> Iterator[Record]:
        """The record of every scene, sorted by scene_id."""
        with self._damage():
            for scene_id, record in self._database.execute(
                "SELECT scene_id, record FROM scenes ORDER BY scene_id"
            ):
                yield {**json.loads(record), "scene_id": scene_id}

    def add_tar(self, tar: str, sha256: str, last: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record a finished tar: its path and digest, its last scene, and the place of each file
        (records.PACKED)."""
        with self._room():
            self._database.execute(
                "INSERT INTO tars VALUES (?, ?, ?, ?)", (tar, sha256, last, json.dumps(rows))
            )
        self.commit()

    def tars(self) -> list[tuple[str, str, str]]:
        """Path, SHA-256 and last scene_id of every finished tar, in order."""
        with self._damage():
            tars = self._database.execute(
                "SELECT tar, sha256, last FROM tars ORDER BY tar"
            ).fetchall()
            if not all(isinstance(cell, str) for row in tars for cell in row):
                raise ValueError("a tar lacks its path, digest or last scene")
            return tars

    def packed(self) -> Iterator[dict[str, Any]]:
        """The place of every file in the finished tars."""
        with self._damage():
            for (rows,) in self._database.execute("SELECT rows FROM tars ORDER BY tar"):
                yield from json.loads(rows)

    def close(self) -> None:
        """Force everything to disk and close the file."""
        self.commit()
        self._database.close()
