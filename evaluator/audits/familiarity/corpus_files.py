"""Finds the files of a reference corpus: the given files, and the caption files in given
folders."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.audits.familiarity.corpora import READERS, suffix_of
from generator.base.errors import UserError

CSV = ".csv"
COUNTS_TAG = "CACHEDIR.TAG"
"""Marks a folder of counts as a cache, which can be computed again (bford.info/cachedir)."""
_RESULT = "per_sample_overlap.tsv"
_RESULTS = ("splits", "counts", "summary.json", "excluded.tsv", _RESULT)
_STATS = "_stats.json"
_LINKS = "links"
_FORMS = (
    "COCO's JSON, JSON lines, Parquet, WebDataset (.tar), a caption in each line (.txt), or a "
    "table of counts (.csv, .parquet)"
)


@dataclass(frozen=True)
class Corpus:
    """references: the given files and folders. files: without duplicates. not_read: number of files
    in folders with another form, by suffix. repeated: number of files that repeat the captions of a
    file beside them, by suffix."""

    references: tuple[Path, ...]
    files: tuple[Path, ...]
    not_read: Mapping[str, int]
    repeated: Mapping[str, int]

    def __str__(self) -> str:
        return ", ".join(map(str, self.references))


def find_corpus(references: Sequence[Path]) -> Corpus:
    """The files among references, and the files in their folders and subfolders, in order of their
    names.

    Skips hidden files, links, output of `score familiarity`, and in img2dataset's layout the files
    that repeat the captions of a tar, folder or text file beside them. Raises UserError for a
    reference without a readable file.
    """
    files: dict[Path, Path] = {}
    not_read: Counter[str] = Counter()
    repeated: Counter[str] = Counter()
    for reference in references:
        if reference.is_file():
            if suffix_of(reference) not in (*READERS, CSV):
                raise UserError(
                    f"Expected {reference} to end in {', '.join((*READERS, CSV))}; rename it to "
                    f"match its contents."
                )
            files.setdefault(reference.resolve(), reference)
            continue
        others: Counter[str] = Counter()
        own: dict[Path, Path] = {}
        for file, repeats in _walk(reference):
            suffix = suffix_of(file)
            if file.is_symlink():
                others[_LINKS] += 1
            elif suffix not in READERS:
                others[suffix or "without a suffix"] += 1
            elif repeats:
                repeated[_STATS if file.name.endswith(_STATS) else suffix] += 1
            else:
                own[file.resolve()] = file
        if not own:
            said = f" (not read: {by_number(others)})" if others else ""
            raise UserError(
                f"There is no corpus at {reference}{said}; give a file or a folder of files of "
                f"{_FORMS}."
            )
        not_read += others
        files = own | files
    return Corpus(
        tuple(dict.fromkeys(references)), tuple(files.values()), dict(not_read), dict(repeated)
    )


def by_number(counts: Mapping[str, int]) -> str:
    """Counts as text, largest first.

    >>> by_number({".csv": 1, ".jpg": 1000})
    '1,000 .jpg, 1 .csv'
    """
    return ", ".join(
        f"{n:,} {name}" for name, n in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yields the files below a folder, and whether each repeats another file."""
    for where, folders, names in os.walk(folder):
        if COUNTS_TAG in names:
            folders.clear()
            continue
        written = _RESULTS if _RESULT in names else ()
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in written
        )
        beside = {*names, *folders}
        for name in sorted([*names, *(name for name in folders if Path(where, name).is_symlink())]):
            path = Path(where, name)
            if (
                not name.startswith(".")
                and name not in written
                and (path.is_file() or path.is_symlink())
            ):
                yield path, _repeats(name, beside)


def _repeats(name: str, beside: set[str]) -> bool:
    """Whether this is a file of img2dataset that repeats the captions of a file in `beside`.

    >>> beside = {"0.tar", "0.parquet", "a.json", "a.txt", "b.json"}
    >>> names = "0.parquet", "0_stats.json", "a.json", "0.tar", "b.json"
    >>> [_repeats(name, beside) for name in names]
    [True, True, True, False, False]
    """
    for end, others in (
        (_STATS, (".tar", ".parquet", "")),
        (".parquet", (".tar", "")),
        (".json", (".txt",)),
    ):
        if name.endswith(end):
            return any(name.removesuffix(end) + other in beside for other in others)
    return False
