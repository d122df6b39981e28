import json
from pathlib import Path
from typing import Any

import pytest

from generator.plan.options import WorldOptions
from generator.plan.prepare import parse_objects, parse_resolution, plan_world, prepare
from generator.vocabulary.schema import parse_vocabulary


def test_sizes_and_numbers_of_objects_are_read() -> None:
    assert parse_resolution("320x240") == (320, 240)
    assert [parse_objects(spec) for spec in ("2", "3..10", "1..1")] == [(2, 2), (3, 10), (1, 1)]


COUNTS = {"train": 10, "val": 2, "seen": 3, "partial": 3, "unseen": 3}


def options(**more: Any) -> WorldOptions:
    return WorldOptions(
        **{"family": "clevr", "holdout": "3x3", "scenes": COUNTS, "resolution": "64x48", **more}
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
    assert prepare(options(**more)).folder_name == name
    assert prepare(WorldOptions(preset="bindsplit2026", resolution="64x48")).folder_name == (
        "bindsplit2026-s0-64x48"
    )


def test_a_plan_is_made_once_and_holds_what_was_asked_for(tmp_path: Path) -> None:
    prepared = prepare(options())
    stored = plan_world(prepared, tmp_path)
    assert stored.counts() == {"train": 10, "partial": 3, "seen": 3, "unseen": 3, "val": 2}
    assert stored.request["holdouts"] == [prepared.holdout.to_dict()]
    assert prepared.planned is prepared.planned


def test_the_block_seed_and_design_of_a_holdout_json_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "holdout.json"
    original = prepare(
        options(holdout=("3x3", "atoms=1x2"), design="systematicity", block_seed=5, scenes=None)
    )
    path.write_text(json.dumps(original.holdout.to_dict()))
    prepared = prepare(options(holdout=str(path), scenes=None))
    assert prepared.folder_name == original.folder_name
    assert [prepared.request[key] for key in ("design", "block_seed")] == ["systematicity", [5]]


def test_a_world_is_held_to_the_environments_that_are_asked_for() -> None:
    """The world's own vocabulary says so, and nothing else does."""
    prepared = prepare(options(family="pug", environments=("snow", "desert")))
    assert list(parse_vocabulary(prepared.request["vocabulary"], "pug").environments) == [
        "desert",
        "snow",
    ]
    assert {planned.environment for planned in prepared.planned} == {"desert", "snow"}
    assert "environments" not in prepared.request


def test_families_for_many_objects_make_many_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text('extends = "clevr-many"\n[placement]\nmost = 4\n')
    numbers = {
        family: prepare(WorldOptions(family=family, holdout="2x2")).objects
        for family in ("clevr", "clevr-many", "clevr-original", "pug", str(tmp_path / "few.toml"))
    }
    assert list(numbers.values()) == [(2, 2), (3, 10), (3, 10), (2, 2), (3, 4)]
    assert prepare(WorldOptions(family="clevr-many", objects=2)).objects == (2, 2)
    assert prepare(WorldOptions(family="clevr-many", scenes="grid")).objects == (2, 2)
