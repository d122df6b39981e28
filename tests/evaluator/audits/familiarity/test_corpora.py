"""Corpora in every form that is read."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.audits.familiarity.corpora import (
    _LINE,
    CAPTIONS,
    NO_CAPTION,
    NO_JSON,
    NO_TEXT,
    NOT_UTF8,
    PHRASES,
    TOO_LONG,
    Part,
    parts,
)
from generator.base.errors import UserError
from tests.evaluator.audits.familiarity.test_webdataset import tar

TEXTS = ["a red car", "two dogs", "a café", "an old house"]


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
    elif form == "one json":
        path.write_text(json.dumps({"captions": TEXTS, "url": "x"}))
    elif form == "txt":
        path.write_text("\n\n".join(TEXTS))
    elif form == "parquet":
        pq.write_table(pa.table({"caption": TEXTS, "url": ["x"] * 4}), path)
    else:
        members = {f"{i}.json": json.dumps({"caption": text}).encode() for i, text in enumerate(TEXTS)}
        tar(path, {**members, "4.jpg": b"x"})
    return path


@pytest.mark.parametrize("form", ["coco json", "json", "one json", "jsonl", "txt", "parquet", "tar"])
def test_each_form_gives_the_captions_in_parts(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form)
    found = list(parts(path, 3))
    assert [text for part in found for text in part.texts] == TEXTS
    assert [(part.start, len(part.texts), part.kind) for part in found] == [(0, 3, CAPTIONS), (3, 1, CAPTIONS)]


@pytest.mark.parametrize("form", ["coco json", "json", "jsonl", "txt"])
def test_compressed_files_and_byte_order_marks_are_read(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form)
    data = path.read_text().encode("utf-8-sig")
    compressed = path.with_name(f"corpus.{path.suffix[1:].upper()}.gz")
    compressed.write_bytes(gzip.compress(data))
    assert [text for part in parts(compressed) for text in part.texts] == TEXTS
    compressed.write_bytes(gzip.compress(data)[:-9])
    with pytest.raises(UserError, match="cannot be read as"):
        list(parts(compressed))


def test_phrases_made_elsewhere_are_told_from_captions(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"phrases": ["red car", "dogs"]}\n{"caption": "a cat"}\n{"components": ["old cat"]}\n')
    assert [(part.kind, part.start, part.texts) for part in parts(path)] == [
        (PHRASES, 0, ["red car", "dogs"]),
        (CAPTIONS, 2, ["a cat"]),
        (PHRASES, 3, ["old cat"]),
    ]


def test_entries_of_the_wrong_form_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    lines = [
        b'{"caption": "a cat"}',
        b"{",
        b'{"caption": null}',
        b"\xff",
        b'{"caption": "' + b"x" * _LINE + b'"}',
        b'{"caption": "a dog"}',
        b"{}",
    ]
    path.write_bytes(b"\n".join(lines))
    left_out = {NO_JSON: 1, NO_TEXT: 1, NOT_UTF8: 1, TOO_LONG: 1, NO_CAPTION: 1}
    assert list(parts(path)) == [Part(path, 0, CAPTIONS, ["a cat", "a dog"], left_out)]
    assert [(part.texts, sum(part.left_out.values())) for part in parts(path, 1)] == [(["a cat"], 4), (["a dog"], 1)]
    pq.write_table(pa.table({"captions": [["a cat", None], None, []]}), tmp_path / "c.parquet")
    assert [(part.texts, part.left_out) for part in parts(tmp_path / "c.parquet")] == [
        (["a cat"], {NO_TEXT: 2, NO_CAPTION: 1})
    ]
    pq.write_table(pa.table({"url": ["x", "y"]}), tmp_path / "c.parquet")
    assert [(part.texts, part.left_out) for part in parts(tmp_path / "c.parquet")] == [([], {NO_CAPTION: 2})]


def test_numbers_of_any_size_are_read_over(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[{"id": 123456789012345678901234567890, "score": 1e400, "caption": "a cat"}]')
    assert [part.texts for part in parts(tmp_path / "c.json")] == [["a cat"]]


def test_a_part_has_no_more_characters_than_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("\n".join("x" * 1_000_000 for _ in range(40)))
    assert [len(part.texts) for part in parts(path)] == [17, 17, 6]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "a.json cannot be read as json"),
        ("a.json", '{"annotations": [{"caption": "a cat"}', "cannot be read as json"),
        ("a.json", "", "cannot be read as json"),
        ("a.json", b'["\xff"]', r"\(lexical error: invalid bytes in UTF8 string\)"),
        ("a.json", "[" * 1_000_000, "it is nested too deeply"),
        ("a.json", '[{"caption": ' + "[" * 1_000_000, "it is nested too deeply"),
        ("a.parquet", "x", "cannot be read as parquet"),
        ("a.tar", "x" * 600, "cannot be read as tar"),
        ("a.jsonl.gz", "x", "cannot be read as jsonl.gz"),
        ("a.txt", b"\xff\xfea\0", "it is UTF-16, expected UTF-8"),
    ],
)
def test_a_file_that_is_damaged_as_a_whole_is_said(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError, match=said):
        list(parts(tmp_path / name))
