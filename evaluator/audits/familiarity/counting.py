"""Counts how often a reference corpus shows each binding: workers count each file once, counts are
cached by file, and a corpus is the sum of its files."""

import glob
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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

from evaluator.audits.familiarity.corpora import (
    CAPTIONS,
    EMPTY,
    NAMES,
    PHRASES,
    TextPart,
    read_parts,
)
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
"""The schema of tables of counts: a row for each binding, how many phrases have it alone, and how
many have it among others."""
_COUNTED = "counted"
"""Metadata key of a table of counts; its value is the `TextCounts` as JSON."""
_WHOLE = "whole"
"""A file with this name marks that all parts of a corpus file are counted."""
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Counts of corpora, made by `score "
    "familiarity`, which makes "
    "them again.\n"
)
"""The text of the file that marks a folder as a cache; its first line is fixed by the standard."""
_MEMORY = "512MB"
"""Memory limit of the merge; the rest is on disk."""
_PARTS_AHEAD = 2
"""Parts per worker that are read before the first of them is counted."""
_FUNCTION_WORDS = pa.array(ENGLISH["bindings"]["function_words"].split())
"""Attributes that are not content words."""


@dataclass(frozen=True)
class TextCounts:
    """How many captions, phrases and tables were counted."""

    captions: int = 0
    """Captions."""
    phrases: int = 0
    """Phrases, extracted from captions or given."""
    bare: int = 0
    """Phrases that are bare nouns."""
    tables: int = 0
    """Tables of counts."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """{reason: number of entries} that were skipped."""

    def __add__(self, other: "TextCounts") -> "TextCounts":
        return TextCounts(
            self.captions + other.captions,
            self.phrases + other.phrases,
            self.bare + other.bare,
            self.tables + other.tables,
            dict(Counter(self.left_out) + Counter(other.left_out)),
        )


Counts = tuple[pa.Table, TextCounts]
"""The counts of bindings (PAIR_COUNTS), and of the texts that they are from."""
PartCounts = tuple[TextPart, pa.Table, TextCounts]
"""A part, and its Counts."""


def count_texts(part: TextPart, reading: Reading) -> Counts:
    """Count the bindings in the texts of a part.

    Args:
        part: The part.
        reading: How captions and phrases are read.

    Returns:
        The counts of each binding (PAIR_COUNTS, a row for each binding), and those of the texts.
    """
    perfect: Counter[Binding] = Counter()
    close: Counter[Binding] = Counter()
    left_out = Counter(part.left_out)
    phrases = 0
    bare = 0
    for phrase in _phrases(part, reading):
        bindings = reading.of_phrase(phrase)
        if not bindings and not normalised(phrase):
            left_out[EMPTY] += 1
            continue
        phrases += 1
        bare += not bindings
        # A phrase with a single binding shows it perfectly; among others it shows it closely.
        counter = perfect if len(bindings) == 1 else close
        # A phrase shows a binding once, however often it names it.
        counter.update(unique(bindings))
    attributes, objects = [], []
    perfect_counts, close_counts = [], []
    for binding in perfect | close:
        attribute, object_ = binding
        attributes.append(attribute)
        objects.append(object_)
        perfect_counts.append(perfect[binding])
        close_counts.append(close[binding])
    columns = [attributes, objects, perfect_counts, close_counts]
    captions = len(part.texts) if part.kind == CAPTIONS else 0
    text_counts = TextCounts(captions, phrases, bare, left_out=dict(left_out))
    return pa.table(columns, schema=PAIR_COUNTS), text_counts


def _phrases(part: TextPart, reading: Reading) -> Iterator[str]:
    for text in part.texts:
        if part.kind == CAPTIONS:
            yield from reading.phrases(text)
        else:
            yield text


_Submit = Callable[[TextPart, Reading], Future[Counts]]
"""Starts to count a part (`count_texts`)."""


@dataclass(frozen=True)
class Farm:
    """Workers that count: processes on this machine, or tasks on a Ray cluster."""

    workers: int | None = 1
    """How many; None: as many as the machine or cluster has cores."""
    ray: bool = False
    """Whether they are tasks of Ray."""
    address: str | None = None
    """The address of the Ray cluster; None: start a cluster here."""

    def count(self, parts: Iterable[TextPart], reading: Reading) -> Iterator[PartCounts]:
        """Count parts. At most two parts per worker are read ahead.

        Args:
            parts: The parts.
            reading: How captions and phrases are read.

        Yields:
            The counts of parts as they finish.

        Raises:
            UserError: There is no cluster at `address`, or its nodes cannot count.
        """
        if self.workers == 1 and not self.ray:
            for part in parts:
                yield (part, *count_texts(part, reading))
            return
        with self._cluster() if self.ray else self._processes() as (submit, workers):
            running: dict[Future[Counts], TextPart] = {}
            for part in parts:
                running[submit(part, reading)] = part
                if len(running) > _PARTS_AHEAD * workers:
                    yield from _take_finished(running)
            while running:
                yield from _take_finished(running)

    @contextmanager
    def _processes(self) -> Iterator[tuple[_Submit, int]]:
        """Yields a function that submits a part for counting, and the number of workers."""
        workers = self.workers or os.cpu_count() or 1
        with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:

            def submit(part: TextPart, reading: Reading) -> Future[Counts]:
                return pool.submit(count_texts, part, reading)

            yield submit, workers

    @contextmanager
    def _cluster(self) -> Iterator[tuple[_Submit, int]]:
        """As `_processes`. Ray repeats the tasks of a lost node."""
        import ray

        is_own = not ray.is_initialized()
        if is_own:
            with connecting(self.address):
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        remote_count: Any = ray.remote(num_cpus=1)(count_texts)

        def submit(part: TextPart, reading: Reading) -> Future[Counts]:
            future: Future[Counts] = remote_count.remote(part, reading).future()
            return future

        try:
            workers = self.workers or int(ray.cluster_resources().get("CPU", 1))
            yield submit, workers
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[-1]
            raise UserError(
                f"A Ray worker cannot count: {reason}; is Jackalope of this version installed on "
                f"every node, with 'jackalope[familiarity,ray]'?"
            ) from None
        finally:
            if is_own:
                ray.shutdown()


def _take_finished(running: dict[Future[Counts], TextPart]) -> Iterator[PartCounts]:
    """Wait for at least one running part; remove the finished parts from `running` and yield
    them."""
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield (running.pop(future), *future.result())


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
"""One worker, in this process."""


def count_corpus(
    corpus: Corpus,
    out: Path,
    farm: Farm = HERE,
    progress: Progress = SILENT,
    reading: Reading = DEFAULT,
) -> tuple[Path, TextCounts]:
    """Count the bindings of a corpus.

    `out`/files caches the counts of each file, in a folder named by a digest of the file's path,
    size and time and the reading: files are not counted twice, and a stopped count resumes with the
    missing parts, on any farm. `out`/DIGEST has their sum; DIGEST identifies the set of files.

    Args:
        corpus: The corpus.
        out: The folder of counts.
        farm: The workers that count.
        progress: Told of the texts that are counted.
        reading: How captions and phrases are read.

    Returns:
        The corpus's `pair_counts.parquet` (PAIR_COUNTS, sorted) and the counts of its texts.

    Raises:
        UserError: As `Farm.count`; a file is unreadable, the corpus has no phrase, or duckdb, ijson
            or textblob is not installed.
    """
    check_installed("duckdb")
    check_installed("ijson")
    folder_of = {file: out / "files" / _key(file, reading) for file in corpus.files}
    digest = _digest(sorted(folder.name for folder in folder_of.values()))
    table = out / digest / "pair_counts.parquet"
    # The merge writes the sum last, so it is there only if every file was counted.
    if table.exists():
        return table, _read_text_counts(table)
    table.parent.mkdir(parents=True, exist_ok=True)
    write_text(out / COUNTS_TAG, _TAG)
    with locked(table.with_name(".lock"), f"Another command is counting {corpus}; wait for it."):
        with progress.track("texts", None) as advance:
            missing = _missing_parts(folder_of, corpus.references)
            for part, counts, text_counts in farm.count(missing, reading):
                _write_counts(
                    folder_of[part.file], part.start, counts=counts, text_counts=text_counts
                )
                advance(text_counts.captions or text_counts.phrases)
        # Only now is it known that no part of a file is missing.
        for folder in folder_of.values():
            write_text(folder / _WHOLE, "")
        tables = []
        for folder in folder_of.values():
            tables += sorted(folder.glob("*.parquet"))
        total = sum(map(_read_text_counts, tables), TextCounts())
        if not total.phrases and not total.tables:
            left_out = f" (left out: {by_number(total.left_out)})" if total.left_out else ""
            raise UserError(
                f"{corpus} has no phrase in {total.captions:,} captions{left_out}; give captions "
                f"in English ({', '.join(NAMES[CAPTIONS])}) or phrases "
                f"({', '.join(NAMES[PHRASES])})."
            )
        _merge(tables, table, total)
    return table, total


def _missing_parts(
    folder_of: Mapping[Path, Path], references: Sequence[Path]
) -> Iterator[TextPart]:
    """Yield the parts that are not counted yet. Copies tables of counts directly; they have no
    parts."""
    texts = _missing_texts(folder_of)
    for part in read_parts(texts, [reference.resolve() for reference in references]):
        if not _counts_file(folder_of[part.file], part.start).exists():
            yield part


def _missing_texts(folder_of: Mapping[Path, Path]) -> Iterator[Path]:
    """Yield the files of texts that are not wholly counted. Copies tables of counts."""
    for file, folder in folder_of.items():
        # Counted by an earlier command.
        if (folder / _WHOLE).exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if not is_table(file):
            yield file
            continue
        for number, counts in enumerate(read_table(file)):
            # The table counts once, with its first part.
            _write_counts(
                folder, number, counts=counts, text_counts=TextCounts(tables=int(number == 0))
            )


def _counts_file(folder: Path, start: int) -> Path:
    return folder / f"{start:012}.parquet"


def _write_counts(folder: Path, start: int, *, counts: pa.Table, text_counts: TextCounts) -> None:
    schema = PAIR_COUNTS.with_metadata({_COUNTED: json.dumps(asdict(text_counts))})
    write_table(_counts_file(folder, start), counts, schema)


def _read_text_counts(table: Path) -> TextCounts:
    metadata = pq.read_schema(table).metadata
    return TextCounts(**json.loads(metadata[_COUNTED.encode()]))


def _merge(tables: Iterable[Path], table: Path, total: TextCounts) -> None:
    """Sum tables of counts, on disk if they do not fit into memory."""
    import duckdb

    draft = table.with_suffix(".draft")
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY,
        "temp_directory": str(table.with_name("spilled")),
        "threads": 1,
    }
    query = (
        "COPY (SELECT attr, obj_lemma, CAST(sum(perfect_count) AS BIGINT) AS perfect_count, "
        "CAST(sum(close_count) AS BIGINT) AS close_count FROM read_parquet(?) GROUP BY "
        "attr, obj_lemma "
        f"ORDER BY attr, obj_lemma) TO {_quote(draft)} (FORMAT parquet, COMPRESSION zstd, "
        f"KV_METADATA {{{_COUNTED}: {_quote(json.dumps(asdict(total)))}}})"
    )
    with duckdb.connect(config=config) as database:
        try:
            # Interactive Python would draw the bar on stdout.
            database.execute("SET enable_progress_bar = false")
            database.execute(query, [[glob.escape(str(path)) for path in tables]])
        except duckdb.Error as error:
            raise UserError(
                f"The counts in {table.parent.parent} cannot be merged ({error}); free some space "
                f"or delete the folder."
            ) from None
    draft.replace(table)


def _quote(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _key(file: Path, reading: Reading) -> str:
    """The name of a file's folder of counts. Uses the resolved path, because a file can have
    several names."""
    status = file.stat()
    path = str(file.resolve())
    return _digest([VERSION, reading.key, path, status.st_size, status.st_mtime_ns])


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class CorpusCounts:
    """What a corpus shows."""

    counts: Mapping[Binding, tuple[int, int]]
    """{binding: (perfect, close)} of each binding in question that the corpus has."""
    bindings: int
    """The number of all its distinct bindings."""
    function_words: int
    """The number of bindings whose attribute is a function word."""


def read_counts(table: Path, bindings: Collection[Binding]) -> CorpusCounts:
    """Read the counts of bindings. Keeps only these and one batch of the table in memory.

    Args:
        table: A table of PAIR_COUNTS.
        bindings: The bindings in question.

    Returns:
        Their counts.

    Raises:
        UserError: The file is not such a table.
    """
    objects = pa.array({object_ for _, object_ in bindings}, pa.string())
    counts: dict[Binding, tuple[int, int]] = {}
    all_bindings = 0
    function_words = 0
    for batch in _batches(table):
        all_bindings += batch.num_rows
        function_words += pc.sum(pc.is_in(batch["attr"], _FUNCTION_WORDS)).as_py() or 0
        # Arrow filters by the object; the few rows that are left become Python objects.
        rows = batch.filter(pc.is_in(batch["obj_lemma"], objects))
        columns = [column.to_pylist() for column in rows.columns]
        for attribute, object_, perfect, close in zip(*columns, strict=True):
            binding = (attribute, object_)
            if binding in bindings:
                counts[binding] = (perfect, close)
    return CorpusCounts(counts, all_bindings, function_words)


def is_table(file: Path) -> bool:
    """Tell whether a file is a table of counts.

    Args:
        file: The file.

    Returns:
        Whether it is a CSV, or a Parquet file with the columns of PAIR_COUNTS.
    """
    if file.suffix.lower() == CSV:
        return True
    if file.suffix.lower() != ".parquet":
        return False
    try:
        return set(PAIR_COUNTS.names) <= set(read_schema(file).names)
    except UserError:  # the file's reader reports the error
        return False


def read_table(file: Path) -> Iterator[pa.Table]:
    """Read a user's table of counts.

    Args:
        file: The table, as CSV or Parquet.

    Yields:
        Parts of it with the columns PAIR_COUNTS.

    Raises:
        UserError: It has no rows, lacks a column or a value, or has a value that is not a count.
    """
    rows = 0
    for batch in _csv_batches(file) if file.suffix.lower() == CSV else _batches(file):
        has_missing = any(column.null_count for column in batch.columns)
        # The least of a column of missing values is not a number.
        if has_missing or _least_count(batch) < 0:
            raise UserError(
                f"{file} has a row without words or with a negative count; write the table again."
            )
        rows += batch.num_rows
        yield pa.Table.from_batches([batch])
    if not rows:
        raise UserError(f"{file} has no rows; give a table of counts with rows.")


def _least_count(batch: pa.RecordBatch) -> int:
    """The least count of a batch without missing values; 0 for an empty one."""
    if not batch.num_rows:
        return 0
    return min(pc.min(batch[name]).as_py() for name in PAIR_COUNTS.names[2:])


def _batches(table: Path) -> Iterator[pa.RecordBatch]:
    return read_batches(table, PAIR_COUNTS.names, schema=PAIR_COUNTS)


def _csv_batches(file: Path) -> Iterator[pa.RecordBatch]:
    check_file(file)
    types = {column.name: column.type for column in PAIR_COUNTS}
    # A row longer than a block would be refused.
    options = pa.csv.ReadOptions(block_size=MOST_ROW)
    convert = pa.csv.ConvertOptions(column_types=types, include_columns=PAIR_COUNTS.names)
    try:
        with pa.csv.open_csv(file, read_options=options, convert_options=convert) as batches:
            yield from batches
    except (OSError, KeyError, pa.ArrowException) as error:
        names = ", ".join(PAIR_COUNTS.names)
        raise UserError(
            f"{file} is not a table of counts ({reason_of_csv(error)}); expected the columns "
            f"{names}."
        ) from None
