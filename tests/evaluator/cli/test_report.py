"""`score report`: a table on stdout, one page, and where it is."""

import json
from pathlib import Path

from tests.evaluator.conftest import score_command


def test_the_page_is_written_beside_the_first_run_or_where_asked(bags: None, drawn: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert score_command("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", folder).exit_code == 0
    people = score_command("report", folder)
    assert people.stdout.splitlines()[-1] == str(folder / "report.html")
    assert "chance %" in people.stdout
    machine = json.loads(score_command("report", folder, folder, "--out", tmp_path / "page.html", "--json").stdout)
    assert machine["report"] == str(tmp_path / "page.html")
    assert len(machine["results"]) == 2
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
