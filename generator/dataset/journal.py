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

SceneRecord = dict[str, Any]
"""What `WorldWriter.add` takes: `scene_id`, and `files` with other columns of records.SCENES, or
`failed`."""
_SECONDS = 1.0
"""Seconds between commits: the most work that a kill or a power cut can lose."""
_TABLES = """
PRAGMA trusted_schema = OFF;
CREATE TABLE IF NOT EXISTS scenes (scene_id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tars
    (tar TEXT PRIMARY KEY, sha256 TEXT, last TEXT, rows TEXT) WITHOUT ROWID;
"""
"""The file may come from a stranger, so functions that its schema calls are not trusted."""


class Journal:
    """Records of scenes by scene_id, and finished tars. Memory does not grow with them.

    Methods that read raise UserError if the file is damaged.
    """

    def __init__(self, path: Path):
        """Open the journal, or make it.

        Args:
            path: Its file.

        Raises:
            UserError: The file is damaged.
        """
        self._path = path
        self._committed = 0.0
        check_file(path)
        with self._report_damage():
            self._database = sqlite3.connect(path)
            self._database.executescript(_TABLES)

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        """Context that turns errors of SQLite, and of the JSON and empty cells in its tables, into
        a UserError."""
        try:
            yield
        except (
            sqlite3.DatabaseError,
            ValueError,
            TypeError,
            RecursionError,
        ) as error:
            raise UserError(
                f"{self._path} is damaged ({error}); remove it, and all scenes are rendered again."
            ) from None

    @contextmanager
    def _report_full_disk(self) -> Iterator[None]:
        """Context that turns SQLite's error for a full disk into an OSError, as other files raise
        it."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from None

    def __contains__(self, scene_id: object) -> bool:
        query = "SELECT 1 FROM scenes WHERE scene_id = ?"
        return self._database.execute(query, (scene_id,)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM scenes").fetchone()[0])

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a scene; it replaces an earlier record of the scene.

        Args:
            record: Its SceneRecord.
        """
        row = (record["scene_id"], json.dumps(record, sort_keys=True))
        with self._report_full_disk():
            self._database.execute("INSERT OR REPLACE INTO scenes VALUES (?, ?)", row)
        if time.monotonic() - self._committed >= _SECONDS:
            self.commit()

    def commit(self) -> None:
        """Force everything to disk."""
        with self._report_full_disk():
            self._database.commit()
        self._committed = time.monotonic()

    def keep(self, is_whole: Callable[[SceneRecord], bool]) -> None:
        """Remove the scenes that are not complete; they are rendered again.

        Args:
            is_whole: Whether a scene is complete, by its record.
        """
        # Listed first: SQLite does not promise what a query gives while its rows are deleted.
        incomplete = [(record["scene_id"],) for record in self.records() if not is_whole(record)]
        with self._report_full_disk():
            self._database.executemany("DELETE FROM scenes WHERE scene_id = ?", incomplete)
        self.commit()

    def records(self) -> Iterator[SceneRecord]:
        """Read the record of every scene, sorted by scene_id.

        Returns:
            An iterator that needs little memory.

        Raises:
            UserError: The file is damaged.
        """
        query = "SELECT scene_id, record FROM scenes ORDER BY scene_id"
        with self._report_damage():
            for scene_id, record in self._database.execute(query):
                yield {**json.loads(record), "scene_id": scene_id}

    def add_tar(
        self, tar: str, *, sha256: str, last_scene: str, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Record a finished tar.

        Args:
            tar: Its path within the world.
            sha256: Its digest.
            last_scene: scene_id of its last scene.
            rows: The place of each of its files (records.PACKED).
        """
        row = (tar, sha256, last_scene, json.dumps(rows))
        with self._report_full_disk():
            self._database.execute("INSERT INTO tars VALUES (?, ?, ?, ?)", row)
        self.commit()

    def tars(self) -> list[tuple[str, str, str]]:
        """Read the finished tars, in order.

        Returns:
            Path, SHA-256 and last scene_id of each.

        Raises:
            UserError: The file is damaged.
        """
        query = "SELECT tar, sha256, last FROM tars ORDER BY tar"
        with self._report_damage():
            tars = self._database.execute(query).fetchall()
            # SQLite's types bind nothing: a cell may be null, or of any type.
            if not all(isinstance(cell, str) for row in tars for cell in row):
                raise ValueError("a tar lacks its path, digest or last scene")
            return tars

    def packed(self) -> Iterator[dict[str, Any]]:
        """Read the place of every file in the finished tars.

        Returns:
            An iterator over rows of records.PACKED.

        Raises:
            UserError: The file is damaged.
        """
        with self._report_damage():
            for (rows,) in self._database.execute("SELECT rows FROM tars ORDER BY tar"):
                yield from json.loads(rows)

    def close(self) -> None:
        """Force everything to disk and close the file."""
        self.commit()
        self._database.close()
