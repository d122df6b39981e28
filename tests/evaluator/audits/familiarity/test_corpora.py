"""Corpora in every form that is read: which files they are, what is read of each, what is left out
and why."""

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.corpora import (
    _LINE,
    CAPTIONS,
    EMPTY,
    LEFT_OUT,
    LONGEST,
    NO_CAPTION,
    NO_JSON,
    NO_TEXT,
    NOT_UTF8,
    PHRASES,
    READERS,
    TOO_LONG,
    TextPart,
    of_json,
    of_row,
    of_text,
    parts,
)
from evaluator.audits.familiarity.corpus_files import COUNTS_TAG, find_corpus
from generator.base.errors import UserError

TEXTS = ["a red car", "two dogs", "a café", "an old house"]


def tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    """A tar of files."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def row(**values: object) -> bytes:
    return json.dumps(values).encode()


def write(folder: Path, form: str) -> Path:
    """A corpus of TEXTS in some form."""
    path = folder / f"corpus.{form.split()[-1]}"
    written = {
        "coco json": json.dumps(
            {"annotations": [{"id": i, "caption": text} for i, text in enumerate(TEXTS)]}
        ),
        "json": json.dumps([{"captions": TEXTS[:2]}, {"captions": TEXTS[2:]}]),
        "jsonl": "\n".join(json.dumps({"text": text}) for text in TEXTS),
        "txt": "\n\n".join(TEXTS),
    }
    if form in written:
        path.write_text(written[form])
    elif form == "parquet":
        pq.write_table(pa.table({"caption": TEXTS, "url": ["x"] * 4}), path)
    else:
        tar(path, {f"{i}.json": row(caption=text) for i, text in enumerate(TEXTS)})
    return path


@pytest.mark.parametrize("form", ["coco json", "json", "jsonl", "txt", "parquet", "tar"])
def test_each_form_gives_the_captions_in_parts(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form)
    assert list(parts(path, 3)) == [
        TextPart(path, 0, CAPTIONS, TEXTS[:3]),
        TextPart(path, 3, CAPTIONS, TEXTS[3:]),
    ]


@pytest.mark.parametrize("name", ["Flickr8k.token.txt", "results_20130124.token"])
def test_the_image_before_a_caption_of_flickr_is_no_word_of_it(tmp_path: Path, name: str) -> None:
    lines = [f"1000268201_693b08cb0e.jpg#{n}\t{text}" for n, text in enumerate(TEXTS)]
    (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    assert [part.texts for part in parts(tmp_path / name)] == [TEXTS]


@pytest.mark.parametrize("form", ["coco json", "json", "jsonl", "txt"])
def test_compressed_files_and_byte_order_marks_are_read(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form)
    data = gzip.compress(path.read_text().encode("utf-8-sig"))
    compressed = path.with_name(f"corpus.{path.suffix[1:].upper()}.gz")
    compressed.write_bytes(data)
    assert [part.texts for part in parts(compressed)] == [TEXTS]
    compressed.write_bytes(data[:-9])
    with pytest.raises(UserError, match="cannot be read as"):
        list(parts(compressed))


def test_phrases_made_elsewhere_are_told_from_captions(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"phrases": ["red car", "dogs"]}\n{"caption": "a cat"}\n{"components": ["old cat"]}\n'
    )
    assert list(parts(path)) == [
        TextPart(path, 0, PHRASES, ["red car", "dogs"]),
        TextPart(path, 2, CAPTIONS, ["a cat"]),
        TextPart(path, 3, PHRASES, ["old cat"]),
    ]
    assert list(of_row({"caption": "a cat", "phrases": ["old cat", None, ""]})) == [
        (PHRASES, "old cat"),
        (LEFT_OUT, NO_TEXT),
        (LEFT_OUT, EMPTY),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", NO_JSON),
        (b'{"caption": ' + b"[" * 100_000, NO_JSON),
        (b'{"caption": ' + b"9" * 5000 + b"}", NO_JSON),
        (b"[1]", NO_CAPTION),
        (b'{"url": "x"}', NO_CAPTION),
        (b'{"captions": []}', NO_CAPTION),
        (b'{"caption": null}', NO_TEXT),
        (b'{"phrases": [["a"]]}', NO_TEXT),
        (b'{"caption": "\xff"}', NOT_UTF8),
        (b'{"phrases": " "}', EMPTY),
        (b'{"text": "' + b"a" * (LONGEST + 1) + b'"}', TOO_LONG),
    ],
)
def test_a_row_of_the_wrong_form_has_a_reason(line: bytes, reason: str) -> None:
    assert list(of_json(line)) == [(LEFT_OUT, reason)]


@given(st.binary())
def test_any_bytes_are_an_entry_or_have_a_reason(data: bytes) -> None:
    (entry,) = of_text(data)
    try:
        text = data.decode("utf-8-sig").strip()
        assert entry == ((CAPTIONS, text) if text else (LEFT_OUT, EMPTY))
    except UnicodeDecodeError:
        assert entry == (LEFT_OUT, NOT_UTF8)
    assert list(of_json(data))


def test_entries_of_the_wrong_form_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    lines = [
        row(caption="a cat"),
        b"{",
        b"\xff",
        row(caption="x" * _LINE),
        row(caption="a dog"),
        b"{}",
    ]
    path.write_bytes(b"\n".join(lines))
    left_out = {NO_JSON: 1, NOT_UTF8: 1, TOO_LONG: 1, NO_CAPTION: 1}
    assert list(parts(path)) == [TextPart(path, 0, CAPTIONS, ["a cat", "a dog"], left_out)]
    assert [(part.texts, sum(part.left_out.values())) for part in parts(path, 1)] == [
        (["a cat"], 3),
        (["a dog"], 1),
    ]
    table = tmp_path / "c.parquet"
    for columns, texts, reasons in (
        ({"captions": [["a cat", None], None, []]}, ["a cat"], {NO_TEXT: 2, NO_CAPTION: 1}),
        ({"url": ["x", "y"]}, [], {NO_CAPTION: 2}),
    ):
        pq.write_table(pa.table(columns), table)
        assert [(part.texts, part.left_out) for part in parts(table)] == [(texts, reasons)]
    (tmp_path / "c.json").write_text('{"caption": "a cat"}')
    assert [(part.texts, part.left_out) for part in parts(tmp_path / "c.json")] == [
        ([], {NO_CAPTION: 1})
    ]
    (tmp_path / "c.json").write_text(
        '[{"id": 123456789012345678901234567890, "score": 1e400, "caption": "a cat"}]'
    )
    assert [part.texts for part in parts(tmp_path / "c.json")] == [["a cat"]]


def test_a_part_has_no_more_characters_than_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("\n".join("x" * 1_000_000 for _ in range(40)))
    assert [len(part.texts) for part in parts(path)] == [17, 17, 6]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"annotations": [{"caption": "a cat"}', "a.json cannot be read as json"),
        ("a.json", b"", "cannot be read as json"),
        ("a.json", b'["\xff"]', r"\(lexical error: invalid bytes in UTF8 string\)"),
        ("a.json", b"[" * 1_000_000, "it is nested too deeply"),
        ("a.json", b'[{"caption": ' + b"[" * 1_000_000, "it is nested too deeply"),
        ("a.parquet", b"x", "a.parquet is damaged"),
        ("a.tar", b"x" * 600, "cannot be read as tar"),
        ("a.jsonl.gz", b"x", "cannot be read as jsonl.gz"),
        ("a.txt", b"\xff\xfea\0", "it is UTF-16, expected UTF-8"),
    ],
)
def test_a_wholly_damaged_file_is_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(parts(tmp_path / name))


def test_a_sample_of_webdataset_has_one_caption_wherever_it_stands(tmp_path: Path) -> None:
    members = {
        "0.jpg": b"x",
        "0.json": row(caption="a red car"),
        "0.txt": b"a red car",
        "1.txt": b"",
        "1.json": row(caption="a dog"),
        "2.caption": b"a cat",
        "2.json": row(caption="a cat"),
        "3.TXT": b"a blue bus",
        "3.json": row(caption="a blue bus", phrases=["blue bus"]),
        "4.jpg": b"x",
        "5.json": row(url="x"),
        "6.json": b"{",
        "7.txt": b"a" * (LONGEST + 1),
        "a.b/7.txt": b"a tree",
        "a.b/8.seg.txt": b"a lamp",
        ".DS_Store": b"x",
    }
    assert list(READERS[".tar"](tar(tmp_path / "a.tar", members))) == [
        (CAPTIONS, "a red car"),
        (CAPTIONS, "a dog"),
        (CAPTIONS, "a cat"),
        (PHRASES, "blue bus"),
        (LEFT_OUT, NO_CAPTION),
        (LEFT_OUT, NO_CAPTION),
        (LEFT_OUT, NO_JSON),
        (LEFT_OUT, TOO_LONG),
        (CAPTIONS, "a tree"),
        (CAPTIONS, "a lamp"),
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_is_cut_off_or_damaged_anywhere_is_not_read_as_whole(
    mode: str, tmp_path: Path
) -> None:
    path = tar(tmp_path / "a.tar", {f"{i}.txt": b"a red car" for i in range(3)}, mode)
    whole = path.read_bytes()
    assert [part.texts for part in parts(path)] == [["a red car"] * 3]
    sizes = range(0, 3 * 1024 + 1, 256) if mode == "w" else range(0, len(whole) // 2, 10)
    headers = [whole[:1024] + b"x" * 512 + whole[1536:]] if mode == "w" else []
    for damaged in (*headers, *(whole[:size] for size in sizes)):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"a.tar cannot be read as tar"):
            list(parts(path))


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    return folder


def found_in(*references: Path) -> list[str]:
    return [file.name for file in find_corpus(references).files]


def test_files_of_subfolders_are_read_by_name_and_others_are_named(tmp_path: Path) -> None:
    names = "b/2.JSONL b/10.json.gz a/x.txt a/1.jpg a/2.JPG c.csv README .hidden/x.txt a/.x.txt"
    corpus = find_corpus([touch(tmp_path, *names.split())])
    assert [file.name for file in corpus.files] == ["x.txt", "10.json.gz", "2.JSONL"]
    assert corpus.not_read == {".jpg": 2, ".csv": 1, "without a suffix": 1}


def test_files_that_img2dataset_writes_beside_captions_are_left_out_and_counted(
    tmp_path: Path,
) -> None:
    touch(tmp_path, "t/0.tar", "t/0.parquet", "t/0_stats.json", "t/1.parquet", "t/1_stats.json")
    touch(
        tmp_path,
        "f/0/a.txt",
        "f/0/a.json",
        "f/0/b.json",
        "f/0.parquet",
        "f/0_stats.json",
        "f/alone_stats.json",
    )
    corpus = find_corpus([tmp_path])
    read = [file.relative_to(tmp_path).as_posix() for file in corpus.files]
    assert read == ["f/alone_stats.json", "f/0/a.txt", "f/0/b.json", "t/0.tar", "t/1.parquet"]
    assert corpus.repeated == {".parquet": 2, "_stats.json": 3, ".json": 1}


def test_results_and_counts_inside_a_corpus_are_left_out(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "x.txt",
        "summary.json",
        "familiarity/splits/seen.txt",
        "familiarity/per_sample_overlap.tsv",
    )
    touch(
        tmp_path,
        "familiarity/summary.json",
        "familiarity/counts/0.parquet",
        "familiarity/excluded.tsv",
    )
    touch(tmp_path, "kept/0.parquet", f"kept/{COUNTS_TAG}")
    assert found_in(tmp_path) == ["summary.json", "x.txt"]
    assert find_corpus([tmp_path]).not_read == {}


def test_a_file_that_several_references_have_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = touch(tmp_path / "a", "x.txt", "y.txt")
    os.symlink(folder / "x.txt", tmp_path / "z.txt")
    monkeypatch.chdir(tmp_path)
    assert found_in(folder, Path("a"), Path("a/x.txt"), tmp_path / "z.txt") == ["x.txt", "y.txt"]
    assert str(find_corpus([Path("a"), Path("z.txt"), Path("a")])) == "a, z.txt"


def test_a_file_that_is_not_a_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"There is no corpus at .*b \(not read: 1 .jpg\); give a file or a folder"
    ):
        find_corpus([touch(tmp_path / "a", "x.txt"), touch(tmp_path / "b", "x.jpg")])
    with pytest.raises(UserError, match=r"Expected .* to end in .json"):
        find_corpus([touch(tmp_path, "x.doc") / "x.doc"])
