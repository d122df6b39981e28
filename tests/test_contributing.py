"""CONTRIBUTING.md is true: each example is applied to a copy of the code, and its commands run
there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CHECKOUT

PAGE = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAIN = {
    name: f"from {package}.cli.main import main; main()"
    for name, package in (("gen", "generator"), ("score", "evaluator"))
}


@pytest.mark.full
def test_each_example_works(tmp_path: Path) -> None:
    for folder in ("generator", "evaluator", "scenes", "blender_assets"):
        shutil.copytree(
            CHECKOUT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for patch in re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL):
        run(["patch", "--strip=0", "--no-backup-if-mismatch"], tmp_path, patch)
    for name, text in re.findall(r"Save as `(\S+)`[^`]*```toml\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [
        line
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1:]
        for line in block.splitlines()
    ]
    assert len(commands) > 10
    for line in commands:
        name, *arguments = shlex.split(line)
        run(
            [sys.executable, "-c", MAIN[name], *arguments]
            if name in MAIN
            else ["bash", "-c", line],
            tmp_path,
        )
    texts = run([sys.executable, "-c", MAIN["gen"], "info", "stacks"], tmp_path)
    assert "naming" in texts


def run(command: list[str], folder: Path, text: str | None = None) -> str:
    """What a command prints, run on the code of a folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "JACKALOPE_ASSETS": str(folder / "assets"),
    }
    done = subprocess.run(
        command,
        cwd=folder,
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
