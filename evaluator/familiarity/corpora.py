"""Reference corpora: captions, or phrases made elsewhere, from files of any size, a part at a time."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet as pq

from generator.dataset.errors import UserError

CAPTIONS, PHRASES = "captions", "phrases"
_TEXTS = ("caption", "captions", "text", "txt", "TEXT")
_PHRASES = ("phrases", "components")
_SUFFIXES = (".json", ".jsonl", ".parquet", ".tar", ".txt")
_PART = 50_000


@dataclass(frozen=True)
class Part:
    """Some texts of a corpus: `texts` from `start` of a file. kind: CAPTIONS or PHRASES."""

    file: Path
    start: int
    kind: str
    texts: list[str]


def corpus_files(path: Path) -> list[Path]:
    """The files of a corpus: the file itself, or those of a folder and its subfolders, sorted. Raises UserError where there are none."""
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise UserError(
            f"There is no corpus at {path}; give a file or a folder of files of captions: COCO's JSON, JSON lines, Parquet, WebDataset "
            "(.tar) or one caption a line (.txt)."
        )
    return found


def parts(path: Path, size: int = _PART) -> Iterator[Part]:
    """The texts of a corpus in parts of at most `size`, in an order that depends on the names of the files alone.

    Raises UserError for a file without captions or phrases, with its name and line.
    """
    for file in corpus_files(path):
        start = 0
        for kind, rows in groupby(_texts(file), key=itemgetter(0)):
            texts = (text for _, text in rows)
            while some := list(islice(texts, size)):
                yield Part(file, start, kind, some)
                start += len(some)


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    """The kind and text of each caption or phrase of a file."""
    try:
        yield from _READERS[file.suffix](file)
    except KeyError:
        raise UserError(f"Expected {file} to end in {', '.join(_SUFFIXES)}; rename it to what it holds.") from None
    except (ValueError, UnicodeDecodeError, tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{file} cannot be read as {file.suffix[1:]} ({error}); download or write it again.") from None


def _of_row(row: object, file: Path, place: str) -> Iterator[tuple[str, str]]:
    """A row's caption or captions, or its phrases."""
    if isinstance(row, dict):
        for kind, names in ((PHRASES, _PHRASES), (CAPTIONS, _TEXTS)):
            for name in names:
                if name in row:
                    given = row[name] if isinstance(row[name], list) else [row[name]]
                    yield from ((kind, text) for text in given if isinstance(text, str))
                    return
    raise UserError(
        f"{file}, {place}: expected an object with a caption ({', '.join(_TEXTS)}) or phrases ({', '.join(_PHRASES)})."
    )


def _json(file: Path) -> Iterator[tuple[str, str]]:
    """COCO's annotations, or a list of rows."""
    with file.open(encoding="utf-8") as opened:
        data = json.load(opened)
    rows = data.get("annotations") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise UserError(f"{file}: expected COCO's `annotations` or a list of objects.")
    for i, row in enumerate(rows):
        yield from _of_row(row, file, f"entry {i + 1}")


def _jsonl(file: Path) -> Iterator[tuple[str, str]]:
    with file.open(encoding="utf-8") as lines:
        for i, line in enumerate(lines):
            if line.strip():
                yield from _of_row(json.loads(line), file, f"line {i + 1}")


def _txt(file: Path) -> Iterator[tuple[str, str]]:
    with file.open(encoding="utf-8") as lines:
        yield from ((CAPTIONS, line.strip()) for line in lines if line.strip())


def _parquet(file: Path) -> Iterator[tuple[str, str]]:
    opened = pq.ParquetFile(file)
    names = [name for name in (*_PHRASES, *_TEXTS) if name in opened.schema_arrow.names]
    if not names:
        raise UserError(
            f"{file}: expected a column of captions ({', '.join(_TEXTS)}) or phrases ({', '.join(_PHRASES)})."
        )
    for batch in opened.iter_batches(columns=names[:1]):
        for value in batch.column(0).to_pylist():
            yield from _of_row({names[0]: value}, file, "a row")


def _tar(file: Path) -> Iterator[tuple[str, str]]:
    """WebDataset: the members .txt, .caption and .json."""
    with tarfile.open(file, "r|*") as archive:
        for member in archive:
            suffix = Path(member.name).suffix
            if not member.isfile() or suffix not in (".txt", ".caption", ".json") or member.size > 1 << 20:
                continue
            opened = archive.extractfile(member)
            text = opened.read().decode() if opened else ""
            if suffix == ".json":
                row = json.loads(text)
                if isinstance(row, dict) and any(name in row for name in (*_TEXTS, *_PHRASES)):
                    yield from _of_row(row, file, member.name)
            elif text.strip():
                yield CAPTIONS, text.strip()


_READERS = {".json": _json, ".jsonl": _jsonl, ".txt": _txt, ".parquet": _parquet, ".tar": _tar}
