"""`score experiment`: the commands of every experiment at every scale, and one of them from nothing
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
from evaluator.experiments.models import trained_model

def make(lab, train):
    scenes = f"train={train},val=1,seen=2,partial=2,unseen=2"
    plan = lab.stage("gen plan", scenes=scenes, resolution="32x32")
    rendered = lab.stage("gen render", plan, quality="draft", workers=1)
    world = lab.stage("gen verify", rendered)
    trained = lab.stage("score train scratch", world, epochs=1, batch=16)
    lab.row("dual / scratch", lab.score(trained_model(trained), world))
    lab.lacks("ViT dual / scratch", "not made here")

EXPERIMENT = Experiment("One model from scratch.", "bindsplit2026", {"tiny": 32}, make)
"""


def planned(*arguments: str | Path) -> list[list[str]]:
    done = succeed("experiment", *arguments, "--dry-run", "--json")
    return [shlex.split(command) for command in json.loads(done.stdout)["commands"]]


SHIPPED = [(name, scale) for name in experiment_names() for scale in find_experiment(name).scales]
EXAMPLES = [(str(ROOT / "docs" / "examples" / "gzsl.py"), scale) for scale in ("smoke", "tiny")]


@pytest.mark.parametrize(("name", "scale"), [*SHIPPED, *EXAMPLES])
def test_commands_of_experiments_are_accepted_by_gen_and_score(
    name: str, scale: str, tmp_path: Path
) -> None:
    commands = planned(name, "--scale", scale, "--out", tmp_path)
    assert commands[-1][:2] == ["score", "tables"]
    assert list(tmp_path.iterdir()) == []
    written: set[str] = set()
    for words in commands:
        if words[0] == "mkdir":  # mkdir -p COPY && cp -r SOURCE/. COPY && gen ...
            assert words[6].removesuffix("/.") in written
            written.add(words[2])
            words = words[9:]
        command, arguments = ROOTS[words[0]], words[1:]
        while isinstance(command, click.Group):
            command, arguments = command.commands[arguments[0]], arguments[1:]
        context = click.Context(command)
        command.make_context(" ".join(words[:2]), arguments, parent=context).close()
        folders = []
        for word in words:
            if str(tmp_path) in word:
                folders.append(word[word.index(str(tmp_path)) :].split(",")[0])
        *inputs, output = folders
        assert written.issuperset(inputs), "a stage reads a folder that no stage before it writes"
        assert output not in written or "--out" not in words
        written.add(output)


def option_of(words: list[str], name: str) -> str:
    """The value of an option in a command; "" if the command does not have it."""
    return words[words.index(name) + 1] if name in words else ""


@pytest.mark.parametrize(
    "name", ["bindsplit2026", "compass2026", "hard-positives2024", "pearson2025"]
)
def test_trained_models_are_measured_elsewhere(name: str, tmp_path: Path) -> None:
    """Each trained model that has a row over blocks, and the one that it started from, on the same
    world. Models of a rotation's turns stand for their turn alone."""
    (tmp_path / "mine.toml").write_text('[models.CLIP]\nspec = "open_clip:ViT-B-32"\n')
    options: list[str | Path] = []
    if name == "compass2026":  # it starts from no stand-in
        options = ["--models", tmp_path / "mine.toml"]
    *commands, tables = planned(name, *options, "--out", tmp_path)

    base_of_model, model_of_run, world_of_run = {}, {}, {}
    runs_of_turns = set()
    for words in commands:
        out = words[-1]
        if words[1] == "train" and words[2] in ("finetune", "labclip", "dreambooth"):
            base_of_model[f"jackalope:{out}"] = option_of(words, "--model")
        elif words[1] == "run":
            model_of_run[out] = option_of(words, "--model")
            world_of_run[out] = words[2]
            if "turn" in option_of(words, "--benchmark"):
                runs_of_turns.add(out)

    def runs_after(option: str) -> list[str]:
        """The runs that the tables read under an option."""
        labelled = [word for before, word in pairwise(tables) if before == option]
        return [word.rpartition("=")[2] for word in labelled]

    before, after = runs_after("--before"), runs_after("--after")
    of_rows = {word.rpartition("=")[2] for word in tables} & set(model_of_run)
    of_rows -= {*before, *after} | runs_of_turns
    trained_models = {model_of_run[run] for run in of_rows} & set(base_of_model)
    assert trained_models
    assert {model_of_run[run] for run in after} == trained_models
    bases = {base_of_model[model] for model in trained_models}
    assert {model_of_run[run] for run in before} == bases
    assert len({world_of_run[run] for run in (*before, *after)}) == 1


def test_the_benchmarks_of_bindsplit_have_the_names_that_their_worlds_give_them() -> None:
    for at in SCALES.values():
        holdouts = at.world.get("holdout", "3x3")  # the preset's, where there is none
        forms = (holdouts,) if isinstance(holdouts, str) else tuple(holdouts)
        request = HoldoutRequest("bindsplit", forms, (0,), True, None)
        (holdout,) = request.holdouts(read_vocabulary("clevr"))
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
    images = sum(int(n) for numbers in scenes for text in numbers for n in re.findall(r"\d+", text))
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


def test_a_wrong_option_is_refused_before_anything_runs(mine: Path, tmp_path: Path) -> None:
    for right, wrong in (
        ("epochs=1", "epoch=1"),
        ("score train scratch", "score train scratchy"),
    ):
        mine.write_text(MINE.replace(right, wrong))
        done = score_command("experiment", mine, "--out", tmp_path / "out")
        assert done.exit_code == 2
        option_or_command = f"--{wrong.replace('=', ' ')}" if "=" in wrong else wrong
        assert option_or_command in done.stderr.splitlines()[-1]
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
def test_a_recipe_of_mine_makes_tables_once(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = succeed("experiment", mine, "--out", out)
    tables = Path(done.stdout.strip())
    assert "not made here" in (tables / "table2.md").read_text()
    modified_at = {path: path.stat().st_mtime_ns for path in out.glob("*/done")}
    second_run = score_command("experiment", mine, "--out", out)
    assert "6 stages, 6 done." in second_run.stderr
    assert second_run.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/done")} == modified_at
    mine.write_text(MINE.replace("epochs=1", "epochs=2"))
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
    files = {path.name for path in Path(done.stdout.strip()).iterdir()}
    assert files >= {
        "table1.md",
        "tableF.md",
        "figure6-CLIP__two-object-texts.svg",
        "figure6-CLIP__two-object-images.svg",
    }
    assert (
        "Diffusion, two-object is not shown: no weights of a diffusion model are at hand"
        in done.stderr
    )
    second_run = score_command("experiment", "pearson2025", "--scale", "smoke", "--out", tmp_path)
    assert "15 stages, 15 done." in second_run.stderr
    assert second_run.stdout == done.stdout


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
