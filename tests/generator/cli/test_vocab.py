"""`gen vocab`: a starter family passes its own check."""

import json
from pathlib import Path

from tests.conftest import run_command


def test_a_new_family_can_be_checked_at_once(tmp_path: Path) -> None:
    done = run_command("gen", "vocab", "new", "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "mine.toml\n")
    assert "Next: gen vocab check mine.toml, gen vocab show mine.toml, gen render --family mine.toml" in done.stderr
    checked = run_command("gen", "vocab", "check", "mine.toml", cwd=tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "mine.toml: 0 errors, 0 warnings\n")
    again = run_command("gen", "vocab", "new", "mine.toml", cwd=tmp_path)
    assert again.returncode == 2


def test_all_mistakes_are_listed_and_counted(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(
        "name = 'bad'\nextends = 'clevr'\nshape = 1\n[floor]\ncolour = 2\n", encoding="utf-8"
    )
    done = run_command("gen", "vocab", "check", "bad.toml", "--json", cwd=tmp_path)
    assert done.returncode == 2
    data = json.loads(done.stdout)
    assert (data["errors"], data["warnings"]) == (len(data["findings"]), 0)
    assert all(f"error: {each['message']}" in done.stderr for each in data["findings"])
