"""The texts of a reference corpus's files of any form and size, a part at a time."""

import codecs
import gzip
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.audits.familiarity.entries import (
    CAPTION_NAMES,
    CAPTIONS,
    LEFT_OUT,
    LONGEST,
    NO_CAPTION,
    PHRASE_NAMES,
    TOO_LONG,
    Entry,
    of_json,
    of_row,
    of_text,
)
from evaluator.audits.familiarity.webdataset import samples
from generator.base.errors import UserError
from generator.base.limits import check_file

_PART, _CHARACTERS = 50_000, 1 << 24
_ROWS = 10_000
_STEPS, _DEEPEST = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}, 500
_LINE = 1 << 24
"""Bytes of a line of JSON, which may hold an image."""


@dataclass(frozen=True)
class Part:
    """Some texts of a corpus: `texts` from `start` of a file. kind: CAPTIONS or PHRASES. left_out: how many entries beside them were left
    out, by reason."""

    file: Path
    start: int
    kind: str
    texts: list[str]
    left_out: Mapping[str, int] = field(default_factory=dict)


def parts(file: Path, size: int = _PART) -> Iterator[Part]:
    """The texts of a file in parts of at most `size` texts and about 16 MB, always the same ones.

    An entry of the wrong form is left out and counted. Raises UserError for a file that cannot be read as what its name says.
    """
    start, kind, characters = 0, CAPTIONS, 0
    texts: list[str] = []
    left_out: Counter[str] = Counter()
    for each, text in _entries(file):
        if each == LEFT_OUT:
            left_out[text] += 1
            continue
        if texts and (each != kind or len(texts) == size or characters > _CHARACTERS):
            yield Part(file, start, kind, texts, dict(left_out))
            start, characters = start + len(texts), 0
            texts, left_out = [], Counter()
        kind = each
        texts.append(text)
        characters += len(text)
    if texts or left_out:
        yield Part(file, start, kind, texts, dict(left_out))


def suffix_of(file: Path) -> str:
    """The suffix of a file in lower case, with what stands before `.gz`.

    >>> suffix_of(Path("a.b.JSONL")), suffix_of(Path("a.b.json.gz"))
    ('.jsonl', '.json.gz')
    """
    name = Path(file.name.lower())
    return Path(name.stem).suffix + name.suffix if name.suffix == ".gz" else name.suffix


def _entries(file: Path) -> Iterator[Entry]:
    import ijson

    suffix = suffix_of(file)
    check_file(file)
    try:
        yield from READERS[suffix](file)
    except (
        ValueError,
        tarfile.TarError,
        OSError,
        EOFError,
        zlib.error,
        pa.ArrowException,
        ijson.JSONError,
    ) as error:
        given = error.args[0] if error.args else ""
        text = given.decode(errors="replace") if isinstance(given, bytes) else str(error)  # ijson's may be bytes
        reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"{file} cannot be read as {suffix[1:]} ({reason}); download or write it again.") from None


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """A file that may be compressed, without a byte order mark."""
    with cast(BinaryIO, gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb")) as opened:
        head = opened.read(len(codecs.BOM_UTF8))
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError("it is UTF-16, expected UTF-8")
        opened.seek(len(head) if head == codecs.BOM_UTF8 else 0)
        yield opened


def _json(file: Path) -> Iterator[Entry]:
    """COCO's annotations, a list of rows, or one row."""
    import ijson

    with _opened(file) as opened:
        start = opened.read(LONGEST + 1)
        rows = "item" if start.lstrip().startswith(b"[") else "annotations.item"
    with _opened(file) as opened:
        found = False
        for row in ijson.items(ijson.parse(_shallow(ijson.basic_parse(opened))), rows):
            found = True
            yield from of_row(row)
    if not found and rows != "item":
        yield from of_json(start) if len(start) <= LONGEST else [(LEFT_OUT, NO_CAPTION)]


def _shallow(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """ijson's events; it keeps the path to each in memory, which takes the square of the depth. Raises ValueError for depths that no
    caption has."""
    depth = 0
    for event in events:
        depth += _STEPS.get(event[0], 0)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        yield event


def _lines(of_line: Callable[[bytes], Iterator[Entry]]) -> Callable[[Path], Iterator[Entry]]:
    """The reader of files with an entry a line."""

    def read(file: Path) -> Iterator[Entry]:
        with _opened(file) as opened:
            while line := opened.readline(_LINE):
                if len(line) == _LINE and not line.endswith(b"\n"):
                    while line and not line.endswith(b"\n"):
                        line = opened.readline(_LINE)
                    yield LEFT_OUT, TOO_LONG
                elif line.strip():
                    yield from of_line(line)

    return read


def _parquet(file: Path) -> Iterator[Entry]:
    with pq.ParquetFile(file) as opened:
        names = [name for name in (*PHRASE_NAMES, *CAPTION_NAMES) if name in opened.schema_arrow.names]
        if not names:
            yield from ((LEFT_OUT, NO_CAPTION) for _ in range(opened.metadata.num_rows))
            return
        for batch in opened.iter_batches(_ROWS, columns=names[:1]):
            for value in batch.column(0).to_pylist():
                yield from of_row({names[0]: value})


READERS: dict[str, Callable[[Path], Iterator[Entry]]] = {
    ".json": _json, ".json.gz": _json, ".jsonl": _lines(of_json), ".jsonl.gz": _lines(of_json), ".txt": _lines(of_text),
    ".txt.gz": _lines(of_text), ".parquet": _parquet, ".tar": samples, ".tar.gz": samples,
}  # fmt: skip
"""By the end of a file's name."""
