"""`gen count`: the counts of a benchmark as tables or as JSON."""

import json
from pathlib import Path

from tests.conftest import run_command


def test_counts_are_printed_and_unseen_compounds_are_in_no_training_caption(rendered: Path) -> None:
    done = run_command("gen", "count", rendered, "--json")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    names = {row["split"]: row for row in counts["names"]}
    assert names["seen"]["compounds_not_in_training"] < 0.1 * names["seen"]["compounds"]  # few scenes train here
    assert 0 < names["unseen"]["compounds_not_in_training"] == names["unseen"]["compounds"] <= 9
    assert names["unseen"]["atoms_not_in_training"] == 0
    shown = run_command("gen", "count", rendered)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == counts["benchmark"]
    assert lines[1].split() == ["protocol", "kind", "split", "items", "captions", "false", "texts", "set", "size"]
    assert any(line.startswith("unseen") for line in lines)
