"""Checks that texts can be read, that each candidate's truth follows from its words and the
recorded poses, and that each retrieval item lists exactly the texts of its pool that are true of
its scene."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from generator.judge.benchmark import BATCH, FALSE, TRUE, UNDECIDED, UNREADABLE, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.columns import labels, row_numbers
from generator.judge.decide import decide
from generator.judge.geometry import SceneGeometry
from generator.judge.lexicon import UnreadableError
from generator.judge.meaning import Meaning, ObjectMention
from generator.judge.text_reader import read_text


def text_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts that cannot be read, or that have two readings; templates of the family whose texts may
    have two."""
    for name, reason in benchmark.lexicon.refused.items():
        yield finding("ambiguous template", f"templates.{name} of the family is not read: {reason}")
    for row, meaning in enumerate(benchmark.meanings):
        if meaning is not None or row in benchmark.view_texts:
            continue
        is_bare = row in benchmark.bare_texts
        lexicon = benchmark.bare_lexicons["viewer"] if is_bare else benchmark.lexicon
        # Read once more, for the reason: a benchmark keeps only the meanings of texts.
        try:
            read_text(benchmark.text(row), lexicon)
        except UnreadableError as error:
            text_id = benchmark.tables["texts"]["text_id"][row]
            yield finding("unreadable text", f"text {text_id}: {error}")


def truth_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts listed as true that are false of their scene, texts listed as false that are true, and
    undecided texts."""
    rows = benchmark.candidates
    verdicts = benchmark.verdicts
    listed_verdicts = np.where(rows.truth, TRUE, FALSE)
    # Unreadable texts are findings of `text_findings`.
    is_right = (verdicts == listed_verdicts) | (verdicts == UNREADABLE)
    is_missing = (rows.item < 0) | (rows.scene < 0) | (rows.text < 0)
    for row in np.flatnonzero(is_missing | ~is_right).tolist():
        where = f"item {benchmark.listed(row, 'item_id')}, scene {benchmark.scene_id(row)}"
        if is_missing[row]:
            yield finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        text = f"'{benchmark.text(rows.text[row])}'"
        kind = benchmark.listed(row, "kind")
        if kind:
            text += f" ({kind})"
        listed_truth = "true" if rows.truth[row] else "false"
        listed = f"{where}: {text} is listed as {listed_truth}"
        objects = _objects_in_words(benchmark.scenes[rows.scene[row]])
        if verdicts[row] == UNDECIDED:
            yield finding(
                "undecided text", f"{listed}, and is undecided; the scene shows {objects}"
            )
        else:
            fault = "false positive" if rows.truth[row] else "true negative"
            yield finding(fault, f"{listed}; the scene shows {objects}")


def _objects_in_words(scene: SceneGeometry) -> str:
    """Such as "red large cube and blue small ball"."""
    return " and ".join(
        f"{' '.join(values.values())} {category}" for category, values in scene.objects
    )


def pool_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Pools with repeated or missing texts, and items whose pool is missing or has other true texts
    than listed."""
    # The pools.
    pools: dict[str, TextPool] = {}
    for pool_id, texts in _texts_of_pools(benchmark).items():
        distinct = np.unique(texts)
        n_repeated = len(texts) - len(distinct)
        if n_repeated:
            yield finding("repeated text", f"pool {pool_id} names {n_repeated} texts twice")
        if distinct[0] < 0:
            yield finding("missing row", f"pool {pool_id} names texts that do not exist")
        pools[pool_id] = TextPool.from_rows(benchmark, distinct.tolist())

    # The items that ask against one of them.
    pool_ids = benchmark.tables["items"]["pool_id"]
    pool_of = labels(pool_ids)
    items = np.flatnonzero(pool_ids.is_valid().to_numpy())
    scene_of, listed_texts = _listed_texts(benchmark, items)
    # Items of one scene share its texts: they are decided once.
    decided: dict[tuple[str, int], tuple[set[int], set[int]]] = {}
    progress = benchmark.world.progress
    for item in progress.follow(items.tolist(), "items with a pool", total=len(items), every=BATCH):
        pool_id = pool_of[item]
        scene = scene_of.get(item, -1)
        if pool_id not in pools:
            yield finding(
                "missing row", f"item {benchmark.item_id(item)}: its pool {pool_id} does not exist"
            )
            continue
        # A missing scene is a finding of `truth_findings`.
        if scene < 0:
            continue
        # A pool may have thousands of texts, and several items of a scene ask against it.
        if (pool_id, scene) not in decided:
            decided[pool_id, scene] = pools[pool_id].decide_all(benchmark.scenes[scene])
            benchmark.scenes[scene].forget()
        true, undecided = decided[pool_id, scene]
        yield from _item_findings(
            benchmark, item, true=true, undecided=undecided, listed=listed_texts[item]
        )


def _texts_of_pools(benchmark: Benchmark) -> dict[str, np.ndarray]:
    """The rows of the texts of each pool; -1 for a text that does not exist."""
    table = benchmark.tables["pools"]
    pool_ids = labels(table["pool_id"])
    texts = row_numbers(table["text_id"], benchmark.tables["texts"]["text_id"])
    distinct = dict.fromkeys(pool_ids.tolist())
    return {pool_id: texts[pool_ids == pool_id] for pool_id in distinct}


def _listed_texts(
    benchmark: Benchmark, items: np.ndarray
) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The scene of each item, and the texts that are listed as true of it."""
    rows = benchmark.candidates
    scene_of: dict[int, int] = {}
    listed: dict[int, set[int]] = defaultdict(set)
    for row in np.flatnonzero(np.isin(rows.item, items)).tolist():
        item = int(rows.item[row])
        scene_of[item] = int(rows.scene[row])
        if rows.truth[row]:
            listed[item].add(int(rows.text[row]))
    return scene_of, listed


def _item_findings(
    benchmark: Benchmark, item: int, *, true: set[int], undecided: set[int], listed: set[int]
) -> Iterator[Finding]:
    if true != listed:
        yield finding(
            "wrong pool truth",
            f"item {benchmark.item_id(item)}: {len(true)} texts of the pool are true, "
            f"{len(listed)} are listed",
        )
    # Listed ones are findings already, as candidates that are undecided.
    for text in sorted(undecided - listed):
        yield finding(
            "undecided text",
            f"item {benchmark.item_id(item)}: '{benchmark.text(text)}' of its pool is undecided",
        )


class TextPool:
    """Texts that are decided on many scenes.

    Most texts of a pool name an object that a scene lacks. Each such text is false without a look
    at its relations: `_needed[t]` numbers the mentions that text t needs, and one lookup in an
    array tells which texts have all of them.
    """

    def __init__(self, texts: list[tuple[int, Meaning]]):
        """`texts`: the row of each text, and its meaning."""
        self._texts = texts
        needed = [_needed_mentions(meaning) for _, meaning in texts]
        self._mentions = list(dict.fromkeys(chain.from_iterable(needed)))
        number_of = {mention: number for number, mention in enumerate(self._mentions)}
        # Texts that need fewer mentions than others are filled up with the number after the last
        # mention, which every scene has.
        width = max(map(len, needed), default=0)
        self._needed = np.full((len(texts), width), len(self._mentions))
        for row, own in enumerate(needed):
            self._needed[row, : len(own)] = [number_of[mention] for mention in own]

    @classmethod
    def from_rows(cls, benchmark: Benchmark, texts: Iterable[int]) -> "TextPool":
        """A pool of texts by their rows. Texts that do not exist or cannot be read are left out."""
        readable = []
        for text in texts:
            meaning = benchmark.meanings[text] if text >= 0 else None
            if meaning is not None:
                readable.append((text, meaning))
        return cls(readable)

    def decide_all(self, scene: SceneGeometry) -> tuple[set[int], set[int]]:
        """The rows of the texts that are true of a scene, and of the undecided texts."""
        is_present = [scene.fitting(mention) > 0 for mention in self._mentions]
        has_all = np.array([*is_present, True])[self._needed].all(axis=1)
        true: set[int] = set()
        undecided: set[int] = set()
        for n in np.flatnonzero(has_all).tolist():
            text, meaning = self._texts[n]
            truth = decide(meaning, scene)
            if truth is None:
                undecided.add(text)
            elif truth:
                true.add(text)
        return true, undecided


def _needed_mentions(meaning: Meaning) -> list[ObjectMention]:
    """The objects that a scene must have for a text to be true; none for denied texts and texts
    with counts."""
    if meaning.denied or any(mention.number != 1 for mention in meaning.objects):
        return []
    # "not left of a cube" may be true without a cube.
    denied = {object_ for _, _, object_, asserted, *_ in meaning.relations if not asserted}
    return [mention for place, mention in enumerate(meaning.objects) if place not in denied]
