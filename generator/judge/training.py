"""Checks that there is one set of training data: the items of protocol train, over the scenes of split train."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.protocols import TRAIN


def training_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items of protocol train outside split train, items of other protocols inside it, and their candidates over scenes of
    another split. What reads training data may then go by protocol, by split or by scene, and reads the same."""
    protocols = benchmark.protocols
    by_protocol, by_split = protocols == TRAIN, benchmark.item_split == TRAIN
    for item in np.flatnonzero(by_protocol & ~by_split).tolist():
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(item)} is of the protocol train and in the split {benchmark.item_split[item]}",
        )
    for item in np.flatnonzero(by_split & ~by_protocol & benchmark.known_items).tolist():
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(item)} is in the split train and of the protocol {protocols[item]}",
        )
    rows = benchmark.candidates
    if not len(protocols):
        return
    trains = (rows.item >= 0) & by_protocol[rows.item]
    trained = np.array([benchmark.split_of.get(each) == TRAIN for each in benchmark.scene_ids] + [False])
    for row in np.flatnonzero(trains & ~trained[rows.scene]).tolist():
        scene_id = benchmark.scene_id(row)
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(rows.item[row])} trains on scene {scene_id}, which is in "
            f"{benchmark.split_of.get(scene_id) or 'no split'}",
        )
