"""CSV that spreadsheets take for data: formulas get an apostrophe, and our own reader takes it
away."""

import csv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError, visible
from generator.base.tables import read_csv, write_csv

TEXTS = pa.schema([("text", pa.string()), ("n", pa.float64())])
_TEXT = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
    st.text("'=+-@\t\r\n1e. \",a", max_size=6),
)


def cells(path: Path) -> list[str]:
    """The texts of a file as another program reads them."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row["text"] for row in csv.DictReader(file)]


def written(path: Path, texts: list[str | None]) -> Path:
    write_csv(
        path, pa.table({"text": pa.array(texts, pa.string()), "n": pa.array([-1.5] * len(texts))})
    )
    return path


def test_formulas_get_an_apostrophe_and_numbers_do_not(tmp_path: Path) -> None:
    cell_of_text: dict[str | None, str] = {
        text: "'" + text for text in ("=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "'=x")
    }
    cell_of_text |= {text: text for text in ("-1.5", "+2e-3", "-.5", "a=b", "'quoted'", "")} | {
        None: ""
    }
    assert cells(written(tmp_path / "t.csv", list(cell_of_text))) == list(cell_of_text.values())
    assert "-1.5" in (tmp_path / "t.csv").read_text()


def test_tables_that_follow_one_another_are_one_file(tmp_path: Path) -> None:
    parts = [
        pa.table(
            {"text": pa.array(texts, pa.string()), "n": pa.array([1.0] * len(texts), pa.float64())}
        )
        for texts in (["a"], [], ["=b", None])
    ]
    write_csv(tmp_path / "parts.csv", iter(parts))
    write_csv(tmp_path / "whole.csv", pa.concat_tables(parts))
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()

    def broken() -> Iterator[pa.Table]:
        yield parts[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_csv(tmp_path / "whole.csv", broken())
    assert cells(tmp_path / "whole.csv") == ["a", "'=b", ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.csv", "whole.csv"]


@given(st.lists(_TEXT, min_size=1, max_size=5))
def test_every_text_is_read_as_it_is_shown_and_none_is_a_formula(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder) / "t.csv", texts)
        table = read_csv(path, dict(zip(TEXTS.names, TEXTS.types, strict=True)))
        written_cells = cells(path)
    assert [text or "" for text in table["text"].to_pylist()] == list(map(visible, texts))
    assert table["n"].to_pylist() == [-1.5] * len(texts)
    for cell in written_cells:
        try:
            float(cell)
        except ValueError:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_a_table_without_columns_is_empty_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "none.csv", pa.table({}))
    assert (tmp_path / "none.csv").read_bytes() == b""
    for data in (b"", b"other\n1\n", b'text,n\n"a', b"text,n\na,b\n", b"text,n\n\xff,1\n"):
        (tmp_path / "t.csv").write_bytes(data)
        with pytest.raises(UserError, match=r"t\.csv is damaged"):
            read_csv(tmp_path / "t.csv", dict(zip(TEXTS.names, TEXTS.types, strict=True)))
