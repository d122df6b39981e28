"""Checks for leaks: training shows nothing and names nothing that is held out, or the manifest declares it."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.class_lists import shared_arrangements, shared_triples
from generator.judge.findings import Finding, finding
from generator.judge.held_out import CLASSES, Named


def leak_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Training scenes that show held-out content, training texts that name it in any phrasing, and holdouts that list a
    triple without its converse. Arrangements that the manifest declares to be in two class lists are excepted."""
    held_out = benchmark.held_out
    yield from held_out.findings()
    excepted = shared_triples(benchmark)
    for scene_id, split in benchmark.split_of.items():
        if split == "train" and scene_id in benchmark.world.shown:
            shown = benchmark.world.shown[scene_id]
            for binding in held_out.bindings_shown(shown):
                yield finding("leaked binding", f"training scene {scene_id} shows the held-out {' '.join(binding)}")
            for triple in held_out.triples_shown(shown):
                if triple not in excepted:
                    yield finding("leaked triple", f"training scene {scene_id} shows the held-out {' '.join(triple)}")
            for name in held_out.absent_shown(shown):
                yield finding("leaked atom", f"training scene {scene_id} shows {name}, which training lacks")
    rows = benchmark.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    training = judged[benchmark.trains[rows.item[judged]]]
    for row in training[benchmark.familiarity[rows.text[training]] > 0].tolist():
        if rows.truth[row] or not benchmark.manifest.get("exposed_negatives"):
            yield from _named(benchmark, row, benchmark.named[rows.text[row]], excepted)


def _named(
    benchmark: Benchmark, row: int, named: Named | None, excepted: frozenset[tuple[str, str, str]]
) -> Iterator[Finding]:
    rows = benchmark.candidates
    what = f"training {'caption' if rows.truth[row] else 'negative'} '{benchmark.text(rows.text[row])}' of item "
    what += benchmark.item_id(rows.item[row])
    if named is None:
        return
    if named.bindings:
        yield finding("leaked binding", f"{what} names a held-out binding")
    meaning = benchmark.meanings[rows.text[row]]
    ends = [thing.category or "" for thing in meaning.things] if meaning else []
    triples = {(ends[s], name, ends[o]) for s, name, o, *_ in meaning.links} if meaning else set()
    for triple in sorted((triples & benchmark.held_out.triples) - excepted):
        yield finding("leaked triple", f"{what} names the held-out {' '.join(triple)}")
    if named.absent:
        yield finding("leaked atom", f"{what} names a value or object that training lacks")


def undeclared_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Arrangements in two class lists, exposed negatives and unequal familiarity that the manifest does not declare."""
    manifest, declared = benchmark.manifest, benchmark.manifest.get("declared_leaks", [])
    for one, other, _ in shared_arrangements(benchmark.held_out):
        if not {one, other} & {*declared}:
            yield finding(
                "undeclared leak", f"one arrangement is in two lists: {one}; the manifest does not declare it"
            )
    if manifest.get("exposed_negatives") and not declared:
        yield finding(
            "undeclared leak", "training negatives may name what is held out; the manifest does not declare it"
        )
    if manifest.get("equal_familiarity") is False and benchmark.held_out.design != CLASSES and not declared:
        yield finding("undeclared leak", "familiarity may be unequal; the manifest does not declare it")
