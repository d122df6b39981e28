"""Reads the outcomes of a finished run (tables/items.csv), and finds the items behind a row of its
results."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.questions import category_weights
from evaluator.protocols.items import COUNTS, FULL, UNPARSED, strings
from evaluator.protocols.records import Results, Row
from evaluator.protocols.results import OVER_ITEMS, OVER_N
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
    counts: np.ndarray
    """int64 (n, 3): the objects, attributes and relations that the caption names; 0 where they are
    not known."""
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
            Its items, weighted as the row's average says; None for a row that is not a mean over
            items of this table, such as one of a kind of error, or a mean over categories or folds.
        """
        if row["is_gap"] or row["value"] is None or row["error"]:
            return None
        mask = self.mask(row, row["split"])
        if not mask.any():
            return None
        items = self.take(mask)
        if row["average"] == OVER_N:
            # Each number of atoms has the same weight, as a category of its own.
            atoms = self.counts[mask].sum(axis=1).tolist()
            categories = [(str(n),) for n in atoms]
            items = replace(items, weight=category_weights(categories))
        # The table must give the value of the row; otherwise the row is a mean of something else.
        return items if abs(items.mean - row["value"]) <= _ROUNDING else None

    def sides_of(self, gap: Row) -> tuple[RunItems, RunItems] | None:
        """The items of both splits of a gap.

        Args:
            gap: a row of the run's results.

        Returns:
            The items of its split, and of the split that is subtracted; None as in `items_of`, and
            for gaps of means that are not over items.
        """
        if gap["value"] is None or gap["error"] or gap["average"] != OVER_ITEMS:
            return None
        first_mask = self.mask(gap, gap["split"])
        second_mask = self.mask(gap, str(gap["minus"]))
        if not (first_mask.any() and second_mask.any()):
            return None
        first = self.take(first_mask)
        second = self.take(second_mask)
        difference = first.mean - second.mean
        # As for a single row, the table must give the value of the gap.
        return (first, second) if abs(difference - gap["value"]) <= _ROUNDING else None

    def mask(self, labels: Mapping[str, Any], split: str) -> np.ndarray:
        """Find the items of some labels in a split.

        Args:
            labels: such as a row of results. A label without a value, or that is missing, selects
                all items.
            split: the split.

        Returns:
            bool (n,)
        """
        of_split = self.columns["split"]
        # A partitioned benchmark is whole in FULL, except the items whose captions were not read.
        is_whole = self.partitioned and split == FULL
        mask = of_split != UNPARSED if is_whole else of_split == split
        for name in _LABELS:
            label = labels.get(name)
            if label is not None:
                mask = mask & (self.columns[name] == label)
        if labels.get("n") is not None:
            mask = mask & (self.counts.sum(axis=1) == labels["n"])
        for i, name in enumerate(COUNTS):
            if name in labels:
                mask = mask & (self.counts[:, i] == labels[name])
        return mask

    def take(self, mask: np.ndarray) -> RunItems:
        """The items of a mask, with equal weights.

        Args:
            mask: bool (n,)

        Returns:
            The items.
        """
        return RunItems(
            block=self.block,
            training=self.training,
            scene=self.columns["scene_id"][mask],
            cluster=self.columns["cluster"][mask],
            bindings=self.columns["bindings"][mask],
            outcome=self.value[mask],
        )


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
    text_names = (*_COLUMNS, "unscored")
    types = dict.fromkeys(text_names, pa.string()) | dict.fromkeys(COUNTS, pa.int64())
    table = read_csv(path, types)
    columns = {name: strings(table[name]) for name in text_names}
    is_scored = (columns.pop("unscored") == "") & (columns["value"] != "")
    columns = {name: values[is_scored] for name, values in columns.items()}
    counts = [pc.fill_null(table[name], 0).to_numpy() for name in COUNTS]
    factors = results["factors"]
    # "BENCHMARK/WORLD", the digests of both: the benchmarks of a rotation's turns share the world.
    world = str(factors["benchmark"]).rpartition("/")[2]
    scenes = [f"{world} {scene}" for scene in columns["scene_id"]]
    columns["scene_id"] = np.array(scenes, dtype=object)
    seed = factors["training_seed"]
    return ItemTable(
        columns=columns,
        counts=np.stack(counts, axis=1)[is_scored],
        value=columns["value"].astype(float),
        block=block,
        training="" if seed is None else f"{block} {seed}",
        partitioned="splits" in results.get("rules", {}),
    )
