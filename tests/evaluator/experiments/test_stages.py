"""Stages are named after their command, their inputs, the files that they name, and the code."""

from pathlib import Path

import pytest

from evaluator.experiments import stages
from evaluator.experiments.stages import in_order, joined, new_stage
from generator.base.errors import UserError


def test_a_name_follows_from_the_command_its_arguments_and_its_inputs() -> None:
    plan, other = new_stage("gen plan", seed=1), new_stage("gen plan", seed=2)
    assert new_stage("gen plan", seed=1) == plan != other
    assert new_stage("gen plan", seed="1", no_pairs=False, holdout=None) == plan
    assert new_stage("gen render", plan) != new_stage("gen render", other)
    assert new_stage("gen render", joined("a:", plan)) != new_stage("gen render", plan)
    assert plan.name.startswith("gen-plan-")
    assert new_stage("score train scratch", plan).name.startswith("score-train-scratch-")


def test_a_name_follows_from_the_code_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    before = new_stage("gen plan")
    monkeypatch.setattr(stages, "code_digest", lambda command: "another")
    assert new_stage("gen plan") != before


def test_a_name_follows_from_the_contents_of_files_that_the_command_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, folder = tmp_path / "holdout.json", tmp_path / "model"
    folder.mkdir()
    for path in (file, folder / "weights"):
        path.write_text("one")
    values = (
        str(file),
        file,
        f"jackalope:{folder}",
        f"open_clip:ViT-B-32@{file}",
        "jackalope:model",
        f"a=diffusion:{folder},preset=pearson2025",
        "open_clip:local-dir:model",
    )

    def names() -> list[str]:
        return [new_stage("score run", model=value).name for value in values]

    before = names()
    assert names() == before
    for path in (file, folder / "weights"):
        path.write_text("two!")
    assert not set(before) & set(names())


def test_a_path_may_lie_anywhere(tmp_path: Path) -> None:
    names = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (folder / "preset.toml").write_text("same")
        names.add(new_stage("gen describe", preset=folder / "preset.toml").name)
    assert len(names) == 1


def test_words_have_the_folders_of_inputs_and_amending_commands_have_no_out(tmp_path: Path) -> None:
    plan = new_stage("gen plan", holdout=["3x3", "asymmetric"], no_pairs=True, block_seed=0)
    rendered = new_stage("gen render", plan)
    verified = new_stage("gen verify", rendered)
    scored = new_stage("score run", verified, model=joined("jackalope:", plan, ",samples=4"))
    assert in_order([verified, rendered, plan]) == [plan, rendered, verified]
    assert scored.inputs == (verified, plan)
    assert verified.amended == rendered
    folders = [str(stage.out(tmp_path)) for stage in (plan, rendered, verified, scored)]
    assert plan.words(tmp_path) == [
        *("gen", "plan", "--holdout", "3x3", "--holdout", "asymmetric"),
        *("--no-pairs", "--block-seed", "0", "--out", folders[0]),
    ]
    assert rendered.words(tmp_path) == ["gen", "render", folders[0], "--out", folders[1]]
    assert verified.words(tmp_path) == ["gen", "verify", folders[2]]
    assert scored.words(tmp_path)[2:] == [
        *(folders[2], "--model", f"jackalope:{folders[0]},samples=4", "--out", folders[3])
    ]
    assert new_stage("score audit", verified).out(tmp_path).suffix == ".json"


def test_a_stage_is_no_part_of_a_string() -> None:
    plan = new_stage("gen plan")
    with pytest.raises(UserError, match="cannot be part of a string"):
        f"jackalope:{plan}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("gen plam", "did you mean 'plan'"),
        ("gen", "`gen` has no command ''"),
        ("score rn --limit 9", "Write options as arguments"),
        ("sh run", "Expected a command of gen or score"),
    ],
)
def test_an_unknown_command_is_one_sentence(command: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        new_stage(command)
