"""Writes the components of a dataset. The manifest is written last, so a component with a manifest
is complete."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError
from generator.base.files import (
    locked,
    read_json,
    sha256,
    write_bytes,
    write_json,
    write_sums,
    write_text,
)
from generator.base.paths import check_benchmark_name, check_own_files, file_in
from generator.base.store import ORIGIN, display_name, publish
from generator.base.tables import TableWriter, write_table
from generator.dataset.card import write_card
from generator.dataset.journal import Journal, SceneRecord
from generator.dataset.outputs import output_path
from generator.dataset.packing import Packer
from generator.dataset.records import (
    BENCHMARK_TABLES,
    FORMAT,
    PLAN_FILE,
    SCENES,
    VERSION,
    BenchmarkManifest,
    RequestRecord,
    WorldManifest,
    plan_request,
)

_REQUEST, _JOURNAL, _LOCK, _INDEX_LOCK = ".request.json", ".journal.db", ".lock", ".index.lock"
_FILES_OF_AN_EMPTY_FOLDER = (
    _LOCK,
    _INDEX_LOCK,
    ORIGIN,
    f".{ORIGIN}.",
    f".{_REQUEST}.",
    f".{PLAN_FILE}.",
)
"""Beginnings of the names of files that a stopped command may leave in a folder before it has made
anything: locks, the note of a URL, and drafts."""


class WorldWriter:
    """Writes the world of a dataset while it is rendered, and keeps a journal of finished scenes.

    Used as a context, it holds a lock on the folder. It resumes a folder that was begun with the
    same request.
    """

    def __init__(
        self,
        root: Path,
        request: Mapping[str, Any],
    ):
        """Prepare to write; nothing is written before the context is entered.

        Args:
            root: Folder of the dataset.
            request: Everything that decides the files (records.RequestRecord). With `tar_bytes`,
                the files of scenes are packed into tars of at most that many bytes.
        """
        self._root = root
        self.folder = root / "world"
        self.images = self.folder / "images"
        # Compared with requests that were read from JSON, where tuples are lists.
        self._request = json.loads(json.dumps(request))
        self._open = ExitStack()

    def __enter__(self) -> "WorldWriter":
        """Lock the folder and open its journal.

        Raises:
            UserError: The folder has another request or something else than a world, or another
                command writes it.
        """
        check_own_files(self._root)
        self._check()
        with self._open as stack:
            busy = f"Another command is writing {self._root}; wait for it, or choose another --out."
            stack.enter_context(locked(self._root / _LOCK, busy))
            # A finished world needs no journal; the command only writes its benchmarks.
            if self.finished:
                self._remove_working_files()
            else:
                self.images.mkdir(parents=True, exist_ok=True)
                write_json(self.folder / _REQUEST, self._request)
                self._journal = Journal(self.folder / _JOURNAL)
                stack.callback(self._journal.close)
                size = self._request.get("tar_bytes")
                self._packer = None if size is None else Packer(self.folder, size, self._journal)
                self._journal.keep(self._is_whole)
            # Nothing failed, so the lock and the journal stay open until `__exit__`.
            self._open = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def finished(self) -> bool:
        """Whether the world has its manifest."""
        return (self.folder / "manifest.json").exists()

    @property
    def done(self) -> Journal:
        """The journal of finished scenes; only while the world is unfinished."""
        return self._journal

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a rendered or failed scene to the journal.

        Args:
            record: A row of records.SCENES without the columns that are the same for all scenes.
                A rendered scene also has `files`: the SHA-256 of each of its files, which exist
                already, by path within the world. A failed scene has `failed` instead, the reason;
                files that it left are removed.
        """
        if "failed" in record:
            scene_id = record["scene_id"]
            paths = [f"images/{scene_id}.png"]
            for output in self._request.get("outputs", ()):
                paths.append(output_path(output, scene_id))
            for path in paths:
                file_in(self.folder, path).unlink(missing_ok=True)
        self._journal.add(record)

    def keep_plan(self, folder: Path) -> None:
        """Copy the plan of a world, if it has one and this world has none yet.

        Args:
            folder: The folder of the other world.
        """
        source, target = file_in(folder, PLAN_FILE), self.folder / PLAN_FILE
        if source.exists() and not target.exists():
            write_bytes(target, source.read_bytes())

    def finish(self, vocabulary: str) -> None:
        """Write what describes the rendered scenes, and remove the journal.

        The order makes every stop safe: tables and tars, then the sums, then the manifest, which
        makes the world complete; only then the journal goes.

        Args:
            vocabulary: Text of vocabulary.toml.
        """
        self._journal.commit()
        self._remove_drafts()

        counts: Counter[str] = Counter()
        write_table(self.folder / "scenes.parquet", self._rows(counts), SCENES)
        write_text(self.folder / "vocabulary.toml", vocabulary)

        if self._packer:
            self._packer.pack(self._rows_with_files())
            known = {tar: digest for tar, digest, _ in self._journal.tars()}
        else:
            known = self._digests_of_scene_files()

        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "request": self._request,
            "scenes": counts.total(),
            "failed": counts["failed"],
            "sums": write_sums(self.folder, known),
        }
        write_json(self.folder / "manifest.json", manifest)
        self._remove_working_files()
        write_index(self._root)

    def _remove_drafts(self) -> None:
        """Remove the drafts of files that killed processes left."""
        for path in chain(self.folder.glob(".*"), self.folder.glob("*/.*")):
            if not path.name.startswith((_JOURNAL, _REQUEST)):
                path.unlink(missing_ok=True)

    def _rows(self, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        """Yield the row of every scene, and count scenes by status in `counts`."""
        for record in self._journal.records():
            row = self._row(record)
            counts[row["status"]] += 1
            yield row

    def _rows_with_files(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the rendered scenes, each with its `files`."""
        for record in self._journal.records():
            if "files" in record:
                yield {**self._row(record), "files": record["files"]}

    def _digests_of_scene_files(self) -> dict[str, str]:
        """The SHA-256 of every file of a scene by its path, as the journal has it."""
        digests: dict[str, str] = {}
        for record in self._journal.records():
            digests |= record.get("files", {})
        return digests

    def _row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a scene; a scene that failed has no objects or relations."""
        failed = record.get("failed")
        return {
            "objects": [],
            "relations": [],
            **{name: value for name, value in record.items() if name in SCENES.names},
            "width": self._request["width"],
            "height": self._request["height"],
            "status": "failed" if failed else "ok",
            "reason": failed,
        }

    def _remove_working_files(self) -> None:
        for name in (_JOURNAL, _REQUEST):
            (self.folder / name).unlink(missing_ok=True)

    def _check(self) -> None:
        """Raise UserError if the folder holds anything except a part of the requested world."""
        existing = self._existing_request()
        if existing is not None:
            if existing != self._request:
                raise UserError(
                    f"{display_name(self._root)} holds another world: "
                    f"{difference(existing, self._request)}; choose another "
                    "--out, or put another block over its images with `gen split`."
                )
            return
        planned = plan_request(self.folder)
        if planned is None:
            check_free(self._root)
        else:
            check_plan(self._root, planned, {key: self._request.get(key) for key in planned})

    def _existing_request(self) -> dict[str, Any] | None:
        """The request of the world that the folder has, finished or not; None if it has none."""
        manifest = self.folder / "manifest.json"
        if manifest.exists():
            return dict(read_json(manifest, WorldManifest)["request"])
        request = self.folder / _REQUEST
        if request.exists():
            return dict(read_json(request, RequestRecord))
        return None

    def _is_whole(self, record: SceneRecord) -> bool:
        """Whether a scene of the journal is complete, so that it is not rendered again."""
        # Packing begins after every scene was tried; from then on failed scenes are not tried
        # again, and files that are in a tar are not in their folder any more.
        if self._packer is not None:
            is_final_failure = "failed" in record and self._packer.has_tars
            if is_final_failure or self._packer.holds(record["scene_id"]):
                return True
        digests = record.get("files", {})
        for path, digest in digests.items():
            file = file_in(self.folder, path)
            if not file.exists() or sha256(file) != digest:
                return False
        return bool(digests)


class BenchmarkWriter:
    """Writes a benchmark over a world; `finish` replaces a benchmark of the same name.

    Rows go to disk as they are added, so memory does not grow with the benchmark. Used as a
    context, it holds a lock on the benchmark; without `finish` it leaves no files behind.
    """

    def __init__(self, root: Path, name: str):
        """Prepare to write; nothing is written before the context is entered.

        Args:
            root: Folder of the dataset.
            name: Name of the benchmark.

        Raises:
            UserError: The name cannot name a folder.
        """
        self.folder = root / "benchmarks" / check_benchmark_name(name)
        self._root = root
        # The last word is fixed, so that the draft of a benchmark is never the draft of another.
        self._draft = self.folder.with_name(f".{name}.draft")
        self._replaced = self.folder.with_name(f".{name}.old")
        self._open = ExitStack()

    def __enter__(self) -> "BenchmarkWriter":
        """Lock the benchmark and open its tables.

        Raises:
            UserError: Another command writes the benchmark, or the dataset has links or devices.
        """
        check_own_files(self._root)
        name = self.folder.name
        busy = (
            f"Another command is writing the benchmark {name} of {display_name(self._root)}; wait "
            f"for it, or choose another --name."
        )
        with self._open as stack:
            stack.enter_context(locked(self.folder.with_name(f".{name}.lock"), busy))
            self._recover()
            self._draft.mkdir()
            stack.callback(shutil.rmtree, self._draft, ignore_errors=True)
            self._tables = {
                table: TableWriter(self._draft / f"{table}.parquet", schema)
                for table, schema in BENCHMARK_TABLES.items()
            }
            self._open = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def _recover(self) -> None:
        """Remove the draft that a killed process left, and restore the benchmark that it was about
        to replace."""
        shutil.rmtree(self._draft, ignore_errors=True)
        if self._replaced.exists() and not self.folder.exists():
            os.replace(self._replaced, self.folder)
        shutil.rmtree(self._replaced, ignore_errors=True)

    def add(self, table: str, row: Sequence[Any]) -> None:
        """Add a row to a table.

        Args:
            table: Name of the table (records.BENCHMARK_TABLES).
            row: Its values in the order of the table's columns.
        """
        self._tables[table].add(row)

    def add_all(self, table: str, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Add many rows to a table.

        Args:
            table: Name of the table (records.BENCHMARK_TABLES).
            rows: Values by column; columns that a row lacks are null.
        """
        self._tables[table].add_all(rows)

    def finish(self, holdout: Mapping[str, Any] | None, manifest: Mapping[str, Any]) -> None:
        """Close the tables, write holdout, sums and manifest, and move the benchmark to its place.

        Args:
            holdout: The held-out block (records.HoldoutRecord); None for a benchmark without one.
            manifest: Entries of manifest.json besides format, version, name and sums.
        """
        for table in self._tables.values():
            table.close()
        if holdout is not None:
            write_json(self._draft / "holdout.json", holdout)
        sums = write_sums(self._draft, {})
        about = {"format": FORMAT, "version": VERSION, "name": self.folder.name}
        write_json(self._draft / "manifest.json", {**about, **manifest, "sums": sums})
        # The index names the digests of the benchmarks: no other command may list them in between.
        with locked(self._root / _INDEX_LOCK):
            if self.folder.exists():
                os.replace(self.folder, self._replaced)
            os.replace(self._draft, self.folder)
            _write_index(self._root)
        shutil.rmtree(self._replaced, ignore_errors=True)


def write_benchmark(
    root: Path,
    name: str,
    tables: Mapping[str, Iterable[Mapping[str, Any]] | pa.Table],
    holdout: Mapping[str, Any] | None,
    manifest: Mapping[str, Any],
) -> Path:
    """Write a benchmark over a world; it replaces a benchmark of the same name.

    Args:
        root: Folder of the dataset.
        name: Name of the benchmark.
        tables: Rows by table name (records.BENCHMARK_TABLES); a missing table is empty.
        holdout: The held-out block (records.HoldoutRecord); None for a benchmark without one.
        manifest: Entries of manifest.json besides format, version, name and sums.

    Returns:
        The folder of the benchmark.

    Raises:
        UserError: The name cannot name a folder, or another command writes the benchmark.
    """
    with BenchmarkWriter(root, name) as writer:
        for table, rows in tables.items():
            writer.add_all(table, rows)
        writer.finish(holdout, manifest)
    return writer.folder


def write_index(root: Path) -> None:
    """Write dataset.json, which lists the finished components with the digests of their sums, and
    the dataset's card.

    If the dataset is at a URL, copies all new files there. Holds a lock: commands that write other
    benchmarks wait.

    Args:
        root: Folder of the dataset.

    Raises:
        UserError: A manifest is damaged, or the URL cannot be written.
    """
    with locked(root / _INDEX_LOCK):
        _write_index(root)


def _write_index(root: Path) -> None:
    world = root / "world" / "manifest.json"
    benchmarks: dict[str, str] = {}
    for path in sorted(root.glob("benchmarks/[!.]*/manifest.json")):
        name = check_benchmark_name(path.parent.name)
        benchmarks[name] = read_json(path, BenchmarkManifest)["sums"]
    index = {
        "format": FORMAT,
        "world": read_json(world, WorldManifest)["sums"] if world.exists() else None,
        "benchmarks": benchmarks,
    }
    write_json(root / "dataset.json", index)
    write_card(root)
    publish(root)


def check_free(root: Path) -> None:
    """Check that a world can be made in a folder.

    Args:
        root: The folder, which need not exist.

    Raises:
        UserError: It holds files, or is a file.
    """
    if root.exists() and not root.is_dir():
        raise UserError(f"{root} is a file; choose another --out.")
    for path in root.rglob("*"):
        if path.is_file() and not path.name.startswith(_FILES_OF_AN_EMPTY_FOLDER):
            raise UserError(f"{root} holds something else than a world; choose another --out.")


def check_plan(root: Path, planned: Mapping[str, Any], requested: Mapping[str, Any]) -> None:
    """Check that the plan in a folder is the requested one.

    Args:
        root: Folder of the dataset.
        planned: Request of the plan.
        requested: Request of the command.

    Raises:
        UserError: They differ.
    """
    if planned != requested:
        raise UserError(
            f"{display_name(root)} holds another plan: {difference(planned, requested)}; choose "
            f"another --out."
        )


def difference(existing: Mapping[str, Any], requested: Mapping[str, Any]) -> str:
    """Say how two requests differ.

    Args:
        existing: Request of a folder.
        requested: Request of the command.

    Returns:
        A clause for an error message about the first entry that differs.

    Example:
        >>> difference({"seed": 0}, {"seed": 1})
        'it has seed = 0, not 1'
    """
    for key in sorted({*existing, *requested}):
        if existing.get(key) != requested.get(key):
            # Their values are too long for a message.
            if key in ("vocabulary", "holdout", "holdouts", "splits"):
                return f"its {key} differ{'s' * (not key.endswith('s'))}"
            return f"it has {key} = {existing.get(key)}, not {requested.get(key)}"
    return "it differs"
