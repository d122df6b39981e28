"""Declarations of experiments: what is read, and what is refused in one sentence."""

from pathlib import Path

import pytest

from evaluator.experiments.declaration import experiment_names, read_experiment, with_models
from generator.base.errors import UserError

GOOD = """
about = "A test."
tables = "pearson2025"
[models]
CLIP = { spec = "jackalope:{world}" }
[values]
seed = [0, 1]
[values.task]
one = "a"
two = "b"
[scales.tiny]
size = 3
[scales.one]
task = ["two"]
models = ["CLIP"]
[took]
tiny = "3 minutes of one core"
[stages]
world = "gen plan"
[runs]
"{model}" = "score run {world} --model {model}"
"""


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def test_six_experiments_are_shipped() -> None:
    assert experiment_names() == [
        "bindsplit2026", "compass2026", "crepe2023", "hard-positives2024", "pearson2025", "pearson2025-clean",
    ]  # fmt: skip


def test_a_scale_sets_values_and_chooses_from_tables_and_models(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, GOOD))
    values, models = experiment.at("one")
    assert values == {"seed": (0, 1), "task": {"two": "b"}}
    assert list(models) == ["CLIP"]
    assert experiment.at("one", whole=True)[0] == {"seed": (0, 1), "task": {"one": "a", "two": "b"}}
    assert experiment.at("tiny")[0] == {"seed": (0, 1), "task": {"one": "a", "two": "b"}, "size": 3}


def test_what_changes_values_does_not_inherit_the_time(tmp_path: Path) -> None:
    assert read_experiment(write(tmp_path, GOOD)).took == {"tiny": "3 minutes of one core"}
    assert read_experiment("pearson2025").took
    assert read_experiment(write(tmp_path, 'extends = "pearson2025"\n')).took == {}


def test_a_file_extends_a_shipped_one_table_by_table(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "pearson2025"\n[values]\nresolution = "32x32"\n[scales.smoke]\nseed = [5]\n')
    ours, theirs = read_experiment(path), read_experiment("pearson2025")
    assert ours.values == {**theirs.values, "resolution": "32x32"}
    assert ours.scales == {**theirs.scales, "smoke": {**theirs.scales["smoke"], "seed": (5,)}}
    assert ours.runs == theirs.runs


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('about = "A test."', "", "about is missing; declare it."),
        ("[stages]", "[stage]", "unknown key 'stage'; did you mean 'stages'?"),
        ("seed = [0, 1]", "seed = true", "values.seed: expected text, a number, a list"),
        ("seed = [0, 1]", "seed = []", "values.seed: "),
        ("size = 3", "size = {a = 1}", "scales.tiny.size: expected text"),
        ("seed = [0, 1]", "world = 3", "'world' is a stage and a value; rename one"),
        ("seed = [0, 1]", "model = 3", "'model' and 'models' stand for [models]"),
        ('spec = "jackalope:{world}"', "", "models.CLIP: expected either spec"),
        ('"{model}" =', '"{model} = 2" =', "has '='; choose another"),
        ("about =", "about", "mine.toml"),
        ("tiny = ", "tin = ", "took.tin: unknown scale; did you mean 'tiny'?"),
        ('about = "A test."', 'extends = "pearson2026"', "cannot extend 'pearson2026'"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(UserError) as caught:
        read_experiment(write(tmp_path, GOOD.replace(old, new)))
    assert said in caught.value.message
    assert "mine.toml" in caught.value.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pearson2026", "did you mean 'pearson2025'"),
        ("nowhere.toml", "nowhere.toml"),
        ("x", "A file of yours ends in .toml."),
    ],
)
def test_an_experiment_that_there_is_not(name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_experiment(name)


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("large", "Unknown scale 'large'"),
        ("bad", "there is no 'three'"),
        ("worse", "expected a list that chooses from one, two"),
    ],
)
def test_scales_that_cannot_be(tmp_path: Path, scale: str, said: str) -> None:
    text = GOOD.replace("[stages]", '[scales.bad]\ntask = ["three"]\n[scales.worse]\ntask = "one"\n[stages]')
    with pytest.raises(UserError, match=said):
        read_experiment(write(tmp_path, text)).at(scale)


def test_models_of_a_file_replace_those_of_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('[models.CLIP]\nspec = "open_clip:ViT-B-32@openai"\nrun = "--dtype auto"\n')
    models = with_models(read_experiment(write(tmp_path, GOOD)), tmp_path / "models.toml").models
    assert (models["CLIP"].spec, models["CLIP"].run) == ("open_clip:ViT-B-32@openai", "--dtype auto")


def test_models_of_a_file_join_those_that_a_scale_chooses(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('[models.ViT]\nspec = "a:b"\n')
    two = GOOD.replace(
        "[values]", '[models.ViT]\nmissing = "no weights"\n[models.Other]\nmissing = "no weights"\n[values]', 1
    )
    experiment = with_models(read_experiment(write(tmp_path, two)), tmp_path / "models.toml")
    assert list(experiment.at("one")[1]) == ["CLIP", "ViT"]
    assert list(experiment.at("tiny")[1]) == ["CLIP", "ViT", "Other"]


def test_options_of_the_experiment_come_first(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('[models.CLIP]\nspec = "a:b"\ntrain = "--rate 2"\n')
    own = GOOD.replace('{world}" }', '{world}", train = "--rate 1", run = "--dtype auto", method = "dreambooth" }')
    clip = with_models(read_experiment(write(tmp_path, own)), tmp_path / "models.toml").models["CLIP"]
    assert (clip.train, clip.run, clip.method, clip.missing) == ("--rate 1 --rate 2", "--dtype auto", "dreambooth", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[models.ViT]\nspec = "a:b"', "has no model 'ViT'"),
        ("[models]", "models"),
        ('[models.CLIP]\nspec = "a:b"\nargs = ""', "unknown key 'models.CLIP.args'"),
        (None, "There is no|Cannot|no file"),
    ],
)
def test_a_wrong_file_of_models(tmp_path: Path, text: str | None, said: str) -> None:
    experiment = read_experiment(write(tmp_path, GOOD))
    if text is not None:
        (tmp_path / "models.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        with_models(experiment, tmp_path / "models.toml")
