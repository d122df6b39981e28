"""`score experiment`: every shipped file at every scale as commands, and one of them from nothing to tables."""

import json
import shlex
from pathlib import Path

import click
import pytest

from evaluator.experiments.declaration import experiment_names
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.experiments.commands_of_click import TABLES, commands_of_click

COMMANDS = {name: commands_of_click(name) for name in ("gen", "score")}
needs_tables = pytest.mark.skipif(not TABLES, reason="score tables is not there")
ROOT = Path(__file__).parents[3]
MINE = """
about = "One model from scratch."
tables = "bindsplit2026"
[scales.tiny]
[values]
epochs = 1
train = 32
[took]
tiny = "a minute"
[stages]
plan = "gen plan --scenes train={train},val=1,seen=2,partial=2,unseen=2 --resolution 32x32"
made = "gen render {plan} --quality draft --workers 1"
world = "gen verify {made}"
scratch = "score train scratch {world} --epochs {epochs} --batch 16"
[runs]
"dual / scratch" = "score run {world} --model jackalope:{scratch}"
[missing]
"ViT dual / scratch" = "not made here"
"""


def planned(*arguments: str | Path) -> list[list[str]]:
    done = score_command("experiment", *arguments, "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    return [shlex.split(command) for command in json.loads(done.stdout)["commands"]]


SHIPPED = [(name, scale) for name in experiment_names() for scale in ("smoke", "tiny", "small", "paper")]
EXAMPLES = [(str(ROOT / "docs" / "examples" / "gzsl.toml"), scale) for scale in ("smoke", "tiny")]


@needs_tables
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
        known = COMMANDS[words[0]]
        length = max(n for n in (1, 2) if " ".join(words[1 : n + 1]) in known)
        called = " ".join(words[1 : length + 1])
        known[called].make_context(called, words[length + 1 :], parent=click.Context(known[called])).close()
        *folders, last = [word[word.index(str(tmp_path)) :] for word in words if str(tmp_path) in word]
        assert made.issuperset(folders), "a stage reads what no stage before it has made"
        assert last not in made or "--out" not in words
        made.add(last)


@needs_tables
@pytest.mark.parametrize("name", ["bindsplit2026", "compass2026", "hard-positives2024", "pearson2025"])
def test_what_is_trained_from_a_model_is_measured_elsewhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[models.CLIP]\nspec = "open_clip:ViT-B-32"\n')
    given = ["--models", tmp_path / "mine.toml"] if name == "compass2026" else []  # it starts from no stand-in
    commands = planned(name, *given, "--out", tmp_path)
    trained = {
        words[-1] for words in commands if words[1] == "train" and words[2] in ("finetune", "labclip", "dreambooth")
    }
    measured = {words[6].removesuffix("/.") for words in commands if words[0] == "mkdir" and "forgetting" in words}
    assert trained
    assert trained == measured


@needs_tables
def test_clean_class_lists_differ_from_the_published_ones_in_them_alone(tmp_path: Path) -> None:
    clean, published = (planned(name, "--out", tmp_path) for name in ("pearson2025-clean", "pearson2025"))
    assert len(clean) == len(published)
    assert {words[3] for words in clean if words[1] == "plan"} - {
        words[3] for words in published if words[1] == "plan"
    } == {"pearson2025-clean"}
    shared = {word for words in clean for word in words if "pretrain-" in word} & {
        word for words in published for word in words if "pretrain-" in word
    }
    assert shared  # the stand-in is the same


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pearson2026"], "did you mean 'pearson2025'"),
        (["pearson2025", "--scale", "huge"], "Unknown scale 'huge'"),
        (["pearson2025", "--models", "nowhere.toml"], "nowhere.toml"),
        (["nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_there_is_not(arguments: list[str], said: str) -> None:
    assert_one_sentence(score_command("experiment", *arguments), said)


@needs_tables
def test_a_dry_run_tells_the_work_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    done = score_command("experiment", tmp_path / "mine.toml", "--out", tmp_path / "out", "--dry-run")
    assert "gen render: 1 stage, 0 done, 39 images left" in done.stderr
    assert "score train scratch: 1 stage, 0 done, 2 steps left" in done.stderr
    assert not (tmp_path / "out").exists()


@needs_tables
def test_a_wrong_option_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace("--epochs {epochs}", "--epoch {epochs}"))
    done = score_command("experiment", tmp_path / "mine.toml", "--out", tmp_path / "out")
    assert_one_sentence(done, "score train scratch", "--epoch")
    assert not (tmp_path / "out").exists()


@needs_tables
def test_a_failure_names_its_command_and_ends_with_the_code_of_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace("train={train}", "train=nine"))
    done = score_command("experiment", tmp_path / "mine.toml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "Failed with exit code 2: gen plan --scenes train=nine" in done.stderr
    assert "log.txt" in done.stderr
    assert done.stderr.splitlines()[0] == "One model from scratch."
    assert "From nothing, the scale tiny took a minute." in done.stderr
    assert "No table could be made." in done.stdout


@needs_tables
@pytest.mark.full
def test_one_of_mine_from_nothing_to_tables_and_again(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.toml", tmp_path / "out"
    mine.write_text(MINE)
    done = score_command("experiment", mine, "--out", out)
    assert done.exit_code == 0, done.output
    assert "gen render: 1 stage, 0 done, 39 images left" in done.stderr
    tables = Path(done.stdout.strip())
    assert "not made here" in (tables / "table2.md").read_text()
    made = {path.name: path.stat().st_mtime_ns for path in out.glob("*/done.json")}
    again = score_command("experiment", mine, "--out", out)
    assert "Nothing is left to do." in again.stderr
    assert again.stdout == done.stdout
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("*/done.json")} == made
    mine.write_text(MINE.replace("epochs = 1", "epochs = 2"))
    changed = score_command("experiment", mine, "--out", out)
    ran = [line.split("] ")[1].split() for line in changed.stderr.splitlines() if line.startswith("[")]
    assert [words[:2] for words in ran] == [["score", "train"], ["score", "run"], ["score", "tables"]]


@needs_tables
def test_pearson2025_from_nothing_to_tables(tmp_path: Path) -> None:
    done = score_command("experiment", "pearson2025", "--scale", "smoke", "--out", tmp_path)
    assert done.exit_code == 0, done.output
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
    assert "Diffusion, two-object is not shown: no weights of a diffusion model are at hand" in done.stderr
    again = score_command("experiment", "pearson2025", "--scale", "smoke", "--out", tmp_path)
    assert "Nothing is left to do." in again.stderr
    assert again.stdout == done.stdout
