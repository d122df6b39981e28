"""A small rendered dataset, made once a test run and read by many tests."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

SCENES = "train=110,val=4,seen=20,partial=20,unseen=20"


def run_command(
    *arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `gen` or `score` as a process of its own, as a user would."""
    name, *rest = map(str, arguments)
    module = {"gen": "generator.cli", "score": "evaluator.cli"}[name]
    code = f"import sys; sys.argv[0] = {name!r}; from {module} import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *rest], capture_output=True, text=True, cwd=cwd, env=env, check=False
    )


def render_arguments(out: str | Path, *more: str | Path) -> list[str | Path]:
    """A render command that takes a few seconds."""
    cheap = ["--resolution", "64x64", "--quality", "draft", "--device", "cpu"]
    return ["gen", "render", "--scenes", SCENES, *cheap, "--out", out, *more]


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 174 scenes at 64x64, held out 3x3. Not to be changed: see `copied`."""
    shared = tmp_path_factory.getbasetemp()
    if "popen-gw" in shared.name:
        shared = shared.parent
    root = shared / "rendered"
    with FileLock(shared / "rendered.lock"):
        if not (root / "dataset.json").exists():
            done = run_command(*render_arguments(root))
            assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def copied(rendered: Path, tmp_path: Path) -> Path:
    """A copy of the rendered dataset that a test may damage."""
    return Path(shutil.copytree(rendered, tmp_path / "dataset"))
