"""What the papers' recipes declare, scale by scale."""

import re
import tomllib
from pathlib import Path

import pytest

from evaluator.experiments.lab import Lab
from evaluator.experiments.models import Model
from evaluator.experiments.stages import Stage, Text
from evaluator.papers.recipes import find_experiment
from generator.vocabulary.families import vocabulary_text

SCALES = ("smoke", "tiny", "small", "paper")
ROOT = Path("nowhere")


def _stages(name: str, scale: str, **user_models: Model) -> list[Stage]:
    lab = Lab(ROOT, user_models, dry=True, scale=scale)
    experiment = find_experiment(name)
    experiment.make(lab, experiment.at(scale))
    return lab.needed


def _of_command(stages: list[Stage], command: str) -> list[Stage]:
    return [stage for stage in stages if stage.command == command]


def _line(stage: Stage) -> str:
    return " ".join(stage.words(ROOT))


@pytest.mark.parametrize("scale", SCALES)
def test_crepe_has_hardly_any_scene_that_is_neither_seen_nor_unseen(scale: str) -> None:
    """The paper has no partial split; a plan of its design needs a scene in each."""
    plans = _of_command(_stages("crepe2023", scale), "gen plan")
    of_blocks = [plan for plan in plans if plan.options.get("design") == "systematicity"]
    assert of_blocks
    assert all("partial=1," in str(plan.options["scenes"]) for plan in of_blocks)


@pytest.mark.parametrize("scale", SCALES)
def test_compass_has_pairs_of_which_four_other_relations_are_false(scale: str) -> None:
    """Of a pair two directions are true, and of near, far, on and beneath at most two."""
    plan = _of_command(_stages("compass2026", scale), "gen plan")[0]
    family = tomllib.loads(vocabulary_text(str(plan.options["family"])))
    assert {"near", "far", "on", "beneath"} <= set(family["relations"])


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_hard_positives_have_the_rows_of_the_papers_first_table(scale: str) -> None:
    stages = _stages("hard-positives2024", scale)
    trained = _of_command(stages, "score train finetune")
    for options in (
        {"negatives": "swap", "positives": "none"},
        {"negatives": "replace", "positives": "none"},
        {"positives": "none", "texts": "plain,relations,synonyms"},
        {"negatives": "replace", "positives": "replace"},
    ):
        assert any(options.items() <= training.options.items() for training in trained), options
    on_converse = []
    for run in _of_command(stages, "score run"):
        if str(run.options["benchmark"]).startswith("converse"):
            on_converse.append(run)
    assert len(on_converse) >= len(trained)


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_pearson_trains_every_architecture_from_scratch_on_every_task(scale: str) -> None:
    trained = _of_command(_stages("pearson2025", scale), "score train scratch")
    for task in ("single", "two-object", "relational"):
        for architecture in ("dual", "cross", "diffusion"):
            options = {"benchmark": f"pearson2025-{task}", "architecture": architecture}
            of_both = [one for one in trained if options.items() <= one.options.items()]
            assert len(of_both) >= 2, (task, architecture)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "name", ["bindsplit2026", "hard-positives2024", "crepe2023", "compass2026"]
)
def test_models_of_a_turn_are_scored_on_their_turn_alone(name: str, scale: str) -> None:
    """A model that was trained on another turn has seen what this turn holds out."""
    stages = _stages(name, scale)
    turn_of_training = {}
    turns_of_runs = set()
    for stage in stages:
        turn = re.search(r"turn(\d)", str(stage.options.get("benchmark")))
        if stage.command.startswith("score train") and turn:
            turn_of_training[stage] = turn[1]
        elif stage.command == "score run":
            trained = set(stage.inputs) & set(turn_of_training)
            assert all(turn and turn_of_training[training] == turn[1] for training in trained)
            turns_of_runs.update(turn_of_training[training] for training in trained)
    assert turns_of_runs
    if scale != "smoke":
        (holdout,) = {
            str(plan.options["holdout"])
            for plan in _of_command(stages, "gen plan")
            if str(plan.options.get("holdout")).startswith("turns=")
        }
        assert len(turns_of_runs) == int(holdout.removeprefix("turns="))


@pytest.mark.parametrize("scale", ["tiny", "paper"])
def test_a_model_is_scored_alike_before_and_after_its_training(scale: str) -> None:
    model = Model(spec="diffusion:x/y,preset=pearson2025", run={"limit": 50}, train={"steps": 9})
    stages = _stages("pearson2025", scale, Diffusion=model)
    of_user = []
    for run in _of_command(stages, "score run"):
        line = _line(run)
        if "diffusion:" in line or "score-train-dreambooth" in line:
            of_user.append(line)
    assert len(of_user) > 6
    for line in of_user:
        assert re.search(r" --model \S+,preset=pearson2025 ", line), line
        assert " --limit 50 " in line
    pictures = _of_command(stages, "score generate")
    assert pictures
    assert all(_line(picture).count(",preset=pearson2025 ") == 2 for picture in pictures)


def test_diffusion_models_from_scratch_are_scored_as_in_the_paper() -> None:
    from_scratch = []
    for run in _of_command(_stages("pearson2025", "paper"), "score run"):
        model = run.options["model"]
        if isinstance(model, Text) and model.written.endswith(",preset=pearson2025"):
            from_scratch.append(run)
    assert len(from_scratch) == 9


@pytest.mark.parametrize(
    ("name", "model"), [("pearson2025", "CLIP"), ("bindsplit2026", "dual, small pretraining")]
)
def test_a_rate_of_the_user_is_not_searched(name: str, model: str) -> None:
    user_model = Model(spec="open_clip:ViT-B-32@openai", train={"rate": "3e-5"})
    stages = _stages(name, "tiny", **{model: user_model})
    of_user = []
    for training in _of_command(stages, "score train finetune"):
        if training.options["model"] == user_model.spec:
            of_user.append(training)
    assert of_user
    assert {training.options["rate"] for training in of_user} == {"3e-5"}


def test_a_model_that_is_missing_leaves_its_rows_out_with_the_reason() -> None:
    lab = Lab(ROOT, {"base": Model(missing="too large")}, "tiny", dry=True)
    experiment = find_experiment("hard-positives2024")
    experiment.make(lab, experiment.at("tiny"))
    assert lab.needed == []
    assert set(lab.missing.values()) == {"too large"}
