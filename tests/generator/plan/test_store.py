"""world/plan.parquet: what is written is what was planned, the same bytes, and nothing else is
taken for a plan."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.plan.options import WorldOptions
from generator.plan.prepare import plan_world, prepare
from generator.plan.store import StoredPlan, is_planned
from generator.scene.planned import Recorded, read_job
from tests.generator.designs import family as small_family

COUNTS = {"train": 30, "val": 2, "seen": 3, "partial": 3, "unseen": 3}
WORLDS: dict[str, dict[str, Any]] = {
    "pairs": {"family": "clevr", "holdout": "3x3", "pairs": True},
    "many": {"family": "clevr-many", "holdout": "3x3", "objects": (3, 6), "pairs": True},
    "stacks": {"family": "clevr-relations", "holdout": "3x3", "objects": (2, 4)},
    "labels": {
        "family": "pearson2025",
        "holdout": ("pearson2025",),
        "design": "gzsl",
        "scenes": "300",
    },
    "curve": {"family": "clevr", "holdout": ("k4..5",), "design": "coverage"},
}


def options(**more: Any) -> WorldOptions:
    return WorldOptions(**{"scenes": COUNTS, "resolution": "64x48", **more})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name == "many")) for name in WORLDS]
)
def test_a_stored_plan_is_read_as_it_was_planned(name: str, tmp_path: Path) -> None:
    prepared = prepare(options(**WORLDS[name]))
    stored = plan_world(prepared, tmp_path)
    assert list(stored) == prepared.planned
    assert len(stored) == len(prepared.planned)
    for scene in (*prepared.planned, Recorded("000001", "{}", "c", "000000")):
        assert read_job(json.loads(json.dumps(scene.to_row()))) == scene
    assigned = {
        scene_id: (part, made_for)
        for part, of in stored.assigned().items()
        for scene_id, made_for in of.items()
    }
    assert {
        scene_id: (part, made_for.split, made_for.named)
        for scene_id, (part, made_for) in assigned.items()
    } == {scene.scene_id: (scene.part, scene.split, scene.named) for scene in prepared.planned}


def test_scenes_are_planned_for_their_splits(tmp_path: Path) -> None:
    prepared = prepare(options(**WORLDS["curve"]))
    stored = plan_world(prepared, tmp_path)
    for part in (0, 1):
        rule_counts = {
            split: n
            for split, n in COUNTS.items()
            if any(made_for.split == split for made_for in stored)
        }
        assigned = [made_for.split for made_for in stored.assigned()[part].values()]
        assert {split: assigned.count(split) for split in assigned} == rule_counts
    assert next(iter(stored.counts())) == "train"


def test_a_grid_is_planned_for_no_split(tmp_path: Path) -> None:
    family = tmp_path / "small.toml"
    family.write_text(small_family(4, 4), encoding="utf-8")
    stored = plan_world(
        prepare(options(family=str(family), holdout="2x2", scenes="grid")), tmp_path / "world"
    )
    assert (len(stored), stored.counts(), stored.assigned()) == (4 * 3 * 4 * 3, {}, {})


@pytest.mark.full
def test_the_same_request_is_the_same_bytes_and_is_not_planned_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for name in ("one", "other"):
        plan_world(prepare(options(**WORLDS["many"])), tmp_path / name)
        digests.add(
            hashlib.sha256((tmp_path / name / "world/plan.parquet").read_bytes()).hexdigest()
        )
    assert len(digests) == 1
    monkeypatch.setattr(
        "generator.plan.minimal_pairs.plan_with_twins", lambda *_: pytest.fail("planned again")
    )
    assert len(plan_world(prepare(options(**WORLDS["many"])), tmp_path / "one")) > 0


def test_another_plan_and_other_files_are_left_alone(tmp_path: Path) -> None:
    prepared = prepare(options(**WORLDS["pairs"]))
    plan_world(prepared, tmp_path / "world")
    assert is_planned(tmp_path / "world", prepared.request)
    with pytest.raises(
        UserError, match="holds another plan: it has seed = 0, not 1; choose another --out"
    ):
        is_planned(tmp_path / "world", prepare(options(seed=1, **WORLDS["pairs"])).request)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="holds something else than a world"):
        is_planned(tmp_path / "thesis", prepared.request)
    assert not is_planned(tmp_path / "new", prepared.request)


def test_a_request_names_no_path(tmp_path: Path) -> None:
    first = prepare(options(**WORLDS["pairs"]))
    (tmp_path / "theirs.json").write_text(json.dumps(first.holdout.to_dict()))
    renamed = prepare(options(**{**WORLDS["pairs"], "holdout": (str(tmp_path / "theirs.json"),)}))
    assert str(tmp_path) not in str(renamed.request)
    assert renamed.request["holdouts"] == first.request["holdouts"]


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def changed(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    return lambda path: pq.write_table(change(pq.read_table(path)), path)


@pytest.mark.parametrize(
    "harm",
    [
        cut_short,
        changed(lambda table: table.drop_columns(["split"])),
        changed(lambda table: table.replace_schema_metadata({})),
        changed(
            lambda table: table.set_column(0, "scene_id", [["../../0"] * len(table)])
        ),  # names of files
    ],
)
def test_a_damaged_plan_is_refused_in_one_sentence(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    plan_world(prepare(options(**WORLDS["pairs"])), tmp_path)
    harm(tmp_path / "world/plan.parquet")
    with pytest.raises(
        UserError,
        match=r"plan\.parquet is (damaged|not a plan of this version).*(another folder|make it again)\.$",
    ):
        list(StoredPlan(tmp_path))
