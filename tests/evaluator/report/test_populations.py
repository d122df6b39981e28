"""A reader can tell of each number of what population its interval speaks: in the terminal, on the
page, in the model card and in tables."""

import re
from pathlib import Path

import pandas as pd
import pytest
from huggingface_hub import ModelCard

from evaluator.report.page import write_page
from evaluator.runs.folder import read_named
from tests.evaluator.conftest import succeed

WIDER = "values and objects like these"
CLAIM = "this vocabulary (6 values, 6 objects); bindings like these; this model"


@pytest.fixture
def run(bags: None, drawn: Path, tmp_path: Path) -> Path:
    """A run on a 3x3 block."""
    succeed("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", tmp_path / "run", "--limit", 40)
    return tmp_path / "run"


def test_each_number_says_of_what_it_speaks(run: Path, tmp_path: Path) -> None:
    (results,), _ = write_page([read_named(str(run))], tmp_path / "page.html")
    rows = [row for row in results["rows"] if row["low"] is not None]
    assert {row["population"] for row in rows if row["split"] in ("seen", "unseen")} == {CLAIM}
    assert all(row["population"] for row in rows)
    page = re.sub(
        r"\s+", " ", re.sub(r"<[^>]*>", " ", (tmp_path / "page.html").read_text(encoding="utf-8"))
    )
    terminal = succeed("report", run, "--hub", tmp_path, "--out", tmp_path / "page.html").stdout
    for text in {row["population"] for row in rows}:
        assert text in page
    assert f"{CLAIM} (docs/statistics.md)" in terminal
    assert WIDER in succeed("report", run, "--full", "--out", tmp_path / "page.html").stdout
    assert WIDER in page
    for value in ModelCard.load(tmp_path / "README.md").data.eval_results or pytest.fail(
        "no values"
    ):
        of = {
            row["population"]
            for row in rows
            if row["split"] == value.dataset_split and not row["is_gap"]
        }
        assert value.metric_args.get("population") in of or "low" not in value.metric_args
    for table in (run / "tables" / "summary.csv", tmp_path / "page.csv"):
        written = pd.read_csv(table)
        assert written[written["low"].notna()]["population"].notna().all()
        assert CLAIM in set(written["population"])


def test_numbers_of_tables_without_bindings_claim_none(tmp_path: Path) -> None:
    lines = ["item,protocol,slot,text,score,cluster,split"]
    for i in range(40):
        lines += [
            f"{i},binary,c,true {i},{i % 3},k{i // 4},test",
            f"{i},binary,n,false {i},1,k{i // 4},test",
        ]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    done = succeed(
        "measure", "--items", tmp_path / "scores.csv", "--out", tmp_path / "run", "--full"
    )
    write_page([read_named(str(tmp_path / "run"))], tmp_path / "page.html")
    for text in (done.stdout, (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert "groups like these; the bindings are not known" in text
        assert "other combinations" not in text
