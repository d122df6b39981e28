"""`score measure` and `score report`: the results of a run, again and without the model."""

import json
from pathlib import Path

import pytest

from tests.evaluator.conftest import assert_one_sentence, score_command


@pytest.fixture
def run(bags: None, drawn: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    assert score_command("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", folder).exit_code == 0
    return folder


def test_what_is_no_run_and_an_unknown_channel_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_sentence(score_command("measure", tmp_path / "empty"), str(tmp_path / "empty"))
    assert_one_sentence(score_command("measure", run, "--channel", "itm"), "itm")


def test_the_page_is_written_beside_the_first_run_or_where_asked(run: Path, tmp_path: Path) -> None:
    people = score_command("report", run)
    assert people.stdout.splitlines()[-1] == str(run.parent / "report.html")
    assert "chance %" in people.stdout
    machine = json.loads(score_command("report", run, run, "--out", tmp_path / "page.html", "--json").stdout)
    assert machine["report"] == str(tmp_path / "page.html")
    assert len(machine["results"]) == 2
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
