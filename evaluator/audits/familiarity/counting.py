"""How often a reference corpus shows each binding: each file is counted once, by a farm; a corpus is the sum of its files, on disk."""

import glob
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluator.audits.familiarity.corpora import Part, parts
from evaluator.audits.familiarity.corpus_files import COUNTS_TAG, Corpus, by_number
from evaluator.audits.familiarity.entries import CAPTION_NAMES, PHRASE_NAMES
from evaluator.audits.familiarity.farm import Farm
from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS, is_table, read_table
from evaluator.audits.familiarity.part_counts import Counted
from evaluator.audits.familiarity.reading import DEFAULT, Reading
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.files import locked, read_json, write_json, write_table, write_text
from generator.base.progress import SILENT, Progress

VERSION = 2
"""Files are counted again where this is another number: what is read of them, their parts, and what a binding is."""
_MEMORY = "512MB"
"""What the merge keeps in memory; the rest is on disk."""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Counts of corpora, made by `score familiarity`, which makes them again.\n"
_WHOLE = "counted.json"

HERE = Farm()


def count_corpus(
    corpus: Corpus, out: Path, farm: Farm = HERE, progress: Progress = SILENT, reading: Reading = DEFAULT
) -> tuple[Path, Counted]:
    """Count the bindings of a corpus; returns its `pair_counts.parquet` (PAIR_COUNTS, sorted) and what was counted.

    `out`/files has the counts of each file, in a folder that is named after the file's place, size and time and the reading: no
    file is counted twice, and a count that was stopped goes on with the parts that it lacks, on any farm. `out`/DIGEST has their
    sum; DIGEST names the files. Raises UserError for files that cannot be read, a corpus that has no phrase, where duckdb or textblob is
    not installed, and as `Farm.count` does.
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
    """Count the parts that are not counted yet. A part's counts are written before its record, and the record of a file after those of
    its parts."""
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
        f"{corpus} has no phrase in {total.captions:,} captions{left_out}; give captions in English ({', '.join(CAPTION_NAMES)}) or "
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
                f"ORDER BY attr, obj_lemma) TO '{str(draft).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, COMPRESSION zstd)",
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
