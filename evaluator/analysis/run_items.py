"""Reads the outcomes of a finished run (tables/items.csv), and finds the items behind a row of its
results."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import COUNTS, FULL, UNPARSED, strings
from evaluator.protocols.records import Results, Row
from evaluator.statistics.runs import RunItems
from generator.base.clusters import vocabulary_size
from generator.base.tables import read_csv

_LABELS = ("protocol", "metric", "kind", "skill", "level")
"""Columns that rows of results and items have in common, besides the split."""
_COLUMNS = (*_LABELS, "split", "scene_id", "cluster", "bindings", "value")
"""Columns of items.csv that are kept."""
_ROUNDING = 2e-6
"""How far the value of a row may be from the mean of its items: results have six decimals."""


@dataclass(frozen=True, kw_only=True)
class ItemTable:
    """The scored items of a run, a row for each item and metric."""

    columns: dict[str, np.ndarray]
    """_COLUMNS, object arrays (n,) of strings; "" where there is none."""
    value: np.ndarray
    """(n,) the outcomes, those of `columns["value"]` as numbers."""
    block: str
    """The id of the run's block."""
    training: str
    """The training whose model answered; "" for a model without a training seed."""
    partitioned: bool
    """Whether the splits are partitions of one benchmark by familiarity."""

    @cached_property
    def vocabulary(self) -> tuple[int, int]:
        """The number of values and of objects that the items of all splits name."""
        return vocabulary_size(self.columns["bindings"].tolist())

    def items_of(self, row: Row) -> RunItems | None:
        """The items of a share or score.

        Args:
            row: of the run's results.

        Returns:
            Its items; None for a row that is not a mean over items of this table, such as one for
            a number of atoms, a kind of error, or a mean over categories or folds.
        """
        if row["is_gap"] or row["value"] is None or _is_not_item_mean(row):
            return None
        items = self._select(row, row["split"])
        if not len(items.outcome):
            return None
        # The table must give the value of the row; otherwise the row is a mean of something else.
        difference = float(items.outcome.mean()) - row["value"]
        return items if abs(difference) <= _ROUNDING else None

    def sides_of(self, gap: Row) -> tuple[RunItems, RunItems] | None:
        """The items of both splits of a gap.

        Args:
            gap: a row of the run's results.

        Returns:
            The items of its split, and of the split that is subtracted; None as in `items_of`.
        """
        if gap["value"] is None or _is_not_item_mean(gap):
            return None
        first = self._select(gap, gap["split"])
        second = self._select(gap, str(gap["minus"]))
        if not len(first.outcome) or not len(second.outcome):
            return None
        value = float(first.outcome.mean() - second.outcome.mean())
        return (first, second) if abs(value - gap["value"]) <= _ROUNDING else None

    def _select(self, row: Row, split: str) -> RunItems:
        """The items with the labels of a row; a label without a value selects all items."""
        of_split = self.columns["split"]
        # A partitioned benchmark is whole in FULL, except the items whose captions were not read.
        is_whole = self.partitioned and split == FULL
        mask = of_split != UNPARSED if is_whole else of_split == split
        for name in _LABELS:
            label = row[name]  # type: ignore[literal-required]
            if label is not None:
                mask = mask & (self.columns[name] == label)
        return RunItems(
            block=self.block,
            training=self.training,
            scene=self.columns["scene_id"][mask],
            cluster=self.columns["cluster"][mask],
            bindings=self.columns["bindings"][mask],
            outcome=self.value[mask],
        )


def _is_not_item_mean(row: Row) -> bool:
    """Whether a row is of the captions with n atoms, of a kind of error, or of a cell of counts."""
    return bool(row["error"]) or row["n"] is not None or any(name in row for name in COUNTS)


def read_items(results: Results, block: str) -> ItemTable | None:
    """The items of a run.

    Args:
        results: of the run. Their `folder` is where its tables are.
        block: the id of the run's block.

    Returns:
        The items, or None if the folder is not at hand. Scenes are named with their world, so that
        turns of one world share them.
    """
    if not results.get("folder"):
        return None
    path = Path(results["folder"]) / "tables" / "items.csv"
    if not path.exists():
        return None
    table = read_csv(path, dict.fromkeys((*_COLUMNS, "unscored"), pa.string()))
    columns = {}
    for name in (*_COLUMNS, "unscored"):
        if name in table.column_names:
            columns[name] = strings(table[name])
        else:
            columns[name] = np.full(table.num_rows, "", dtype=object)
    is_scored = (columns.pop("unscored") == "") & (columns["value"] != "")
    columns = {name: values[is_scored] for name, values in columns.items()}
    factors = results["factors"]
    # "BENCHMARK/WORLD", the digests of both: the benchmarks of a rotation's turns share the world.
    world = str(factors["benchmark"]).rpartition("/")[2]
    scenes = [f"{world} {scene}" for scene in columns["scene_id"]]
    columns["scene_id"] = np.array(scenes, dtype=object)
    seed = factors["training_seed"]
    return ItemTable(
        columns=columns,
        value=columns["value"].astype(float),
        block=block,
        training="" if seed is None else f"{block} {seed}",
        partitioned="splits" in results.get("rules", {}),
    )
