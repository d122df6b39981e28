"""Stages in order: what is done is skipped, what fails stops what reads it."""

from pathlib import Path

from evaluator.experiments.commands import KINDS
from evaluator.experiments.runner import run_stages
from evaluator.experiments.stages import Stage, in_order
from tests.evaluator.experiments.test_process import PLAN

WRONG = Stage(KINDS["gen plan"], ("--family", "clevrr"))
READER = Stage(KINDS["gen render"], (WRONG.mark,), (WRONG,))
LAST = Stage(KINDS["gen verify"], (READER.mark,), (READER,))


def test_a_failure_stops_what_reads_it_and_nothing_else(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    stages = in_order([LAST, PLAN])
    failures = run_stages(stages, tmp_path, lambda stage, place: told.append((stage.name, place)))
    assert {name: failure.stage.name for name, failure in failures.items()} == dict.fromkeys(
        (WRONG.name, READER.name, LAST.name), WRONG.name
    )
    assert told == [(WRONG.name, 1), (PLAN.name, 4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([WRONG.name, PLAN.name])


def test_what_is_done_is_not_told(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        assert run_stages([PLAN], tmp_path, lambda stage, place: told.append(stage.name)) == {}
    assert told == [PLAN.name]
