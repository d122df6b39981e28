"""The main job, as `make demo` runs it, and the table of README that it made."""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from generator.base.tables import read_table
from tests.conftest import succeed
from tests.paths import CHECKOUT

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def demo_commands(folder: Path, python: str = sys.executable) -> list[str]:
    """The shell lines of `make demo`, which write into `folder` by this Python's commands."""
    places = [f"BIN={Path(python).parent}", f"DEMO={folder}"]
    recipe = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", ".venv/run", "demo", *places],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    return recipe.stdout.strip().splitlines()


def plan_digest(dataset: Path) -> str:
    """Eight characters that stand for what every scene of a plan holds, and for which split."""
    rows = read_table(dataset / "world" / "plan.parquet").to_pylist()
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:8]


@pytest.mark.full
def test_the_table_was_made_from_the_plan_of_today(tmp_path: Path) -> None:
    """A change of the planner changes the demo's images: run it again, and write its table anew."""
    render = shlex.split(demo_commands(tmp_path)[0])
    options = render[2:]
    quality = options.index("--quality")
    del options[quality : quality + 2]
    succeed(shlex.join(["gen", "plan", *options]))
    assert re.findall(r"plan `([0-9a-f]{8})`", README) == [plan_digest(tmp_path / "world")]


@pytest.mark.full
def test_the_demo_shows_the_drop(tmp_path: Path) -> None:
    for line in demo_commands(tmp_path):
        subprocess.run(line, shell=True, cwd=CHECKOUT, check=True)
    runs = sorted((tmp_path / "runs0").iterdir())
    assert [run.name for run in runs] == ["turn0", "turn1", "turn2", "turn3"]
    matching: dict[str, list[float]] = {}
    recall: dict[str, list[float]] = {}
    for run in runs:
        for row in json.loads((run / "results.json").read_text())["rows"]:
            if row["is_main"] and not row["is_gap"]:
                by_split = {"binary": matching, "retrieval": recall}.get(row["protocol"], {})
                by_split.setdefault(row["split"], []).append(row["value"])
    for values in (matching, recall):
        assert sum(values["seen"]) > sum(values["unseen"])
    page = (tmp_path / "report.html").read_text()
    assert "clean" in page
    assert "falls from" in page
