"""Whether the true and the false texts of an evaluation item name equally much of what is held out."""

from collections.abc import Iterator

import numpy as np

from generator.judge.case import Case
from generator.judge.files import Finding, finding
from generator.judge.heldout import Named

_CAPTIONS = ("c", "n", "p")  # slots that are compared with one another; any other slot is a question of its own


def symmetry_findings(case: Case) -> Iterator[Finding]:
    """Items, or questions of an item, whose true and false texts differ in familiarity, or differ from what is listed.

    Equally familiar texts name as many held-out bindings, as many held-out triples, and both or neither a value or object
    that training lacks. A benchmark whose manifest says `"equal_familiarity": false` need only list counts that occur.
    """
    rows = case.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[(case.item_split[rows.item[judged]] != "train") & (case.familiarity[rows.text[judged]] >= 0)]
    item, text, truth = rows.item[judged], rows.text[judged], rows.truth[judged]
    slots = sorted(set(rows.slot.tolist()))
    group_of = {slot: 0 if slot in _CAPTIONS else n for n, slot in enumerate(slots, 1)}
    group = np.array([group_of[slot] for slot in rows.slot[judged].tolist()], np.int64)
    equal = case.manifest.get("equal_familiarity") is not False
    if equal:
        yield from _unequal(case, item, group, len(slots) + 1, text, truth)
    captions = np.bincount(item[group == 0], minlength=len(case.item_split)) > 0
    compared = (group == 0) | ~captions[item]
    for column, which in (("held_out_positive", truth), ("held_out_negative", ~truth)):
        yield from _wrongly_listed(case, column, item[compared & which], text[compared & which], equal)


def _unequal(
    case: Case, item: np.ndarray, group: np.ndarray, groups: int, text: np.ndarray, truth: np.ndarray
) -> Iterator[Finding]:
    """Questions that have true and false texts, with a familiarity that only the ones or only the others have."""
    familiarity = case.familiarity[text]
    width = int(familiarity.max(initial=0)) + 1
    question = item * groups + group
    key = question * width + familiarity
    lone = np.setxor1d(key[truth], key[~truth]) // width
    both = np.intersect1d(question[truth], question[~truth])
    for n in np.intersect1d(lone, both).tolist():
        own = question == n
        true, false = ({case.named[row] for row in text[own & which].tolist()} for which in (truth, ~truth))
        yield finding(
            "asymmetric familiarity",
            f"item {case.item_id(n // groups)}: its true texts name {_told(true)}, its false ones {_told(false)}",
        )


def _told(named: set[Named | None]) -> str:
    return " or ".join(
        f"{each.bindings} held-out bindings"
        + (f" and {each.triples} triples" if each.triples else "")
        + (" and an atom that training lacks" if each.absent else "")
        for each in sorted(each for each in named if each)
    )


def _wrongly_listed(case: Case, column: str, item: np.ndarray, text: np.ndarray, equal: bool) -> Iterator[Finding]:
    given = case.tables["items"][column]
    listed = np.asarray(given.fill_null(-1).to_numpy(), np.int64)
    counts = case.counted[text]
    width = int(max(counts.max(initial=0), listed.max(initial=0))) + 1
    pairs = np.unique(item * width + counts)
    different = np.bincount(pairs // width, minlength=len(listed))
    there = (listed >= 0) & np.isin(np.arange(len(listed)) * width + listed, pairs)
    right = there & (different == 1) if equal else there
    for n in np.flatnonzero(given.is_valid().to_numpy() & (different > 0) & ~right).tolist():
        found = sorted(set(counts[item == n].tolist()))
        yield finding(
            "wrong familiarity",
            f"item {case.item_id(n)} is listed with {listed[n]} held-out bindings and triples, its words name {found}",
        )
