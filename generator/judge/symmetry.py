"""Checks that the true and the false texts of an evaluation item name equally much held-out content."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.held_out import Named

_CAPTIONS = ("c", "n", "p")  # slots whose texts are compared with each other; every other slot is a separate question


def symmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items, or questions of an item, with unequally familiar texts, and items listed with wrong numbers.

    Texts are equally familiar if they name as many held-out bindings, as many held-out triples, and both or neither an atom
    that training lacks. If the manifest says `"equal_familiarity": false`, only the listed numbers are checked.
    """
    rows = benchmark.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[
        (benchmark.item_split[rows.item[judged]] != "train") & (benchmark.familiarity[rows.text[judged]] >= 0)
    ]
    item, text, truth = rows.item[judged], rows.text[judged], rows.truth[judged]
    slots = sorted(set(rows.slot.tolist()))
    group_of = {slot: 0 if slot in _CAPTIONS else n for n, slot in enumerate(slots, 1)}
    group = np.array([group_of[slot] for slot in rows.slot[judged].tolist()], np.int64)
    equal = benchmark.manifest.get("equal_familiarity") is not False
    if equal:
        yield from _unequal(benchmark, item, group, len(slots) + 1, text, truth)
    captions = np.bincount(item[group == 0], minlength=len(benchmark.item_split)) > 0
    compared = (group == 0) | ~captions[item]
    for column, which in (("held_out_positive", truth), ("held_out_negative", ~truth)):
        yield from _wrongly_listed(benchmark, column, item[compared & which], text[compared & which], equal)


def _unequal(
    benchmark: Benchmark, item: np.ndarray, group: np.ndarray, groups: int, text: np.ndarray, truth: np.ndarray
) -> Iterator[Finding]:
    """Questions with a familiarity that only true texts or only false texts have."""
    familiarity = benchmark.familiarity[text]
    width = int(familiarity.max(initial=0)) + 1
    question = item * groups + group
    key = question * width + familiarity
    lone = np.setxor1d(key[truth], key[~truth]) // width
    both = np.intersect1d(question[truth], question[~truth])
    for n in np.intersect1d(lone, both).tolist():
        own = question == n
        true, false = ({benchmark.named[row] for row in text[own & which].tolist()} for which in (truth, ~truth))
        yield finding(
            "asymmetric familiarity",
            f"item {benchmark.item_id(n // groups)}: its true texts name {_in_words(true)}, its false ones {_in_words(false)}",
        )


def _in_words(named: set[Named | None]) -> str:
    return " or ".join(
        f"{each.bindings} held-out bindings"
        + (f" and {each.triples} triples" if each.triples else "")
        + (" and an atom that training lacks" if each.absent else "")
        for each in sorted(each for each in named if each)
    )


def _wrongly_listed(
    benchmark: Benchmark, column: str, item: np.ndarray, text: np.ndarray, equal: bool
) -> Iterator[Finding]:
    given = benchmark.tables["items"][column]
    listed = np.asarray(given.fill_null(-1).to_numpy(), np.int64)
    counts = benchmark.counted[text]
    width = int(max(counts.max(initial=0), listed.max(initial=0))) + 1
    pairs = np.unique(item * width + counts)
    different = np.bincount(pairs // width, minlength=len(listed))
    there = (listed >= 0) & np.isin(np.arange(len(listed)) * width + listed, pairs)
    right = there & (different == 1) if equal else there
    valid = given.is_valid().to_numpy()
    missing = ~valid & (different == 1) & benchmark.known_items
    for n in np.flatnonzero((valid & (different > 0) & ~right) | missing).tolist():
        found = sorted(set(counts[item == n].tolist()))
        number = listed[n] if valid[n] else "no"
        yield finding(
            "wrong familiarity",
            f"item {benchmark.item_id(n)} is listed with {number} held-out bindings and triples, its words name {found}",
        )
    for n in np.flatnonzero(valid & (different == 0) & benchmark.known_items & ~benchmark.trains).tolist():
        yield finding(
            "wrong familiarity",
            f"item {benchmark.item_id(n)} is listed with {listed[n]} held-out bindings and triples of texts that it lacks",
        )
