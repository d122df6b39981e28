"""Decides every pair of scene and text that a protocol compares, for truth.parquet
(generator.dataset.truth).

A scene is compared with the candidates of its items, with the pools of its items, and for raw
retrieval with all true captions of its split.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.dataset.truth import RAW_RETRIEVAL, SceneTruth
from generator.judge.benchmark import BATCH, TRUE, UNDECIDED, Benchmark
from generator.judge.files import labels, places
from generator.judge.truth import Pool

_CAPTION = "c"


def decided_scenes(benchmark: Benchmark) -> Iterator[SceneTruth]:
    """Yield each scene that an evaluation item asks about, with its true and its undecided texts.

    Only one scene is decided at a time, so memory does not grow with the number of pairs.
    """
    text_sets = _text_sets(benchmark)
    sets_of_scene = _sets_of_scenes(benchmark, text_sets)
    candidates = _decided_candidates(benchmark)
    scenes = sorted(sets_of_scene)
    for scene in benchmark.world.progress.each(scenes, "every pair", len(scenes), BATCH):
        true, undecided = candidates[scene]
        shown = benchmark.shown[scene]
        for name in sorted(sets_of_scene[scene]):
            also_true, also_undecided = text_sets[name].decided(shown)
            true |= also_true
            undecided |= also_undecided
        shown.forget()
        yield benchmark.scene_ids[scene], sorted(true), sorted(undecided)


def _text_sets(benchmark: Benchmark) -> dict[str, Pool]:
    """The retrieval pools by "pool ID", and the captions of raw retrieval by "PROTOCOL SPLIT"."""
    rows_of: dict[str, set[int]] = defaultdict(set)
    pools = benchmark.tables["pools"]
    texts = places(pools["text_id"], benchmark.tables["texts"]["text_id"])
    for pool_id, text in zip(pools["pool_id"].to_pylist(), texts.tolist(), strict=True):
        rows_of[f"pool {pool_id}"].add(text)
    rows = benchmark.candidates
    for row in _captions_of_raw_retrieval(benchmark).tolist():
        rows_of[_raw_name(benchmark, rows.item[row])].add(int(rows.text[row]))
    return {
        name: Pool(
            [
                (text, meaning)
                for text in sorted(texts)
                if text >= 0 and (meaning := benchmark.meanings[text])
            ]
        )
        for name, texts in rows_of.items()
    }


def _sets_of_scenes(benchmark: Benchmark, text_sets: dict[str, Pool]) -> dict[int, set[str]]:
    """For each scene that an evaluation item asks about, the names of the text sets that it is
    compared with."""
    pool_of = labels(benchmark.tables["items"]["pool_id"])
    sets_of: dict[int, set[str]] = defaultdict(set)
    rows = benchmark.candidates
    for row in _evaluated(benchmark).tolist():
        scene, item = int(rows.scene[row]), rows.item[row]
        names = (f"pool {pool_of[item]}", _raw_name(benchmark, item))
        sets_of[scene].update(name for name in names if name in text_sets)
    return sets_of


def _decided_candidates(benchmark: Benchmark) -> dict[int, tuple[set[int], set[int]]]:
    """By scene, the candidates of evaluation items that are true of it, and those that are
    undecided."""
    decided: dict[int, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    rows, verdicts = benchmark.candidates, benchmark.verdicts
    for row in _evaluated(benchmark).tolist():
        if verdicts[row] in (TRUE, UNDECIDED):
            decided[int(rows.scene[row])][verdicts[row] == UNDECIDED].add(int(rows.text[row]))
    return decided


def _evaluated(benchmark: Benchmark) -> np.ndarray:
    """The rows of candidates whose item, scene and text exist, without training items."""
    rows = benchmark.candidates
    known = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0) & (rows.text >= 0))
    return known[~benchmark.trains[rows.item[known]]]


def _captions_of_raw_retrieval(benchmark: Benchmark) -> np.ndarray:
    """The rows of candidates that are captions of raw retrieval."""
    rows, known = benchmark.candidates, _evaluated(benchmark)
    is_raw = np.isin(benchmark.protocols[rows.item[known]], RAW_RETRIEVAL)
    return known[is_raw & rows.truth[known] & (rows.slot[known] == _CAPTION)]


def _raw_name(benchmark: Benchmark, item: int) -> str:
    return f"{benchmark.protocols[item]} {benchmark.item_split[item]}"
