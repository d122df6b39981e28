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
from generator.base.store import ORIGIN, publish, shown
from generator.base.tables import TableWriter, write_table
from generator.dataset.card import write_card
from generator.dataset.journal import Journal, Record
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


class WorldWriter:
    """Writes the world of a dataset while it is rendered, and keeps a journal of finished scenes.

    Used as a context, it holds a lock on the folder. `request`: everything that decides the files.
    Resumes a folder
    that was begun with the same request; raises UserError for a folder with another request. If the
    request has
    `tar_bytes`, the files of scenes are packed into tars of at most that many bytes.
    """

    def __init__(
        self,
        root: Path,
        request: Mapping[str, Any],
    ):
        self._root, self.folder, self.images = root, root / "world", root / "world" / "images"
        self._request = json.loads(json.dumps(request))
        self._open = ExitStack()

    def __enter__(self) -> "WorldWriter":
        check_own_files(self._root)
        self._check()
        with self._open as opened:
            busy = f"Another command is writing {self._root}; wait for it, or choose another --out."
            opened.enter_context(locked(self._root / _LOCK, busy))
            if self.finished:
                self._clear()
            else:
                self.images.mkdir(parents=True, exist_ok=True)
                write_json(self.folder / _REQUEST, self._request)
                self._journal = Journal(self.folder / _JOURNAL)
                opened.callback(self._journal.close)
                size = self._request.get("tar_bytes")
                self._packer = None if size is None else Packer(self.folder, size, self._journal)
                self._journal.keep(self._whole)
            self._open = opened.pop_all()
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

        For a rendered scene `files` holds the SHA-256 of each of its files by path within the
        world; the files exist already. Files that a failed scene left are removed.
        """
        if "failed" in record:
            outputs = (
                output_path(output, record["scene_id"])
                for output in self._request.get("outputs", ())
            )
            for left in (f"images/{record['scene_id']}.png", *outputs):
                file_in(self.folder, left).unlink(missing_ok=True)
        self._journal.add(record)

    def keep_plan(self, folder: Path) -> None:
        """Copy the plan of the world in `folder`, if it has a plan and this world has none yet."""
        source, target = file_in(folder, PLAN_FILE), self.folder / PLAN_FILE
        if source.exists() and not target.exists():
            write_bytes(target, source.read_bytes())

    def finish(self, vocabulary: str) -> None:
        """Remove temporary files; write the tables, the sums and last the manifest; remove the
        journal; write the index."""
        self._journal.commit()
        for stray in chain(self.folder.glob(".*"), self.folder.glob("*/.*")):  # of killed processes
            if not stray.name.startswith((_JOURNAL, _REQUEST)):
                stray.unlink(missing_ok=True)
        counts: Counter[str] = Counter()
        write_table(self.folder / "scenes.parquet", self._rows(counts), SCENES)
        write_text(self.folder / "vocabulary.toml", vocabulary)
        if self._packer:
            rows = (
                {**self._row(each), "files": each["files"]}
                for each in self._journal.records()
                if "files" in each
            )
            self._packer.pack(rows)
            known = {tar: digest for tar, digest, _ in self._journal.tars()}
        else:
            known = {
                path: digest
                for each in self._journal.records()
                for path, digest in each.get("files", {}).items()
            }
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "request": self._request,
            "scenes": counts.total(),
            "failed": counts["failed"],
            "sums": write_sums(self.folder, known),
        }
        write_json(self.folder / "manifest.json", manifest)
        self._clear()
        write_index(self._root)

    def _rows(self, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        for record in self._journal.records():
            row = self._row(record)
            counts[row["status"]] += 1
            yield row

    def _row(self, record: Mapping[str, Any]) -> dict[str, Any]:
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

    def _clear(self) -> None:
        for name in (_JOURNAL, _REQUEST):
            (self.folder / name).unlink(missing_ok=True)

    def _check(self) -> None:
        """Raise UserError if the folder holds anything except a part of the requested world."""
        for name, shape in (("manifest.json", WorldManifest), (_REQUEST, RequestRecord)):
            path = self.folder / name
            if path.exists():
                found = read_json(path, shape)
                begun = found["request"] if shape is WorldManifest else found
                if begun != self._request:
                    raise UserError(
                        f"{shown(self._root)} holds another world: "
                        f"{difference(begun, self._request)}; choose another "
                        "--out, or put another block over its images with `gen split`."
                    )
                return
        planned = plan_request(self.folder)
        if planned is None:
            check_free(self._root)
        else:
            check_plan(self._root, planned, {key: self._request.get(key) for key in planned})

    def _whole(self, record: Record) -> bool:
        """Whether a scene of the journal is complete, so that it is not rendered again."""
        # packing begins after every scene was tried; from then on failed scenes are not tried again
        if (
            self._packer
            and self._packer.begun
            and ("failed" in record or self._packer.holds(record["scene_id"]))
        ):
            return True
        paths = record.get("files", {})
        return bool(paths) and all(
            (found := file_in(self.folder, path)).exists() and sha256(found) == digest
            for path, digest in paths.items()
        )


class BenchmarkWriter:
    """Writes the benchmark `name` over the world in `root`; `finish` replaces a benchmark of that
    name.

    Rows go to disk as they are added, so memory does not grow with the benchmark. Used as a
    context, it holds a lock on the benchmark; without `finish` it leaves no files behind. Raises
    UserError if another process writes the benchmark.
    """

    def __init__(self, root: Path, name: str):
        self.folder = root / "benchmarks" / check_benchmark_name(name)
        self._root = root
        # fixed last words, so that the draft of a benchmark is never the draft of another
        self._draft, self._old = (
            self.folder.with_name(f".{name}.{what}") for what in ("draft", "old")
        )
        self._open = ExitStack()

    def __enter__(self) -> "BenchmarkWriter":
        check_own_files(self._root)
        name = self.folder.name
        busy = (
            f"Another command is writing the benchmark {name} of {shown(self._root)}; wait for it, "
            f"or choose another --name."
        )
        with self._open as opened:
            opened.enter_context(locked(self.folder.with_name(f".{name}.lock"), busy))
            self._recover()
            self._draft.mkdir()
            opened.callback(shutil.rmtree, self._draft, ignore_errors=True)
            self._tables = {
                table: TableWriter(self._draft / f"{table}.parquet", schema)
                for table, schema in BENCHMARK_TABLES.items()
            }
            self._open = opened.pop_all()
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
        if self._old.exists() and not self.folder.exists():
            os.replace(self._old, self.folder)
        shutil.rmtree(self._old, ignore_errors=True)

    def add(self, table: str, row: Sequence[Any]) -> None:
        """Add a row to a table, its values in the order of the table's columns."""
        self._tables[table].add(row)

    def add_all(self, table: str, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Add many rows; columns that a row lacks are null."""
        self._tables[table].add_all(rows)

    def finish(self, holdout: Mapping[str, Any] | None, manifest: Mapping[str, Any]) -> None:
        """Close the tables, write holdout, sums and manifest, and move the benchmark to its
        place."""
        for table in self._tables.values():
            table.close()
        if holdout is not None:
            write_json(self._draft / "holdout.json", holdout)
        sums = write_sums(self._draft, {})
        made = {"format": FORMAT, "version": VERSION, "name": self.folder.name}
        write_json(self._draft / "manifest.json", {**made, **manifest, "sums": sums})
        with locked(self._root / _INDEX_LOCK):
            if self.folder.exists():
                os.replace(self.folder, self._old)
            os.replace(self._draft, self.folder)
            _write_index(self._root)
        shutil.rmtree(self._old, ignore_errors=True)


def write_benchmark(
    root: Path,
    name: str,
    tables: Mapping[str, Iterable[Mapping[str, Any]] | pa.Table],
    holdout: Mapping[str, Any] | None,
    manifest: Mapping[str, Any],
) -> Path:
    """Write the benchmark `name` over the world in `root`; it replaces a benchmark of that name.
    Returns its folder.

    `tables`: rows by table name (records.BENCHMARK_TABLES); a missing table is empty.
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
    """
    with locked(root / _INDEX_LOCK):
        _write_index(root)


def _write_index(root: Path) -> None:
    world = root / "world" / "manifest.json"
    benchmarks = {
        check_benchmark_name(path.parent.name): read_json(path, BenchmarkManifest)["sums"]
        for path in sorted(root.glob("benchmarks/[!.]*/manifest.json"))
    }
    index = {
        "format": FORMAT,
        "world": read_json(world, WorldManifest)["sums"] if world.exists() else None,
        "benchmarks": benchmarks,
    }
    write_json(root / "dataset.json", index)
    write_card(root)
    publish(root)


def check_free(root: Path) -> None:
    """Raises UserError if a folder holds files, so that no world can be made in it."""
    if root.exists() and not root.is_dir():
        raise UserError(f"{root} is a file; choose another --out.")
    if any(
        path.is_file()
        and not path.name.startswith(
            (_LOCK, _INDEX_LOCK, ORIGIN, f".{ORIGIN}.", f".{_REQUEST}.", f".{PLAN_FILE}.")
        )
        for path in root.rglob("*")
    ):
        raise UserError(f"{root} holds something else than a world; choose another --out.")


def check_plan(root: Path, planned: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises UserError if the plan in a folder has another request than `asked`."""
    if planned != asked:
        raise UserError(
            f"{shown(root)} holds another plan: {difference(planned, asked)}; choose another --out."
        )


def difference(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """A clause for an error message: the first difference between the request of a folder and
    `asked`."""
    for key in sorted({*begun, *asked}):
        if begun.get(key) != asked.get(key):
            if key in ("vocabulary", "holdout", "holdouts", "splits"):
                return f"its {key} differ{'s' * (not key.endswith('s'))}"
            return f"it has {key} = {begun.get(key)}, not {asked.get(key)}"
    return "it differs"
