"""Positional shortcuts: whether the place of a thing in a label, or in the image, tells what it is."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from generator.judge.files import Finding, finding
from generator.judge.foreign.labels import POSITION, attributes
from generator.judge.foreign.task import Task, first_rows
from generator.judge.meaning import Pair, Said, Thing

LEVEL = 0.01
"""Share of files without any shortcut in which one may be reported, at most."""

SHARE = 0.75
"""Least share of one place from which a shortcut is reported."""

Code = tuple[str, str]
"""The two places that are told apart."""


@dataclass(frozen=True)
class Lean:
    """A value (or category) that stands at one of two places in `there` of the `arrangements` that have it at one of them.

    `p` is the probability of a split as uneven by chance: the exact two-sided sign test, the two things of each
    arrangement exchanging places at random.
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
        """The lean in words."""
        always = "always" if self.there == self.arrangements else f"in {self.there / self.arrangements:.0%}"
        return (
            f"{self.split}: {self.kind} {self.value} is {always} {self.place} and not {self.other} ({self.there:,} of "
            f"{self.arrangements:,} arrangements, p = {self.p:.1e}, one of {tests} such tests)"
        )


def place_findings(task: Task) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Shortcuts, and every value that was tested, as data. Arrangements count once, however often they stand in a split.

    A shortcut is a value of which one place has three of four or more, so uneven that Bonferroni's correction over
    all tests leaves p below 1%.
    """
    leans = list(_leans(task))
    found = [
        finding("positional shortcut", lean.words(len(leans)))
        for lean in leans
        if lean.p * len(leans) < LEVEL and lean.there >= SHARE * lean.arrangements
    ]
    return found, [asdict(lean) for lean in leans]


def _leans(task: Task) -> Iterator[Lean]:
    judged = np.flatnonzero((task.split >= 0) & (task.label >= 0))
    first, _ = first_rows(task.split[judged], task.label[judged])
    rows = judged[first]
    for n, name in enumerate(task.splits):
        counts: dict[tuple[Code, str, str], list[int]] = {}
        for label in task.label[rows[task.split[rows] == n]].tolist():
            for places, one, other in _ends(task.said[label], task.shown[label]):
                for which, (here, there) in enumerate(((one, other), (other, one))):
                    for pair in here:
                        if pair not in there:
                            counts.setdefault((places, *pair), [0, 0])[which] += 1
        for (places, kind, value), (one_count, other_count) in sorted(counts.items()):
            which = int(other_count > one_count)
            p = sign_test(one_count, other_count)
            total = one_count + other_count
            yield Lean(name, kind, value, places[which], places[1 - which], max(one_count, other_count), total, p)


def _ends(said: Said, shown: Said) -> Iterator[tuple[Code, tuple[Pair, ...], tuple[Pair, ...]]]:
    """The pairs of places of a label, and the (kind, value) at each: order of mention, sides of a relation, positions."""
    if len(said.things) != 2:
        return
    first, second = said.things
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
    """Two-sided probability of a split at least as uneven as `one` to `other` when either side is equally likely.

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
