"""Corpora that cost far more than their bytes, or lead out of their folder: refused soon, in little
memory."""

import gzip
import os
import resource
import tarfile
from collections import deque
from pathlib import Path

import pytest

from evaluator.audits.familiarity.corpora import read_parts
from evaluator.audits.familiarity.corpus_files import find_corpus
from generator.base.errors import UserError
from tests.hostile_files import PARQUET_BOMBS, parquet_bomb

SECONDS = 60


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


MANY = [b"x" * (1 << 20)] * 300
BOMBS = {
    # a number of a million digits, for which tarfile looks with a pattern of quadratic time
    "digits.tar.gz": [header("x", 1 << 20, tarfile.XHDTYPE), b"9" * (1 << 20), header("a.txt", 0)],
    "name.tar.gz": [header("x", 300 << 20, tarfile.GNUTYPE_LONGNAME), *MANY, header("a.txt", 0)],
    "members.tar.gz": [header("a.txt", 0) * 1000] * 1000,  # empty ones, and no end
    "text.json.gz": [b'[{"caption": "', *MANY, b'"}]'],
    "lines.txt.gz": MANY * 4,
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.full] * (name not in ("digits.tar.gz", "name.tar.gz"))
        )
        for name in BOMBS
    ],
)
def test_small_files_that_state_much_are_refused_soon(tmp_path: Path, name: str) -> None:
    with gzip.open(tmp_path / name, "wb", 6) as file:
        file.writelines(BOMBS[name])
    refused(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.full] * (name != "page")) for name in PARQUET_BOMBS],
)
def test_bombs_of_parquet_are_refused_soon(tmp_path: Path, name: str) -> None:
    refused(parquet_bomb(tmp_path, name, "caption"))


def refused(file: Path) -> None:
    before = used()
    with pytest.raises(UserError, match=str(file)):
        deque(read_parts([file], [file.parent]), maxlen=1)
    assert used() - before < SECONDS


def used() -> float:
    """Seconds of processor time of processes that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_links_in_a_folder_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("a red car\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "secret.txt").write_text("a red car\n")
    os.symlink(tmp_path / "secret.txt", folder / "link.txt")
    os.symlink(tmp_path / "more", folder / "linked")
    with pytest.raises(UserError, match=r"There is no corpus at .*links"):
        find_corpus([folder])
    (folder / "own.txt").write_text("a dog\n")
    corpus = find_corpus([folder])
    assert [file.name for file in corpus.files] == ["own.txt"]
    assert corpus.not_read == {"links": 2}
    (named,) = find_corpus([folder / "link.txt"]).files  # what a person names is read
    assert [part.texts for part in read_parts([named], [named.resolve()])] == [["a red car"]]
