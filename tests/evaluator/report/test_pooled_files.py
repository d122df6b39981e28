"""The files beside a page have every pooled row, and say what is contaminated."""

from pathlib import Path

import pyarrow.csv
import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.provenance.contamination import CLEAN, CONTAMINATED, MARK
from evaluator.report.files import write_pooled
from tests.evaluator.analysis.test_pooling import made_run, trained


@pytest.mark.parametrize("mark", ["", f"{MARK}: all of it"])
def test_every_row_is_in_the_csv_with_its_spreads_and_its_mark(mark: str, tmp_path: Path) -> None:
    training = {"status": CONTAMINATED if mark else CLEAN, "sentence": mark, "overlaps": []}
    runs = [
        trained(0.4, "a", 0),
        trained(0.6, "a", 1),
        {**made_run(model="clip"), "training": training},
    ]
    table, tex = write_pooled(pool_runs(runs), tmp_path / "page.html")
    first, second = pyarrow.csv.read_csv(table).to_pylist()
    assert (first["model"], first["value"], first["runs"]) == ("m", 0.5, 2)
    assert (first["min_runs"], first["max_runs"], second["sd_runs"]) == (0.4, 0.6, None)
    assert (second["model"], second.get(MARK, "")) == ("clip", mark)
    assert (MARK in first) is bool(mark)
    text = tex.read_text()
    assert r"50.0 $\pm$ 14.1" in text
    assert text.count(r"\begin{table}") == 3
    assert (f"clip: {MARK}: all of it" in text) is bool(mark)
