"""Workbooks: what pandas writes is read, and what unpacks to gigabytes is refused cheaply."""

import resource
import zipfile
from pathlib import Path

import openpyxl
import pytest

from evaluator.scoring.words.workbook import read_workbook
from generator.base.errors import UserError

MIB = 1 << 20
SHEET = (
    "<worksheet "
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</sst>'


def write_bomb(path: Path, strings: list[str], cells: int) -> Path:
    """Write a workbook whose sheet names the first string in so many cells."""
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    types = parts["[Content_Types].xml"].decode()
    shared = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    if shared not in types:
        override = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{shared}"/></Types>'
        parts["[Content_Types].xml"] = types.replace("</Types>", override).encode()
    parts["xl/worksheets/sheet1.xml"] = SHEET.format(
        '<row><c t="s"><v>0</v></c></row>' * cells
    ).encode()
    parts["xl/sharedStrings.xml"] = STRINGS.format(
        "".join(f"<si><t>{text}</t></si>" for text in strings)
    ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        for name, data in parts.items():
            bomb.writestr(name, data)
    return path


def test_cells_are_strings_or_empty(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["id", "prediction", "n"], [7, "A", 1], [None, "=1+1", 2]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = read_workbook(tmp_path / "a.xlsx")
    assert table.to_pylist()[0] == {"id": "7", "prediction": "A", "n": "1"}
    assert table["id"].to_pylist() == ["7", None]


def test_a_whole_number_has_no_decimals_and_text_stays_as_it_is(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["id", "prediction"], [12, "1.0"], [0.5, " B "], [True, "7"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = read_workbook(tmp_path / "a.xlsx")
    assert table["id"].to_pylist() == ["12", "0.5", "True"]
    assert table["prediction"].to_pylist() == ["1.0", " B ", "7"]


def test_a_sheet_of_two_distant_cells_is_refused(tmp_path: Path) -> None:
    """The reader holds all cells between them: 17 billion."""
    book = openpyxl.Workbook()
    book.active["A1"] = "id"
    book.active["XFD1048576"] = "far"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(UserError, match="far too heavy"):
        read_workbook(tmp_path / "a.xlsx")


def test_one_string_in_many_cells_is_refused(tmp_path: Path) -> None:
    """Each cell is a few bytes of the file, and a MiB of the table."""
    bomb = write_bomb(tmp_path / "bomb.xlsx", ["a" * MIB], 3_000)
    assert bomb.stat().st_size < MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="far too heavy"):
        read_workbook(bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 * 1024  # KiB


@pytest.mark.full
def test_strings_of_a_gigabyte_are_refused(tmp_path: Path) -> None:
    bomb = write_bomb(tmp_path / "bomb.xlsx", ["a" * MIB] * 1_500, 1)
    assert bomb.stat().st_size < 4 * MIB
    with pytest.raises(UserError, match="far too heavy"):
        read_workbook(bomb)


def test_a_file_that_is_not_a_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(UserError, match="cannot be read as a workbook"):
        read_workbook(tmp_path / "a.xlsx")
