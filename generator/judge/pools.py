"""Pools of texts: whether the texts of a pool that are true of an item's scene are those that are listed."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.judge.case import BATCH, Case
from generator.judge.decide import decide
from generator.judge.files import Finding, finding, labels, places
from generator.judge.geometry import Shown
from generator.judge.meaning import Said, Thing


def pool_findings(case: Case) -> Iterator[Finding]:
    """Pools that name a text twice or one that is not there; items whose pool is not there or has other true texts."""
    table = case.tables["pools"]
    named, text = labels(table["pool_id"]), places(table["text_id"], case.tables["texts"]["text_id"])
    pools: dict[str, Pool] = {}
    for pool_id in dict.fromkeys(named.tolist()):
        rows = text[named == pool_id]
        distinct = np.unique(rows)
        if len(distinct) < len(rows):
            yield finding("repeated text", f"pool {pool_id} names {len(rows) - len(distinct)} texts twice")
        if distinct[0] < 0:
            yield finding("missing row", f"pool {pool_id} names texts that do not exist")
        pools[pool_id] = Pool([(row, said) for row in distinct.tolist() if row >= 0 and (said := case.claims[row])])
    asked = labels(case.tables["items"]["pool_id"])
    items = np.flatnonzero(case.tables["items"]["pool_id"].is_valid().to_numpy())
    scenes, listed = _listed(case, items)
    found: dict[tuple[str, int], tuple[set[int], set[int]]] = {}
    for item in case.world.progress.each(items.tolist(), "items with a pool", len(items), BATCH):
        pool_id, scene = asked[item], scenes.get(item, -1)
        if pool_id not in pools:
            yield finding("missing row", f"item {case.item_id(item)}: its pool {pool_id} does not exist")
        elif scene >= 0:
            if (pool_id, scene) not in found:
                found[pool_id, scene] = pools[pool_id].decided(case.shown[scene])
                case.shown[scene].forget()
            yield from _item_findings(case, item, *found[pool_id, scene], listed[item])


def _listed(case: Case, items: np.ndarray) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The scene of each item, and its texts that are listed as true."""
    rows = case.candidates
    scenes: dict[int, int] = {}
    listed: dict[int, set[int]] = defaultdict(set)
    for row in np.flatnonzero(np.isin(rows.item, items)).tolist():
        item = int(rows.item[row])
        scenes[item] = int(rows.scene[row])
        if rows.truth[row]:
            listed[item].add(int(rows.text[row]))
    return scenes, listed


def _item_findings(case: Case, item: int, true: set[int], undecided: set[int], listed: set[int]) -> Iterator[Finding]:
    if true != listed:
        yield finding(
            "wrong pool truth",
            f"item {case.item_id(item)}: {len(true)} texts of the pool are true, {len(listed)} are listed",
        )
    for text in sorted(undecided - listed):
        yield finding("undecided text", f"item {case.item_id(item)}: '{case.text(text)}' of its pool is undecided")


class Pool:
    """The texts of a pool. Those that assert an object that a scene lacks are false of it, and are not looked at one by one."""

    def __init__(self, texts: list[tuple[int, Said]]):
        self.texts = texts
        needed = [_needed(said) for _, said in texts]
        self.things = list(dict.fromkeys(thing for things in needed for thing in things))
        number = {thing: n for n, thing in enumerate(self.things)}
        width = max(map(len, needed), default=0)
        self.needed = np.full((len(texts), width), len(self.things))
        for row, things in enumerate(needed):
            self.needed[row, : len(things)] = [number[thing] for thing in things]

    def decided(self, shown: Shown) -> tuple[set[int], set[int]]:
        """The texts that are true of a scene, and those that are undecided."""
        there = np.array([*(shown.fitting(thing) > 0 for thing in self.things), True])
        true: set[int] = set()
        undecided: set[int] = set()
        for n in np.flatnonzero(there[self.needed].all(axis=1)).tolist():
            text, said = self.texts[n]
            truth = decide(said, shown)
            if truth is not False:
                (undecided if truth is None else true).add(text)
        return true, undecided


def _needed(said: Said) -> list[Thing]:
    """The things without which a text is false: none of a denied text, of one that counts, or that a "not" speaks of."""
    if said.denied or any(thing.number != 1 for thing in said.things):
        return []
    denied = {thing for _, _, thing, holds in said.links if not holds}
    return [thing for place, thing in enumerate(said.things) if place not in denied]
