"""`score experiment`: every shipped file at every scale as commands, and one of them from nothing
to tables."""

import json
import re
import shlex
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import click
import pytest

from evaluator.papers.bindsplit2026.recipe import SCALES
from evaluator.papers.recipes import experiment_names, find_experiment
from generator.holdout.request import HoldoutRequest, design_of
from generator.vocabulary.schema import read_vocabulary
from tests.conftest import MODULES
from tests.evaluator.conftest import score_command, succeed

ROOTS = {name: import_module(module).main for name, module in MODULES.items()}
ROOT = Path(__file__).parents[3]
MINE = """
from evaluator.experiments.lab import Experiment

def make(lab, train):
    world = lab.stage(f"gen plan --scenes train={train},val=1,seen=2,partial=2,unseen=2 --resolution 32x32")
    world = lab.stage(f"gen verify {lab.stage(f'gen render {world} --quality draft --workers 1')}")
    trained = lab.stage(f"score train scratch {world} --epochs 1 --batch 16")
    lab.row("dual / scratch", f"score run {world} --model jackalope:{trained}")
    lab.lacks("ViT dual / scratch", "not made here")

EXPERIMENT = Experiment("One model from scratch.", "bindsplit2026", {"tiny": 32}, make)
"""


def planned(*arguments: str | Path) -> list[list[str]]:
    done = succeed("experiment", *arguments, "--dry-run", "--json")
    return [shlex.split(command) for command in json.loads(done.stdout)["commands"]]


SHIPPED = [(name, scale) for name in experiment_names() for scale in find_experiment(name).scales]
EXAMPLES = [(str(ROOT / "docs" / "examples" / "gzsl.py"), scale) for scale in ("smoke", "tiny")]


@pytest.mark.parametrize(("name", "scale"), [*SHIPPED, *EXAMPLES])
def test_commands_of_shipped_experiments_are_ones_that_gen_and_score_take(
    name: str, scale: str, tmp_path: Path
) -> None:
    commands = planned(name, "--scale", scale, "--out", tmp_path)
    assert commands[-1][:2] == ["score", "tables"]
    assert list(tmp_path.iterdir()) == []
    made: set[str] = set()
    for words in commands:
        if words[0] == "mkdir":  # mkdir -p GOAL && cp -r SOURCE/. GOAL && gen ...
            assert words[6].removesuffix("/.") in made
            made.add(words[2])
            words = words[9:]
        command, rest = ROOTS[words[0]], words[1:]
        while isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context(" ".join(words[:2]), rest, parent=click.Context(command)).close()
        *folders, last = [
            word[word.index(str(tmp_path)) :].split(",")[0]
            for word in words
            if str(tmp_path) in word
        ]
        assert made.issuperset(folders), "a stage reads what no stage before it has made"
        assert last not in made or "--out" not in words
        made.add(last)


@pytest.mark.parametrize(
    "name", ["bindsplit2026", "compass2026", "hard-positives2024", "pearson2025"]
)
def test_what_is_trained_from_a_model_is_measured_elsewhere(name: str, tmp_path: Path) -> None:
    """Each trained model that has a row over blocks, and the one that it started from, on the same
    world. Models of a rotation's turns stand for their turn alone."""
    (tmp_path / "mine.toml").write_text('[models.CLIP]\nspec = "open_clip:ViT-B-32"\n')
    given = (
        ["--models", tmp_path / "mine.toml"] if name == "compass2026" else []
    )  # it starts from no stand-in
    *commands, tables = planned(name, *given, "--out", tmp_path)
    base_of = {
        f"jackalope:{words[-1]}": words[words.index("--model") + 1]
        for words in commands
        if words[1] == "train" and words[2] in ("finetune", "labclip", "dreambooth")
    }
    model_of = {
        words[-1]: words[words.index("--model") + 1] for words in commands if words[1] == "run"
    }
    world_of = {words[-1]: words[2] for words in commands if words[1] == "run"}

    def given_by(*options: str) -> list[str]:
        found = [word for option, word in pairwise(tables) if option in options]
        return [run for word in found if (run := word.rpartition("=")[2]) in model_of]

    runs_of_turns = set()
    for words in commands:
        benchmarks = [value for option, value in pairwise(words) if option == "--benchmark"]
        if words[1] == "run" and any("turn" in name for name in benchmarks):
            runs_of_turns.add(words[-1])
    before, after = given_by("--before"), given_by("--after")
    rows = {word.rpartition("=")[2] for word in tables} - {*before, *after} - runs_of_turns
    assert (
        {model_of[run] for run in after}
        == {model_of[run] for run in rows if run in model_of} & set(base_of)
        != set()
    )
    assert {base_of[model_of[run]] for run in after} == {model_of[run] for run in before}
    assert len({world_of[run] for run in (*before, *after)}) == 1


def test_the_benchmarks_of_bindsplit_have_the_names_that_their_worlds_give_them() -> None:
    for at in SCALES.values():
        asked = tuple(
            value for option, value in pairwise(at.world.split()) if option == "--holdout"
        ) or ("3x3",)
        (holdout,) = HoldoutRequest("bindsplit", asked, (0,), True, None).holdouts(
            read_vocabulary("clevr")
        )
        assert design_of(holdout).benchmark_name(holdout) == f"{at.benchmark}-b0"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_dry_run_says_what_is_left_and_how_many_images_are_rendered(tmp_path: Path) -> None:
    done = succeed("experiment", "crepe2023", "--scale", "smoke", "--out", tmp_path, "--dry-run")
    (left,) = [line for line in done.stderr.splitlines() if line.startswith("Left: ")]
    commands = done.stdout.splitlines()
    for command in ("gen plan", "gen render", "score train", "score run"):
        number = sum(f"{command} " in line for line in commands)
        assert f"{number} × {command}" in left
    scenes = [re.findall(r"--scenes (\S+)", line) for line in commands]
    images = sum(int(n) for found in scenes for text in found for n in re.findall(r"\d+", text))
    assert f"gen render ({images:,} images)" in left


def test_a_recipe_of_mine_is_said_to_be_code_and_a_dry_run_runs_no_stage(
    mine: Path, tmp_path: Path
) -> None:
    done = score_command("experiment", mine, "--out", tmp_path / "out", "--dry-run")
    assert done.stderr.splitlines() == [
        f"A recipe is code: this runs the code of {mine}.",
        "One model from scratch.",
        "6 stages, 0 done.",
        "Left: 1 × gen plan, 1 × gen render (39 images), 1 × gen verify, 1 × score train, 1 × score "
        "run, 1 × score tables. What each takes: docs/install.md.",
    ]
    assert len(done.stdout.splitlines()) == 6
    assert not (tmp_path / "out").exists()


def test_a_wrong_option_is_told_before_anything_runs(mine: Path, tmp_path: Path) -> None:
    for right, wrong in (
        ("--epochs 1", "--epoch 1"),
        ("score train scratch", "score train scratchy"),
    ):
        mine.write_text(MINE.replace(right, wrong))
        done = score_command("experiment", mine, "--out", tmp_path / "out")
        assert done.exit_code == 2
        assert wrong.split()[-1 if "train" in wrong else 0] in done.stderr.splitlines()[-1]
        assert not (tmp_path / "out").exists()


def test_a_failure_names_its_command_and_ends_with_the_code_of_a_mistake(
    mine: Path, tmp_path: Path
) -> None:
    mine.write_text(MINE.replace("train={train}", "train=nine"))
    done = score_command("experiment", mine, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "Failed with exit code 2: gen plan --scenes train=nine" in done.stderr
    assert "log.txt" in done.stderr
    assert "No table could be made." in done.stdout


@pytest.mark.full
def test_one_of_mine_from_nothing_to_tables_and_again(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = succeed("experiment", mine, "--out", out)
    tables = Path(done.stdout.strip())
    assert "not made here" in (tables / "table2.md").read_text()
    made = {path: path.stat().st_mtime_ns for path in out.glob("*/done")}
    again = score_command("experiment", mine, "--out", out)
    assert "6 stages, 6 done." in again.stderr
    assert again.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/done")} == made
    mine.write_text(MINE.replace("epochs 1", "epochs 2"))
    changed = score_command("experiment", mine, "--out", out)
    ran = [
        line.split("] ")[1].split() for line in changed.stderr.splitlines() if line.startswith("[")
    ]
    assert [words[:2] for words in ran] == [
        ["score", "train"],
        ["score", "run"],
        ["score", "tables"],
    ]


@pytest.mark.full
def test_pearson2025_from_nothing_to_tables(tmp_path: Path) -> None:
    done = succeed("experiment", "pearson2025", "--scale", "smoke", "--out", tmp_path)
    table = (Path(done.stdout.strip()) / "table4.md").read_text()
    for row in ("frozen", "finetuned", "scratch", "ViLT", "Diffusion", "chance"):
        assert row in table
    made = {path.name for path in Path(done.stdout.strip()).iterdir()}
    assert made >= {
        "table1.md",
        "tableF.md",
        "figure6-CLIP__two-object-texts.svg",
        "figure6-CLIP__two-object-images.svg",
    }
    assert (
        "Diffusion, two-object is not shown: no weights of a diffusion model are at hand"
        in done.stderr
    )
    again = score_command("experiment", "pearson2025", "--scale", "smoke", "--out", tmp_path)
    assert "15 stages, 15 done." in again.stderr
    assert again.stdout == done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "table", "row"),
    [
        ("bindsplit2026", "table2", "| dual | scratch |"),
        ("compass2026", "table2", "scratch"),
        ("crepe2023", "table11", "| 80 images | ResNet |"),
        ("hard-positives2024", "table1", "HP+HN at 1"),
        ("pearson2025-clean", "table4", "scratch"),
        (str(ROOT / "docs" / "examples" / "gzsl.py"), "table4", "scratch"),
    ],
)
def test_other_experiments_from_nothing_to_tables(
    name: str, table: str, row: str, tmp_path: Path
) -> None:
    done = succeed("experiment", name, "--scale", "smoke", "--out", tmp_path)
    tables = Path(done.stdout.strip())
    assert not list(tmp_path.glob("*/failed"))
    assert "Failed" not in done.stderr
    numbers = [
        line
        for line in (tables / f"{table}.md").read_text().splitlines()
        if row in line and "[" in line
    ]
    assert numbers
