"""Checks that texts can be read, that each candidate's truth follows from its words and the
recorded poses, and that each retrieval item lists exactly the texts of its pool that are true of
its scene."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import BATCH, FALSE, TRUE, UNDECIDED, UNREADABLE, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.decide import decide
from generator.judge.files import labels, places
from generator.judge.geometry import SceneGeometry
from generator.judge.lexicon import UnreadableError
from generator.judge.meaning import Meaning, Thing
from generator.judge.text_reader import read_text


def text_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts that cannot be read, or that have two readings; templates of the family whose texts may
    have two."""
    for name, reason in benchmark.lexicon.refused.items():
        yield finding("ambiguous template", f"templates.{name} of the family is not read: {reason}")
    for row, meaning in enumerate(benchmark.meanings):
        if meaning is None:
            try:
                read_text(benchmark.text(row), benchmark.lexicon)
            except UnreadableError as error:
                yield finding(
                    "unreadable text", f"text {benchmark.tables['texts']['text_id'][row]}: {error}"
                )


def truth_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts listed as true that are false of their scene, texts listed as false that are true, and
    undecided texts."""
    rows, verdicts = benchmark.candidates, benchmark.verdicts
    right = (verdicts == np.where(rows.truth, TRUE, FALSE)) | (verdicts == UNREADABLE)
    missing = (rows.item < 0) | (rows.scene < 0) | (rows.text < 0)
    for row in np.flatnonzero(missing | ~right).tolist():
        where = f"item {benchmark.listed(row, 'item_id')}, scene {benchmark.scene_id(row)}"
        if missing[row]:
            yield finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        kind = benchmark.listed(row, "kind")
        text = f"'{benchmark.text(rows.text[row])}'" + (f" ({kind})" if kind else "")
        listed = f"{where}: {text} is listed as {'true' if rows.truth[row] else 'false'}"
        shown = _objects(benchmark.shown[rows.scene[row]])
        if verdicts[row] == UNDECIDED:
            yield finding("undecided text", f"{listed}, and is undecided; the scene shows {shown}")
        else:
            yield finding(
                "false positive" if rows.truth[row] else "true negative",
                f"{listed}; the scene shows {shown}",
            )


def _objects(shown: SceneGeometry) -> str:
    return " and ".join(
        f"{' '.join(values.values())} {category}" for category, values in shown.objects
    )


def pool_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Pools with repeated or missing texts, and items whose pool is missing or has other true texts
    than listed."""
    table = benchmark.tables["pools"]
    named, text = (
        labels(table["pool_id"]),
        places(table["text_id"], benchmark.tables["texts"]["text_id"]),
    )
    pools: dict[str, Pool] = {}
    for pool_id in dict.fromkeys(named.tolist()):
        rows = text[named == pool_id]
        distinct = np.unique(rows)
        if len(distinct) < len(rows):
            yield finding(
                "repeated text", f"pool {pool_id} names {len(rows) - len(distinct)} texts twice"
            )
        if distinct[0] < 0:
            yield finding("missing row", f"pool {pool_id} names texts that do not exist")
        pools[pool_id] = Pool(
            [
                (row, meaning)
                for row in distinct.tolist()
                if row >= 0 and (meaning := benchmark.meanings[row])
            ]
        )
    asked = labels(benchmark.tables["items"]["pool_id"])
    items = np.flatnonzero(benchmark.tables["items"]["pool_id"].is_valid().to_numpy())
    scenes, listed = _listed(benchmark, items)
    found: dict[tuple[str, int], tuple[set[int], set[int]]] = {}
    for item in benchmark.world.progress.each(
        items.tolist(), "items with a pool", len(items), BATCH
    ):
        pool_id, scene = asked[item], scenes.get(item, -1)
        if pool_id not in pools:
            yield finding(
                "missing row", f"item {benchmark.item_id(item)}: its pool {pool_id} does not exist"
            )
        elif scene >= 0:
            if (pool_id, scene) not in found:
                found[pool_id, scene] = pools[pool_id].decided(benchmark.shown[scene])
                benchmark.shown[scene].forget()
            yield from _item_findings(benchmark, item, *found[pool_id, scene], listed[item])


def _listed(benchmark: Benchmark, items: np.ndarray) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The scene of each item, and the texts that are listed as true of it."""
    rows = benchmark.candidates
    scenes: dict[int, int] = {}
    listed: dict[int, set[int]] = defaultdict(set)
    for row in np.flatnonzero(np.isin(rows.item, items)).tolist():
        item = int(rows.item[row])
        scenes[item] = int(rows.scene[row])
        if rows.truth[row]:
            listed[item].add(int(rows.text[row]))
    return scenes, listed


def _item_findings(
    benchmark: Benchmark, item: int, true: set[int], undecided: set[int], listed: set[int]
) -> Iterator[Finding]:
    if true != listed:
        yield finding(
            "wrong pool truth",
            f"item {benchmark.item_id(item)}: {len(true)} texts of the pool are true, "
            f"{len(listed)} are listed",
        )
    for text in sorted(undecided - listed):
        yield finding(
            "undecided text",
            f"item {benchmark.item_id(item)}: '{benchmark.text(text)}' of its pool is undecided",
        )


class Pool:
    """The texts of a pool. A text that asserts an object that the scene lacks is false and is
    skipped quickly."""

    def __init__(self, texts: list[tuple[int, Meaning]]):
        self.texts = texts
        needed = [_needed(meaning) for _, meaning in texts]
        self.things = list(dict.fromkeys(thing for things in needed for thing in things))
        number = {thing: n for n, thing in enumerate(self.things)}
        width = max(map(len, needed), default=0)
        self.needed = np.full((len(texts), width), len(self.things))
        for row, things in enumerate(needed):
            self.needed[row, : len(things)] = [number[thing] for thing in things]

    def decided(self, shown: SceneGeometry) -> tuple[set[int], set[int]]:
        """The texts that are true of a scene, and the undecided texts."""
        there = np.array([*(shown.fitting(thing) > 0 for thing in self.things), True])
        true: set[int] = set()
        undecided: set[int] = set()
        for n in np.flatnonzero(there[self.needed].all(axis=1)).tolist():
            text, meaning = self.texts[n]
            truth = decide(meaning, shown)
            if truth is not False:
                (undecided if truth is None else true).add(text)
        return true, undecided


def _needed(meaning: Meaning) -> list[Thing]:
    """The objects that a scene must have for a text to be true; none for denied texts and texts
    with counts."""
    if meaning.denied or any(thing.number != 1 for thing in meaning.things):
        return []
    denied = {thing for _, _, thing, holds, *_ in meaning.links if not holds}
    return [thing for place, thing in enumerate(meaning.things) if place not in denied]
