"""What a recipe can declare, and what becomes of it in the tables."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from evaluator.experiments.lab import Lab
from evaluator.experiments.models import Model, read_models
from evaluator.experiments.runner import DONE, Failure
from evaluator.experiments.stages import Stage
from evaluator.papers.recipes import find_experiment
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.evaluator.synthetic import Builder, add_pair, one_of_each, write_run


def test_models_of_the_user_replace_those_of_the_recipe(tmp_path: Path) -> None:
    """Options of the recipe stay, and the user's win; a model that the scale leaves out takes part
    when it is given."""
    (tmp_path / "mine.toml").write_text(
        '[models.b]\nspec = "open_clip:ViT-B-32@my weights"\ntrain = { lora = "8", seed = 3 }\n'
        '[models.d]\nmissing = "too large"\n'
    )
    of_recipe = {
        "a": Model(spec="x:a"),
        "b": Model(spec="x:b", train={"rate": "1", "seed": 0}),
        "c": Model(missing="no"),
        "d": Model(spec="x:d"),
    }
    lab = Lab(tmp_path, read_models(tmp_path / "mine.toml"), "smoke")
    models = lab.models(of_recipe, chosen=("c",))
    assert models["a"].missing == "left out at the scale smoke"
    assert models["b"].train == {"rate": "1", "seed": 3, "lora": "8"}
    run = lab.stage("score run", model=models["b"].spec)
    assert run.words(tmp_path)[2:4] == ["--model", "open_clip:ViT-B-32@my weights"]
    assert (models["c"].missing, models["d"].missing) == ("no", "too large")
    with pytest.raises(UserError, match="The experiment has no model 'b'; expected one of: a"):
        lab.models({"a": Model(spec="x:a")})


def test_options_of_a_model_win_over_those_of_the_recipe(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    world = lab.stage("gen plan")
    model = Model(spec="x:a", run={"limit": 9}, train={"rate": 1, "model": "x:b"})
    assert lab.score(model, world, limit=50).options == {"limit": 9, "model": "x:a"}
    trained = lab.train("finetune", model, world, seed=0, rate=2)
    assert trained.command == "score train finetune"
    assert trained.options == {"model": "x:b", "seed": 0, "rate": 1}


def test_tables_have_runs_by_label_and_reasons_of_the_others(tmp_path: Path) -> None:
    lab = Lab(tmp_path, scale="smoke")
    world = lab.stage("gen plan")
    lab.stage("gen plan", seed=9)  # no row needs it
    for _ in range(2):
        runs = [lab.stage("score run", world, model=model) for model in ("x:a", "x:b")]
        lab.row("a", *runs)
    lab.row("b", lab.stage("score run", world, model="x:c"))
    lab.elsewhere("a", Model(spec="x:d,samples=4", run={"limit": 9}), world, world)
    lab.lacks("c")
    lab.lacks("d", "no weights")

    first, *others = lab.needed
    assert first == world
    folder = world.out(tmp_path)
    models = []
    for stage in others:
        words = stage.words(tmp_path)
        assert words[:3] == ["score", "run", str(folder)]
        models.append(words[4:-2])
    assert models == [
        ["x:a"],
        ["x:b"],
        ["x:c"],
        ["x:d,samples=4", "--limit", "9"],
        [f"jackalope:{folder},samples=4", "--limit", "9"],
    ]

    a, b, c, before, after = (str(stage.out(tmp_path)) for stage in others)
    failures = {others[2].name: Failure(others[2], 1, tmp_path)}
    tables = lab.tables("crepe2023", failures)
    assert tables is not None
    expected = [f"a={a}", f"a={b}", "--before", f"a={before}", "--after", f"a={after}"]
    reasons = {"c": "left out at the scale smoke", "d": "no weights", "b": "`score run` failed"}
    for label, reason in reasons.items():
        expected += ["--missing", f"{label}={reason}"]
    assert tables.words(tmp_path)[:-2] == ["score", "tables", "crepe2023", *expected]
    assert c not in " ".join(tables.words(tmp_path))
    assert Lab(tmp_path).tables("crepe2023", {}) is None


@pytest.mark.full
def test_a_search_keeps_the_model_that_is_best_on_the_validation_splits(tmp_path: Path) -> None:
    """Of three models one cannot be scored, one answers all wrong, and one all right."""
    lab = Lab(tmp_path)
    rates = ("1e-5", "1e-4", "1e-3")
    trained = [lab.stage("gen plan", rate=rate) for rate in rates]
    builder = one_of_each(Builder(0, 60), 10)
    for _ in range(10):
        add_pair(builder)
    dataset = builder.write(tmp_path / "dataset")
    base = Model(spec="x:a", run={"limit": 9})

    def score(model: Model) -> Stage:
        return lab.stage("score run", str(dataset), model=model.spec, **model.run)

    runs = [score(base.after(training)) for training in trained]

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
        lab.best_rate,
        train=partial(lab.stage, "gen plan"),
        score=score,
        splits=("seen",),
    )
    assert search(rates, model=base) == {"rate": "1e-3"}
    assert search((), model=base) == {}
    assert search(rates, model=Model(spec="x:a", train={"rate": 1})) == {}
    assert Lab(tmp_path, dry=True).best(trained, runs, ("seen",)) is trained[0]
    with pytest.raises(
        UserError, match="has no items of the split 'nowhere', by which a search selects"
    ):
        lab.best(trained, runs, ("nowhere",))
    for run in runs:
        shutil.rmtree(tmp_path / run.name, ignore_errors=True)
    # All runs fail: the first training is kept, whose stage fails again, so that the tables say so.
    assert lab.best(trained, runs, ("seen",)) is trained[0]


def test_an_unknown_experiment_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("EXPERIMENT = 3")
    for name, message in (
        ("pearson2026", "did you mean 'pearson2025'"),
        ("no.py", "no file no.py"),
        (str(tmp_path / "mine.py"), "has no EXPERIMENT"),
    ):
        with pytest.raises(UserError, match=message):
            find_experiment(name)
    with pytest.raises(UserError, match="Unknown scale 'huge'"):
        find_experiment("pearson2025").at("huge")
