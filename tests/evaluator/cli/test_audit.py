"""`score audit`: a table for people, JSON for machines and for a file."""

import json
from pathlib import Path

from tests.evaluator.conftest import assert_one_sentence, score_command

FEW = ["--protocol", "binary", "--items", "30"]


def test_results_are_printed_and_written(drawn: Path, tmp_path: Path) -> None:
    done = score_command("audit", drawn, *FEW, "--json", "--out", tmp_path / "audit.json")
    assert done.exit_code == 0, done.stderr
    results = json.loads(done.stdout)
    assert results == json.loads((tmp_path / "audit.json").read_text())
    assert {kind["protocol"] for kind in results["kinds"]} == {"binary"}
    assert f"The audit is in {tmp_path / 'audit.json'}." in done.stderr
    people = score_command("audit", drawn, *FEW)
    assert results["sentence"] in people.stdout
    assert people.stderr == ""


def test_an_unknown_protocol_is_one_sentence(drawn: Path) -> None:
    assert_one_sentence(score_command("audit", drawn, "--protocol", "binery"), "binery")
