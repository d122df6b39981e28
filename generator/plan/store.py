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
from generator.dataset.records import PLAN_FILE, plan_request, plan_schema
from generator.dataset.writer import check_free, check_plan
from generator.scene.planned import Planned, scene_id

# Scenes in memory at a time; a plan may have millions.
_ROWS = 500


@dataclass(frozen=True)
class Assigned:
    """What a scene is made for."""

    split: str
    """Its split."""
    named: tuple[int, ...]
    """Of class lists: its objects, by index, in the order of its label; else ()."""


class StoredPlan:
    """The plan in a dataset's folder; a few scenes are in memory at a time."""

    def __init__(self, root: Path):
        """
        Args:
            root: the dataset's folder.

        Raises:
            UserError: there is no plan, or it is damaged.
        """
        self.root = root
        self._path = root / "world" / PLAN_FILE
        request = plan_request(root / "world")
        if request is None:
            raise UserError(f"{root} has no plan; make one with `gen plan --out {root}`.")
        self.request: dict[str, Any] = request
        """All that decides the contents of the world, including its vocabulary and holdouts."""

    def __len__(self) -> int:
        return count_rows(self._path)

    def __iter__(self) -> Iterator[Planned]:
        """The planned scenes in order. Raises UserError when the file is damaged."""
        number = 0
        try:
            columns = plan_schema(self.request)
            for batch in read_batches(self._path, columns.names, _ROWS, columns):
                for row in batch.to_pylist():
                    # The id names files, so a wrong one could write anywhere.
                    if row["scene_id"] != scene_id(number):
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
        column = read_table(self._path, columns=["split"])["split"]
        counts = Counter(column.drop_null().to_pylist())
        # By name among equals, so that the order does not depend on the scenes.
        largest_first = sorted(counts, key=lambda split: (-counts[split], split))
        return {split: counts[split] for split in largest_first}

    def assigned(self) -> dict[int, dict[str, Assigned]]:
        """The split and label order of each scene, by part and scene_id; empty over the grid."""
        assigned: dict[int, dict[str, Assigned]] = {}
        # Few are distinct, so scenes share them.
        shared: dict[tuple[str, tuple[int, ...]], Assigned] = {}
        columns = plan_schema(self.request)
        names = ["scene_id", "part", "split", "named"]
        for batch in read_batches(self._path, names, _ROWS, columns):
            for row in batch.to_pylist():
                if row["split"] is None:
                    continue
                made_for = (row["split"], tuple(row["named"] or ()))
                of_part = assigned.setdefault(row["part"], {})
                assignment = shared.setdefault(made_for, Assigned(*made_for))
                of_part[row["scene_id"]] = assignment
        return assigned


def is_planned(root: Path, request: Mapping[str, Any]) -> bool:
    """Whether a folder holds the plan of a request.

    Raises:
        UserError: it holds another plan or other files.
    """
    stored = plan_request(root / "world")
    if stored is None:
        check_free(root)
        return False
    # Compare what JSON keeps: it makes lists of tuples.
    check_plan(root, stored, json.loads(json.dumps(request)))
    return True


def write_plan(root: Path, request: Mapping[str, Any], planned: Iterable[Planned]) -> StoredPlan:
    """Write a plan into a dataset's folder, atomically.

    Args:
        root: the folder of the dataset.
        request: what the plan was made for; its metadata.
        planned: the scenes.

    Returns:
        The plan, to be read.
    """
    (root / "world").mkdir(parents=True, exist_ok=True)
    rows = (scene.to_row() for scene in planned)
    write_table(root / "world" / PLAN_FILE, rows, plan_schema(request))
    return StoredPlan(root)
