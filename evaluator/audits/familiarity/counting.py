"""How often a reference corpus shows each binding: each file is counted once, by a farm; a corpus is the sum of its
files, on disk."""

import glob
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa

from evaluator.audits.familiarity.corpora import CAPTION_NAMES, CAPTIONS, EMPTY, PHRASE_NAMES, Part, parts
from evaluator.audits.familiarity.corpus_files import COUNTS_TAG, Corpus, by_number
from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS, is_table, read_table
from evaluator.audits.familiarity.reading import DEFAULT, Reading, normalised, unique
from generator.base.errors import UserError
from generator.base.extras import check_installed, connecting
from generator.base.files import locked, read_json, write_json, write_text
from generator.base.parquet import write_table
from generator.base.progress import SILENT, Progress


@dataclass(frozen=True)
class Counted:
    """What was counted: captions, their phrases and those made elsewhere, how many of these are bare nouns, and tables
    of counts. left_out: entries that are none of these, by reason."""

    captions: int = 0
    phrases: int = 0
    bare: int = 0
    tables: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(
            self.captions + other.captions,
            self.phrases + other.phrases,
            self.bare + other.bare,
            self.tables + other.tables,
            dict(Counter(self.left_out) + Counter(other.left_out)),
        )


def count_texts(part: Part, reading: Reading) -> tuple[pa.Table, Counted]:
    """How often the texts of a part show each binding (PAIR_COUNTS, a row for each binding), and what was counted."""
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    left_out = Counter(part.left_out)
    n = bare = 0
    for phrase in _phrases(part, reading):
        bindings = reading.of_phrase(phrase)
        if not bindings and not normalised(phrase):
            left_out[EMPTY] += 1
            continue
        n += 1
        bare += not bindings
        (perfect if len(bindings) == 1 else close).update(unique(bindings))
    keys = list(perfect | close)
    columns = ([a for a, _ in keys], [o for _, o in keys], [perfect[key] for key in keys], [close[key] for key in keys])
    captions = len(part.texts) if part.kind == CAPTIONS else 0
    return pa.table(columns, schema=PAIR_COUNTS), Counted(captions, n, bare, left_out=dict(left_out))


def _phrases(part: Part, reading: Reading) -> Iterator[str]:
    if part.kind != CAPTIONS:
        yield from part.texts
        return
    for caption in part.texts:
        yield from reading.phrases(caption)


def count_on_ray(
    parts: Iterable[Part], reading: Reading, workers: int | None, address: str | None
) -> Iterator[tuple[Part, pa.Table, Counted]]:
    """The counts of each part, as they are done, by tasks of one core each; as many as `workers` run, and as many wait.
    None: as many as the cluster has cores.

    Ray repeats the tasks of a lost node. Raises UserError if there is no cluster at `address`, or its nodes cannot
    count.
    """
    import ray

    own = not ray.is_initialized()
    if own:
        with connecting(address):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    count = ray.remote(num_cpus=1)(count_texts)
    running: dict[Any, Part] = {}
    ahead = 2 * (workers or int(ray.cluster_resources().get("CPU", 1)))
    try:
        for part in parts:
            running[count.remote(part, reading)] = part
            if len(running) > ahead:
                yield _finished(running)
        while running:
            yield _finished(running)
    finally:
        for task in running:
            ray.cancel(task)
        if own:
            ray.shutdown()


def _finished(running: dict[Any, Part]) -> tuple[Part, pa.Table, Counted]:
    """A part that is done, taken from those that run."""
    import ray

    (task, *_), _ = ray.wait(list(running))
    part = running.pop(task)
    try:
        return (part, *ray.get(task))
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise UserError(
            f"A Ray worker cannot count: {reason}; is Jackalope of this version installed on every node, with "
            "'jackalope[familiarity,ray]'?"
        ) from None


PartCounts = tuple[Part, pa.Table, Counted]
"""A part, and what `count_texts` gives for it."""


@dataclass(frozen=True)
class Farm:
    """`workers` processes on this machine, or (`ray`) tasks on the Ray cluster at `address`, None to start one here.
    Without a number there is one for each core of the machine or cluster."""

    workers: int | None = 1
    ray: bool = False
    address: str | None = None

    def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
        """The counts of each part, as they are done; no more than two parts a worker are read ahead.

        Raises UserError if there is no cluster at `address`, or its nodes cannot count.
        """
        if self.ray:
            yield from count_on_ray(parts, reading, self.workers, self.address)
        elif self.workers == 1:
            yield from ((part, *count_texts(part, reading)) for part in parts)
        else:
            yield from _count_here(parts, reading, self.workers or os.cpu_count() or 1)


def _count_here(parts: Iterable[Part], reading: Reading, workers: int) -> Iterator[PartCounts]:
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        running: dict[Future[tuple[pa.Table, Counted]], Part] = {}
        for part in parts:
            running[pool.submit(count_texts, part, reading)] = part
            if len(running) > 2 * workers:
                for each in wait(running, return_when=FIRST_COMPLETED).done:
                    yield (running.pop(each), *each.result())
        for each, part in running.items():
            yield (part, *each.result())


def _end_with_parent() -> None:
    """End this process when its parent does. A worker of a parent that was killed would wait for its next part forever,
    since it holds the other end of its own queue."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


VERSION = 2
"""Files are counted again where this is another number: what is read of them, their parts, and what a binding is."""
_MEMORY = "512MB"
"""What the merge keeps in memory; the rest is on disk."""
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Counts of corpora, made by `score familiarity`, which makes "
    "them again.\n"
)
_WHOLE = "counted.json"

HERE = Farm()


def count_corpus(
    corpus: Corpus, out: Path, farm: Farm = HERE, progress: Progress = SILENT, reading: Reading = DEFAULT
) -> tuple[Path, Counted]:
    """Count the bindings of a corpus; returns its `pair_counts.parquet` (PAIR_COUNTS, sorted) and what was counted.

    `out`/files has the counts of each file, in a folder that is named after the file's place, size and time and the
    reading: no file is counted twice, and a count that was stopped goes on with the parts that it lacks, on any farm.
    `out`/DIGEST has their sum; DIGEST names the files. Raises UserError for files that cannot be read, a corpus that
    has no phrase, where duckdb or textblob is not installed, and as `Farm.count` does.
    """
    check_installed("duckdb")
    check_installed("ijson")
    folder_of = {file: out / "files" / _key(file, reading) for file in corpus.files}
    folder = out / _digest(sorted(each.name for each in folder_of.values()))
    table, record = folder / "pair_counts.parquet", folder / _WHOLE
    if record.exists() and table.exists():
        return table, _read(record)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(out / COUNTS_TAG, _TAG)
    with locked(folder / ".lock", f"Another command is counting {corpus}; wait for it."):
        with progress.track("texts", None) as advance:
            for counted in _count(folder_of, farm, reading):
                advance(counted.captions or counted.phrases)
        total = sum((_read(each / _WHOLE) for each in folder_of.values()), Counted())
        if not total.phrases and not total.tables:
            raise UserError(_nothing(corpus, total))
        _merge([each for some in folder_of.values() for each in sorted(some.glob("*.parquet"))], table)
        write_json(record, asdict(total))
    return table, total


def _count(folder_of: Mapping[Path, Path], farm: Farm, reading: Reading) -> Iterator[Counted]:
    """Count the parts that are not counted yet. A part's counts are written before its record, and the record of a file
    after those of its parts."""
    waiting: Counter[Path] = Counter()

    def lacking() -> Iterator[Part]:
        for file, folder in folder_of.items():
            if (folder / _WHOLE).exists():
                continue
            folder.mkdir(parents=True, exist_ok=True)
            waiting[file] += 1
            if is_table(file):
                _take(file, folder)
            else:
                for part in parts(file):
                    if not _record(folder, part.start).exists():
                        waiting[file] += 1
                        yield part
            done(file)

    def done(file: Path) -> None:
        waiting[file] -= 1
        if not waiting[file]:
            found = (_read(each) for each in folder_of[file].glob("part*.json"))
            write_json(folder_of[file] / _WHOLE, asdict(sum(found, Counted())))

    for part, table, counted in farm.count(lacking(), reading):
        record = _record(folder_of[part.file], part.start)
        write_table(record.with_suffix(".parquet"), table, PAIR_COUNTS)
        write_json(record, asdict(counted))
        done(part.file)
        yield counted


def _take(table: Path, folder: Path) -> None:
    """Take the counts of a table that somebody gives."""
    for i, some in enumerate(read_table(table)):
        write_table(_record(folder, i).with_suffix(".parquet"), some, PAIR_COUNTS)
    write_json(_record(folder, 0), asdict(Counted(tables=1)))


def _record(folder: Path, start: int) -> Path:
    return folder / f"part{start:012}.json"


def _read(record: Path) -> Counted:
    return Counted(**read_json(record))


def _nothing(corpus: Corpus, total: Counted) -> str:
    left_out = f" (left out: {by_number(total.left_out)})" if total.left_out else ""
    return (
        f"{corpus} has no phrase in {total.captions:,} captions{left_out}; give captions in English "
        f"({', '.join(CAPTION_NAMES)}) or "
        f"phrases ({', '.join(PHRASE_NAMES)})."
    )


def _merge(tables: Iterable[Path], table: Path) -> None:
    """Sum tables of counts, on disk where they do not fit into memory."""
    import duckdb

    draft = table.with_suffix(".draft")
    with duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": str(table.parent / "spilled"), "threads": 1}
    ) as database:
        try:
            database.execute("SET enable_progress_bar = false")  # it is drawn on stdout where Python runs no file
            database.execute(
                "COPY (SELECT attr, obj_lemma, CAST(sum(perfect_count) AS BIGINT) AS perfect_count, "
                "CAST(sum(close_count) AS BIGINT) AS close_count FROM read_parquet(?) GROUP BY attr, obj_lemma "
                f"ORDER BY attr, obj_lemma) TO '{str(draft).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, "
                f"COMPRESSION zstd)",
                [[glob.escape(str(each)) for each in tables]],
            )
        except duckdb.Error as error:
            raise UserError(
                f"The counts in {table.parent.parent} cannot be merged ({error}); free some space or delete the folder."
            ) from None
    draft.replace(table)


def _key(file: Path, reading: Reading) -> str:
    """What names the counts of a file. Its place is the resolved one: the same file has many names."""
    found = file.stat()
    return _digest([VERSION, reading.key, str(file.resolve()), found.st_size, found.st_mtime_ns])


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
