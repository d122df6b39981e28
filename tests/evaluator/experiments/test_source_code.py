"""A stage is run again when a module changes that its command imports, and only then."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.experiments import source_code
from evaluator.experiments.source_code import code_digest, code_files, imported_modules

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "gen plan",
    "gen render",
    "gen describe",
    "gen verify",
    "score train scratch",
    "score run",
    "score audit",
    "score embeddings",
    "score tables",
)
GENERATOR, TRAINING = {*COMMANDS[:4]}, {"score train scratch"}
EVERYTHING = {*COMMANDS}


@pytest.fixture
def commands_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], set[str]]:
    """The commands whose digest changes when a file changes."""
    before = {command: code_digest(command) for command in COMMANDS}
    digest_of_file = source_code.sha256

    def find(changed: str) -> set[str]:
        path = ROOT / changed
        assert path.is_file()
        monkeypatch.setattr(
            source_code, "sha256", lambda file: "new" if file == path else digest_of_file(file)
        )
        code_digest.cache_clear()
        after = {command: code_digest(command) for command in COMMANDS}
        code_digest.cache_clear()
        return {command for command in COMMANDS if before[command] != after[command]}

    return find


def test_a_changed_figure_does_not_train_again(commands_of: Callable[[str], set[str]]) -> None:
    for changed in (
        "evaluator/report/figures.py",
        "evaluator/report/assets/page.html.jinja",
        "evaluator/report/charts/map.json",
    ):
        affected = commands_of(changed)
        assert "score tables" in affected
        assert not affected & (GENERATOR | TRAINING | {"score audit"})
    assert commands_of("evaluator/papers/crepe2023/tables.py") == {"score tables"}


def test_a_changed_renderer_renders_again(commands_of: Callable[[str], set[str]]) -> None:
    """Its worker is a process, which the code names in a string."""
    for changed in (
        "generator/render/blender/worker.py",
        "generator/render/blender/materials.py",
        "blender_assets/quality.toml",
        "scenes/clevr.toml",
    ):
        affected = commands_of(changed)
        assert {"gen render", "gen verify"} <= affected <= GENERATOR


def test_a_changed_training_trains_again(commands_of: Callable[[str], set[str]]) -> None:
    for changed in (
        "evaluator/training/fit.py",
        "evaluator/training/networks.toml",
        "evaluator/papers/bindsplit2026/presets.toml",
    ):
        affected = commands_of(changed)
        assert affected >= TRAINING
        assert not affected & GENERATOR
    assert commands_of("evaluator/training/fit.py") == TRAINING


def test_a_change_of_code_that_all_commands_import_runs_all_again(
    commands_of: Callable[[str], set[str]],
) -> None:
    assert commands_of("generator/base/files.py") == EVERYTHING


def test_registries_count_as_imports() -> None:
    scored = imported_modules("evaluator.cli.run")
    assert {"evaluator.models.hf", "evaluator.protocols.binary"} <= scored
    assert "evaluator.training.fit" not in scored
    assert "evaluator" not in scored


def test_files_are_of_the_project_and_sorted() -> None:
    files = code_files("gen render")
    assert files == sorted(set(files))
    assert all(path.is_relative_to(ROOT) for path in files)
    assert not [path for path in files if path.suffix == ".pyc"]


@pytest.mark.parametrize(
    ("module", "call"),
    [
        (
            "generator.cli.plan",
            "plan(['--scenes', 'train=12,val=1,seen=2,partial=2,unseen=2', '--out', OUT])",
        ),
        ("evaluator.cli.run", "run(['no-such-dataset', '--model', 'blind:length'])"),
        ("evaluator.cli.train", "train(['scratch', 'no-such-dataset', '--out', OUT])"),
    ],
)
def test_no_module_is_missed_that_a_command_imports(module: str, call: str, tmp_path: Path) -> None:
    """The modules that Python has loaded after a command are among those found without running."""
    code = f"""
import sys
OUT = {str(tmp_path / "out")!r}
from {module} import {call.partition("(")[0]}
try:
    {call}
except (SystemExit, Exception):
    pass
print(*(name for name in sys.modules if name.startswith(("generator.", "evaluator."))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded
    assert loaded <= imported_modules(module)
