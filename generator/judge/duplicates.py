"""Checks for what occurs twice: scenes, images and questions that would count twice."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding


def duplicate_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Images of two scenes of a split, and candidates or items of a split that occur twice.

    Images in two splits are found by split_membership.py.
    """
    yield from _images(benchmark)
    rows = benchmark.candidates
    _, slots = np.unique(rows.slot.astype(str), return_inverse=True)
    known = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0) & (rows.text >= 0))
    asked = np.stack(
        [column[known] for column in (rows.item, rows.scene, rows.text, slots, rows.truth.astype(np.int64))]
    )
    order = np.lexsort(asked[::-1])
    asked = asked[:, order]
    same = np.flatnonzero((np.diff(asked, axis=1) == 0).all(axis=0)) if asked.shape[1] > 1 else np.array([], np.int64)
    for n in same.tolist():
        row = int(known[order[n]])
        yield finding(
            "repeated candidate",
            f"item {benchmark.item_id(rows.item[row])} has '{benchmark.text(rows.text[row])}' with scene "
            f"{benchmark.scene_id(row)} in the slot {rows.slot[row]} twice",
        )
    yield from _items(benchmark, asked)


def _items(benchmark: Benchmark, asked: np.ndarray) -> Iterator[Finding]:
    """Items of one protocol and kind with the same candidates. `asked`: their candidates, sorted by item."""
    starts = np.flatnonzero(np.diff(asked[0], prepend=-1))
    if not len(starts):
        return
    first: dict[tuple[object, ...], int] = {}
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), asked.shape[1]], strict=True):
        item = int(asked[0, begin])
        if benchmark.known_items[item]:
            key = (
                benchmark.protocols[item],
                benchmark.kinds[item],
                benchmark.skills[item],
                asked[1:, begin:end].tobytes(),
            )
            if (other := first.setdefault(key, item)) != item:
                yield finding(
                    "repeated item",
                    f"items {benchmark.item_id(other)} and {benchmark.item_id(item)} ask the same question",
                )


def _images(benchmark: Benchmark) -> Iterator[Finding]:
    digests = benchmark.world.image_digests
    scenes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for scene_id, split in benchmark.split_of.items():
        digest = digests.get(scene_id)
        if split is not None and digest is not None:
            scenes[split, digest].append(scene_id)
    for (split, digest), found in scenes.items():
        if len(found) > 1:
            yield finding(
                "repeated image", f"scenes {' and '.join(sorted(found))} of {split} have one image ({digest[:12]}…)"
            )
