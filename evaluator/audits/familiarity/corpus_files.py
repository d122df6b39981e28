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
"""The suffix of tables of counts. In folders they are not read: most tables there are others."""
COUNTS_TAG = "CACHEDIR.TAG"
"""Marks a folder of counts as a cache, which can be computed again (bford.info/cachedir)."""
_RESULT = "per_sample_overlap.tsv"
"""The file by which results of `score familiarity` are known."""
_RESULTS = ("splits", "counts", "summary.json", "excluded.tsv", _RESULT)
"""What `score familiarity` writes into a folder."""
_STATS = "_stats.json"
"""How the names of img2dataset's statistics end."""
_LINKS = "links"
"""Stands for the suffix of links, among the files that are not read."""
_FORMS = (
    "COCO's JSON, JSON lines, Parquet, WebDataset (.tar), a caption in each line (.txt), or a "
    "table of counts (.csv, .parquet)"
)


@dataclass(frozen=True)
class Corpus:
    """The files of a reference corpus."""

    references: tuple[Path, ...]
    """The files and folders that the user gave."""
    files: tuple[Path, ...]
    """Their files, without duplicates."""
    not_read: Mapping[str, int]
    """{suffix: number of files} of files in folders that have another form."""
    repeated: Mapping[str, int]
    """{suffix: number of files} of files that repeat the captions of a file beside them."""

    def __str__(self) -> str:
        return ", ".join(map(str, self.references))


def find_corpus(references: Sequence[Path]) -> Corpus:
    """Find the files of a corpus.

    Skips hidden files, links, output of `score familiarity`, and in img2dataset's layout the files
    that repeat the captions of a tar, folder or text file beside them.

    Args:
        references: Files, and folders, whose subfolders are searched too.

    Returns:
        The files among references, and the files in folders in order of their names.

    Raises:
        UserError: A reference has no readable file.
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
            # By the resolved path, so that a file which is given twice, or lies in a given folder,
            # counts once.
            files.setdefault(reference.resolve(), reference)
            continue
        # A folder may hold anything, so what cannot be read is counted and said, where a named file
        # is an error.
        others: Counter[str] = Counter()
        own: dict[Path, Path] = {}
        for file, repeats in _walk(reference):
            suffix = suffix_of(file)
            # A link may lead out of the folder or to a file that is read anyway.
            if file.is_symlink():
                others[_LINKS] += 1
            elif suffix not in READERS:
                others[suffix or "without a suffix"] += 1
            elif repeats:
                repeated[_STATS if file.name.endswith(_STATS) else suffix] += 1
            else:
                own[file.resolve()] = file
        if not own:
            skipped = f" (not read: {by_number(others)})" if others else ""
            raise UserError(
                f"There is no corpus at {reference}{skipped}; give a file or a folder of files of "
                f"{_FORMS}."
            )
        not_read += others
        files = own | files
    return Corpus(
        tuple(dict.fromkeys(references)), tuple(files.values()), dict(not_read), dict(repeated)
    )


def by_number(counts: Mapping[str, int]) -> str:
    """Write counts as text.

    Args:
        counts: {name: count}.

    Returns:
        The counts, largest first.

    Example:
        >>> by_number({".csv": 1, ".jpg": 1000})
        '1,000 .jpg, 1 .csv'
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ordered)


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files below a folder, and whether each repeats another file."""
    for where, folders, names in os.walk(folder):
        # Earlier counts of a corpus are tables of counts themselves: read again, they would count
        # its captions twice.
        if COUNTS_TAG in names:
            folders.clear()
            continue
        written = _RESULTS if _RESULT in names else ()
        # Changing the list in place tells os.walk where to go, and in which order.
        folders[:] = sorted(name for name in folders if _is_read(name, written))
        beside = {*names, *folders}
        # os.walk does not follow these links; they are listed so that they are counted among what
        # is not read.
        links_to_folders = [name for name in folders if Path(where, name).is_symlink()]
        for name in sorted([*names, *links_to_folders]):
            path = Path(where, name)
            if _is_read(name, written) and (path.is_file() or path.is_symlink()):
                yield path, _repeats(name, beside)


def _is_read(name: str, written: Sequence[str]) -> bool:
    return not name.startswith(".") and name not in written


def _repeats(name: str, beside: set[str]) -> bool:
    """Whether this is a file of img2dataset that repeats the captions of a file in `beside`.

    >>> beside = {"0.tar", "0.parquet", "a.json", "a.txt", "b.json"}
    >>> names = "0.parquet", "0_stats.json", "a.json", "0.tar", "b.json"
    >>> [_repeats(name, beside) for name in names]
    [True, True, True, False, False]
    """
    # The files that img2dataset writes for a shard: 0.tar or a folder 0, its metadata in 0.parquet
    # and 0_stats.json, and in a folder each caption as .txt and in .json.
    repeated_by = {
        _STATS: (".tar", ".parquet", ""),
        ".parquet": (".tar", ""),
        ".json": (".txt",),
    }
    for end, suffixes in repeated_by.items():
        if name.endswith(end):
            stem = name.removesuffix(end)
            return any(stem + suffix in beside for suffix in suffixes)
    return False
