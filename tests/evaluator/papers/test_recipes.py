"""What the papers' recipes ask for, scale by scale."""

import re
import tomllib
from pathlib import Path

import pytest

from evaluator.experiments.lab import Lab, Model
from evaluator.papers.recipes import find_experiment
from generator.vocabulary.families import vocabulary_text

SCALES = ("smoke", "tiny", "small", "paper")


def _commands(name: str, scale: str, **given: Model) -> list[str]:
    lab = Lab(Path("nowhere"), given, dry=True, scale=scale)
    experiment = find_experiment(name)
    experiment.make(lab, experiment.at(scale))
    return [" ".join(stage.words) for stage in lab.needed]


@pytest.mark.parametrize("scale", SCALES)
def test_crepe_has_hardly_any_scene_that_is_neither_seen_nor_unseen(scale: str) -> None:
    """The paper has no partial split; a plan of its design needs a scene in each."""
    plans = [each for each in _commands("crepe2023", scale) if "--design systematicity" in each]
    assert plans
    assert all(re.search(r"partial=(\d+)", plan)[1] == "1" for plan in plans)  # type: ignore[index]


@pytest.mark.parametrize("scale", SCALES)
def test_compass_asks_about_pairs_of_which_four_other_relations_are_false(scale: str) -> None:
    """Of a pair two directions are true, and of near, far, on and beneath at most two."""
    plan = next(each for each in _commands("compass2026", scale) if "--holdout" in each)
    family = tomllib.loads(vocabulary_text(re.search(r"--family (\S+)", plan)[1]))  # type: ignore[index]
    assert {"near", "far", "on", "beneath"} <= set(family["relations"])


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_hard_positives_have_the_rows_of_the_papers_first_table(scale: str) -> None:
    commands = _commands("hard-positives2024", scale)
    trained = [each for each in commands if each.startswith("score train finetune")]
    for options in (
        "--negatives swap --positives none",
        "--negatives replace --positives none",
        "--positives none --texts plain,relations,synonyms",
        "--negatives replace --positives replace",
    ):
        assert any(options in each for each in trained), options
    asked = [
        each for each in commands if each.startswith("score run") and "--benchmark converse" in each
    ]
    assert len(asked) >= len(trained)


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_pearson_trains_every_architecture_from_scratch_on_every_task(scale: str) -> None:
    trained = [
        each for each in _commands("pearson2025", scale) if each.startswith("score train scratch")
    ]
    for task in ("single", "two-object", "relational"):
        for architecture in ("dual", "cross", "diffusion"):
            asked = [
                each
                for each in trained
                if f"-{task} " in each and f"--architecture {architecture} " in each
            ]
            assert len(asked) >= 2, (task, architecture)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "name", ["bindsplit2026", "hard-positives2024", "crepe2023", "compass2026"]
)
def test_models_of_a_turn_are_scored_on_their_turn_alone(name: str, scale: str) -> None:
    """A model that was trained on another turn has seen what this turn holds out."""
    lab = Lab(Path("nowhere"), {}, dry=True, scale=scale)
    experiment = find_experiment(name)
    experiment.make(lab, experiment.at(scale))
    turn_of_training = {}
    turns_of_runs = set()
    for stage in lab.needed:
        command = " ".join(stage.words)
        turn = re.search(r"--benchmark \S*turn(\d)", command)
        if command.startswith("score train") and turn:
            turn_of_training[stage.name] = turn[1]
        elif command.startswith("score run"):
            trained = {read.name for read in stage.reads} & {*turn_of_training}
            assert all(turn and turn_of_training[training] == turn[1] for training in trained)
            turns_of_runs.update(turn_of_training[training] for training in trained)
    assert turns_of_runs
    if scale != "smoke":
        plan = next(s for s in lab.needed if "turns=" in " ".join(s.words))
        assert len(turns_of_runs) == int(re.search(r"turns=(\d)", " ".join(plan.words))[1])  # type: ignore[index]


@pytest.mark.parametrize("scale", ["tiny", "paper"])
def test_a_model_is_scored_alike_before_and_after_its_training(scale: str) -> None:
    model = Model(spec="diffusion:x/y,preset=pearson2025", run="--limit 50", train="--steps 9")
    commands = _commands("pearson2025", scale, Diffusion=model)
    runs = [each for each in commands if each.startswith("score run")]
    of_user = [each for each in runs if "diffusion:" in each or "score-train-dreambooth" in each]
    assert len(of_user) > 6
    assert all(
        re.search(r" --model \S+,preset=pearson2025 .*--limit 50$", each) for each in of_user
    )
    drawn = [each for each in commands if each.startswith("score generate")]
    assert all(each.count(",preset=pearson2025 ") == 2 for each in drawn)


def test_diffusion_models_from_scratch_are_scored_as_in_the_paper() -> None:
    runs = [
        each for each in _commands("pearson2025", "paper") if each.endswith(",preset=pearson2025")
    ]
    assert len(runs) == 9


@pytest.mark.parametrize(
    ("name", "model"), [("pearson2025", "CLIP"), ("bindsplit2026", "dual, small pretraining")]
)
def test_a_rate_of_the_users_is_not_searched(name: str, model: str) -> None:
    given = Model(spec="open_clip:ViT-B-32@openai", train="--rate 3e-5")
    trained = [
        each for each in _commands(name, "tiny", **{model: given}) if "train finetune" in each
    ]
    of_user = [each for each in trained if "open_clip:" in each]
    assert of_user
    assert all(re.findall(r"--rate (\S+)", each) == ["3e-5"] for each in of_user)


def test_a_model_that_is_missing_leaves_its_rows_out_with_the_reason() -> None:
    lab = Lab(Path("nowhere"), {"base": Model(missing="too large")}, "tiny", dry=True)
    experiment = find_experiment("hard-positives2024")
    experiment.make(lab, experiment.at("tiny"))
    assert lab.needed == []
    assert set(lab.missing.values()) == {"too large"}
