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
"""What an entry of a file is."""
Entry = tuple[str, str]
"""CAPTIONS or PHRASES and a text, or LEFT_OUT and the reason."""
NAMES = {
    PHRASES: ("phrases", "components"),
    CAPTIONS: ("caption", "captions", "text", "txt", "TEXT"),
}
"""The columns of each kind. Phrases come first, because they were extracted from the caption."""

NO_JSON = "no JSON"
NO_CAPTION = "without a caption or phrases"
NO_TEXT = "a caption or phrase that is not text"
NOT_UTF8 = "not UTF-8"
TOO_LONG = "too long"
EMPTY = "empty"
"""The reasons why entries are left out."""
LONGEST = 1 << 20
"""The most bytes of a tar member, and the most characters of a text."""
_LINE = 1 << 24
"""The most bytes of a line; a line of JSON may hold an image."""
_PART_TEXTS, _PART_CHARACTERS = 50_000, 1 << 24
"""The most texts of a part, and the characters after which it takes no further text."""
_GZIP = b"\x1f\x8b"
"""How gzip files begin."""
_HEADER = 1 << 14
"""The most bytes of a tar header with a long name or other metadata of a member."""
_BOUNDS = Bounds(768 << 20, 10.0, 10e-6)
"""Limits of memory and time for a file of a corpus."""
_BATCH_ROWS = 10_000
"""Rows of a Parquet file that are read at once."""
_BUFFER = 1 << 20
"""Bytes that the JSON parser reads at once; it scans a longer text again after each read."""
_STEPS = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}
"""{event of the JSON parser: how it changes the depth}."""
_DEEPEST = 500
"""The deepest nesting of JSON that is read."""
_FLICKR_IMAGE = re.compile(r"^\S+\.(?:jpg|jpeg|png)#\d+\t")
"""The image and the number of a caption in Flickr8k.token.txt and results_20130124.token of
Flickr30k."""


@dataclass(frozen=True)
class TextPart:
    """Texts of a file."""

    file: Path
    """The file."""
    start: int
    """The index of the first text in the file."""
    kind: str
    """CAPTIONS or PHRASES."""
    texts: list[str]
    """The texts."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """{reason: number of entries} that are skipped between them."""


def read_parts(
    files: Iterable[Path], sees: Sequence[Path], size: int = _PART_TEXTS
) -> Iterator[TextPart]:
    """Read files in parts, in a process that can access nothing else.

    Args:
        files: The files.
        sees: The files or folders that the process can access.
        size: The most texts of a part.

    Yields:
        The parts (`parts`).

    Raises:
        UserError: As `parts`; or a file takes too much memory or time for its size.
    """
    rows = read_bounded(f"{__name__}:part_rows", files, sees=sees, bounds=_BOUNDS, size=size)
    for file, row in rows:
        yield TextPart(file, **row)


def part_rows(file: Path, size: int) -> Iterator[dict[str, Any]]:
    """Read the parts of a file as JSON.

    Args:
        file: The file.
        size: The most texts of a part.

    Yields:
        The fields of each part but its file.
    """
    for part in parts(file, size):
        yield {
            "start": part.start,
            "kind": part.kind,
            "texts": part.texts,
            "left_out": part.left_out,
        }


def parts(file: Path, size: int = _PART_TEXTS) -> Iterator[TextPart]:
    """Read the texts of a file in parts.

    Entries of the wrong form are skipped and counted. The division is deterministic.

    Args:
        file: The file.
        size: The most texts of a part, which also ends after about 16 MB.

    Yields:
        The parts, each of one kind of text.

    Raises:
        UserError: The file cannot be read in the format of its suffix.
    """
    start, kind, characters = 0, CAPTIONS, 0
    texts: list[str] = []
    left_out: Counter[str] = Counter()
    # A part has one kind of text, since captions are parsed for phrases and phrases are not.
    for entry_kind, text in _entries(file):
        if entry_kind == LEFT_OUT:
            left_out[text] += 1
            continue
        is_full = len(texts) == size or characters > _PART_CHARACTERS
        if texts and (entry_kind != kind or is_full):
            yield TextPart(file, start, kind, texts, dict(left_out))
            start = start + len(texts)
            characters = 0
            texts = []
            left_out = Counter()
        kind = entry_kind
        texts.append(text)
        characters += len(text)
    if texts or left_out:
        yield TextPart(file, start, kind, texts, dict(left_out))


def suffix_of(file: Path) -> str:
    """Get the suffix of a file that tells its format.

    Args:
        file: The file.

    Returns:
        The suffix in lower case; for `.gz`, with the suffix before it.

    Example:
        >>> suffix_of(Path("a.b.JSONL")), suffix_of(Path("a.b.json.gz"))
        ('.jsonl', '.json.gz')
    """
    name = Path(file.name.lower())
    if name.suffix == ".gz":
        return Path(name.stem).suffix + name.suffix
    return name.suffix


def _entries(file: Path) -> Iterator[Entry]:
    """The entries of a file, by the reader of its suffix. Raises UserError for a damaged file."""
    import ijson

    suffix = suffix_of(file)
    check_file(file)
    # What the readers of all formats raise for files that are cut off or are something else. Others
    # are errors of this code.
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
        reason = _first_line(error).rstrip(".")
        raise UserError(
            f"{file} cannot be read as {suffix[1:]} ({reason}); download or write it again."
        ) from None


def _first_line(error: Exception) -> str:
    """The first line of an error's message; its type if it has none."""
    message = str(error)
    argument = error.args[0] if error.args else ""
    if isinstance(argument, bytes):  # as of ijson's errors
        message = argument.decode(errors="replace")
    return (message.splitlines() or [type(error).__name__])[0]


def of_row(row: object) -> Iterator[Entry]:
    """Read a row of a table or of JSON.

    Args:
        row: The row; anything but a dictionary has no entry.

    Yields:
        Its phrases, or else its caption or captions; or why it is left out.
    """
    cells = row if isinstance(row, dict) else {}
    for kind, names in NAMES.items():
        # The first column that a row has, in the order of NAMES: `text` beside `caption` repeats it
        # in most exports.
        for name in names:
            if name not in cells:
                continue
            values = cells[name] if isinstance(cells[name], list) else [cells[name]]
            for value in values:
                yield _of_value(kind, value)
            if not values:
                yield LEFT_OUT, NO_CAPTION
            return
    yield LEFT_OUT, NO_CAPTION


def of_json(data: bytes) -> Iterator[Entry]:
    """Read a row in JSON.

    Args:
        data: The JSON, in UTF-8.

    Yields:
        Its entries (`of_row`), or why it is left out.
    """
    try:
        row = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8
    except (ValueError, RecursionError):
        yield LEFT_OUT, NO_JSON
    else:
        yield from of_row(row)


def of_text(data: bytes) -> Iterator[Entry]:
    """Read a caption in plain text.

    Args:
        data: The text, in UTF-8.

    Yields:
        The caption; of a line of Flickr's token files, without the image that stands before it. Or
        why it is left out.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield LEFT_OUT, NOT_UTF8
    else:
        yield _of_value(CAPTIONS, _FLICKR_IMAGE.sub("", text))


def _of_value(kind: str, value: object) -> Entry:
    if not isinstance(value, str):
        return LEFT_OUT, NO_TEXT
    text = value.strip()
    if not text:
        return LEFT_OUT, EMPTY
    if len(text) > LONGEST:
        return LEFT_OUT, TOO_LONG
    return kind, text


@contextmanager
def _open(file: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it is gzip, after its byte order mark. Raises ValueError for
    UTF-16."""
    with file.open("rb") as raw:
        # By its first bytes too: a packed file may lack the suffix, as after a download under
        # another name.
        is_packed = file.name.lower().endswith(".gz") or raw.read(len(_GZIP)) == _GZIP
    with cast(BinaryIO, _Unpacked(file) if is_packed else file.open("rb")) as stream:
        head = stream.read(len(codecs.BOM_UTF8))
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError("it is UTF-16, expected UTF-8")
        stream.seek(len(head) if head == codecs.BOM_UTF8 else 0)
        yield stream


class _Unpacked(gzip.GzipFile):
    """A gzip file that may unpack to FREE + TIMES × its size in bytes, as tables may
    (generator/base/tables.py)."""

    def __init__(self, file: Path):
        super().__init__(file)
        self._most = FREE + TIMES * file.stat().st_size

    def read(self, size: int | None = -1) -> bytes:
        """Read as GzipFile does.

        Args:
            size: The most bytes; -1 or None: all.

        Raises:
            ValueError: The file unpacks to more than the limit.
        """
        return self._check_size(super().read(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line as GzipFile does.

        Args:
            size: The most bytes; -1 or None: the whole line.

        Raises:
            ValueError: As `read`.
        """
        return self._check_size(super().readline(size))

    def _check_size(self, data: bytes) -> bytes:
        if self.tell() > self._most:
            raise ValueError(f"it would unpack to more than {self._most >> 20:,} MiB")
        return data


def _read_json(file: Path) -> Iterator[Entry]:
    """COCO's annotations, or a list of rows."""
    import ijson

    with _open(file) as stream:
        events = _check_depth(ijson.basic_parse(stream, buf_size=_BUFFER))
        first = next(events)
        # COCO's file is an object whose `annotations` are the rows; other tools write the list
        # alone. The first event tells which, and goes back before the others.
        rows_path = "item" if first[0] == "start_array" else "annotations.item"
        has_rows = False
        for row in ijson.items(ijson.parse(chain([first], events)), rows_path):
            has_rows = True
            yield from of_row(row)
        if not has_rows:
            yield LEFT_OUT, NO_CAPTION


def _check_depth(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield ijson's events. Raises ValueError for a depth above _DEEPEST: ijson keeps the path to
    each level, which takes memory quadratic in the depth."""
    depth = 0
    for event in events:
        depth += _STEPS.get(event[0], 0)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        yield event


def _line_reader(of_line: Callable[[bytes], Iterator[Entry]]) -> Callable[[Path], Iterator[Entry]]:
    """The reader of files with an entry in each line."""

    def read(file: Path) -> Iterator[Entry]:
        with _open(file) as stream:
            while line := stream.readline(_LINE):
                # A cut line is skipped to its end, or its rest would count as captions of their
                # own.
                if len(line) == _LINE and not line.endswith(b"\n"):
                    _skip_line(stream, line)
                    yield LEFT_OUT, TOO_LONG
                elif line.strip():
                    yield from of_line(line)

    return read


def _skip_line(stream: BinaryIO, piece: bytes) -> None:
    """Read to the end of the line that begins with `piece`."""
    while piece and not piece.endswith(b"\n"):
        piece = stream.readline(_LINE)


def _read_parquet(file: Path) -> Iterator[Entry]:
    # Only the one column is read: others may hold images.
    columns = set(read_schema(file).names)
    for name in chain.from_iterable(NAMES.values()):
        if name in columns:
            break
    else:
        for _ in range(count_rows(file)):
            yield LEFT_OUT, NO_CAPTION
        return
    for batch in read_batches(file, [name], _BATCH_ROWS):
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


def _read_webdataset(file: Path) -> Iterator[Entry]:
    """Yield the phrases or the caption of each sample. A sample is adjacent members with the same
    name up to the first dot. Skips hidden files."""
    with (
        _open(file) as stream,
        # "r|" reads the stream once, from the beginning to the end, and keeps little of it.
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive,
    ):
        files = (member for member in _members(archive) if member.isfile())
        for (_, stem), members in groupby(files, key=_sample_name):
            # A stream cannot go back: the texts of a sample are kept until its last member shows
            # which of them is preferred.
            entries: dict[str, list[Entry]] = {}
            for member in members:
                suffix = PurePosixPath(member.name).suffix.lower()
                if suffix in _MEMBERS and suffix not in entries:
                    entries[suffix] = list(_of_member(archive, member, suffix))
            # The name of a hidden file, such as macOS's "._0.txt", has nothing before the first
            # dot.
            if stem:
                yield from _of_sample([entries[end] for end in _MEMBERS if end in entries])


def _sample_name(member: tarfile.TarInfo) -> tuple[PurePosixPath, str]:
    """The folder of a member, and its name up to the first dot, which is "" for hidden files."""
    path = PurePosixPath(member.name)
    return path.parent, path.name.partition(".")[0]


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar, without tarfile's list of all members in memory."""
    for member in archive:
        archive.members.clear()  # type: ignore[attr-defined]
        yield member


def _of_member(archive: tarfile.TarFile, member: tarfile.TarInfo, suffix: str) -> Iterator[Entry]:
    if member.size > LONGEST:
        return iter([(LEFT_OUT, TOO_LONG)])
    stream = archive.extractfile(member)
    assert stream is not None
    return _MEMBERS[suffix](stream.read())


def _of_sample(members: list[list[Entry]]) -> list[Entry]:
    """The entries of the first member with phrases, else of the first with a caption, else why
    there is none."""
    for preferred in NAMES:
        for entries in members:
            if any(kind == preferred for kind, _ in entries):
                return entries
    return members[0][:1] if members else [(LEFT_OUT, NO_CAPTION)]


READERS: dict[str, Callable[[Path], Iterator[Entry]]] = {
    ".json": _read_json,
    ".json.gz": _read_json,
    ".jsonl": _line_reader(of_json),
    ".jsonl.gz": _line_reader(of_json),
    ".txt": _line_reader(of_text),
    ".txt.gz": _line_reader(of_text),
    ".token": _line_reader(of_text),
    ".parquet": _read_parquet,
    ".tar": _read_webdataset,
    ".tar.gz": _read_webdataset,
}
"""Readers of files by suffix (`suffix_of`)."""
