"""Checks for positional shortcuts: the place of an object in the label or in the image tells what it is."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from generator.judge.findings import Finding, finding
from generator.judge.foreign.labels import POSITION, attributes
from generator.judge.foreign.task import Task, first_rows
from generator.judge.meaning import Meaning, Pair, Thing

LEVEL = 0.01
"""Largest probability of a false report in a file without shortcuts."""

SHARE = 0.75
"""Smallest share of one place that is reported as a shortcut."""

Code = tuple[str, str]
"""The names of two places that are compared."""


@dataclass(frozen=True)
class PlacePreference:
    """How often a value or category is at `place` rather than `other`: in `there` of `arrangements`.

    `p`: the probability of a count at least as uneven by chance (exact two-sided sign test, exchanging the two objects of
    each arrangement at random).
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
    """Pairs of places of a label with the (kind, value) pairs at each: order of mention, ends of a relation, positions."""
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
