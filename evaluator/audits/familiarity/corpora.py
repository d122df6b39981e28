"""Reads the texts of a reference corpus's files in parts, in a process with limits of memory and
time."""

import codecs
import gzip
import json
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import pyarrow as pa

from generator.base.bounded import Bounds, read_bounded
from generator.base.errors import UserError
from generator.base.limits import check_file
from generator.base.tables import FREE, TIMES, count_rows, read_batches, read_schema

CAPTIONS, PHRASES, LEFT_OUT = "captions", "phrases", "left out"
Entry = tuple[str, str]
"""CAPTIONS or PHRASES and a text, or LEFT_OUT and the reason."""
NAMES = {
    PHRASES: ("phrases", "components"),
    CAPTIONS: ("caption", "captions", "text", "txt", "TEXT"),
}
"""The columns of each kind. Phrases come first, because they were extracted from the caption."""

NO_JSON = "no JSON"
NO_CAPTION = "without a caption or phrases"
NO_TEXT = "a caption or phrase that is no text"
NOT_UTF8 = "not UTF-8"
TOO_LONG = "too long"
EMPTY = "empty"
LONGEST = 1 << 20
"""The most bytes of a tar member, and the most characters of a text."""
_LINE = 1 << 24
"""The most bytes of a line; a line of JSON may hold an image."""
_PART, _CHARACTERS = 50_000, 1 << 24
_GZIP = b"\x1f\x8b"
_HEADER = 1 << 14
"""The most bytes of a tar header with a long name or other metadata of a member."""
_BOUNDS = Bounds(768 << 20, 10.0, 10e-6)
"""Limits of memory and time for a file of a corpus."""
_ROWS = 10_000
_BUFFER = 1 << 20  # bytes in a read; a longer text is scanned again after each read
_STEPS, _DEEPEST = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}, 500


@dataclass(frozen=True)
class Part:
    """Texts of a file; `start` is the index of the first text. kind: CAPTIONS or PHRASES. left_out:
    number of entries skipped between them, by reason."""

    file: Path
    start: int
    kind: str
    texts: list[str]
    left_out: Mapping[str, int] = field(default_factory=dict)


def read_parts(files: Iterable[Path], sees: Sequence[Path], size: int = _PART) -> Iterator[Part]:
    """Yields the parts of files (see `parts`), read in a process that can access only the files or
    folders `sees`.

    Raises UserError as `parts`, and for a file that takes too much memory or time for its size.
    """
    for file, row in read_bounded(
        f"{__name__}:part_rows", files, sees=sees, bounds=_BOUNDS, size=size
    ):
        yield Part(file, **row)


def part_rows(file: Path, size: int) -> Iterator[dict[str, Any]]:
    """The parts of a file as JSON, without its path."""
    for part in parts(file, size):
        yield {
            "start": part.start,
            "kind": part.kind,
            "texts": part.texts,
            "left_out": part.left_out,
        }


def parts(file: Path, size: int = _PART) -> Iterator[Part]:
    """Yields the texts of a file in parts of at most `size` texts and about 16 MB; the division is
    deterministic.

    Skips and counts entries of the wrong form. Raises UserError for a file that cannot be read in
    the format of its suffix.
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
    """The suffix of a file in lower case; for `.gz`, with the suffix before it.

    >>> suffix_of(Path("a.b.JSONL")), suffix_of(Path("a.b.json.gz"))
    ('.jsonl', '.json.gz')
    """
    name = Path(file.name.lower())
    return Path(name.stem).suffix + name.suffix if name.suffix == ".gz" else name.suffix


def _entries(file: Path) -> Iterator[Entry]:
    import ijson

    suffix = suffix_of(file)
    check_file(file)
    damages = (
        ValueError,
        tarfile.TarError,
        OSError,
        EOFError,
        zlib.error,
        pa.ArrowException,
        ijson.JSONError,
    )
    try:
        yield from READERS[suffix](file)
    except damages as error:
        given = error.args[0] if error.args else ""
        text = (
            given.decode(errors="replace") if isinstance(given, bytes) else str(error)
        )  # ijson's may be bytes
        reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(
            f"{file} cannot be read as {suffix[1:]} ({reason}); download or write it again."
        ) from None


def of_row(row: object) -> Iterator[Entry]:
    """The phrases of a row, or else its caption or captions."""
    named = row if isinstance(row, dict) else {}
    for kind, names in NAMES.items():
        for name in names:
            if name in named:
                given = named[name] if isinstance(named[name], list) else [named[name]]
                yield from (
                    (_of_value(kind, value) for value in given)
                    if given
                    else [(LEFT_OUT, NO_CAPTION)]
                )
                return
    yield LEFT_OUT, NO_CAPTION


def of_json(data: bytes) -> Iterator[Entry]:
    """The entries of a row in JSON."""
    try:
        row = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8
    except (ValueError, RecursionError):
        yield LEFT_OUT, NO_JSON
    else:
        yield from of_row(row)


_FLICKR_IMAGE = re.compile(r"^\S+\.(?:jpg|jpeg|png)#\d+\t")
"""The image and the number of a caption in Flickr8k.token.txt and results_20130124.token of
Flickr30k."""


def of_text(data: bytes) -> Iterator[Entry]:
    """The caption in plain text; of a line of Flickr's token files, without the image that stands
    before it."""
    try:
        yield _of_value(CAPTIONS, _FLICKR_IMAGE.sub("", data.decode("utf-8-sig")))
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8


def _of_value(kind: str, value: object) -> Entry:
    if not isinstance(value, str):
        return LEFT_OUT, NO_TEXT
    text = value.strip()
    if not text:
        return LEFT_OUT, EMPTY
    return (LEFT_OUT, TOO_LONG) if len(text) > LONGEST else (kind, text)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it is gzip, after its byte order mark. Raises ValueError for
    UTF-16."""
    with file.open("rb") as raw:
        packed = file.name.lower().endswith(".gz") or raw.read(len(_GZIP)) == _GZIP
    with cast(BinaryIO, _Unpacked(file) if packed else file.open("rb")) as opened:
        head = opened.read(len(codecs.BOM_UTF8))
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError("it is UTF-16, expected UTF-8")
        opened.seek(len(head) if head == codecs.BOM_UTF8 else 0)
        yield opened


class _Unpacked(gzip.GzipFile):
    """A gzip file that may unpack to FREE + TIMES × its size in bytes, as tables may
    (generator/base/tables.py)."""

    def __init__(self, file: Path):
        super().__init__(file)
        self._most = FREE + TIMES * file.stat().st_size

    def read(self, size: int | None = -1) -> bytes:
        """As GzipFile.read. Raises ValueError if the file unpacks to more than the limit."""
        return self._checked(super().read(size))

    def readline(self, size: int | None = -1) -> bytes:
        """As GzipFile.readline. Raises ValueError as `read`."""
        return self._checked(super().readline(size))

    def _checked(self, data: bytes) -> bytes:
        if self.tell() > self._most:
            raise ValueError(f"it would unpack to more than {self._most >> 20:,} MiB")
        return data


def _json(file: Path) -> Iterator[Entry]:
    """COCO's annotations, or a list of rows."""
    import ijson

    with _opened(file) as opened:
        events = _shallow(ijson.basic_parse(opened, buf_size=_BUFFER))
        first = next(events)
        rows = "item" if first[0] == "start_array" else "annotations.item"
        found = False
        for row in ijson.items(ijson.parse(chain([first], events)), rows):
            found = True
            yield from of_row(row)
        if not found:
            yield LEFT_OUT, NO_CAPTION


def _shallow(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yields ijson's events. Raises ValueError for a depth above _DEEPEST: ijson keeps the path to
    each level, which takes memory quadratic in the depth."""
    depth = 0
    for event in events:
        depth += _STEPS.get(event[0], 0)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        yield event


def _lines(of_line: Callable[[bytes], Iterator[Entry]]) -> Callable[[Path], Iterator[Entry]]:
    """The reader of files with an entry in each line."""

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
    there = set(read_schema(file).names)
    name = next((name for names in NAMES.values() for name in names if name in there), None)
    if name is None:
        yield from ((LEFT_OUT, NO_CAPTION) for _ in range(count_rows(file)))
        return
    for batch in read_batches(file, [name], _ROWS):
        for value in batch.column(0).to_pylist():
            yield from of_row({name: value})


_MEMBERS = {".txt": of_text, ".caption": of_text, ".json": of_json}
"""Readers of tar members by suffix, in order of preference (`_of_sample`)."""


class _Header(tarfile.TarInfo):
    """Raises ReadError for truncated or damaged headers, which tarfile treats as the end of the
    archive. Limits the size of headers with long names or other metadata, which tarfile reads in
    quadratic time."""

    def _proc_member(self, archive: tarfile.TarFile) -> "_Header":
        if not self.isreg() and self.size > _HEADER:
            raise tarfile.ReadError(f"it has a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_Header":
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"it stops before the end of its archive: {error}") from None


def _webdataset(file: Path) -> Iterator[Entry]:
    """Yields the phrases or the caption of each sample. A sample is adjacent members with the same
    name up to the first dot. Skips hidden files."""
    with (
        _opened(file) as opened,
        tarfile.open(fileobj=opened, mode="r|", tarinfo=_Header) as archive,
    ):
        named = (
            (PurePosixPath(member.name), member) for member in _members(archive) if member.isfile()
        )
        for (_, stem), group in groupby(
            named, key=lambda each: (each[0].parent, each[0].name.partition(".")[0])
        ):
            found: dict[str, list[Entry]] = {}
            for path, member in group:
                suffix = path.suffix.lower()
                if suffix in _MEMBERS and suffix not in found:
                    found[suffix] = list(_of_member(archive, member, suffix))
            if stem:
                yield from _of_sample([found[suffix] for suffix in _MEMBERS if suffix in found])


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yields the members of a tar, without tarfile's list of all members in memory."""
    for member in archive:
        archive.members.clear()  # type: ignore[attr-defined]
        yield member


def _of_member(archive: tarfile.TarFile, member: tarfile.TarInfo, suffix: str) -> Iterator[Entry]:
    if member.size > LONGEST:
        return iter([(LEFT_OUT, TOO_LONG)])
    opened = archive.extractfile(member)
    assert opened is not None
    return _MEMBERS[suffix](opened.read())


def _of_sample(members: list[list[Entry]]) -> list[Entry]:
    """The entries of the first member with phrases, else of the first with a caption, else why
    there is none."""
    for wanted in NAMES:
        for entries in members:
            if any(kind == wanted for kind, _ in entries):
                return entries
    return members[0][:1] if members else [(LEFT_OUT, NO_CAPTION)]


READERS: dict[str, Callable[[Path], Iterator[Entry]]] = {
    ".json": _json,
    ".json.gz": _json,
    ".jsonl": _lines(of_json),
    ".jsonl.gz": _lines(of_json),
    ".txt": _lines(of_text),
    ".txt.gz": _lines(of_text),
    ".token": _lines(of_text),
    ".parquet": _parquet,
    ".tar": _webdataset,
    ".tar.gz": _webdataset,
}
"""Readers of files by suffix (`suffix_of`)."""
