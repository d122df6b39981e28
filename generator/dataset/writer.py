"""Writes the components of a dataset. The manifest is written last, so a component with a manifest is whole."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError
from generator.base.files import (
    SumsWriter,
    TableWriter,
    read_json,
    sha256,
    write_bytes,
    write_json,
    write_sums,
    write_table,
    write_text,
)
from generator.base.lock import Lock
from generator.base.paths import check_benchmark_name, check_own_files, file_in
from generator.base.store import ORIGIN, Mirroring, publish, shown
from generator.dataset.card import write_card
from generator.dataset.journal import Journal, Record
from generator.dataset.outputs import output_path
from generator.dataset.packing import NOTES, Packer
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

_TABLES = (PLAN_FILE, "scenes.parquet", "vocabulary.toml", "packed.parquet")
_REQUEST, _JOURNAL, _LOCK, _INDEX_LOCK = ".request.json", ".journal.jsonl", ".lock", ".index.lock"


class WorldWriter:
    """Writes the world of a dataset while it is rendered, and keeps a journal of finished scenes.

    Used as a context, it holds a lock on the folder. `request` holds everything that decides the files. A folder that was
    begun with the same request is continued; one begun with another is refused with a UserError. With `tar_bytes` in the
    request, the files of scenes are packed into tars of at most that many bytes, by `packer`.
    """

    def __init__(self, root: Path, request: Mapping[str, Any], packer: Callable[[Path, int], Packer] = Packer):
        self._root, self._folder, self._packer_of = root, root / "world", packer
        self._request = json.loads(json.dumps(request))
        self._lock = Lock(root / _LOCK, f"Another command is writing {root}; wait for it, or choose another --out.")
        self._journal = Journal(self._folder / _JOURNAL)
        self._packer: Packer | None = None
        self._mirroring: Mirroring | None = None

    def __enter__(self) -> "WorldWriter":
        check_own_files(self._root)
        self._claim()
        self._lock.__enter__()
        try:
            if self.finished:
                self._forget()
            else:
                self.images.mkdir(parents=True, exist_ok=True)
                write_json(self._folder / _REQUEST, self._request)
                if "tar_bytes" in self._request:
                    self._packer = self._packer_of(self._folder, self._request["tar_bytes"])
                self._mirroring = Mirroring(self._root)
                self._journal.resume(self._whole)
        except BaseException as error:
            self._lock.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mirroring is not None:
            self._mirroring.close()
        self._journal.close()
        self._lock.__exit__(kind, error, trace)

    @property
    def folder(self) -> Path:
        """Folder of the world."""
        return self._folder

    @property
    def images(self) -> Path:
        """Folder of the images."""
        return self._folder / "images"

    @property
    def finished(self) -> bool:
        """Whether the world has its manifest."""
        return (self._folder / "manifest.json").exists()

    @property
    def done(self) -> Container[str]:
        """Ids of the finished scenes."""
        return self._journal

    @property
    def n_done(self) -> int:
        """Number of finished scenes."""
        return len(self._journal)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a rendered or failed scene to the journal; it survives a kill.

        For a rendered scene `files` holds the SHA-256 of each of its files by path within the world; the files exist
        already. Files that a failed scene left are removed. Raises UserError when the lock file was removed: another
        command may be writing the folder too.
        """
        if not self._lock.held:
            raise UserError(
                f"The lock file {self._root / _LOCK} was removed, so another command may be writing {self._root} too; "
                "end both, and run one of them again to continue."
            )
        if "failed" in record:
            for left in self._paths(record["scene_id"]):
                file_in(self._folder, left).unlink(missing_ok=True)
        self._journal.add(record)
        if self._mirroring is not None and self._packer is None:
            self._mirroring.add(record.get("files", {}))

    def _paths(self, scene_id: str) -> Iterator[str]:
        """The paths of a scene's files within the world."""
        yield f"images/{scene_id}.png"
        yield from (output_path(output, scene_id) for output in self._request.get("outputs", ()))

    def keep_plan(self, folder: Path) -> None:
        """Copy the plan of the world in another folder, if it has one, where this world has none yet."""
        source, target = file_in(folder, PLAN_FILE), self._folder / PLAN_FILE
        if source.exists() and not target.exists():
            write_bytes(target, source.read_bytes())

    def finish(self, vocabulary: str) -> None:
        """Write the tables, the sums and last the manifest; then remove the journal and temporary files."""
        self._sweep()
        counts: Counter[str] = Counter()
        write_table(self._folder / "scenes.parquet", self._rows(counts), SCENES)
        write_text(self._folder / "vocabulary.toml", vocabulary)
        if self._packer:
            self._packer.pack(self._rendered())
        sums = self._write_sums()
        numbers = {"scenes": counts.total(), "failed": counts["failed"]}
        made = {"format": FORMAT, "version": VERSION, "request": self._request}
        write_json(self._folder / "manifest.json", {**made, **numbers, "sums": sums})
        self._forget()
        write_index(self._root)

    def _sweep(self) -> None:
        """Remove temporary files of killed processes."""
        kept = {_JOURNAL, _REQUEST, NOTES}
        for stray in chain(self._folder.glob(".*"), self._folder.glob("*/.*")):
            if stray.name not in kept:
                stray.unlink(missing_ok=True)

    def _rows(self, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        for record in self._journal.records():
            row = self._row(record)
            counts[row["status"]] += 1
            yield row

    def _rendered(self) -> Iterator[dict[str, Any]]:
        """The row of every rendered scene, with `files`."""
        return ({**self._row(each), "files": each["files"]} for each in self._journal.records() if "files" in each)

    def _write_sums(self) -> str:
        with SumsWriter(self._folder) as sums:
            for name in _TABLES:
                if (self._folder / name).exists():
                    sums.add(name, sha256(self._folder / name))
            listed = self._packer.tars() if self._packer else self._scene_files()
            for path, digest in listed:
                sums.add(path, digest)
            return sums.finish()

    def _scene_files(self) -> Iterator[tuple[str, str]]:
        for record in self._journal.records():
            yield from sorted(record.get("files", {}).items())

    def _forget(self) -> None:
        self._journal.forget()
        (self._folder / NOTES).unlink(missing_ok=True)
        (self._folder / _REQUEST).unlink(missing_ok=True)

    def _claim(self) -> None:
        for name, shape in (("manifest.json", WorldManifest), (_REQUEST, RequestRecord)):
            path = self._folder / name
            if path.exists():
                found = read_json(path, shape)
                begun = found["request"] if shape is WorldManifest else found
                if begun != self._request:
                    raise UserError(
                        f"{shown(self._root)} holds another world: {difference(begun, self._request)}; choose another --out, or put "
                        f"another block over its images with `gen split`."
                    )
                return
        planned = plan_request(self._folder)
        if planned is None:
            check_free(self._root)
        else:
            check_plan(self._root, planned, {key: self._request.get(key) for key in planned})
        self._folder.mkdir(parents=True, exist_ok=True)

    def _whole(self, record: Record) -> bool:
        """Whether a scene of the journal need not be rendered again."""
        # packing begins after every scene was tried, so from then on failed scenes stay failed
        if self._packer and self._packer.begun and ("failed" in record or self._packer.holds(record["scene_id"])):
            return True
        paths = record.get("files", {})
        return bool(paths) and all(
            (place := file_in(self._folder, path)).exists() and sha256(place) == digest
            for path, digest in paths.items()
        )

    def _row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        failed = record.get("failed")
        columns = {name: value for name, value in record.items() if name in SCENES.names}
        size = {"width": self._request["width"], "height": self._request["height"]}
        return {
            "objects": [],
            "relations": [],
            **columns,
            **size,
            "status": "failed" if failed else "ok",
            "reason": failed,
        }


class BenchmarkWriter:
    """Writes the benchmark `name` over the world in `root`; `finish` replaces a benchmark of that name.

    Rows go to disk as they are added, so memory does not grow with the benchmark. Used as a context, it holds a lock on the
    benchmark; without `finish` it leaves no files behind. Raises UserError where another process writes the benchmark.
    """

    def __init__(self, root: Path, name: str):
        self.folder = root / "benchmarks" / check_benchmark_name(name)
        self._root = root
        # each name ends in the same word, so that no benchmark's draft is another one's
        self._draft, self._old = (self.folder.with_name(f".{name}.{what}") for what in ("draft", "old"))
        self._lock = Lock(
            self.folder.with_name(f".{name}.lock"),
            f"Another command is writing the benchmark {name} of {shown(root)}; wait for it, or choose another --name.",
        )
        self._tables: dict[str, TableWriter] = {}

    def __enter__(self) -> "BenchmarkWriter":
        check_own_files(self._root)
        self._lock.__enter__()
        try:
            self._recover()
            self._draft.mkdir()
            for table, schema in BENCHMARK_TABLES.items():
                self._tables[table] = TableWriter(self._draft / f"{table}.parquet", schema)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for table in self._tables.values():
            table.abandon()
        shutil.rmtree(self._draft, ignore_errors=True)
        self._lock.__exit__(kind, error, trace)

    def _recover(self) -> None:
        """Remove what a killed process left of this benchmark, and put back what it was about to replace."""
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
        """Close the tables, write holdout, sums and manifest, and move the benchmark to its place."""
        for table in self._tables.values():
            table.close()
        if holdout is not None:
            write_json(self._draft / "holdout.json", holdout)
        sums = write_sums(self._draft, {})
        made = {"format": FORMAT, "version": VERSION, "name": self.folder.name}
        write_json(self._draft / "manifest.json", {**made, **manifest, "sums": sums})
        with _index_lock(self._root):
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
    """Write the benchmark `name` over the world in `root`, replacing one of that name; returns its folder.

    `tables` has rows by the names of schema.BENCHMARK_TABLES; a missing table is empty.
    """
    with BenchmarkWriter(root, name) as writer:
        for table, rows in tables.items():
            writer.add_all(table, rows)
        writer.finish(holdout, manifest)
    return writer.folder


def write_index(root: Path) -> None:
    """Write dataset.json, which lists the finished components with the digests of their sums, and the dataset's card.

    For a dataset at a URL, all new files are copied there. Commands that write other benchmarks of the dataset wait.
    """
    with _index_lock(root):
        _write_index(root)


def _index_lock(root: Path) -> Lock:
    """Held while benchmarks move to their places and are listed, so that no list lacks one that was just written."""
    return Lock(root / _INDEX_LOCK)


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
    """Raises UserError where a folder holds something, so that no world can be made in it."""
    if root.exists() and not root.is_dir():
        raise UserError(f"{root} is a file; choose another --out.")
    if any(
        path.is_file()
        and not path.name.startswith((_LOCK, _INDEX_LOCK, ORIGIN, f".{ORIGIN}.", f".{_REQUEST}.", f".{PLAN_FILE}."))
        for path in root.rglob("*")
    ):
        raise UserError(f"{root} holds something else than a world; choose another --out.")


def check_plan(root: Path, planned: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises UserError where the plan in a folder was asked for otherwise than it is now."""
    if planned != asked:
        raise UserError(f"{shown(root)} holds another plan: {difference(planned, asked)}; choose another --out.")


def difference(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """A clause for an error message: the first difference between the request of a folder and the one asked for."""
    for key in sorted({*begun, *asked}):
        if begun.get(key) != asked.get(key):
            if key in ("vocabulary", "holdout", "holdouts", "splits"):
                return f"its {key} differ{'s' * (not key.endswith('s'))}"
            return f"it has {key} = {begun.get(key)}, not {asked.get(key)}"
    return "it differs"
