"""Stages are named after their command, what it reads, and the version of the code."""

from pathlib import Path

import pytest

from evaluator.experiments import stages
from evaluator.experiments.stages import Stages, in_order


def test_a_name_follows_from_the_command_and_from_what_it_reads() -> None:
    known = Stages()
    plan, other = known.add("gen plan --seed 1"), known.add("gen plan --seed 2")
    assert Stages().add(["gen", "plan", "--seed", "1"]).name == plan.name != other.name
    assert known.add(f"gen render {plan}").name != known.add(f"gen render {other}").name
    assert plan.name.startswith("gen-plan-")
    assert known.add(f"score train scratch {plan}").name.startswith("score-train-scratch-")


def test_another_version_of_the_code_is_another_stage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the command's own package."""
    names = []
    for code in ("one", "two", "two"):
        (tmp_path / "module.py").write_text(code)
        (tmp_path / "notes.md").write_text(f"{code} {len(names)}")
        monkeypatch.setitem(stages._CODE, "gen", (tmp_path,))
        stages._code_digest.cache_clear()
        names.append([Stages().add(command).name for command in ("gen plan", "score models")])
    stages._code_digest.cache_clear()
    assert names[0][0] != names[1][0]
    assert names[1] == names[2]
    assert names[0][1] == names[1][1]


def test_it_follows_from_the_contents_of_files_that_the_command_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, folder = tmp_path / "holdout.json", tmp_path / "model"
    folder.mkdir()
    for place in (file, folder / "weights"):
        place.write_text("one")
    given = (
        f"--holdout {file}",
        f"--preset={file}",
        f"jackalope:{folder}",
        f"open_clip:ViT-B-32@{file}",
    )
    given += (
        "jackalope:model",
        f"a=diffusion:{folder},preset=pearson2025",
        "open_clip:local-dir:model",
    )

    def names() -> list[str]:
        return [Stages().add(f"score run {each}").name for each in given]

    before = names()
    assert names() == before
    for place in (file, folder / "weights"):
        place.write_text("two!")
    assert not set(before) & set(names())


def test_stages_are_in_order_and_arguments_name_the_folders_and_what_amends_has_no_out(
    tmp_path: Path,
) -> None:
    known = Stages()
    plan = known.add("gen plan")
    rendered = known.add(f"gen render {plan}")
    verified = known.add(f"gen verify {rendered}")
    scored = known.add(f"score run {verified} --model jackalope:{plan}")
    assert in_order([verified, rendered, plan]) == [plan, rendered, verified]
    made = [str(stage.out(tmp_path)) for stage in (plan, rendered, verified, scored)]
    assert rendered.arguments(tmp_path) == ["gen", "render", made[0], "--out", made[1]]
    assert verified.arguments(tmp_path) == ["gen", "verify", made[2]]
    assert scored.arguments(tmp_path)[2:] == [
        made[2],
        "--model",
        f"jackalope:{made[0]}",
        "--out",
        made[3],
    ]
    assert known.add(f"score audit {verified}").out(tmp_path).suffix == ".json"
