"""Stages are named after what they hold."""

from pathlib import Path

from evaluator.experiments.commands import KINDS
from evaluator.experiments.stages import Stage, in_order

PLAN = Stage(KINDS["gen plan"], ("--seed", "1"))
RENDERED = Stage(KINDS["gen render"], (PLAN.mark,), (PLAN,))
VERIFIED = Stage(KINDS["gen verify"], (RENDERED.mark,), (RENDERED,))


def test_a_name_follows_from_the_command_and_from_what_it_reads() -> None:
    assert Stage(KINDS["gen plan"], ("--seed", "1")).name == PLAN.name
    other = Stage(KINDS["gen plan"], ("--seed", "2"))
    assert other.name != PLAN.name
    assert Stage(KINDS["gen render"], (other.mark,), (other,)).name != RENDERED.name
    assert PLAN.name.startswith("gen-plan-")


def test_it_follows_from_the_contents_of_files_that_the_command_names(tmp_path: Path) -> None:
    file, folder = tmp_path / "holdout.json", tmp_path / "model"
    folder.mkdir()
    for place in (file, folder / "weights"):
        place.write_text("one")
    words = [("--holdout", str(file)), (f"--preset={file}",), (f"jackalope:{folder}",), (f"open_clip:ViT-B-32@{file}",)]

    def names() -> list[str]:
        return [Stage(KINDS["score run"], each).name for each in words]

    before = names()
    assert names() == before
    for place in (file, folder / "weights"):
        place.write_text("two!")
    assert not set(before) & set(names())


def test_arguments_name_the_folders(tmp_path: Path) -> None:
    assert RENDERED.arguments(tmp_path) == [
        "gen",
        "render",
        str(PLAN.out(tmp_path)),
        "--out",
        str(RENDERED.out(tmp_path)),
    ]
    assert VERIFIED.arguments(tmp_path) == ["gen", "verify", str(VERIFIED.out(tmp_path))]


def test_order_puts_each_stage_once_after_what_it_reads() -> None:
    again = Stage(KINDS["gen render"], (PLAN.mark,), (PLAN,))
    assert [stage.name for stage in in_order([VERIFIED, again, PLAN])] == [PLAN.name, RENDERED.name, VERIFIED.name]
