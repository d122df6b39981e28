"""Which files of folders are a corpus."""

import os
from pathlib import Path

import pytest

from evaluator.audits.familiarity.corpus_files import COUNTS_TAG, find_corpus
from generator.base.errors import UserError


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    return folder


def found(*references: Path) -> list[str]:
    return [file.name for file in find_corpus(references).files]


def test_files_of_subfolders_are_read_by_name_and_others_are_named(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "b/2.JSONL",
        "b/10.json.gz",
        "a/x.txt",
        "a/1.jpg",
        "a/2.JPG",
        "c.csv",
        "README",
        ".hidden/x.txt",
        "a/.x.txt",
    )
    corpus = find_corpus([tmp_path])
    assert [file.name for file in corpus.files] == ["x.txt", "10.json.gz", "2.JSONL"]
    assert corpus.not_read == {".jpg": 2, ".csv": 1, "without a suffix": 1}


def test_files_that_img2dataset_writes_beside_captions_are_left_out_and_counted(tmp_path: Path) -> None:
    touch(tmp_path, "t/0.tar", "t/0.parquet", "t/0_stats.json", "t/1.parquet", "t/1_stats.json")
    touch(tmp_path, "f/0/a.txt", "f/0/a.json", "f/0/b.json", "f/0.parquet", "f/0_stats.json", "f/alone_stats.json")
    corpus = find_corpus([tmp_path])
    assert [file.relative_to(tmp_path).as_posix() for file in corpus.files] == [
        "f/alone_stats.json",
        "f/0/a.txt",
        "f/0/b.json",
        "t/0.tar",
        "t/1.parquet",
    ]
    assert corpus.repeated == {".parquet": 2, "_stats.json": 3, ".json": 1}


def test_results_and_counts_inside_a_corpus_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "x.txt", "summary.json", "familiarity/splits/seen.txt", "familiarity/per_sample_overlap.tsv")
    touch(
        tmp_path,
        "familiarity/summary.json",
        "familiarity/counts/0.parquet",
        "familiarity/excluded.tsv",
        "kept/0.parquet",
        f"kept/{COUNTS_TAG}",
    )
    corpus = find_corpus([tmp_path])
    assert [file.name for file in corpus.files] == ["summary.json", "x.txt"]
    assert corpus.not_read == {}


def test_a_file_that_several_references_have_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = touch(tmp_path / "a", "x.txt", "y.txt")
    os.symlink(folder / "x.txt", tmp_path / "z.txt")
    monkeypatch.chdir(tmp_path)
    assert found(folder, Path("a"), Path("a/x.txt"), tmp_path / "z.txt") == ["x.txt", "y.txt"]
    assert str(find_corpus([Path("a"), Path("z.txt"), Path("a")])) == "a, z.txt"


def test_what_is_no_corpus_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"There is no corpus at .*empty; give a file or a folder"):
        find_corpus([touch(tmp_path / "a", "x.txt"), tmp_path / "empty"])
    with pytest.raises(UserError, match=r"There is no corpus at .* \(not read: 1 .jpg\)"):
        find_corpus([touch(tmp_path / "b", "x.jpg")])
    with pytest.raises(UserError, match=r"Expected .* to end in .json"):
        find_corpus([touch(tmp_path, "x.doc") / "x.doc"])
