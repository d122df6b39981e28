"""What an experiment costs, by what has ended."""

from pathlib import Path

from evaluator.experiments.commands import KINDS
from evaluator.experiments.cost import costs, said
from evaluator.experiments.process import DONE
from evaluator.experiments.stages import Stage
from generator.base.files import write_json

SEEDS = [
    Stage(KINDS["score train scratch"], ("--seed", str(seed)), outline="score train scratch --seed {seed}")
    for seed in range(4)
]
VERIFY = Stage(KINDS["gen verify"], ("x",), (SEEDS[0],), "gen verify {made}")


def end(stage: Stage, root: Path, **more: object) -> None:
    (root / stage.name).mkdir(parents=True)
    write_json(root / stage.name / DONE, {"like": stage.like, "seconds": None, **more})


def test_nothing_is_estimated_before_anything_has_ended(tmp_path: Path) -> None:
    assert said(costs([*SEEDS, VERIFY], tmp_path)) == [
        "score train scratch: 4 stages, 0 done, steps of 4 not known yet",
        "gen verify: 1 stage, 0 done",
        "No estimate of the time for 5 stages: nothing like them has ended here yet.",
    ]


def test_stages_like_those_that_ended_take_as_long(tmp_path: Path) -> None:
    end(SEEDS[0], tmp_path, seconds=100.0, amount=10)
    end(SEEDS[1], tmp_path, seconds=200.0, amount=10)
    assert said(costs([*SEEDS, VERIFY], tmp_path)) == [
        "score train scratch: 4 stages, 2 done, 20 steps left",
        "gen verify: 1 stage, 0 done",
        "About 0:05:00 h for 2 stages like those that ended here. No estimate of the time for 1 stage: nothing like it has ended here yet.",
    ]
    assert said(costs(SEEDS, tmp_path))[-1] == "About 0:05:00 h left."
    assert said(costs(SEEDS[:2], tmp_path))[-1] == "Nothing is left to do."


def test_times_of_stages_that_were_stopped_do_not_count(tmp_path: Path) -> None:
    end(SEEDS[0], tmp_path, amount=10)
    assert said(costs(SEEDS, tmp_path))[-1].startswith("No estimate of the time for 3 stages")
