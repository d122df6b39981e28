"""Tables of how often each binding is shown: `pair_counts.parquet`, and those that others publish as CSV."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evaluator.audits.familiarity.reading import Binding
from generator.base.errors import UserError
from generator.base.limits import check_file
from generator.base.parquet import read_batches

PAIR_COUNTS = pa.schema(
    [
        ("attr", pa.string()),
        ("obj_lemma", pa.string()),
        ("perfect_count", pa.int64()),
        ("close_count", pa.int64()),
    ]
)
CSV = ".csv"
_FUNCTION_WORDS = pa.array(
    [
        "of",
        "in",
        "on",
        "at",
        "by",
        "with",
        "to",
        "from",
        "for",
        "and",
        "or",
        "the",
        "a",
        "an",
        "his",
        "her",
        "its",
        "their",
        "this",
        "that",
    ],
    pa.string(),
)


@dataclass(frozen=True)
class Shown:
    """What a corpus shows of the bindings that were asked: the perfect and close count of each that it has. bindings:
    how many different ones it has in all; function_words: how many of these have a function word for an attribute."""

    counts: Mapping[Binding, tuple[int, int]]
    bindings: int
    function_words: int


def read_counts(table: Path, asked: Collection[Binding]) -> Shown:
    """What a table of PAIR_COUNTS shows of the bindings `asked`; no more of it is in memory than these and a batch.

    Raises UserError for a file that is no such table.
    """
    objects = pa.array({noun for _, noun in asked}, pa.string())
    counts: dict[Binding, tuple[int, int]] = {}
    bindings = function_words = 0
    for batch in _batches(table):
        bindings += batch.num_rows
        function_words += pc.sum(pc.is_in(batch["attr"], _FUNCTION_WORDS)).as_py() or 0
        some = batch.filter(pc.is_in(batch["obj_lemma"], objects))
        for attr, obj, *numbers in zip(*(column.to_pylist() for column in some.columns), strict=True):
            if (attr, obj) in asked:
                counts[attr, obj] = (numbers[0], numbers[1])
    return Shown(counts, bindings, function_words)


def is_table(file: Path) -> bool:
    """Whether a file is a table of counts, by its columns; a CSV can be nothing else."""
    if file.suffix.lower() == CSV:
        return True
    if file.suffix.lower() != ".parquet":
        return False
    try:
        return set(PAIR_COUNTS.names) <= set(pq.read_schema(file).names)
    except (OSError, pa.ArrowException):
        return False


def read_table(file: Path) -> Iterator[pa.Table]:
    """A table of counts that somebody gives, in parts of PAIR_COUNTS.

    Raises UserError where it has no row, lacks a column or a value, or has one that is no count.
    """
    rows = 0
    for batch in _csv_batches(file) if file.suffix.lower() == CSV else _batches(file):
        least = [pc.min(batch[name]).as_py() for name in PAIR_COUNTS.names[2:] if batch.num_rows]
        if any(column.null_count for column in batch.columns) or min(least, default=0) < 0:
            raise UserError(f"{file} has a row without words or with a negative count; write the table again.")
        rows += batch.num_rows
        yield pa.Table.from_batches([batch])
    if not rows:
        raise UserError(f"{file} has no row; give a table of counts that has some.")


def _batches(table: Path) -> Iterator[pa.RecordBatch]:
    return read_batches(table, PAIR_COUNTS.names, schema=PAIR_COUNTS)


def _csv_batches(file: Path) -> Iterator[pa.RecordBatch]:
    check_file(file)
    types = {name: PAIR_COUNTS.field(name).type for name in PAIR_COUNTS.names}
    convert = pa.csv.ConvertOptions(column_types=types, include_columns=PAIR_COUNTS.names)
    try:
        with pa.csv.open_csv(file, convert_options=convert) as batches:
            yield from batches
    except (OSError, KeyError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].strip("'").rstrip(".")
        raise UserError(
            f"{file} is no table of counts ({reason}); expected the columns {', '.join(PAIR_COUNTS.names)}."
        ) from None
