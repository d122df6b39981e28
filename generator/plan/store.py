"""Writes and reads the plan of a world on disk: world/plan.parquet."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError
from generator.base.tables import count_rows, read_batches, read_table, write_table
from generator.dataset.records import PLAN, PLAN_FILE, plan_request, plan_schema
from generator.dataset.writer import check_free, check_plan
from generator.scene.planned import Planned, scene_id

_ROWS = 500  # in memory at a time


@dataclass(frozen=True)
class Assigned:
    """The split that a scene is made for, and for class lists its objects in the order of its
    label."""

    split: str
    named: tuple[int, ...]


class StoredPlan:
    """The plan in a dataset's folder; a few scenes are in memory at a time.

    `request`: all that decides the contents of the world, including its vocabulary and holdouts.
    Raises UserError when
    there is no plan, or when it is damaged.
    """

    def __init__(self, root: Path):
        self.root, self._path = root, root / "world" / PLAN_FILE
        request = plan_request(root / "world")
        if request is None:
            raise UserError(f"{root} has no plan; make one with `gen plan --out {root}`.")
        self.request: dict[str, Any] = request

    def __len__(self) -> int:
        return count_rows(self._path)

    def __iter__(self) -> Iterator[Planned]:
        """The planned scenes in order. Raises UserError when the file is damaged."""
        number = 0
        try:
            for batch in read_batches(self._path, PLAN.names, _ROWS, PLAN):
                for row in batch.to_pylist():
                    if row["scene_id"] != scene_id(number):  # it names files
                        raise ValueError(f"scene {number} is called '{row['scene_id']}'")
                    yield Planned.from_row(row)
                    number += 1
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise UserError(
                f"{self._path} is damaged ({error}); plan it again into another folder."
            ) from None

    def counts(self) -> dict[str, int]:
        """The number of scenes for each split, largest first; scenes of the grid are for no
        split."""
        found = Counter(read_table(self._path, columns=["split"])["split"].drop_null().to_pylist())
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def assigned(self) -> dict[int, dict[str, Assigned]]:
        """The split and label order of each scene, by part and scene_id; empty over the grid."""
        found: dict[int, dict[str, Assigned]] = {}
        known: dict[
            tuple[str, tuple[int, ...]], Assigned
        ] = {}  # few are distinct: each is stored once
        for batch in read_batches(self._path, ["scene_id", "part", "split", "named"], _ROWS, PLAN):
            for row in batch.to_pylist():
                if row["split"] is not None:
                    made_for = (row["split"], tuple(row["named"] or ()))
                    assigned = known.setdefault(made_for, Assigned(*made_for))
                    found.setdefault(row["part"], {})[row["scene_id"]] = assigned
        return found


def is_planned(root: Path, request: Mapping[str, Any]) -> bool:
    """Whether a folder holds the plan of a request. Raises UserError if it holds another plan or
    other files."""
    found = plan_request(root / "world")
    if found is None:
        check_free(root)
        return False
    check_plan(root, found, json.loads(json.dumps(request)))
    return True


def write_plan(root: Path, request: Mapping[str, Any], planned: Iterable[Planned]) -> StoredPlan:
    """Write the plan of a request into a dataset's folder, atomically."""
    (root / "world").mkdir(parents=True, exist_ok=True)
    write_table(
        root / "world" / PLAN_FILE, (each.to_row() for each in planned), plan_schema(request)
    )
    return StoredPlan(root)
