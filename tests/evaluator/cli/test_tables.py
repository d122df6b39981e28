"""The command `score tables`."""

from pathlib import Path

import pytest

from evaluator.runs.measure import measure
from tests.evaluator.conftest import score_json, succeed
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.synthetic import Builder


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = Builder(0, 60)
    for kind in ("atom", "comp", "both") * 20:
        builder.add("systematicity", kind, [("c", True, None), *[("n", False, kind)] * 4])
    for i in range(60):
        builder.add("productivity", "all", CAPTION_AND_FOIL, counts=(2, 1, i % 4))
    folder = run_of(builder, tmp_path_factory.mktemp("crepe"))
    measure(folder)
    return folder


def test_tables_are_printed_and_written(measured: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    done = succeed(
        "tables", "crepe2023", f"ours={measured}", "--missing", "theirs=no weights", "--out", out
    )
    assert "Table 8. Systematicity, negatives of both kinds" in done.stdout
    assert "(a) no weights." in done.stdout
    assert "files are in" in done.stderr
    assert (out / "table8.tex").exists()
    assert (out / "figure5.svg").exists()
    data = score_json("tables", "crepe2023", f"ours={measured}")
    cells = data["tables"]["table8"]["cells"]
    assert {(cell["group"], cell["column"]) for cell in cells} >= {("R@1", "SC"), ("Avg R@K", "UC")}
    assert data["paper"] == "crepe2023"
