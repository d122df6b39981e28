"""The main job, as `make demo` runs it: the small model has learnt what it has seen, and knows less
of what it has not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CHECKOUT


@pytest.mark.full
def test_the_demo_shows_the_drop(tmp_path: Path) -> None:
    here = [f"BIN={Path(sys.executable).parent}", f"DEMO={tmp_path}"]
    recipe = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", ".venv/run", "demo", *here],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    for line in recipe.stdout.strip().splitlines():
        subprocess.run(line, shell=True, cwd=CHECKOUT, check=True)
    rows = json.loads((tmp_path / "run0" / "results.json").read_text())["rows"]
    binary, retrieval = (
        {
            row["split"]: row["value"]
            for row in rows
            if row["protocol"] == name and row["is_main"] and not row["is_gap"]
        }
        for name in ("binary", "retrieval")
    )
    assert binary["seen"] >= 0.85
    assert binary["seen"] > binary["partial"]
    assert retrieval["seen"] > retrieval["partial"] > retrieval["unseen"]
    assert "clean" in (tmp_path / "report.html").read_text()
