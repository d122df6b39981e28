"""Reads the outcomes of a finished run (tables/items.csv), and finds the items behind a row of its
results."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import COUNTS, FULL, UNPARSED, strings
from evaluator.protocols.records import Results, Row
from evaluator.statistics.runs import RunItems
from generator.base.clusters import vocabulary_of
from generator.base.tables import read_csv

_LABELS = ("protocol", "metric", "kind", "skill", "level", "split")
_COLUMNS = (*_LABELS, "scene_id", "cluster", "bindings", "value")
_ROUNDING = 2e-6  # values of results have six digits


@dataclass(frozen=True)
class ItemTable:
    """The scored items of a run, a row for each item and metric."""

    columns: dict[str, np.ndarray]
    """_COLUMNS, object arrays (n,) of strings; "" where there is none."""
    value: np.ndarray
    """(n,) the outcome."""
    block: str
    training: str
    """The training whose model answered; "" for a model without a training seed."""
    partitioned: bool
    """Whether the splits are partitions of one benchmark by familiarity."""

    @cached_property
    def vocabulary(self) -> tuple[int, int]:
        """The number of values and of objects that the items of all splits name."""
        return vocabulary_of(self.columns["bindings"].tolist())

    def items_of(self, row: Row) -> RunItems | None:
        """The items of a share or score in results; None for a row that is no mean over items of
        this table (over n, over categories, over errors or folds)."""
        if (
            row["error"]
            or row["n"] is not None
            or row["is_gap"]
            or any(name in row for name in COUNTS)
        ):
            return None
        found = self._select(row, row["split"])
        if not len(found.outcome) or row["value"] is None:
            return None
        # The table must give the value of the row; otherwise the row is a mean of something else.
        return found if abs(float(found.outcome.mean()) - row["value"]) <= _ROUNDING else None

    def sides_of(self, gap: Row) -> tuple[RunItems, RunItems] | None:
        """The items of both splits of a gap; None as in `items_of`."""
        if gap["error"] or gap["n"] is not None or any(name in gap for name in COUNTS):
            return None
        first, second = self._select(gap, gap["split"]), self._select(gap, str(gap["minus"]))
        if not len(first.outcome) or not len(second.outcome) or gap["value"] is None:
            return None
        difference = float(first.outcome.mean() - second.outcome.mean())
        return (first, second) if abs(difference - gap["value"]) <= _ROUNDING else None

    def _select(self, row: Row, split: str) -> RunItems:
        """The items with the labels of a row; a label without a value selects all items."""
        mask = np.ones(len(self.value), dtype=bool)
        labels: dict[str, Any] = {name: row[name] for name in _LABELS[:-1]}  # type: ignore[literal-required]
        for name, label in labels.items():
            if label is not None:
                mask &= self.columns[name] == label
        of_split = self.columns["split"]
        if self.partitioned and split == FULL:
            mask &= of_split != UNPARSED
        else:
            mask &= of_split == split
        return RunItems(
            block=self.block,
            training=self.training,
            scene=self.columns["scene_id"][mask],
            cluster=self.columns["cluster"][mask],
            bindings=self.columns["bindings"][mask],
            outcome=self.value[mask],
        )


def read_items(results: Results, block: str) -> ItemTable | None:
    """The items of the run whose results these are; None if its folder is not at hand.

    block: the id of the run's block. Scenes are named with their world, so that turns of one world
    share them.
    """
    if not results.get("folder"):
        return None
    path = Path(results["folder"]) / "tables" / "items.csv"
    if not path.exists():
        return None
    table = read_csv(path, dict.fromkeys((*_COLUMNS, "unscored"), pa.string()))
    columns = {
        name: strings(table[name])
        if name in table.column_names
        else np.full(table.num_rows, "", dtype=object)
        for name in (*_COLUMNS, "unscored")
    }
    scored = (columns.pop("unscored") == "") & (columns["value"] != "")
    columns = {name: values[scored] for name, values in columns.items()}
    factors = results["factors"]
    world = str(factors["benchmark"]).rpartition("/")[2]
    columns["scene_id"] = np.array(
        [f"{world} {scene}" for scene in columns["scene_id"]], dtype=object
    )
    seed = factors["training_seed"]
    return ItemTable(
        columns=columns,
        value=columns["value"].astype(float),
        block=block,
        training="" if seed is None else f"{block} {seed}",
        partitioned="splits" in results.get("rules", {}),
    )
