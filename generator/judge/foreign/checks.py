"""Checks splits made by others for leaks, true negatives and positional shortcuts."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from scipy.stats import binomtest

from generator.judge.certificate import Finding, finding
from generator.judge.foreign.labels import CONVERSE, POSITION, attributes
from generator.judge.foreign.rows import Label, Row, Task
from generator.judge.meaning import Meaning, Pair, Thing


def arrangement_leaks(task: Task) -> Iterator[Finding]:
    """Arrangements in more than one split: in the same words, by a converse relation, or in another
    order of mention.

    Training splits and the familiar splits count as one.
    """
    first: dict[Meaning, dict[tuple[str, Label], Row]] = defaultdict(dict)
    for row, split, label in task.labelled:
        first[label.shown].setdefault((split, label), row)
    for rows in first.values():
        if len({_side(task, split) for split, _ in rows}) > 1:
            where = " = ".join(row.quoted(label) for (_, label), row in rows.items())
            yield finding(_kind(task, [*rows]), where)


def _side(task: Task, split: str) -> str | None:
    """A key that is equal for splits that may show the same arrangements: None for training and
    familiar splits."""
    return None if split in task.training | task.familiar else split


def _kind(task: Task, found: list[tuple[str, Label]]) -> str:
    sides: dict[Meaning, set[str | None]] = defaultdict(set)
    for split, label in found:
        sides[label.meaning].add(_side(task, split))
    if any(len(each) > 1 for each in sides.values()):
        return "shared arrangement"
    return "converse leak" if any(meaning.links for meaning in sides) else "reordered leak"


def image_leaks(task: Task) -> Iterator[Finding]:
    """Images in more than one split."""
    first: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in task.rows:
        if row.image and row.split:
            first[row.image].setdefault(row.split, row)
    for image, rows in first.items():
        if len(rows) > 1:
            yield finding(
                "shared image", f"{image} ({'; '.join(row.where for row in rows.values())})"
            )


def true_negatives(task: Task) -> Iterator[Finding]:
    """Negatives that follow from their row's label: in another order, by a converse relation, or as
    a part of it."""
    pairs = [
        (row.label, each, row) for row in task.rows for each in row.negatives if row.label and each
    ]
    counts = Counter((label, negative) for label, negative, _ in pairs)
    for label, negative, row in pairs:
        count = counts.pop((label, negative), 0)  # the first row of each pair
        if count and follows(negative.shown, label.shown):
            often = f" and of {count - 1} more rows" if count > 1 else ""
            yield finding(
                "true negative",
                f'"{negative.words}" is a negative of {row.quoted(label)}{often}, and true of it',
            )


def follows(meaning: Meaning, shown: Meaning) -> bool:
    """Whether the label `meaning` is true of every scene that shows `shown`, i.e. is a part of it.

    Both are in the normal form of `arrangement`.
    """
    links = set(shown.links)

    def place(at: int, chosen: tuple[int, ...]) -> bool:
        if at == len(meaning.things):
            return all(
                _holds(chosen[s], name, chosen[o], holds, links)
                for s, name, o, holds in meaning.links
            )
        fitting = (
            n
            for n, thing in enumerate(shown.things)
            if n not in chosen and _fits(meaning.things[at], thing)
        )
        return any(place(at + 1, (*chosen, n)) for n in fitting)

    return place(0, ())


def _fits(meaning: Thing, shown: Thing) -> bool:
    return meaning.category == shown.category and set(meaning.attributes) <= set(shown.attributes)


def _holds(
    subject: int, name: str, thing: int, holds: bool, links: set[tuple[int, str, int, bool]]
) -> bool:
    return (subject, name, thing, holds) in links or (
        CONVERSE.get(name) == name and (thing, name, subject, holds) in links
    )


LEVEL = 0.01
"""Maximum probability of a false report in a file without shortcuts."""

SHARE = 0.75
"""Minimum share of one place for a shortcut."""

Code = tuple[str, str]
"""The names of two places that are compared."""


@dataclass(frozen=True)
class PlacePreference:
    """How often a value or category is at `place` and not at `other`: in `there` of `arrangements`
    arrangements.

    `p`: the probability of a count at least this uneven by chance (exact two-sided sign test,
    exchanging the two
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
        always = (
            "always"
            if self.there == self.arrangements
            else f"in {self.there / self.arrangements:.0%}"
        )
        return (
            f"{self.split}: {self.kind} {self.value} is {always} {self.place} and not {self.other} "
            f"({self.there:,} of "
            f"{self.arrangements:,} arrangements, p = {self.p:.1e}, one of {tests} such tests)"
        )


def shortcut_findings(task: Task) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Shortcuts as findings, and every tested value as data. Each arrangement counts once per
    split.

    A shortcut is a value that is at one place in at least 75% of arrangements, with p below 1%
    after Bonferroni's correction over all tests.
    """
    preferences = list(_preferences(task))
    found = [
        finding("positional shortcut", preference.words(len(preferences)))
        for preference in preferences
        if preference.p * len(preferences) < LEVEL
        and preference.there >= SHARE * preference.arrangements
    ]
    return found, [asdict(preference) for preference in preferences]


def _preferences(task: Task) -> Iterator[PlacePreference]:
    labels: dict[str, dict[Label, None]] = {split: {} for split in task.splits}
    for _, split, label in task.labelled:
        labels[split][label] = None
    for split, shown in labels.items():
        counts: dict[tuple[Code, str, str], list[int]] = {}
        for label in shown:
            for places, one, other in _ends(label):
                for which, (here, there) in enumerate(((one, other), (other, one))):
                    for pair in here:
                        if pair not in there:
                            counts.setdefault((places, *pair), [0, 0])[which] += 1
        for (places, kind, value), (one_count, other_count) in sorted(counts.items()):
            which, total = int(other_count > one_count), one_count + other_count
            p = float(binomtest(one_count, total).pvalue)
            most = max(one_count, other_count)
            yield PlacePreference(
                split, kind, value, places[which], places[1 - which], most, total, p
            )


def _ends(label: Label) -> Iterator[tuple[Code, tuple[Pair, ...], tuple[Pair, ...]]]:
    """Pairs of places in a label, by mention, relation or position, with the (kind, value) pairs at
    both places."""
    if len(label.meaning.things) != 2:
        return
    first, second = map(_traits, label.meaning.things)
    yield ("first", "second"), first, second
    for subject, relation, thing, _ in label.shown.links:
        things = label.shown.things
        yield (
            (f"subject of {relation}", f"object of {relation}"),
            _traits(things[subject]),
            _traits(things[thing]),
        )
    one, other = (dict(thing.attributes).get(POSITION) for thing in label.meaning.things)
    if one and other and one != other:
        (one, first), (other, second) = sorted([(one, first), (other, second)])
        yield (one, other), first, second


@lru_cache(1 << 16)
def _traits(thing: Thing) -> tuple[Pair, ...]:
    return ("object", str(thing.category)), *attributes(thing)
