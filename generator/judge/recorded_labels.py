"""Checks what tables and manifest list: groups of items, held-out facts of scenes, numbers of items."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels
from generator.judge.findings import Finding, finding


def label_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items in another group than their scenes, scenes listed with other held-out facts, wrong numbers of items."""
    yield from _groups(benchmark)
    yield from _held_out(benchmark)
    yield from _numbers(benchmark)


def _groups(benchmark: Benchmark) -> Iterator[Finding]:
    """Items whose `cluster_id` is not that of their scenes. Confidence intervals resample these groups."""
    rows = benchmark.candidates
    listed = labels(benchmark.tables["items"]["cluster_id"])
    judged = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0))
    width = max(len(benchmark.scene_ids), 1)
    groups: dict[int, str] = {}
    fitting: dict[int, set[str]] = {}
    for pair in np.unique(rows.item[judged] * width + rows.scene[judged]).tolist():
        item, scene = divmod(pair, width)
        if scene not in groups:
            groups[scene] = benchmark.held_out.cluster(benchmark.shown[scene])
        fitting.setdefault(item, set()).add(groups[scene])
    for item, found in fitting.items():
        if listed[item] not in found and (listed[item] is not None or benchmark.known_items[item]):
            yield finding(
                "wrong group",
                f"item {benchmark.item_id(item)} is listed in group {listed[item]}, its scene is of {' or '.join(sorted(found))}",
            )


def _held_out(benchmark: Benchmark) -> Iterator[Finding]:
    splits, held_out = benchmark.tables["splits"], benchmark.held_out
    for column, what, of in (
        ("held_out_bindings", "bindings", held_out.bindings_shown),
        ("held_out_triples", "triples", held_out.triples_shown),
    ):
        for scene_id, listed in zip(splits["scene_id"].to_pylist(), splits[column].to_pylist(), strict=True):
            if scene_id not in benchmark.world.shown:
                continue
            shown = [" ".join(each) for each in of(benchmark.world.shown[scene_id])]
            if listed is None or sorted(listed) != sorted(shown):
                yield finding(
                    "wrong familiarity",
                    f"scene {scene_id} is listed with the held-out {what} {', '.join(listed or ()) or 'none'}, it shows "
                    f"{', '.join(shown) or 'none'}",
                )


def _numbers(benchmark: Benchmark) -> Iterator[Finding]:
    items = benchmark.tables["items"]
    found = Counter(zip(labels(items["protocol"]).tolist(), labels(items["kind"]).tolist(), strict=True))
    told = {f"{protocol} {kind}": n for (protocol, kind), n in found.items()}
    listed = benchmark.manifest.get("texts", {}).get("items", {})
    for name in sorted(told.keys() | listed.keys()):
        if told.get(name, 0) != listed.get(name, 0):
            yield finding(
                "wrong count", f"there are {told.get(name, 0)} items of {name}, the manifest says {listed.get(name, 0)}"
            )
