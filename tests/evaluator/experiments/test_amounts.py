"""How much work stages are."""

from pathlib import Path

import pyarrow as pa
import pytest

from evaluator.experiments.amounts import amount_of, unit_of
from evaluator.experiments.commands import KINDS
from evaluator.experiments.stages import Stage
from generator.base.files import write_json, write_table
from tests.evaluator.experiments.test_process import PLAN, RENDERED

ROWS = pa.table({"a": [1, 2, 3]})


def test_images_are_known_once_they_are_planned(tmp_path: Path) -> None:
    assert amount_of(RENDERED, tmp_path) == {}
    plan = PLAN.out(tmp_path) / "world" / "plan.parquet"
    plan.parent.mkdir(parents=True)
    write_table(plan, ROWS, ROWS.schema)
    assert amount_of(RENDERED, tmp_path) == {"unit": "images", "amount": 3}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"recipe": {"epochs": 5, "batch": 16}, "images": 40}, {"unit": "steps", "amount": 10}),
        ({"recipe": {"epochs": 5}, "images": 40}, {}),
        ({}, {}),
        (None, {}),
    ],
)
def test_steps_are_those_of_the_record_of_a_training(
    tmp_path: Path, record: dict[str, object] | None, expected: dict[str, object]
) -> None:
    trained = Stage(KINDS["score train scratch"], ())
    trained.out(tmp_path).mkdir(parents=True)
    if record is not None:
        write_json(trained.out(tmp_path) / "jackalope.json", record)
    assert amount_of(trained, tmp_path) == expected


def test_scores_are_rows_of_the_table(tmp_path: Path) -> None:
    run = Stage(KINDS["score run"], ())
    assert amount_of(run, tmp_path) == {}
    run.out(tmp_path).mkdir(parents=True)
    write_table(run.out(tmp_path) / "scores.parquet", ROWS, ROWS.schema)
    assert amount_of(run, tmp_path) == {"unit": "scores", "amount": 3}


def test_units() -> None:
    assert unit_of(KINDS["score train labclip"]) == "steps"
    assert unit_of(KINDS["score train forgetting"]) == unit_of(KINDS["gen verify"]) == ""
