"""From declarations to stages."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evaluator.experiments.declaration import Experiment
from evaluator.experiments.expansion import expand
from generator.base.errors import UserError

ROOT = Path("root")


def declare(**changes: Any) -> Experiment:
    declared = {
        "about": "A test.",
        "tables": "pearson2025",
        "models": {"CLIP": {"spec": "jackalope:{standin}", "run": "--dtype auto"}, "ViLT": {"missing": "no weights"}},
        "values": {
            "seed": [0, 1], "block": [0, 1, 2], "quality": "draft", "steps": "--epochs 2 --batch {batch}", "batch": 16, "empty": "",
            "task": {"one": {"name": "a-one", "more": "--rate 1"}, "two": {"name": "a-two", "more": ""}},
        },
        "scales": {"tiny": {}, "half": {"task": ["two"]}},
        "stages": {
            "plan": "gen plan --block-seed {block*} {empty}",
            "world": "gen verify {rendered}",
            "rendered": "gen render {plan} --quality {quality}",
            "standin": "score train pretrain {rendered} {steps}",
            "tuned": "score train finetune {model} {world} --benchmark b{block} --seed {seed} {task.more}",
        },
        "runs": {
            "{model} / raw": "score run {world} --benchmark b{block} --model {model} {model.run}",
            "{model} / tuned": "score run {world} --benchmark b{block} --model jackalope:{tuned}",
        },
        "missing": {"ViLT / scratch": "not made"},
        **changes,
    }  # fmt: skip
    return Experiment.model_validate(declared)


def commands(experiment: Experiment, scale: str = "tiny") -> list[str]:
    return [" ".join(stage.arguments(ROOT)) for stage in expand(experiment, scale).stages]


def of_kind(experiment: Experiment, kind: str, scale: str = "tiny") -> list[list[str]]:
    return [stage.arguments(ROOT) for stage in expand(experiment, scale).stages if stage.kind.name == kind]


def test_lists_multiply_the_stages_that_name_them_and_what_reads_these_follows_suit() -> None:
    experiment = declare()
    assert len(of_kind(experiment, "gen plan")) == len(of_kind(experiment, "gen render")) == 1
    tuned = of_kind(experiment, "score train finetune")
    assert len(tuned) == 3 * 2 * 2
    runs = of_kind(experiment, "score run")
    assert len(runs) == 3 + 3 * 2 * 2  # the block of a run is that of its model
    folders = {words[words.index("--out") + 1]: words[words.index("--benchmark") + 1] for words in tuned}
    for words in runs[3:]:
        model = words[words.index("--model") + 1].removeprefix("jackalope:")
        assert folders[model] == words[words.index("--benchmark") + 1]


def test_a_scale_chooses() -> None:
    assert len(of_kind(declare(), "score train finetune", "half")) == 3 * 2


def test_what_a_scale_leaves_out_is_missing_and_says_so() -> None:
    declared = declare(
        runs={"{task} / {model}": "score run {world} --benchmark {task.name} --model {model}"}, missing={}
    )
    assert "one / CLIP" not in expand(declared, "tiny").missing
    assert expand(declared, "half").missing == {
        "two / ViLT": "no weights", "one / CLIP": "left out at the scale half", "one / ViLT": "left out at the scale half",
    }  # fmt: skip


def test_each_model_is_trained_by_its_own_method() -> None:
    experiment = declare(
        models={"CLIP": {"spec": "a:b"}, "Diffusion": {"spec": "c:d", "method": "dreambooth", "train": "--steps {batch}"}},
        stages={**declare().stages, "tuned": "score train {model.method} {model} {world} {model.train} --benchmark b{block}"},
    )  # fmt: skip
    assert len(of_kind(experiment, "score train finetune")) == 3
    assert {tuple(words[5:7]) for words in of_kind(experiment, "score train dreambooth")} == {("--steps", "16")}


def test_values_are_split_into_words_and_may_name_values() -> None:
    [standin] = of_kind(declare(), "score train pretrain")
    assert standin[4:8] == ["--epochs", "2", "--batch", "16"]
    [plan] = of_kind(declare(), "gen plan")
    assert plan[2:5] == ["--block-seed", "0,1,2", "--out"]


def test_what_a_stage_amends_is_a_copy_and_its_readers_have_the_copy() -> None:
    [verify] = of_kind(declare(), "gen verify")
    [rendered] = of_kind(declare(), "gen render")
    assert "--out" not in verify
    assert verify[2] != rendered[rendered.index("--out") + 1]
    assert all(verify[2] in words for words in of_kind(declare(), "score run"))


def test_labels_pool_what_lists_multiply_and_missing_rows_say_why() -> None:
    expanded = expand(declare(), "tiny")
    labels = [run.label for run in expanded.runs]
    assert (labels.count("CLIP / raw"), labels.count("CLIP / tuned")) == (3, 12)
    assert expanded.missing == {"ViLT / raw": "no weights", "ViLT / tuned": "no weights", "ViLT / scratch": "not made"}
    words = expanded.tables().arguments(ROOT)
    assert words[:3] == ["score", "tables", "pearson2025"]
    assert words[3] == f"CLIP / raw={expanded.runs[0].out(ROOT)}"
    assert ("--missing", "ViLT / scratch=not made") in list(pairwise(words))


def test_tables_name_runs_that_failed_as_missing() -> None:
    expanded = expand(declare(), "tiny")
    failed = expanded.runs[0]
    words = expanded.tables({failed.name: "it broke"}).arguments(ROOT)
    assert "CLIP / raw=it broke" in words
    assert not any(failed.name in word for word in words)


SHOWN = {
    "shown": {
        "{model}, block {block}": "score embeddings raw={model=CLIP} tuned=jackalope:{tuned} {world} --benchmark b{block} --seed {seed=1}",
        "{model}": "score generate {model=ViLT} {world}",
    }
}


def test_an_element_is_chosen_from_a_list_and_from_the_models() -> None:
    experiment = declare(**SHOWN)
    expanded = expand(experiment, "half")
    assert [stage.label for stage in expanded.shown] == [f"CLIP, block {block}" for block in range(3)]
    tuned = {
        str(stage.out(ROOT)): stage.arguments(ROOT)
        for stage in expanded.stages
        if stage.kind.name == "score train finetune"
    }
    for stage in expanded.shown:
        words = stage.arguments(ROOT)
        trained = tuned[words[3].removeprefix("tuned=jackalope:")]
        assert trained[trained.index("--seed") + 1] == words[words.index("--seed") + 1] == "1"
        assert f"{stage.label}={stage.out(ROOT)}" in expanded.tables().arguments(ROOT)
    assert expanded.unshown == {"ViLT": "no weights"}
    assert "ViLT" not in expanded.missing


def test_what_is_shown_and_failed_is_in_no_table() -> None:
    expanded = expand(declare(**SHOWN), "half")
    failed = expanded.shown[0]
    words = expanded.tables({failed.name: "it broke"}).arguments(ROOT)
    assert not any(failed.name in word or "it broke" in word for word in words)


def test_what_no_run_reads_is_not_made() -> None:
    replaced = declare(models={"CLIP": {"spec": "open_clip:ViT-B-32"}})
    assert not of_kind(replaced, "score train pretrain")
    assert of_kind(declare(), "score train pretrain")


def test_several_commands_of_one_label() -> None:
    run = "score run {world} --benchmark b{block} --model {model}"
    experiment = declare(runs={"{model}": [run, f"{run} --protocol pairs"]}, missing={})
    assert [run.label for run in expand(experiment, "tiny").runs] == ["CLIP"] * 6


def test_a_changed_value_changes_the_folders_of_what_reads_it_alone() -> None:
    before, after = (
        {stage.name: stage.kind.name for stage in expand(declare(values={**declare().values, "batch": batch}), "tiny").stages}
        for batch in (16, 32)
    )  # fmt: skip
    same = set(before) & set(after)
    assert {before[name] for name in same} == {"gen plan", "gen render", "gen verify"}
    assert {before[name] for name in set(before) - same} == {
        "score train pretrain",
        "score train finetune",
        "score run",
    }


def test_stages_that_differ_in_list_elements_cost_alike() -> None:
    expanded = expand(declare(), "tiny")
    tuned = {stage.like for stage in expanded.stages if stage.kind.name == "score train finetune"}
    assert len(tuned) == 2  # two tasks
    other = expand(declare(values={**declare().values, "empty": "--scenes 9"}), "tiny")
    assert not {stage.like for stage in expanded.stages} & {stage.like for stage in other.stages}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stages": {"world": "gen verify {rendred}", "rendered": "gen plan"}}, "stages.world: nothing defines '{rendred}'; did you mean"),
        ({"stages": {"world": "gen render {again}", "again": "gen render {world}"}}, "stages.world reads itself (world → again → world)"),
        ({"stages": {"world": "gen rendr"}}, "stages.world: 'gen rendr' is no command of a stage"),
        ({"stages": {"world": "gen verify"}}, "it has to name the stage that made it"),
        ({"values": {"batch": "{steps}", "steps": "{batch}"}, "stages": {"world": "gen plan {steps}"}}, "stands for itself; break the circle"),
        ({"stages": {"world": "gen plan {task}"}}, "task.one is a table; name one of"),
        ({"stages": {"world": "gen plan {task.nme}"}}, "task.one has no 'nme'"),
        ({"stages": {"world": "gen plan {seed.name}"}}, "'seed' is no table"),
        ({"stages": {"world": "gen plan {model.spec}"}}, "expected one of {model}, {model.run}, {model.train}, {model.method}"),
        ({"stages": {"world": "gen plan {seed=7}"}}, "stages.world: '{seed=7}' chooses what there is not; expected one of"),
        ({"shown": {"a": "score run {world}"}}, "shown.'a': expected a `score audit` or `score embeddings` or `score generate`"),
        ({"runs": {"a": "gen plan"}}, "runs.'a': expected a `score run`"),
        ({"runs": {"{seed}": "score run {world}"}}, "the label names '{seed}', over which its command does not go"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(changes: dict[str, Any], said: str) -> None:
    simple = {
        "models": {"CLIP": {"spec": "a:b"}},
        "stages": {"world": "gen plan"},
        "runs": {"a": "score run {world}"},
        "missing": {},
    }
    with pytest.raises(UserError) as caught:
        expand(declare(**{**simple, **changes}), "tiny")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
