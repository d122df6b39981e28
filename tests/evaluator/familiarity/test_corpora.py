"""Corpora in every form that is read."""

import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.familiarity.corpora import CAPTIONS, PHRASES, corpus_files, parts
from generator.dataset.errors import UserError

TEXTS = ["a red car", "two dogs", "a café", "an old house"]


def _tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        for i, text in enumerate(TEXTS):
            suffix, data = ("txt", text) if i % 2 else ("json", json.dumps({"caption": text}))
            for name, content in ((f"{i}.{suffix}", data.encode()), (f"{i}.jpg", b"\xff")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def write(folder: Path, form: str) -> Path:
    """A corpus of TEXTS in some form."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"corpus.{form.split()[-1]}"
    if form == "coco json":
        path.write_text(json.dumps({"annotations": [{"id": i, "caption": text} for i, text in enumerate(TEXTS)]}))
    elif form == "json":
        path.write_text(json.dumps([{"captions": TEXTS[:2]}, {"captions": TEXTS[2:]}]))
    elif form == "jsonl":
        path.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS))
    elif form == "txt":
        path.write_text("\n\n".join(TEXTS))
    elif form == "parquet":
        pq.write_table(pa.table({"caption": TEXTS, "url": ["x"] * 4}), path)
    else:
        _tar(path)
    return path


@pytest.mark.parametrize("form", ["coco json", "json", "jsonl", "txt", "parquet", "tar"])
def test_each_form_gives_the_captions_in_parts(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form)
    found = list(parts(path, 3))
    assert [text for part in found for text in part.texts] == TEXTS
    assert [(part.start, len(part.texts), part.kind) for part in found] == [(0, 3, CAPTIONS), (3, 1, CAPTIONS)]


def test_a_folder_has_all_its_files_by_name(tmp_path: Path) -> None:
    for form in ("jsonl", "txt"):
        write(tmp_path / "b", form)
    write(tmp_path / "a", "parquet")
    (tmp_path / "a" / "image.jpg").write_bytes(b"x")
    assert [file.suffix for file in corpus_files(tmp_path)] == [".parquet", ".jsonl", ".txt"]
    assert [text for part in parts(tmp_path) for text in part.texts] == TEXTS * 3


def test_phrases_made_elsewhere_are_told_from_captions(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"phrases": ["red car", "dogs"]}\n{"caption": "a cat"}\n{"components": ["old cat"]}\n')
    assert [(part.kind, part.start, part.texts) for part in parts(path)] == [
        (PHRASES, 0, ["red car", "dogs"]), (CAPTIONS, 2, ["a cat"]), (PHRASES, 3, ["old cat"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("a.jsonl", '{"url": "x"}', "a.jsonl, line 1: expected an object with a caption"), ("a.json", "{}", "annotations"),
     ("a.json", "{", "cannot be read as json"), ("a.parquet", "x", "cannot be read as parquet"), ("a.tar", "x" * 600, "cannot be read as tar"),
     ("a.csv", "x", "Expected .* to end in")],
)  # fmt: skip
def test_what_is_no_corpus_is_said(name: str, content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=said):
        list(parts(tmp_path / name))


def test_an_empty_folder_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no corpus at"):
        list(parts(tmp_path))
