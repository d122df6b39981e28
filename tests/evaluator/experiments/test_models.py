"""A user's file of models: what it may set, with and without --allow-code."""

from pathlib import Path

import click
import pytest

from evaluator.cli.main import main
from evaluator.experiments.models import (
    HARMLESS_FLAGS,
    HARMLESS_OPTIONS,
    Model,
    read_models,
    trained_model,
)
from evaluator.experiments.stages import Text, new_stage
from generator.base.errors import UserError
from tests.conftest import refuse


@pytest.mark.parametrize(
    "text",
    [
        'spec = "python:/somewhere/evil.py:Model"',
        'spec = "api:https://example.org/v1@m"',
        'spec = "a=python:evil:Model"',
        'spec = "hf:m"\nrun = { model = "python:evil:Model" }',
        'spec = "hf:m"\nrun = { log = "wandb" }',
        'spec = "hf:m"\nrun = { channel = "--model" }',
        'spec = "hf:m"\nrun = { channel = ["logit", "python:evil:Model"] }',
        'spec = "hf:m"\nrun = { full-pools = "/another/dataset" }',
        'spec = "hf:m"\nrun = { limit = true }',
        'spec = "hf:m"\nrun = { splits = "/somewhere" }',
        'spec = "hf:m"\nrun = { rate = 1e-3 }',
        'spec = "hf:m"\ntrain = { out = "/somewhere" }',
        'spec = "hf:m"\ntrain = { preset = "https://example.org" }',
    ],
)
def test_models_that_run_code_or_reach_a_host_need_permission(text: str, tmp_path: Path) -> None:
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


def test_options_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[models.a]\nspec = "hf:m"\nrun = { limit = 9, full-pools = true }\n'
        'train = { lora = "8", rate = 1e-3 }\n'
    )
    model = read_models(path)["a"]
    assert model.run == {"limit": 9, "full_pools": True}
    assert model.train == {"lora": "8", "rate": 1e-3}


def test_harmless_options_exist_and_flags_take_no_value() -> None:
    """A value after a flag would be an argument of its own, such as another dataset."""
    training = main.commands["train"]
    assert isinstance(training, click.Group)
    commands = {
        "ask": [main.commands["ask"]],
        "run": [main.commands["run"]],
        "train": list(training.commands.values()),
    }
    for name_of_command, names in HARMLESS_OPTIONS.items():
        options = {}
        for command in commands[name_of_command]:
            for parameter in command.params:
                for flag in parameter.opts:
                    options[flag.removeprefix("--").replace("-", "_")] = parameter
        for name in names:
            option = options[name]
            assert isinstance(option, click.Option)
            assert option.is_flag == (name in HARMLESS_FLAGS), name
            assert option.nargs == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.a]", "models.a.spec is missing"),
        ('[models.a]\nspec = "x"\nsize = 1', "size"),
        ('[models.a]\nspec = "x"\nrun = "--limit 9"', "models.a.run to be a table such as"),
        ('[models.a]\nspec = "x"\nrun = { "limit 9" = 1 }', "limit 9"),
        ("models = 1", "models"),
        ("[", "mine.toml"),
    ],
)
def test_a_wrong_file_of_models_is_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_models(tmp_path / "mine.toml")


def test_a_trained_model_keeps_the_arguments_and_run_options_of_its_base() -> None:
    trained = new_stage("score train finetune", "world")
    base = Model(spec="diffusion:a,b,samples=4,preset=x", run={"limit": 9}, train={"rate": 1})
    model = base.after(trained)
    assert model.spec == Text(("jackalope:", trained, ",samples=4,preset=x"))
    assert (model.run, model.train) == ({"limit": 9}, {})
    retrained = trained_model(trained, ",samples=4").after(trained)
    assert isinstance(retrained.spec, Text)
    assert retrained.spec.written == "jackalope:,samples=4"
