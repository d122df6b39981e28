"""Checks splits made by others for leaks, true negatives, and positions of objects that tell what they are."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from generator.judge.findings import Finding, finding
from generator.judge.foreign.familiarity import all_bindings
from generator.judge.foreign.labels import CONVERSE, POSITION, attributes
from generator.judge.foreign.tables import Task, first_rows, numbered
from generator.judge.meaning import Meaning, Pair, Thing


def arrangement_leaks(task: Task) -> Iterator[Finding]:
    """Arrangements in more than one split: in the same words, by a converse relation, or in another order of mention.

    Training splits and the familiar splits count as one.
    """
    side = _sides(task)
    judged = np.flatnonzero((task.split >= 0) & (task.label >= 0))
    first, _ = first_rows(task.arrangements[task.label[judged]], task.split[judged], task.label[judged])
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row in judged[first].tolist():
        rows_of[int(task.arrangements[task.label[row]])].append(row)
    for rows in rows_of.values():
        if len({side[task.split[row]] for row in rows}) > 1:
            yield finding(
                _kind(task, rows, side), " = ".join(task.quoted(task.label[row], row) for row in sorted(rows))
            )


def _sides(task: Task) -> np.ndarray:
    """A number for each split, equal for splits that may show the same arrangements."""
    one = task.training | task.familiar
    return np.array([-1 if name in one else n for n, name in enumerate(task.splits)], np.int64)


def _kind(task: Task, rows: list[int], side: np.ndarray) -> str:
    sides: dict[Meaning, set[int]] = defaultdict(set)
    for row in rows:
        sides[task.meanings[task.label[row]]].add(int(side[task.split[row]]))
    if any(len(found) > 1 for found in sides.values()):
        return "shared arrangement"
    return "converse leak" if any(meaning.links for meaning in sides) else "reordered leak"


def image_leaks(task: Task) -> Iterator[Finding]:
    """Images in more than one split."""
    if task.image is None:
        return
    judged = np.flatnonzero((task.split >= 0) & (task.image >= 0))
    first, _ = first_rows(task.image[judged], task.split[judged])
    rows = judged[first]
    images, back, counts = np.unique(task.image[rows], return_inverse=True, return_counts=True)
    for n in np.flatnonzero(counts > 1).tolist():
        where = "; ".join(task.row(row) for row in sorted(rows[back == n].tolist()))
        yield finding("shared image", f"{task.images[images[n]]} ({where})")


def exposed_bindings(task: Task) -> Iterator[Finding]:
    """Negatives of training rows that name a binding which evaluation labels show and training labels do not."""
    bindings = all_bindings(task.meanings)
    shown = {pair for label in np.unique(task.label[task.trains]).tolist() if label >= 0 for pair in bindings[label]}
    asked = {pair for label in np.unique(task.label[task.evaluates]).tolist() if label >= 0 for pair in bindings[label]}
    unseen = asked - shown
    for column in task.negatives.T:
        judged = np.flatnonzero(task.trains & (column >= 0))
        first, _ = first_rows(column[judged])
        for row in judged[first].tolist():
            for _, value, category in (pair for pair in bindings[column[row]] if pair in unseen):
                yield finding(
                    "exposed binding", f"{task.quoted(column[row], row)} is a negative and names {value} {category}"
                )


def shared_groups(task: Task) -> tuple[int, str]:
    """How many groups (same values and categories) have other pairings in another split, and an example."""
    side = _sides(task)
    groups = numbered(map(_group, task.meanings))
    told = np.array(
        [
            len(meaning.things) > 1 and not meaning.links and any(map(attributes, meaning.things))
            for meaning in task.meanings
        ]
    )
    judged = np.flatnonzero((task.split >= 0) & (task.label >= 0))
    judged = judged[told[task.label[judged]]] if len(told) else judged
    first, _ = first_rows(groups[task.label[judged]], side[task.split[judged]])
    rows = judged[first]
    of = groups[task.label[rows]]
    _, back, counts = np.unique(of, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts > 1)
    if not len(shared):
        return 0, ""
    example = sorted(rows[back == shared[0]].tolist())[:2]
    return len(shared), " and ".join(task.quoted(task.label[row], row) for row in example)


def _group(meaning: Meaning) -> tuple[object, ...]:
    values = sorted(pair for thing in meaning.things for pair in attributes(thing))
    return tuple(values), tuple(sorted(str(thing.category) for thing in meaning.things))


def true_negatives(task: Task) -> Iterator[Finding]:
    """Negatives that follow from their row's label: in another order, by a converse relation, or as a part of it."""
    for column in task.negatives.T:
        judged = np.flatnonzero((task.label >= 0) & (column >= 0))
        first, counts = first_rows(task.label[judged], column[judged])
        for row, count in zip(judged[first].tolist(), counts.tolist(), strict=True):
            label, negative = task.label[row], column[row]
            if follows(task.shown[negative], task.shown[label]):
                often = f", and {count - 1} more of these" if count > 1 else ""
                yield finding(
                    "true negative",
                    f'"{task.words[negative]}" is a negative of {task.quoted(label, row)}{often}, and true of it',
                )


def follows(meaning: Meaning, shown: Meaning) -> bool:
    """Whether a label is true of every scene that shows an arrangement: its objects and relations are part of it.

    Both are in the normal form of `arrangement`.
    """
    links = set(shown.links)

    def place(at: int, chosen: tuple[int, ...]) -> bool:
        if at == len(meaning.things):
            return all(_holds(chosen[s], name, chosen[o], holds, links) for s, name, o, holds in meaning.links)
        fitting = (n for n, thing in enumerate(shown.things) if n not in chosen and _fits(meaning.things[at], thing))
        return any(place(at + 1, (*chosen, n)) for n in fitting)

    return place(0, ())


def _fits(meaning: Thing, shown: Thing) -> bool:
    return meaning.category == shown.category and set(meaning.attributes) <= set(shown.attributes)


def _holds(subject: int, name: str, thing: int, holds: bool, links: set[tuple[int, str, int, bool]]) -> bool:
    return (subject, name, thing, holds) in links or (
        CONVERSE.get(name) == name and (thing, name, subject, holds) in links
    )


LEVEL = 0.01
"""Largest probability of a false report in a file without shortcuts."""

SHARE = 0.75
"""Smallest share of one place that is reported as a shortcut."""

Code = tuple[str, str]
"""The names of two places that are compared."""


@dataclass(frozen=True)
class PlacePreference:
    """How often a value or category is at `place` rather than `other`: in `there` of `arrangements`.

    `p`: the probability of a count at least as uneven by chance (exact two-sided sign test, exchanging the two
    objects of each arrangement at random).
    """

    split: str
    kind: str
    value: str
    place: str
    other: str
    there: int
    arrangements: int
    p: float

    def words(self, tests: int) -> str:
        """The preference as a sentence; `tests`: how many values were tested."""
        always = "always" if self.there == self.arrangements else f"in {self.there / self.arrangements:.0%}"
        return (
            f"{self.split}: {self.kind} {self.value} is {always} {self.place} and not {self.other} ({self.there:,} of "
            f"{self.arrangements:,} arrangements, p = {self.p:.1e}, one of {tests} such tests)"
        )


def shortcut_findings(task: Task) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Shortcuts as findings, and every tested value as data. Each arrangement counts once per split.

    A shortcut is a value that is at one place in at least 75% of arrangements, with p below 1% after Bonferroni's
    correction over all tests.
    """
    preferences = list(_preferences(task))
    found = [
        finding("positional shortcut", preference.words(len(preferences)))
        for preference in preferences
        if preference.p * len(preferences) < LEVEL and preference.there >= SHARE * preference.arrangements
    ]
    return found, [asdict(preference) for preference in preferences]


def _preferences(task: Task) -> Iterator[PlacePreference]:
    judged = np.flatnonzero((task.split >= 0) & (task.label >= 0))
    first, _ = first_rows(task.split[judged], task.label[judged])
    rows = judged[first]
    for n, name in enumerate(task.splits):
        counts: dict[tuple[Code, str, str], list[int]] = {}
        for label in task.label[rows[task.split[rows] == n]].tolist():
            for places, one, other in _ends(task.meanings[label], task.shown[label]):
                for which, (here, there) in enumerate(((one, other), (other, one))):
                    for pair in here:
                        if pair not in there:
                            counts.setdefault((places, *pair), [0, 0])[which] += 1
        for (places, kind, value), (one_count, other_count) in sorted(counts.items()):
            which = int(other_count > one_count)
            p = sign_test(one_count, other_count)
            total = one_count + other_count
            yield PlacePreference(
                name, kind, value, places[which], places[1 - which], max(one_count, other_count), total, p
            )


def _ends(meaning: Meaning, shown: Meaning) -> Iterator[tuple[Code, tuple[Pair, ...], tuple[Pair, ...]]]:
    """Pairs of places of a label with the (kind, value) pairs at each: by mention, ends of a relation, or position."""
    if len(meaning.things) != 2:
        return
    first, second = meaning.things
    yield ("first", "second"), _traits(first), _traits(second)
    for subject, relation, thing, _ in shown.links:
        yield (
            (f"subject of {relation}", f"object of {relation}"),
            _traits(shown.things[subject]),
            _traits(shown.things[thing]),
        )
    one, other = _position(first), _position(second)
    if one and other and one < other:
        yield (one, other), _traits(first), _traits(second)
    elif one and other and one > other:
        yield (other, one), _traits(second), _traits(first)


@lru_cache(1 << 16)
def _traits(thing: Thing) -> tuple[Pair, ...]:
    return ("object", str(thing.category)), *attributes(thing)


@lru_cache(1 << 16)
def _position(thing: Thing) -> str | None:
    return dict(thing.attributes).get(POSITION)


def sign_test(one: int, other: int) -> float:
    """Two-sided probability of counts at least as uneven as `one` and `other` if both places are equally likely.

    >>> sign_test(5, 0), sign_test(3, 3)
    (0.0625, 1.0)
    """
    n, least = one + other, min(one, other)
    if 2 * least == n:
        return 1.0
    logs = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(least + 1)
    ]
    top = max(logs)
    return min(1.0, 2 * math.exp(top) * math.fsum(math.exp(log - top) for log in logs))
