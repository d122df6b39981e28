"""What a recipe can say, and what becomes of it in the tables."""

import shutil
from functools import partial
from pathlib import Path

import click
import numpy as np
import pytest

from evaluator.cli.main import main
from evaluator.experiments.lab import (
    _HARMLESS_FLAGS,
    _HARMLESS_OPTIONS,
    Lab,
    Model,
    read_models,
)
from evaluator.experiments.stages import DONE, Failure, Stage
from evaluator.papers.recipes import find_experiment
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.conftest import refuse
from tests.evaluator.synthetic import Builder, add_pair, one_of_each, write_run


def test_models_of_the_user_take_the_place_of_the_recipes(tmp_path: Path) -> None:
    """Options of the recipe stay and come first; a model that the scale leaves out takes part when
    it is given."""
    (tmp_path / "mine.toml").write_text(
        '[models.b]\nspec = "open_clip:ViT-B-32@my weights"\ntrain = "--lora '
        '8"\n[models.d]\nmissing = "too large"\n'
    )
    known = {
        "a": Model(spec="x:a"),
        "b": Model(spec="x:b", train="--rate 1"),
        "c": Model(missing="no"),
        "d": Model(spec="x:d"),
    }
    lab = Lab(tmp_path, read_models(tmp_path / "mine.toml"), "smoke")
    found = lab.models(known, chosen=("c",))
    assert found["a"].missing == "left out at the scale smoke"
    assert found["b"].train.split() == ["--rate", "1", "--lora", "8"]
    assert lab.stage(f"score run --model {found['b']}").words[-1] == "open_clip:ViT-B-32@my weights"
    assert (found["c"].missing, found["d"].missing) == ("no", "too large")
    with pytest.raises(UserError, match="The experiment has no model 'b'; expected one of: a"):
        lab.models({"a": Model(spec="x:a")})


@pytest.mark.parametrize(
    "text",
    [
        'spec = "python:/somewhere/evil.py:Model"',
        'spec = "api:https://example.org/v1@m"',
        'spec = "a=python:evil:Model"',
        'spec = "hf:m"\nrun = "--model python:evil:Model"',
        'spec = "hf:m"\nrun = "--log wandb"',
        'spec = "hf:m"\ntrain = "--out=/somewhere"',
        'spec = "hf:m"\nrun = \'--model "py"thon:./evil.py:Model\'',
        'spec = "hf:m"\nrun = "--mod\\\\el py\\\\thon:./evil.py:Model"',
        'spec = "hf:m"\nrun = \'"--out" /somewhere\'',
        'spec = "hf:m"\nrun = "--channel --model python:evil:Model"',
        'spec = "hf:m"\nrun = "--limit 9 /another/dataset"',
        'spec = "hf:m"\nrun = "--splits /somewhere"',
        'spec = "hf:m"\ntrain = "-o /somewhere"',
    ],
)
def test_models_that_run_code_or_reach_a_host_need_leave(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[models.a]\n{text}\n")
    refuse(
        "then add --allow-code",
        "score experiment crepe2023 --dry-run --models",
        path,
        "--out",
        tmp_path / "out",
    )
    assert not (tmp_path / "out").exists()
    assert set(read_models(path, allow_code=True)) == {"a"}


def test_commands_are_made_from_the_words_that_were_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[models.a]\nspec = "hf:m"\nrun = \'--limit "9" --full-pools\'\ntrain = "--lora=8 --rate '
        '1e-3"\n'
    )
    model = read_models(path)["a"]
    assert (model.run, model.train) == ("--limit 9 --full-pools", "--lora=8 --rate 1e-3")


def test_harmless_options_exist_and_say_rightly_whether_they_take_a_value() -> None:
    """An option that is listed wrongly would shift which words are names and which are values."""
    training = main.commands["train"]
    assert isinstance(training, click.Group)
    options = {
        name: parameter
        for command in (main.commands["run"], *training.commands.values())
        for parameter in command.params
        for name in parameter.opts
    }
    for name in _HARMLESS_OPTIONS | _HARMLESS_FLAGS:
        option = options[name]
        assert isinstance(option, click.Option)
        assert option.is_flag == (name in _HARMLESS_FLAGS), name
        assert option.nargs == 1


def test_an_open_quote_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[models.a]\nspec = "hf:m"\nrun = "--limit \\"9"\n')
    refuse(
        "models.a.run cannot be split into words",
        "score experiment crepe2023 --dry-run --models",
        path,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.a]", "models.a.spec is missing"),
        ('[models.a]\nspec = "x"\nsize = 1', "size"),
        ("models = 1", "models"),
        ("[", "mine.toml"),
    ],
)
def test_a_wrong_file_of_models_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        read_models(tmp_path / "mine.toml")


def test_tables_have_runs_by_label_and_reasons_of_the_others(tmp_path: Path) -> None:
    lab = Lab(tmp_path, scale="smoke")
    world = lab.stage("gen plan")
    lab.stage("gen plan --seed 9")  # no row needs it
    for _ in range(2):
        lab.row("a", f"score run {world} --model x:a", f"score run {world} --model x:b")
    lab.row("b", f"score run {world} --model x:c")
    lab.elsewhere("a", f"score run {world}", Model(spec="x:d,samples=4", run="--limit 9"), world)
    lab.lacks("c")
    lab.lacks("d", "no weights")
    needed = lab.needed
    models = (
        "x:a",
        "x:b",
        "x:c",
        "x:d,samples=4 --limit 9",
        f"jackalope:{world},samples=4 --limit 9",
    )
    assert [" ".join(stage.words) for stage in needed[1:]] == [
        f"score run {world} --model {each}" for each in models
    ]
    a, b, c, before, after = (str(stage) for stage in needed[1:])
    failures = {c: Failure(needed[3], 1, tmp_path)}
    tables = lab.tables("crepe2023", failures)
    assert tables is not None
    expected = [f"a={a}", f"a={b}", "--before", f"a={before}", "--after", f"a={after}"]
    reasons = {"c": "left out at the scale smoke", "d": "no weights", "b": "`score run` failed"}
    for label, reason in reasons.items():
        expected += ["--missing", f"{label}={reason}"]
    assert list(tables.words) == ["score", "tables", "crepe2023", *expected]
    assert Lab(tmp_path).tables("crepe2023", {}) is None


@pytest.mark.full
def test_a_search_keeps_the_model_that_is_best_on_the_validation_splits(tmp_path: Path) -> None:
    """Of three models one cannot be scored, one answers all wrong, and one all right."""
    lab = Lab(tmp_path)
    rates = ("1e-5", "1e-4", "1e-3")
    trained = [lab.stage(f"gen plan --rate {rate}") for rate in rates]
    builder = one_of_each(Builder(0, 60), 10)
    for _ in range(10):
        add_pair(builder)
    dataset = builder.write(tmp_path / "dataset")
    run = f"score run {dataset}"
    runs = [lab.stage(f"{run} --model jackalope:{model} --limit 9") for model in trained]

    def end(stage: Stage) -> None:
        (tmp_path / stage.name).mkdir(parents=True, exist_ok=True)
        (tmp_path / stage.name / DONE).touch()

    for stage in (*trained, *runs[1:]):
        end(stage)
    truth = np.array(Dataset.open(dataset).benchmark("all").candidates["truth"].to_pylist()) == True  # noqa: E712
    write_run(dataset, runs[1].out(tmp_path), lambda n: 1.0 - truth)
    write_run(dataset, runs[2].out(tmp_path), lambda n: 1.0 * truth)
    assert lab.best(trained, runs, ("seen",)) is trained[2]

    search = partial(
        lab.best_rate, run=run, model=Model(spec="x:a", run="--limit 9"), splits=("seen",)
    )
    assert search(rates, "gen plan") == "--rate 1e-3"
    assert search((), "gen plan") == search(rates, "gen plan --rate=1") == ""
    assert Lab(tmp_path, dry=True).best(trained, runs, ("seen",)) is trained[0]
    with pytest.raises(
        UserError, match="has no items of the split 'nowhere', by which a search selects"
    ):
        lab.best(trained, runs, ("nowhere",))
    for each in runs:
        shutil.rmtree(tmp_path / each.name, ignore_errors=True)
    assert (
        lab.best(trained, runs, ("seen",)) is trained[0]
    )  # whose stage fails again, so that the tables name it


def test_what_is_no_experiment_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("EXPERIMENT = 3")
    for name, said in (
        ("pearson2026", "did you mean 'pearson2025'"),
        ("no.py", "no file no.py"),
        (str(tmp_path / "mine.py"), "has no EXPERIMENT"),
    ):
        with pytest.raises(UserError, match=said):
            find_experiment(name)
    with pytest.raises(UserError, match="Unknown scale 'huge'"):
        find_experiment("pearson2025").at("huge")
