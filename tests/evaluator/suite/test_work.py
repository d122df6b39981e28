"""What is asked of which model."""

from pathlib import Path

import pytest

from evaluator.suite.models import SuiteModel, named_models
from evaluator.suite.work import PlannedRun, count_questions, plan_work
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.suite.definition import Suite


def runs_of(root: Path, suite: Suite, **models: SuiteModel) -> list[PlannedRun]:
    return list(plan_work(root, suite, models).runs)


def test_a_model_from_scratch_is_trained_for_each_seed_and_asked_of_trained_tracks_alone(
    suite_folder: Path, declared: Suite
) -> None:
    model = SuiteModel(method="scratch", seeds=(0, 3))
    work = plan_work(suite_folder, declared, {"dual": model})
    assert [(run.track, run.seed, run.turns) for run in work.runs] == [
        ("bind", 0, ("turn0", "turn1")),
        ("bind", 3, ("turn0", "turn1")),
    ]
    commands = [stage.command for stage in work.stages]
    assert commands == ["score train scratch", "score run"] * 2
    assert {track for _, track in work.left_out} == {"zero-shot", "describe"}
    folders = work.runs[0].folders(Path("stages"))
    assert [folder.name for folder in folders] == ["turn0", "turn1"]


def test_a_pretrained_model_is_asked_as_it_is_where_nothing_is_held_out(
    suite_folder: Path, declared: Suite
) -> None:
    work = plan_work(suite_folder, declared, named_models(["hf:m"], None))
    assert [(run.track, run.turns) for run in work.runs] == [("zero-shot", ())]
    assert "--train METHOD" in work.left_out["hf:m", "bind"]
    assert work.left_out["hf:m", "describe"] == "it does not answer in words"
    with_training = plan_work(suite_folder, declared, named_models(["hf:m"], "labclip"))
    assert [run.track for run in with_training.runs] == ["bind", "zero-shot"]


def test_models_without_training_here_are_asked_every_turn(
    suite_folder: Path, declared: Suite
) -> None:
    for spec in ("oracle", "blind:length"):
        runs = runs_of(suite_folder, declared, baseline=SuiteModel(spec=spec))
        assert [(run.track, run.turns) for run in runs] == [
            ("bind", ("turn0", "turn1")),
            ("zero-shot", ()),
        ]


def test_models_of_the_user_are_named_by_world_and_turn(
    suite_folder: Path, declared: Suite
) -> None:
    (run,) = runs_of(suite_folder, declared, mine=SuiteModel(spec="jackalope:m/{world}/{turn}"))
    assert run.stage.options["model"] == "jackalope:m/color-shape/{turn}"
    assert run.stage.options["benchmark"] == "{turn}"


def test_a_model_that_answers_in_words_describes(suite_folder: Path, declared: Suite) -> None:
    runs = runs_of(suite_folder, declared, qwen=SuiteModel(spec="vqa:Qwen/Qwen3-VL-4B-Instruct"))
    assert [(run.track, run.command) for run in runs] == [("zero-shot", "run"), ("describe", "ask")]
    assert count_questions(runs[1]) == 8


def test_questions_are_those_of_the_protocols_that_are_asked(
    suite_folder: Path, declared: Suite
) -> None:
    (run,) = runs_of(suite_folder, declared, mine=SuiteModel(spec="jackalope:m/{turn}"))
    expected = 0
    for turn in run.turns:
        benchmark = Dataset.open(suite_folder / "bind/color-shape").benchmark(turn)
        protocols = benchmark.items["protocol"].to_pylist()
        expected += sum(protocol in ("pairs", "retrieval") for protocol in protocols)
    assert count_questions(run) == expected > 0
    limited = plan_work(suite_folder, declared, {"mine": SuiteModel(spec="hf:{turn}")}, limit=1)
    assert count_questions(limited.runs[0]) == 4  # two protocols of two turns


def test_chosen_tracks(suite_folder: Path, declared: Suite) -> None:
    runs = runs_of(suite_folder, declared, oracle=SuiteModel(spec="oracle", tracks=("zero-shot",)))
    assert [run.track for run in runs] == ["zero-shot"]
    with pytest.raises(UserError, match="names the track 'bnd'"):
        runs_of(suite_folder, declared, oracle=SuiteModel(spec="oracle", tracks=("bnd",)))


def test_a_model_that_was_trained_elsewhere_is_asked_of_turns_if_it_names_the_track(
    suite_folder: Path, declared: Suite
) -> None:
    model = SuiteModel(spec="jackalope:{world}", tracks=("bind",))
    (run,) = runs_of(suite_folder, declared, standin=model)
    assert run.stage.options["model"] == "jackalope:color-shape"
    assert run.turns == ("turn0", "turn1")


def test_the_world_of_a_training_is_named_in_its_model(suite_folder: Path, declared: Suite) -> None:
    model = SuiteModel(spec="jackalope:{world}", method="labclip", tracks=("bind",))
    training = plan_work(suite_folder, declared, {"labclip": model}).stages[0]
    assert training.command == "score train labclip"
    assert training.options["model"] == "jackalope:color-shape"


def test_unchanged_work_has_the_same_stages(suite_folder: Path, declared: Suite) -> None:
    model = SuiteModel(method="scratch", train={"epochs": 1})
    first = plan_work(suite_folder, declared, {"dual": model}).stages
    repeated = plan_work(suite_folder, declared, {"dual": model}).stages
    other = plan_work(
        suite_folder, declared, {"dual": model.model_copy(update={"train": {"epochs": 2}})}
    ).stages
    assert first == repeated
    assert not set(first) & set(other)


def test_a_file_can_ask_fewer_questions_of_a_slow_model_and_the_results_say_so(
    suite_folder: Path, declared: Suite
) -> None:
    slow = SuiteModel(method="scratch", run={"protocol": "pairs", "limit": 1})
    work = plan_work(suite_folder, declared, {"slow": slow, "usual": SuiteModel(spec="oracle")})
    assert work.restrictions == {"slow": "only pairs, at most 1 items of a protocol"}
    (run,) = [run for run in work.runs if run.model == "slow"]
    assert run.protocols == ("pairs",)
    # One item in each of the two turns.
    assert count_questions(run) == 2
