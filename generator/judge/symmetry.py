"""Whether the true and the false texts of an evaluation item name equally many held-out bindings."""

from collections.abc import Iterator

import numpy as np

from generator.judge.case import Case
from generator.judge.files import Finding, finding

_CAPTIONS = ("c", "n", "p")  # slots that are compared with one another; any other slot is a question of its own
_MOST = 62  # counts of bindings are kept as bits of 64


def symmetry_findings(case: Case) -> Iterator[Finding]:
    """Items, or questions of an item, whose true and false texts differ in familiarity, or differ from what is listed.

    A benchmark whose manifest says `"equal_familiarity": false` need only list counts that occur.
    """
    rows = case.candidates
    judged = np.flatnonzero((rows.item >= 0) & (rows.text >= 0))
    judged = judged[(case.item_split[rows.item[judged]] != "train") & (case.named[rows.text[judged]] >= 0)]
    item, truth = rows.item[judged], rows.truth[judged]
    bits = np.left_shift(np.int64(1), np.minimum(case.named[rows.text[judged]], _MOST))
    slots = sorted(set(rows.slot.tolist()))
    group_of = {slot: 0 if slot in _CAPTIONS else n for n, slot in enumerate(slots, 1)}
    group = np.array([group_of[slot] for slot in rows.slot[judged].tolist()], np.int64)
    equal = case.manifest.get("equal_familiarity") is not False
    if equal:
        yield from _unequal(case, item * (len(slots) + 1) + group, len(slots) + 1, truth, bits)
    n_items = len(case.item_split)
    captions = np.bincount(item[group == 0], minlength=n_items) > 0
    counted = (group == 0) | ~captions[item]
    for column, which in (("held_out_positive", truth), ("held_out_negative", ~truth)):
        found = np.zeros(n_items, np.int64)
        np.bitwise_or.at(found, item[counted & which], bits[counted & which])
        yield from _wrongly_listed(case, column, found, equal)


def _unequal(case: Case, question: np.ndarray, width: int, truth: np.ndarray, bits: np.ndarray) -> Iterator[Finding]:
    questions, back = np.unique(question, return_inverse=True)
    true, false = np.zeros(len(questions), np.int64), np.zeros(len(questions), np.int64)
    np.bitwise_or.at(true, back[truth], bits[truth])
    np.bitwise_or.at(false, back[~truth], bits[~truth])
    for n in np.flatnonzero((true != 0) & (false != 0) & (true != false)).tolist():
        yield finding(
            "asymmetric familiarity",
            f"item {case.item_id(int(questions[n]) // width)}: its true texts name {_counts(true[n])} held-out bindings, "
            f"its false ones {_counts(false[n])}",
        )


def _wrongly_listed(case: Case, column: str, found: np.ndarray, equal: bool) -> Iterator[Finding]:
    given = case.tables["items"][column]
    listed = np.asarray(given.fill_null(-1).to_numpy(), np.int64)
    bit = np.where(listed < 0, 0, np.left_shift(np.int64(1), np.clip(listed, 0, _MOST)))
    right = found == bit if equal else (found & bit) != 0
    for n in np.flatnonzero(given.is_valid().to_numpy() & (found != 0) & ~right).tolist():
        yield finding(
            "wrong familiarity",
            f"item {case.item_id(n)} is listed with {listed[n]} held-out bindings, its words name {_counts(found[n])}",
        )


def _counts(bits: int) -> list[int]:
    return [n for n in range(_MOST + 1) if int(bits) >> n & 1]
