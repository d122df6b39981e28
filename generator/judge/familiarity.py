"""Checks that the true and the false texts of an evaluation item name equally much held-out content."""

from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.held_out import Named

_CAPTIONS = ("c", "n", "p")  # slots whose texts are compared with each other; every other slot is a separate question


def symmetry_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items, or questions of an item, with unequally familiar texts; none if the manifest says `"equal_familiarity":
    false`.

    Texts are equally familiar if they name as many held-out bindings, as many held-out triples, and both or neither
    an atom that training lacks.
    """
    if benchmark.manifest.get("equal_familiarity") is False:
        return
    rows = benchmark.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[
        (benchmark.item_split[rows.item[judged]] != TRAIN) & (benchmark.familiarity[rows.text[judged]] >= 0)
    ]
    slots = sorted(set(rows.slot.tolist()))
    group_of = {slot: 0 if slot in _CAPTIONS else n for n, slot in enumerate(slots, 1)}
    group = np.array([group_of[slot] for slot in rows.slot[judged].tolist()], np.int64)
    yield from _unequal(benchmark, rows.item[judged], group, len(slots) + 1, rows.text[judged], rows.truth[judged])


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
            f"item {benchmark.item_id(n // groups)}: its true texts name {_in_words(true)}, its false ones "
            f"{_in_words(false)}",
        )


def _in_words(named: set[Named | None]) -> str:
    return " or ".join(
        f"{each.bindings} held-out bindings"
        + (f" and {each.triples} triples" if each.triples else "")
        + (" and an atom that training lacks" if each.absent else "")
        for each in sorted(each for each in named if each)
    )
