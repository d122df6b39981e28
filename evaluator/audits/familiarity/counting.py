"""Counts how often a reference corpus shows each binding: workers count each file once, counts are
cached by file, and a corpus is the sum of its files."""

import glob
import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evaluator.audits.familiarity.corpora import CAPTIONS, EMPTY, NAMES, PHRASES, Part, read_parts
from evaluator.audits.familiarity.corpus_files import COUNTS_TAG, CSV, Corpus, by_number
from evaluator.provenance.captions import DEFAULT, Binding, Reading, normalised, unique
from evaluator.provenance.noun_phrases import ENGLISH
from generator.base.errors import UserError
from generator.base.extras import check_installed, connecting
from generator.base.files import locked, write_text
from generator.base.limits import check_file
from generator.base.progress import SILENT, Progress
from generator.base.tables import MOST_ROW, read_batches, read_schema, reason_of_csv, write_table

VERSION = 3
"""Cache version: files are counted again after a change of how they are read or divided, or of what
a binding is."""
PAIR_COUNTS = pa.schema(
    [(name, pa.string()) for name in ("attr", "obj_lemma")]
    + [(name, pa.int64()) for name in ("perfect_count", "close_count")]
)
_COUNTED = "counted"
"""Metadata key of a table of counts; its value is the `Counted` as JSON."""
_WHOLE = "whole"
"""A file with this name marks that all parts of a corpus file are counted."""
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Counts of corpora, made by `score "
    "familiarity`, which makes "
    "them again.\n"
)
_MEMORY = "512MB"
"""Memory limit of the merge; the rest is on disk."""
_FUNCTION_WORDS = pa.array(ENGLISH["bindings"]["function_words"].split())


@dataclass(frozen=True)
class Counted:
    """How many captions, phrases and tables were counted. phrases: extracted from captions or
    given. bare: phrases that are bare nouns. tables: of counts. left_out: number of skipped
    entries, by reason."""

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


PartCounts = tuple[Part, pa.Table, Counted]
"""A part, and the results of `count_texts` for it."""


def count_texts(part: Part, reading: Reading) -> tuple[pa.Table, Counted]:
    """The counts of each binding in the texts of a part (PAIR_COUNTS, a row for each binding), and
    their `Counted`."""
    perfect: Counter[Binding] = Counter()
    close: Counter[Binding] = Counter()
    left_out = Counter(part.left_out)
    n = bare = 0
    of_captions = part.kind == CAPTIONS
    phrases = (
        phrase
        for text in part.texts
        for phrase in (reading.phrases(text) if of_captions else (text,))
    )
    for phrase in phrases:
        bindings = reading.of_phrase(phrase)
        if not bindings and not normalised(phrase):
            left_out[EMPTY] += 1
            continue
        n += 1
        bare += not bindings
        (perfect if len(bindings) == 1 else close).update(unique(bindings))
    keys = list(perfect | close)
    columns = (
        [a for a, _ in keys],
        [o for _, o in keys],
        [perfect[key] for key in keys],
        [close[key] for key in keys],
    )
    captions = len(part.texts) if of_captions else 0
    return pa.table(columns, schema=PAIR_COUNTS), Counted(
        captions, n, bare, left_out=dict(left_out)
    )


@dataclass(frozen=True)
class Farm:
    """Workers that count: processes on this machine, or with `ray` tasks on the Ray cluster at
    `address` (None: start a cluster here). workers: how many; None: as many as the machine or
    cluster has cores."""

    workers: int | None = 1
    ray: bool = False
    address: str | None = None

    def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
        """Yields the counts of parts as they finish; reads at most two parts per worker ahead.

        Raises UserError if there is no cluster at `address`, or its nodes cannot count.
        """
        if self.workers == 1 and not self.ray:
            yield from ((part, *count_texts(part, reading)) for part in parts)
            return
        with self._cluster() if self.ray else self._processes() as (submit, workers):
            running: dict[Future[tuple[pa.Table, Counted]], Part] = {}
            for part in parts:
                running[submit(part, reading)] = part
                if len(running) > 2 * workers:
                    yield from _done(running)
            while running:
                yield from _done(running)

    @contextmanager
    def _processes(self) -> Iterator[tuple[Any, int]]:
        """Yields a function that submits a part for counting, and the number of workers."""
        workers = self.workers or os.cpu_count() or 1
        with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
            yield lambda *given: pool.submit(count_texts, *given), workers

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, int]]:
        """As `_processes`. Ray repeats the tasks of a lost node."""
        import ray

        own = not ray.is_initialized()
        if own:
            with connecting(self.address):
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        count = ray.remote(num_cpus=1)(count_texts)
        try:
            workers = self.workers or int(ray.cluster_resources().get("CPU", 1))
            yield lambda *given: count.remote(*given).future(), workers
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[-1]
            raise UserError(
                f"A Ray worker cannot count: {reason}; is Jackalope of this version installed on "
                f"every node, with "
                "'jackalope[familiarity,ray]'?"
            ) from None
        finally:
            if own:
                ray.shutdown()


def _done(running: dict[Future[tuple[pa.Table, Counted]], Part]) -> Iterator[PartCounts]:
    """Waits for at least one running part; removes the finished parts from `running` and yields
    them."""
    for each in wait(running, return_when=FIRST_COMPLETED).done:
        yield (running.pop(each), *each.result())


def _end_with_parent() -> None:
    """End this process when its parent ends. Otherwise, a worker of a killed parent would wait
    forever for its next part, because it holds the other end of its own queue."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


HERE = Farm()


def count_corpus(
    corpus: Corpus,
    out: Path,
    farm: Farm = HERE,
    progress: Progress = SILENT,
    reading: Reading = DEFAULT,
) -> tuple[Path, Counted]:
    """Count the bindings of a corpus; returns its `pair_counts.parquet` (PAIR_COUNTS, sorted) and
    its `Counted`.

    `out`/files caches the counts of each file, in a folder named by a digest of the file's path,
    size and time and the
    reading: files are not counted twice, and a stopped count resumes with the missing parts, on any
        farm. `out`/DIGEST
    has their sum; DIGEST identifies the set of files. Raises UserError for unreadable files, for a
    corpus without a
    phrase, if duckdb, ijson or textblob is not installed, and as `Farm.count`.
    """
    check_installed("duckdb")
    check_installed("ijson")
    folder_of = {file: out / "files" / _key(file, reading) for file in corpus.files}
    table = out / _digest(sorted(each.name for each in folder_of.values())) / "pair_counts.parquet"
    if table.exists():
        return table, _counted(table)
    table.parent.mkdir(parents=True, exist_ok=True)
    write_text(out / COUNTS_TAG, _TAG)
    with locked(table.with_name(".lock"), f"Another command is counting {corpus}; wait for it."):
        with progress.track("texts", None) as advance:
            for part, counts, counted in farm.count(
                _lacking(folder_of, corpus.references), reading
            ):
                _write(folder_of[part.file], part.start, counts, counted)
                advance(counted.captions or counted.phrases)
        for folder in folder_of.values():
            write_text(folder / _WHOLE, "")
        tables = [
            each for folder in folder_of.values() for each in sorted(folder.glob("*.parquet"))
        ]
        total = sum(map(_counted, tables), Counted())
        if not total.phrases and not total.tables:
            left_out = f" (left out: {by_number(total.left_out)})" if total.left_out else ""
            raise UserError(
                f"{corpus} has no phrase in {total.captions:,} captions{left_out}; give captions "
                f"in English "
                f"({', '.join(NAMES[CAPTIONS])}) or phrases ({', '.join(NAMES[PHRASES])})."
            )
        _merge(tables, table, total)
    return table, total


def _lacking(folder_of: Mapping[Path, Path], references: Sequence[Path]) -> Iterator[Part]:
    """Yields the parts that are not counted yet. Copies tables of counts directly; they have no
    parts."""

    def texts() -> Iterator[Path]:
        for file, folder in folder_of.items():
            if (folder / _WHOLE).exists():
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if not is_table(file):
                yield file
                continue
            for i, some in enumerate(read_table(file)):
                _write(folder, i, some, Counted(tables=int(i == 0)))

    for part in read_parts(texts(), [each.resolve() for each in references]):
        if not _place(folder_of[part.file], part.start).exists():
            yield part


def _place(folder: Path, start: int) -> Path:
    return folder / f"{start:012}.parquet"


def _write(folder: Path, start: int, counts: pa.Table, counted: Counted) -> None:
    schema = PAIR_COUNTS.with_metadata({_COUNTED: json.dumps(asdict(counted))})
    write_table(_place(folder, start), counts, schema)


def _counted(table: Path) -> Counted:
    return Counted(**json.loads(pq.read_schema(table).metadata[_COUNTED.encode()]))


def _merge(tables: Iterable[Path], table: Path, total: Counted) -> None:
    """Sum tables of counts, on disk if they do not fit into memory."""
    import duckdb

    draft = table.with_suffix(".draft")
    spilled = str(table.with_name("spilled"))
    with duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": spilled, "threads": 1}
    ) as database:
        try:
            database.execute(
                "SET enable_progress_bar = false"
            )  # interactive Python would draw it on stdout
            database.execute(
                "COPY (SELECT attr, obj_lemma, CAST(sum(perfect_count) AS BIGINT) AS "
                "perfect_count, "
                "CAST(sum(close_count) AS BIGINT) AS close_count FROM read_parquet(?) GROUP BY "
                "attr, obj_lemma "
                f"ORDER BY attr, obj_lemma) TO {_quoted(draft)} (FORMAT parquet, COMPRESSION zstd, "
                f"KV_METADATA {{{_COUNTED}: {_quoted(json.dumps(asdict(total)))}}})",
                [[glob.escape(str(each)) for each in tables]],
            )
        except duckdb.Error as error:
            raise UserError(
                f"The counts in {table.parent.parent} cannot be merged ({error}); free some space "
                f"or delete the folder."
            ) from None
    draft.replace(table)


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _key(file: Path, reading: Reading) -> str:
    """The name of a file's folder of counts. Uses the resolved path, because a file can have
    several names."""
    found = file.stat()
    return _digest([VERSION, reading.key, str(file.resolve()), found.st_size, found.st_mtime_ns])


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Shown:
    """What a corpus shows. counts: (perfect, close) of each asked binding that it has. bindings:
    number of all its distinct bindings. function_words: number of bindings whose attribute is a
    function word."""

    counts: Mapping[Binding, tuple[int, int]]
    bindings: int
    function_words: int


def read_counts(table: Path, asked: Collection[Binding]) -> Shown:
    """The counts of the bindings `asked` in a table of PAIR_COUNTS; keeps only these and one batch
    in memory.

    Raises UserError for a file that is not such a table.
    """
    objects = pa.array({noun for _, noun in asked}, pa.string())
    counts: dict[Binding, tuple[int, int]] = {}
    bindings = function_words = 0
    for batch in _batches(table):
        bindings += batch.num_rows
        function_words += pc.sum(pc.is_in(batch["attr"], _FUNCTION_WORDS)).as_py() or 0
        some = batch.filter(pc.is_in(batch["obj_lemma"], objects))
        for attr, obj, *numbers in zip(
            *(column.to_pylist() for column in some.columns), strict=True
        ):
            if (attr, obj) in asked:
                counts[attr, obj] = (numbers[0], numbers[1])
    return Shown(counts, bindings, function_words)


def is_table(file: Path) -> bool:
    """Whether a file is a table of counts: any CSV, or a Parquet file with the columns of
    PAIR_COUNTS."""
    if file.suffix.lower() == CSV:
        return True
    if file.suffix.lower() != ".parquet":
        return False
    try:
        return set(PAIR_COUNTS.names) <= set(read_schema(file).names)
    except UserError:  # the file's reader reports the error
        return False


def read_table(file: Path) -> Iterator[pa.Table]:
    """Yields a user's table of counts in parts with the columns PAIR_COUNTS.

    Raises UserError if it has no rows, lacks a column or a value, or has a value that is not a
    count.
    """
    rows = 0
    for batch in _csv_batches(file) if file.suffix.lower() == CSV else _batches(file):
        least = [pc.min(batch[name]).as_py() for name in PAIR_COUNTS.names[2:] if batch.num_rows]
        if any(column.null_count for column in batch.columns) or min(least, default=0) < 0:
            raise UserError(
                f"{file} has a row without words or with a negative count; write the table again."
            )
        rows += batch.num_rows
        yield pa.Table.from_batches([batch])
    if not rows:
        raise UserError(f"{file} has no rows; give a table of counts with rows.")


def _batches(table: Path) -> Iterator[pa.RecordBatch]:
    return read_batches(table, PAIR_COUNTS.names, schema=PAIR_COUNTS)


def _csv_batches(file: Path) -> Iterator[pa.RecordBatch]:
    check_file(file)
    types = {field.name: field.type for field in PAIR_COUNTS}
    reading = pa.csv.ReadOptions(block_size=MOST_ROW)
    convert = pa.csv.ConvertOptions(column_types=types, include_columns=PAIR_COUNTS.names)
    try:
        with pa.csv.open_csv(file, read_options=reading, convert_options=convert) as batches:
            yield from batches
    except (OSError, KeyError, pa.ArrowException) as error:
        names = ", ".join(PAIR_COUNTS.names)
        raise UserError(
            f"{file} is no table of counts ({reason_of_csv(error)}); expected the columns {names}."
        ) from None
