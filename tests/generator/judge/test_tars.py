"""Faults of tars: wrong places, other bytes, images that do not decode."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from generator.dataset.records import PACKED
from generator.judge.tars import image_fault, packed_paths, tar_faults
from tests.hostile_files import sparse


def packed(folder: Path, content: bytes, **listed: object) -> Path:
    """A world whose only image is in a tar; `listed` changes its row in packed.parquet."""
    with tarfile.open(folder / "0.tar", "w") as tar:
        member = tarfile.TarInfo("000000.png")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    with tarfile.open(folder / "0.tar") as tar:
        offset = tar.getmembers()[0].offset_data
    row = {
        "path": "images/000000.png", "tar": "0.tar", "offset": offset, "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(), **listed,
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row], schema=PACKED), folder / "packed.parquet")
    return folder


def image() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    return file.getvalue()


def test_a_whole_tar_has_no_fault(tmp_path: Path) -> None:
    assert list(tar_faults(packed(tmp_path, image()))) == []
    assert packed_paths(tmp_path) == {"images/000000.png"}


def test_a_world_without_tars_has_no_fault(tmp_path: Path) -> None:
    assert list(tar_faults(tmp_path)) == []
    assert packed_paths(tmp_path) == set()


def test_wrong_places_and_other_bytes_are_named(tmp_path: Path) -> None:
    assert list(tar_faults(packed(tmp_path, image(), offset=7))) == [
        "0.tar: images/000000.png is not where packed.parquet says"
    ]
    (fault,) = tar_faults(packed(tmp_path, image(), sha256="0" * 64))
    assert "other bytes" in fault
    (fault,) = tar_faults(packed(tmp_path, b"no image"))
    assert "does not decode" in fault


def test_a_missing_tar_and_a_broken_index_are_named(tmp_path: Path) -> None:
    (packed(tmp_path, image()) / "0.tar").unlink()
    (fault,) = tar_faults(tmp_path)
    assert "0.tar cannot be read" in fault
    (tmp_path / "packed.parquet").write_bytes(b"PAR1")
    assert "packed.parquet cannot be read" in next(tar_faults(tmp_path))


def test_an_image_is_told_from_other_bytes() -> None:
    assert image_fault(image()) is None
    assert "does not decode" in str(image_fault(image()[:30]))


@pytest.mark.parametrize("tar", ["../0.tar", "/etc/passwd", ".."])
def test_a_tar_outside_the_world_is_not_opened(tmp_path: Path, tar: str) -> None:
    (tmp_path / "world").mkdir()
    packed(tmp_path / "world", image(), tar=tar)
    (tmp_path / "world" / "0.tar").rename(tmp_path / "0.tar")
    (fault,) = tar_faults(tmp_path / "world")
    assert "is no path within that folder" in fault


def _member(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    "member",
    [
        _member("../000000.png"), _member("/etc/000000.png"), _member("000000/../../x.png"), _member("x.png"),
        _member("000001.png", tarfile.SYMTYPE), _member("000001.png", tarfile.LNKTYPE), _member("000001.png", tarfile.FIFOTYPE),
        _member("000001.png", tarfile.DIRTYPE),
    ],
    ids=lambda member: f"{member.name} {member.type!r}",
)  # fmt: skip
def test_a_member_that_would_unpack_elsewhere_is_found(tmp_path: Path, member: tarfile.TarInfo) -> None:
    packed(tmp_path, image())
    with tarfile.open(tmp_path / "0.tar", "a") as tar:
        tar.addfile(member)
    (fault,) = tar_faults(tmp_path)
    assert f"{member.name!r} would not unpack as a file of a scene" in fault


def test_a_tar_is_neither_unpacked_nor_led_anywhere(tmp_path: Path) -> None:
    """Headers that state a negative size, or more than there is, and a tar within gzip."""
    plain = (packed(tmp_path, image()) / "0.tar").read_bytes()
    member = tarfile.TarInfo("000000.png")
    for size in (-512, 1 << 40):
        member.size = size
        (tmp_path / "0.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + plain)
        (fault,) = tar_faults(tmp_path)
        assert "which are not there" in fault
    for data in (gzip.compress(plain), plain[:700], b"x" * 2_000):
        (tmp_path / "0.tar").write_bytes(data)
        assert any("cannot be read" in fault for fault in tar_faults(tmp_path))
    sparse(tmp_path / "0.tar")
    assert any("sparse" in fault for fault in tar_faults(tmp_path))
