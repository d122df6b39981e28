"""Damaged, missing and unlisted files are named."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.judge.verify import verify_dataset
from tests.conftest import run_command
from tests.generator.judge.datasets import edit, judged, said, seal


def test_an_image_that_neither_files_nor_sums_have(copied: Path) -> None:
    (copied / "world/images/000007.png").unlink()
    seal(copied / "world")
    certificate = judged(copied)
    assert said(certificate, "missing image") == "scene 000007 has no image"
    assert certificate["faults"] == {"missing image": 1}


def test_a_truncated_image(copied: Path) -> None:
    image = copied / "world/images/000007.png"
    image.write_bytes(image.read_bytes()[:-400])
    certificate = judged(copied)
    assert "world/images/000007.png does not decode" in said(certificate, "damaged image")
    assert "world/images/000007.png has other bytes" in said(certificate, "damaged file")
    assert set(certificate["faults"]) == {"damaged image", "damaged file"}


def test_a_missing_and_an_unlisted_file(copied: Path) -> None:
    (copied / "world/images/000003.png").rename(copied / "world/images/x.png")
    certificate = judged(copied)
    assert "000003.png is missing" in said(certificate, "damaged file")
    assert "images/x.png is not in SHA256SUMS" in said(certificate, "unlisted file")


def test_tables_with_missing_cells_or_columns_or_repeated_rows(copied: Path, benchmark: Path) -> None:
    edit(benchmark, "splits", lambda rows: rows.append(rows[0]))
    edit(benchmark, "items", lambda rows: rows.append(rows[0]))
    certificate = judged(copied)
    assert certificate["faults"]["repeated scene"] == certificate["faults"]["repeated item"] == 1
    edit(benchmark, "candidates", lambda rows: rows[0].update(truth=None))
    assert "candidates.parquet cannot be read: it has rows without truth" in said(judged(copied), "damaged file")
    path = benchmark / "candidates.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["slot"]), path)
    assert "candidates.parquet cannot be read" in said(judged(copied), "damaged file")


def test_candidates_without_a_kind_can_be_judged(copied: Path, benchmark: Path) -> None:
    path = benchmark / "candidates.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([name for name in table.column_names if name == "kind"]), path)
    seal(benchmark)
    assert judged(copied)["status"] == "clean"


def test_an_unreadable_table(copied: Path, benchmark: Path) -> None:
    (benchmark / "items.parquet").write_bytes(b"PAR1 nonsense")
    assert "items.parquet cannot be read" in said(judged(copied), "damaged file")


@pytest.mark.parametrize("name", ["../../private", "/etc/passwd", "images/../../../private"])
def test_a_listed_path_that_leaves_the_folder_is_found_and_not_read(copied: Path, benchmark: Path, name: str) -> None:
    private = copied.parent / "private"
    private.write_text("private")
    for folder in (copied / "world", benchmark):
        sums = folder / "SHA256SUMS"
        sums.write_text(f"{hashlib.sha256(b'private').hexdigest()}  {name}\n" + sums.read_text())
        manifest = read_json(folder / "manifest.json")
        write_json(folder / "manifest.json", {**manifest, "sums": hashlib.sha256(sums.read_bytes()).hexdigest()})
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert f"world/SHA256SUMS lists {name!r}" in said(certificate, "unsafe path")
    assert f"{benchmark.name}/SHA256SUMS lists {name!r}" in said(certificate, "unsafe path")


@pytest.mark.parametrize(
    ("line", "fault", "finding"),
    [
        (f"{'0' * 64}  ", "unsafe path", "SHA256SUMS lists ''"),
        ("0" * 64, "damaged file", "which is no digest and path"),
        ("", "damaged file", "has the line '', which is no digest and path"),
        (f"{'0' * 64}  images", "unsafe path", "SHA256SUMS lists 'images'"),
        (f"{'0' * 64}  images/", "unsafe path", "SHA256SUMS lists 'images/'"),
        (f"{'0' * 64}  .", "unsafe path", "SHA256SUMS lists '.'"),
        ("no digest  images/000003.png", "damaged file", "which is no digest and path"),
    ],
)
def test_a_line_of_the_sums_without_a_file_is_found(copied: Path, line: str, fault: str, finding: str) -> None:
    """A folder's name once was read as a file."""
    sums = copied / "world/SHA256SUMS"
    sums.write_text(f"{sums.read_text()}{line}\n")
    manifest = read_json(copied / "world/manifest.json")
    write_json(copied / "world/manifest.json", {**manifest, "sums": hashlib.sha256(sums.read_bytes()).hexdigest()})
    assert finding in said(judged(copied), fault)


def test_sums_that_are_no_text_or_no_file_are_told(copied: Path) -> None:
    sums = copied / "world/SHA256SUMS"
    sums.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"SHA256SUMS is damaged: it is not UTF-8 text; restore it"):
        verify_dataset(copied, None)
    sums.unlink()
    sums.mkdir()
    done = run_command("gen", "verify", copied)
    assert done.returncode == 2
    assert "SHA256SUMS" in done.stderr


@pytest.mark.parametrize("place", ["world/images/extra.png", "benchmarks/link", "link", "world/link"])
@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to("/etc/passwd"), lambda path: path.symlink_to("/etc"), os.mkfifo]
)
def test_a_dataset_with_a_link_or_a_pipe_is_not_judged(copied: Path, place: str, make: Callable[[Path], None]) -> None:
    make(copied / place)
    with pytest.raises(UserError, match=f"{place} is (a link|no regular file)"):
        verify_dataset(copied, None)
