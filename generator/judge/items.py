"""Checks items.parquet: ids, splits, and that every item asks something."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.files import repeated
from generator.judge.findings import Finding, finding
from generator.judge.protocols import RAW


def item_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items that occur twice, are in another split than their scenes, have no true text, or neither a false text nor a pool."""
    items, rows = benchmark.tables["items"], benchmark.candidates
    for item_id in repeated(items["item_id"]):
        yield finding("repeated item", f"item {item_id} is in items.parquet more than once")
    known = rows.item >= 0
    scene_split = np.array(
        [*(benchmark.split_of.get(scene_id) for scene_id in benchmark.scene_ids), None], dtype=object
    )
    split, expected = scene_split[rows.scene], benchmark.item_split[rows.item] if len(items) else rows.item
    for row in np.flatnonzero(known & (split != expected)).tolist():
        yield finding(
            "wrong split",
            f"item {benchmark.item_id(rows.item[row])} is in {expected[row]}, its scene {benchmark.scene_id(row)} in {split[row] or 'no split'}",
        )
    true = np.bincount(rows.item[known & rows.truth], minlength=len(items)) > 0
    false = np.bincount(rows.item[known & ~rows.truth], minlength=len(items)) > 0
    raw = (benchmark.protocols == RAW[0]) & (benchmark.kinds == RAW[1])
    has_question = (benchmark.item_split == "train") | items["pool_id"].is_valid().to_numpy() | false | raw
    for item in np.flatnonzero(~true).tolist():
        yield finding("missing row", f"item {benchmark.item_id(item)} has no true text")
    for item in np.flatnonzero(~has_question).tolist():
        yield finding("missing row", f"item {benchmark.item_id(item)} has neither a false text nor a pool")
