"""`score probe` on a dataset and on a run."""

import json
from pathlib import Path

from tests.evaluator.conftest import score_command, succeed


def test_a_run_is_probed_with_its_model(drawn: Path, bags: None, tmp_path: Path) -> None:
    model = f"bag:float32@{drawn}"
    done = succeed(
        "run", drawn, "--model", model, "--protocol", "binary", "--out", tmp_path / "run"
    )
    done = succeed("probe", tmp_path / "run", "--out", tmp_path / "out")
    lines = [line.split() for line in done.stdout.splitlines() if "binding" in line]
    assert [line[:2] for line in lines] == [
        [split, "binding"] for split in ("seen", "partial", "unseen")
    ]
    assert (tmp_path / "out" / "probe.svg").read_text().startswith("<svg")
    findings = json.loads((tmp_path / "out" / "probe.json").read_text())
    assert list(findings["models"]) == [model]
    printed = score_command("probe", drawn, "--model", model, "--out", tmp_path / "again", "--json")
    assert json.loads(printed.stdout)["models"][model]["rows"] == findings["models"][model]["rows"]
