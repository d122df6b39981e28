"""How often a reference corpus shows each binding: `pair_counts`, counted once by a farm, merged on disk."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.familiarity.corpora import Part, corpus_files, parts
from evaluator.familiarity.farm import Farm
from evaluator.familiarity.part_counts import PAIR_COUNTS, Counted
from evaluator.familiarity.reading import DEFAULT, Reading
from generator.dataset.errors import UserError
from generator.dataset.extras import check_installed
from generator.dataset.files import read_json, write_json, write_table
from generator.dataset.lock import Lock
from generator.dataset.progress import SILENT, Progress

_MEMORY = "512MB"
"""What the merge keeps in memory; the rest is on disk."""


HERE = Farm()


def count_corpus(
    path: Path, out: Path, farm: Farm = HERE, progress: Progress = SILENT, reading: Reading = DEFAULT
) -> tuple[Path, Counted]:
    """Count the bindings of the corpus `path` into a folder of `out` that is named after its files; returns
    `pair_counts.parquet` (PAIR_COUNTS, sorted) and what was counted.

    A corpus is counted once: its folder's name is a digest of its files' names, sizes and times, and of the reading. A count
    that was stopped goes on with the parts that it lacks, on any farm. Raises UserError for files that cannot be read, where duckdb or
    textblob is not installed, and as `Farm.count` does.
    """
    check_installed("duckdb")
    folder = out / _digest(path, reading)
    table, record = folder / "pair_counts.parquet", folder / "counted.json"
    if record.exists() and table.exists():
        return table, Counted(**read_json(record))
    folder.mkdir(parents=True, exist_ok=True)
    with Lock(folder / ".lock", f"Another command is counting {path}; wait for it."):
        total = Counted()
        with progress.track("texts", None) as advance:
            for counted in _counted(path, folder / "parts", farm, reading):
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


def _counted(path: Path, folder: Path, farm: Farm, reading: Reading) -> Iterator[Counted]:
    """What each part held. The counts of a part are in `folder` before it is listed as done, by a file of its name."""
    folder.mkdir(exist_ok=True)
    done: list[Counted] = []

    def lacking() -> Iterator[Part]:
        for part in parts(path):
            record = folder / f"{_name(part)}.json"
            if record.exists():
                done.append(Counted(**read_json(record)))
            else:
                yield part

    for part, table, counted in farm.count(lacking(), reading):
        write_table(folder / f"{_name(part)}.parquet", table, PAIR_COUNTS)
        write_json(folder / f"{_name(part)}.json", asdict(counted))
        yield counted
    yield from done


def _name(part: Part) -> str:
    return hashlib.sha256(f"{part.file} {part.start} {len(part.texts)}".encode()).hexdigest()[:16]


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


def _digest(path: Path, reading: Reading) -> str:
    files = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in corpus_files(path)]
    return hashlib.sha256(json.dumps([reading.key, files]).encode()).hexdigest()[:16]
