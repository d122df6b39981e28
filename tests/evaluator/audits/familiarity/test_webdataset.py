"""Tars of WebDataset: one caption for each sample, and no tar that is not whole."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from evaluator.audits.familiarity.corpora import (
    CAPTIONS,
    LEFT_OUT,
    LONGEST,
    NO_CAPTION,
    NO_JSON,
    PHRASES,
    TOO_LONG,
    parts,
    samples,
)
from generator.base.errors import UserError


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


def test_a_sample_has_one_caption_wherever_it_stands(tmp_path: Path) -> None:
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
        ".DS_Store": b"x",
    }
    assert list(samples(tar(tmp_path / "a.tar", members))) == [
        (CAPTIONS, "a red car"),
        (CAPTIONS, "a dog"),
        (CAPTIONS, "a cat"),
        (PHRASES, "blue bus"),
        (LEFT_OUT, NO_CAPTION),
        (LEFT_OUT, NO_CAPTION),
        (LEFT_OUT, NO_JSON),
        (LEFT_OUT, TOO_LONG),
        (CAPTIONS, "a tree"),
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_is_cut_off_anywhere_is_not_read_as_whole(mode: str, tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", {f"{i}.txt": b"a red car" for i in range(3)}, mode)
    whole = path.read_bytes()
    assert [text for part in parts(path) for text in part.texts] == ["a red car"] * 3
    for size in range(0, 3 * 1024 + 1, 256) if mode == "w" else range(0, len(whole) // 2, 10):
        path.write_bytes(whole[:size])
        with pytest.raises(UserError, match=r"a.tar cannot be read as tar"):
            list(parts(path))


def test_a_damaged_header_is_not_the_end_of_a_tar(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", {f"{i}.txt": b"a red car" for i in range(3)})
    whole = path.read_bytes()
    path.write_bytes(whole[:1024] + b"x" * 512 + whole[1536:])
    with pytest.raises(UserError, match=r"cannot be read as tar"):
        list(parts(path))
