"""Captions of WebDataset's tars, such as img2dataset writes: one caption for each sample, wherever it stands."""

import tarfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath

from evaluator.audits.familiarity.entries import (
    LEFT_OUT,
    LONGEST,
    NO_CAPTION,
    PHRASES,
    TOO_LONG,
    Entry,
    of_json,
    of_text,
)

_READERS = {".txt": of_text, ".caption": of_text, ".json": of_json}
"""By suffix; of several the first that has a caption counts."""


class _Header(tarfile.TarInfo):
    """tarfile takes a header that is cut off or damaged for the end of the archive; here only the end block is its end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_Header":
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"it stops before the end of its archive: {error}") from None


def samples(file: Path) -> Iterator[Entry]:
    """The phrases or the caption of each sample: members beside each other whose names are the same up to the first dot.

    Raises tarfile.TarError for a tar that is damaged or not whole.
    """
    with tarfile.open(file, "r|*", tarinfo=_Header) as archive:
        named = ((_key(member.name), member) for member in archive if member.isfile())
        for key, group in groupby(named, key=lambda each: each[0]):
            found: dict[str, list[Entry]] = {}
            for _, member in group:
                suffix = PurePosixPath(member.name).suffix.lower()
                if suffix in _READERS and suffix not in found:
                    found[suffix] = list(_read(archive, member, suffix))
            if key:
                yield from _of_sample(found)


def _key(name: str) -> str:
    """What members of a sample share; "" for hidden files.

    >>> _key("a.b/0001.seg.png"), _key("a/.DS_Store")
    ('a.b/0001', '')
    """
    path = PurePosixPath(name)
    stem = path.name.partition(".")[0]
    return str(path.with_name(stem)) if stem else ""


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo, suffix: str) -> Iterator[Entry]:
    if member.size > LONGEST:
        yield LEFT_OUT, TOO_LONG
        return
    opened = archive.extractfile(member)
    assert opened is not None
    yield from _READERS[suffix](opened.read())


def _of_sample(found: dict[str, list[Entry]]) -> Iterator[Entry]:
    """Phrases first, since somebody has made them of the caption."""
    row = found.get(".json", [])
    first = [row] if any(kind == PHRASES for kind, _ in row) else []
    candidates = [*first, *(found[suffix] for suffix in _READERS if suffix in found)]
    for entries in candidates:
        if any(kind != LEFT_OUT for kind, _ in entries):
            yield from entries
            return
    yield candidates[0][0] if candidates else (LEFT_OUT, NO_CAPTION)
