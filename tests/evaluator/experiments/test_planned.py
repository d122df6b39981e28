"""The work of stages before they ran."""

from pathlib import Path

import pytest

from evaluator.experiments.commands import KINDS
from evaluator.experiments.planned import planned_amount
from evaluator.experiments.process import run_stage
from evaluator.experiments.stages import Stage

PLAN = Stage(KINDS["gen plan"], ("--scenes", "train=40,val=1,seen=2,partial=2,unseen=2", "--resolution", "32x32"))
RENDERED = Stage(KINDS["gen render"], (PLAN.mark,), (PLAN,))
WORLD = Stage(KINDS["gen verify"], (RENDERED.mark,), (RENDERED,))
STANDIN = Stage(KINDS["score train pretrain"], (WORLD.mark, "--epochs", "3", "--batch", "16"), (WORLD,))


def of(method: str, *words: str) -> Stage:
    return Stage(KINDS[f"score train {method}"], (f"jackalope:{STANDIN.mark}", WORLD.mark, *words), (STANDIN, WORLD))


@pytest.mark.parametrize("planned", [False, True])
def test_steps_are_epochs_times_batches_of_the_planned_images(planned: bool, tmp_path: Path) -> None:
    if planned:
        assert run_stage(PLAN, tmp_path) is None
    assert planned_amount(STANDIN, tmp_path) == 3 * (47 // 16)  # of all splits
    assert planned_amount(of("finetune", "--batch", "8", "--epochs", "2"), tmp_path) == 2 * (40 // 8)
    assert planned_amount(of("finetune", "--batch", "20"), tmp_path) == 5 * 2  # the preset's epochs
    assert planned_amount(RENDERED, tmp_path) == 47
    assert planned_amount(WORLD, tmp_path) is None
    assert planned_amount(of("dreambooth", "--steps", "7"), tmp_path) == 7
    assert planned_amount(of("finetune", "--preset", "pearson2025"), tmp_path) is None  # so many images a class


def test_a_plan_of_a_preset_tells_nothing_before_it_is_made(tmp_path: Path) -> None:
    plan = Stage(KINDS["gen plan"], ("--preset", "bindsplit2026"))
    world = Stage(KINDS["gen render"], (plan.mark,), (plan,))
    assert planned_amount(Stage(KINDS["score train scratch"], (world.mark,), (world,)), tmp_path) is None


@pytest.mark.parametrize("more", [("--pairs",), ("--block-seed", "0..1"), ("--block-seed", "0,2")])
def test_scenes_that_are_asked_for_several_times_are_not_counted_once(more: tuple[str, ...], tmp_path: Path) -> None:
    plan = Stage(KINDS["gen plan"], (*PLAN.words, *more))
    assert planned_amount(Stage(KINDS["gen render"], (plan.mark,), (plan,)), tmp_path) is None
