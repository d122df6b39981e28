import json
from pathlib import Path
from typing import Any

import pytest

from generator.plan.job import (
    Job,
    folder_name,
    parse_objects,
    parse_resolution,
    plan_world,
    prepare,
    prepare_world,
)
from generator.vocabulary.schema import parse_vocabulary


def test_sizes_and_numbers_of_objects_are_read() -> None:
    assert parse_resolution("320x240") == (320, 240)
    assert [parse_objects(spec) for spec in ("2", "3..10", "1..1")] == [(2, 2), (3, 10), (1, 1)]


COUNTS = {"train": 10, "val": 2, "seen": 3, "partial": 3, "unseen": 3}


def job(**more: Any) -> Job:
    return Job(
        **{"family": "clevr", "holdout": "3x3", "scenes": COUNTS, "width": 64, "height": 48, **more}
    )


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "clevr-3x3-b0-s0-64x48"),
        ({"block_seed": (0, 1, 2), "seed": 7}, "clevr-3x3-b0-2-s7-64x48"),
        ({"block_seed": (1, 5)}, "clevr-3x3-b1_5-s0-64x48"),
        ({"family": "pug", "environments": ("snow", "desert")}, "pug-snow-desert-3x3-b0-s0-64x48"),
        ({"holdout": (), "design": "coverage", "scenes": None}, "clevr-k1-6-b0-s0-64x48"),
    ],
)
def test_a_folder_is_named_after_what_it_holds(more: dict[str, Any], name: str) -> None:
    assert folder_name(prepare(job(**more)), None) == name
    assert folder_name(prepare(job()), "bindsplit2026") == "bindsplit2026-s0-64x48"


def test_a_plan_is_made_once_and_holds_what_was_asked_for(tmp_path: Path) -> None:
    prepared = prepare(job())
    stored = plan_world(prepared, tmp_path)
    assert stored.counts() == {"train": 10, "partial": 3, "seen": 3, "unseen": 3, "val": 2}
    assert stored.request["holdouts"] == [prepared.holdout.to_dict()]
    assert prepared.planned is prepared.planned


def test_the_block_seed_and_design_of_a_holdout_json_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "holdout.json"
    drawn = prepare(
        job(holdout=("3x3", "atoms=1x2"), design="systematicity", block_seed=5, scenes=None)
    )
    path.write_text(json.dumps(drawn.holdout.to_dict()))
    prepared = prepare(job(holdout=str(path), scenes=None))
    assert folder_name(prepared, None) == folder_name(drawn, None)
    assert [prepared.request[each] for each in ("design", "block_seed")] == ["systematicity", [5]]


def test_a_world_is_held_to_the_environments_that_are_asked_for() -> None:
    """The world's own vocabulary says so, and nothing else does."""
    prepared = prepare(job(family="pug", environments=("snow", "desert")))
    assert list(parse_vocabulary(prepared.request["vocabulary"], "pug").environments) == [
        "desert",
        "snow",
    ]
    assert {planned.environment for planned in prepared.planned} == {"desert", "snow"}
    assert "environments" not in prepared.request


def test_families_for_many_objects_make_many_unless_told_otherwise() -> None:
    families = ("clevr", "clevr-many", "clevr-original", "pug")
    numbers = [prepare_world(family=name, holdout="2x2")[0].job.objects for name in families]
    assert numbers == [(2, 2), (3, 10), (3, 10), (2, 2)]
    assert prepare_world(family="clevr-many", objects=2)[0].job.objects == (2, 2)
    grid = prepare_world(family="clevr-many", holdout="3x3", scenes="grid")[0]
    assert grid.job.objects == (2, 2)


def test_a_default_number_of_objects_fits_the_room_of_a_family(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text('extends = "clevr-many"\n[placement]\nmost = 4\n')
    assert prepare_world(family=str(tmp_path / "few.toml"))[0].job.objects == (3, 4)
