"""The files beside a page have every pooled row, and say what is contaminated."""

from pathlib import Path

import pyarrow.csv

from evaluator.analysis.pooling import pool_runs
from evaluator.provenance.contamination import CONTAMINATED, MARK
from evaluator.report.files import write_pooled
from tests.evaluator.analysis.test_pooling import made_run, trained


def test_every_row_is_in_the_csv_with_its_spreads(tmp_path: Path) -> None:
    entries = pool_runs([trained(0.4, "a", 0), trained(0.6, "a", 1), made_run(model="clip")])
    table, tex = write_pooled(entries, tmp_path / "page.html")
    rows = pyarrow.csv.read_csv(table).to_pylist()
    assert [(row["model"], row["value"], row["runs"]) for row in rows] == [("m", 0.5, 2), ("clip", 0.5, 1)]
    assert (rows[0]["min_runs"], rows[0]["max_runs"], rows[1]["sd_runs"]) == (0.4, 0.6, None)
    assert MARK not in rows[0]
    text = tex.read_text()
    assert r"50.0 $\pm$ 14.1" in text
    assert text.count(r"\begin{table}") == 3


def test_contaminated_results_are_marked(tmp_path: Path) -> None:
    run = {**made_run(), "training": {"status": CONTAMINATED, "said": f"{MARK}: all of it", "overlaps": []}}
    table, tex = write_pooled(pool_runs([run]), tmp_path / "page.html")
    assert pyarrow.csv.read_csv(table)[MARK].to_pylist() == [f"{MARK}: all of it"]
    assert f"m: {MARK}: all of it" in tex.read_text()
