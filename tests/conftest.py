"""A small rendered dataset, made once a test run and read by many tests."""

import gc
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from filelock import FileLock
from hypothesis import settings

from tests.slurm import slurm as slurm

# Tests run in two processes on machines of two cores, where threads of matrix products would only
# wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# pytest-xdist says how wide its own terminal is; tables of results would fold to it.
os.environ.pop("COLUMNS", None)
# Hundreds of processes import the same modules; compiling them once takes a third off each start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says nothing on a shared machine; bench/ measures speed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

MODULES = {"gen": "generator.cli.main", "score": "evaluator.cli.main"}

SCENES = "train=110,val=4,seen=20,partial=20,unseen=20"
FEW = ["--scenes", "train=14,val=2,seen=4,partial=4,unseen=4"]
FEWEST = ["--scenes", "train=6,val=1,seen=1,partial=1,unseen=1"]


def pytest_collection() -> None:
    """Collect without looking for garbage: 7,000 tests and the modules that they import stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From now on look for garbage among what tests make, not among what was collected: else a
    tenth of the run goes into looking through half a million objects again and again."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python take everything down at its end; Blender's module prints what is left over."""
    gc.unfreeze()


def run_command(
    *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `gen` or `score` in this process; an unforeseen error is an error of the test.

    The first argument may be several words, as on a command line.
    """
    name, *rest = [*shlex.split(str(arguments[0])), *map(str, arguments[1:])]
    with chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(import_module(MODULES[name]).main, rest, prog_name=name)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess([name, *rest], done.exit_code, done.stdout, done.stderr)


def succeed(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """As run_command, for a command that must succeed."""
    done = run_command(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


def refuse(sentence: str, *arguments: str | Path, cwd: Path | None = None) -> str:
    """As run_command, for a command that must be refused: exit code 2, and one sentence that has
    `said`."""
    done = run_command(*arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, "")
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert error == done.stderr.splitlines()[-1]
    assert sentence in error
    return error


def run_process(
    *arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `gen` or `score` as a process of its own, as a user would: slower, for what only a
    process shows."""
    name, *rest = map(str, arguments)
    code = f"import sys; sys.argv[0] = {name!r}; from {MODULES[name]} import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *rest],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        check=False,
    )


def render_arguments(out: str | Path, *more: str | Path) -> list[str | Path]:
    """A render command that takes a few seconds."""
    cheap = ["--resolution", "64x64", "--quality", "draft", "--device", "cpu", "--workers", "1"]
    return ["gen", "render", "--scenes", SCENES, *cheap, "--out", out, *more]


def once(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]
) -> Path:
    """A folder that is made once a test run, whichever of its processes needs it first."""
    shared = tmp_path_factory.getbasetemp()
    if "popen-gw" in shared.name:
        shared = shared.parent
    root = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not root.exists():
            making = shared / f"{name}.making" / name
            shutil.rmtree(making, ignore_errors=True)
            making.parent.mkdir(exist_ok=True)
            make(making)
            making.rename(root)
    return root


def render_into(root: Path, *more: str | Path) -> None:
    """Render a small dataset as a user would."""
    done = run_process(*render_arguments(root, *more))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 174 scenes at 64x64, held out 3x3. Not to be changed: see `copied`."""
    return once(tmp_path_factory, "rendered", render_into)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 28 scenes (`FEW`) by one worker that nothing disturbed. Not to be changed."""
    return once(tmp_path_factory, "undisturbed", lambda root: render_into(root, *FEW))


@pytest.fixture
def copied(rendered: Path, tmp_path: Path) -> Path:
    """A copy of the rendered dataset that a test may damage."""
    return Path(shutil.copytree(rendered, tmp_path / "dataset"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster of this machine with two processors."""
    ray = pytest.importorskip("ray")
    context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield context.address_info["gcs_address"]
    ray.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for pages."""
    from tests.browser import chromium

    with chromium() as opened:
        yield opened
