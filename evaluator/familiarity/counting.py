"""How often a reference corpus shows each binding: `pair_counts`, counted once on all cores, merged on disk."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.familiarity.bindings import of_phrase
from evaluator.familiarity.corpora import CAPTIONS, Part, corpus_files, parts
from evaluator.familiarity.noun_phrases import VERSION, NounPhrases
from generator.dataset.errors import UserError
from generator.dataset.extras import check_installed
from generator.dataset.files import read_json, write_json, write_table
from generator.dataset.lock import Lock
from generator.dataset.progress import SILENT, Progress

PAIR_COUNTS = pa.schema([
    ("attr", pa.string()), ("obj_lemma", pa.string()), ("perfect_count", pa.int64()), ("close_count", pa.int64()),
])  # fmt: skip
_MEMORY = "512MB"
"""What the merge keeps in memory; the rest is on disk."""


@dataclass(frozen=True)
class Counted:
    """What was counted: captions, their phrases, how many of these are bare nouns, and phrases made elsewhere among them."""

    captions: int = 0
    phrases: int = 0
    bare: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.captions + other.captions, self.phrases + other.phrases, self.bare + other.bare)


def count_corpus(path: Path, out: Path, workers: int = 1, progress: Progress = SILENT) -> tuple[Path, Counted]:
    """Count the bindings of the corpus `path` into a folder of `out` that is named after its files; returns
    `pair_counts.parquet` (PAIR_COUNTS, sorted) and what was counted.

    A corpus is counted once: its folder's name is a digest of its files' names, sizes and times, and of the extractor. A count
    that was stopped goes on with the parts that it lacks. Raises UserError for files that cannot be read, and where duckdb or
    textblob is not installed.
    """
    check_installed("duckdb")
    folder = out / _digest(path)
    table, record = folder / "pair_counts.parquet", folder / "counted.json"
    if record.exists() and table.exists():
        return table, Counted(**read_json(record))
    folder.mkdir(parents=True, exist_ok=True)
    with Lock(folder / ".lock", f"Another command is counting {path}; wait for it."):
        total = Counted()
        with progress.track("texts", None) as advance:
            for counted in _counted(path, folder / "parts", workers):
                total += counted
                advance(counted.captions or counted.phrases)
        if not total.phrases:
            raise UserError(
                f"{path} has no phrase in {total.captions:,} captions; give a corpus of captions in English."
            )
        _merge(folder / "parts", table)
        write_json(record, asdict(total))
        shutil.rmtree(folder / "parts")
    return table, total


def count_part(part: Part, folder: Path) -> Counted:
    """Write the counts of a part into `folder`, unless they are there already; returns what was counted."""
    name = hashlib.sha256(f"{part.file} {part.start} {len(part.texts)}".encode()).hexdigest()[:16]
    done = folder / f"{name}.json"
    if done.exists():
        return Counted(**read_json(done))
    phrases = _extracted(part)
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    n = bare = 0
    for phrase in phrases:
        n += 1
        bindings = of_phrase(phrase)
        bare += not bindings
        (perfect if len(bindings) == 1 else close).update(bindings)
    keys = list(perfect | close)
    columns = ([a for a, _ in keys], [o for _, o in keys], [perfect[key] for key in keys], [close[key] for key in keys])
    write_table(folder / f"{name}.parquet", pa.table(columns, schema=PAIR_COUNTS), PAIR_COUNTS)
    counted = Counted(len(part.texts) if part.kind == CAPTIONS else 0, n, bare)
    write_json(done, asdict(counted))
    return counted


_extractor: NounPhrases | None = None


def _extracted(part: Part) -> Iterator[str]:
    global _extractor
    if part.kind != CAPTIONS:
        yield from part.texts
        return
    _extractor = _extractor or NounPhrases()
    for caption in part.texts:
        yield from _extractor(caption)


def _counted(path: Path, folder: Path, workers: int) -> Iterator[Counted]:
    """What each part held, counted by several processes; no more than two parts a process wait."""
    folder.mkdir(exist_ok=True)
    if workers == 1:
        yield from (count_part(part, folder) for part in parts(path))
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting: set[Future[Counted]] = set()
        for part in parts(path):
            waiting.add(pool.submit(count_part, part, folder))
            if len(waiting) > 2 * workers:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        yield from (each.result() for each in waiting)


def _merge(folder: Path, table: Path) -> None:
    """Sum the counts of the parts, on disk where they do not fit into memory."""
    import duckdb

    draft = table.with_suffix(".draft")
    with duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": str(folder / "spilled"), "threads": 1}
    ) as database:
        try:
            database.execute(
                "COPY (SELECT attr, obj_lemma, CAST(sum(perfect_count) AS BIGINT) AS perfect_count, "
                "CAST(sum(close_count) AS BIGINT) AS close_count FROM read_parquet(?) GROUP BY attr, obj_lemma "
                f"ORDER BY attr, obj_lemma) TO '{str(draft).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, COMPRESSION zstd)",
                [str(folder / "*.parquet")],
            )
        except duckdb.Error as error:
            raise UserError(
                f"The counts in {folder} cannot be merged ({error}); free some space or delete the folder."
            ) from None
    draft.replace(table)


def read_counts(table: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """The perfect and close count of each binding. Raises UserError for a file that is none."""
    try:
        data = pq.read_table(table, columns=PAIR_COUNTS.names)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise UserError(f"{table} is no table of pair counts ({error}); count the corpus again.") from None
    columns = (data[name].to_pylist() for name in PAIR_COUNTS.names)
    return {(attr, obj): (perfect, close) for attr, obj, perfect, close in zip(*columns, strict=True)}


def _digest(path: Path) -> str:
    files = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in corpus_files(path)]
    return hashlib.sha256(json.dumps([VERSION, files]).encode()).hexdigest()[:16]
