"""Whether training shows or names anything that is held out."""

from collections.abc import Iterator

import numpy as np

from generator.judge.case import Case
from generator.judge.class_lists import shared_triples
from generator.judge.files import Finding, finding
from generator.judge.heldout import Named


def leak_findings(case: Case) -> Iterator[Finding]:
    """Training scenes that show, and training texts that name, what is held out, in any phrasing; triples that are held
    out in one phrasing alone. Arrangements that the manifest declares to be in two lists (design gzsl) are excepted."""
    held_out = case.held_out
    yield from held_out.findings()
    excepted = shared_triples(case)
    for scene_id, split in case.split_of.items():
        if split == "train" and scene_id in case.world.shown:
            shown = case.world.shown[scene_id]
            for binding in held_out.bindings_shown(shown):
                yield finding("leaked binding", f"training scene {scene_id} shows the held-out {' '.join(binding)}")
            for triple in held_out.triples_shown(shown):
                if triple not in excepted:
                    yield finding("leaked triple", f"training scene {scene_id} shows the held-out {' '.join(triple)}")
            for name in held_out.absent_shown(shown):
                yield finding("leaked atom", f"training scene {scene_id} shows {name}, which training lacks")
    rows = case.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    training = judged[case.item_split[rows.item[judged]] == "train"]
    for row in training[case.familiarity[rows.text[training]] > 0].tolist():
        if rows.truth[row] or not case.manifest.get("exposed_negatives"):
            yield from _named(case, row, case.named[rows.text[row]], excepted)


def _named(case: Case, row: int, named: Named | None, excepted: frozenset[tuple[str, str, str]]) -> Iterator[Finding]:
    rows = case.candidates
    what = f"training {'caption' if rows.truth[row] else 'negative'} '{case.text(rows.text[row])}' of item "
    what += case.item_id(rows.item[row])
    if named is None:
        return
    if named.bindings:
        yield finding("leaked binding", f"{what} names a held-out binding")
    said = case.claims[rows.text[row]]
    ends = [thing.category or "" for thing in said.things] if said else []
    triples = {(ends[s], name, ends[o]) for s, name, o, _ in said.links} if said else set()
    for triple in sorted((triples & case.held_out.triples) - excepted):
        yield finding("leaked triple", f"{what} names the held-out {' '.join(triple)}")
    if named.absent:
        yield finding("leaked atom", f"{what} names a value or object that training lacks")
