"""Checks splits made by others for leaks, true negatives and positional shortcuts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

from scipy.stats import binomtest

from generator.judge.certificate import Finding, finding
from generator.judge.foreign.table import (
    CONVERSES,
    POSITION,
    Label,
    LabelledObject,
    LabelTable,
    Row,
)
from generator.judge.meaning import Pair


def arrangement_leaks(table: LabelTable) -> Iterator[Finding]:
    """Arrangements in more than one split: in the same words, by a converse relation, or in another
    order of mention.

    Training splits and the familiar splits count as one.
    """
    # One row of each split and wording is enough to show a leak.
    first_rows: dict[Label, dict[tuple[str, Label], Row]] = defaultdict(dict)
    for row in table.rows:
        if row.split is not None:
            first_rows[row.label.arrangement].setdefault((row.split, row.label), row)
    for rows in first_rows.values():
        sides = {_side(table, split) for split, _ in rows}
        if len(sides) > 1:
            quoted = [row.quoted(row.label) for row in rows.values()]
            yield finding(_leak_kind(table, [*rows]), " = ".join(quoted))


def _side(table: LabelTable, split: str) -> str | None:
    """A key that is equal for splits that may show the same arrangements: None for training and
    familiar splits."""
    return None if split in table.training | table.familiar else split


def _leak_kind(table: LabelTable, occurrences: list[tuple[str, Label]]) -> str:
    """The fault of an arrangement with these splits and labels."""
    sides: dict[Label, set[str | None]] = defaultdict(set)
    for split, label in occurrences:
        sides[label].add(_side(table, split))
    # The same words in two splits are the plainest leak, even if a converse is there too.
    if any(len(own) > 1 for own in sides.values()):
        return "shared arrangement"
    return "converse leak" if any(label.relation for label in sides) else "reordered leak"


def image_leaks(table: LabelTable) -> Iterator[Finding]:
    """Images in more than one split."""
    first_rows: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in table.rows:
        if row.image and row.split:
            first_rows[row.image].setdefault(row.split, row)
    for image, rows in first_rows.items():
        if len(rows) > 1:
            places = "; ".join(row.where for row in rows.values())
            yield finding("shared image", f"{image} ({places})")


def true_negatives(table: LabelTable) -> Iterator[Finding]:
    """Negatives that follow from their row's label: in another order, by a converse relation, or as
    a part of it."""
    rows: dict[tuple[Label, Label], list[Row]] = defaultdict(list)
    for row in table.rows:
        if row.negative is not None:
            rows[row.label, row.negative].append(row)
    for (label, negative), own_rows in rows.items():
        if follows(negative, label):
            more = f" and of {len(own_rows) - 1} more rows" if len(own_rows) > 1 else ""
            yield finding(
                "true negative",
                f'"{negative.words}" is a negative of {own_rows[0].quoted(label)}{more}, and true '
                f"of it",
            )


def follows(claim: Label, label: Label) -> bool:
    """Whether a claim is true of every scene that shows a label.

    Each object of the claim must be another object of the label, with no more values than it, and
    the relation must be the label's or its converse.

    Args:
        claim: what may be true.
        label: all that is known of the scene.
    """
    places = range(len(label.objects))
    for chosen in permutations(places, len(claim.objects)):
        objects = [label.objects[place] for place in chosen]
        if not all(map(_is_part, claim.objects, objects)):
            continue
        # Chosen in the other order, they stand in the converse relation, if there is one.
        relation = label.relation
        if relation is not None and chosen[0] > chosen[-1]:
            relation = CONVERSES.get(relation)
        if claim.relation is None or claim.relation == relation:
            return True
    return False


def _is_part(claim: LabelledObject, labelled: LabelledObject) -> bool:
    """Whether a claim is true of every object that is labelled so."""
    return claim.category == labelled.category and {*claim.values} <= {*labelled.values}


LEVEL = 0.01
"""Maximum probability of a false report in a file without shortcuts."""

SHARE = 0.75
"""Minimum share of one place for a shortcut."""


@dataclass(frozen=True)
class PlacePreference:
    """How often a value or category is at one place and not at another."""

    split: str
    """The split whose labels show it."""
    kind: str
    """Kind of the value; "object" for a category."""
    value: str
    """The value, or the category."""
    place: str
    """Where it is more often: first, "subject of left", or a position."""
    other: str
    """The place that is compared."""
    there: int
    """In how many arrangements it is at `place` and not at `other`."""
    arrangements: int
    """In how many arrangements it is at one of the two places."""
    p: float
    """Probability of a count at least this uneven by chance: exact two-sided sign test, exchanging
    the two objects of each arrangement at random."""

    def describe(self, n_tests: int) -> str:
        """The preference as a sentence; `n_tests`: how many values were tested."""
        often = "always"
        if self.there < self.arrangements:
            often = f"in {self.there / self.arrangements:.0%}"
        return (
            f"{self.split}: {self.kind} {self.value} is {often} {self.place} and not {self.other} "
            f"({self.there:,} of {self.arrangements:,} arrangements, p = {self.p:.1e}, one of "
            f"{n_tests} such tests)"
        )


def shortcut_findings(table: LabelTable) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Shortcuts as findings, and every tested value as data. Each arrangement counts once per
    split.

    A shortcut is a value that is at one place in at least 75% of arrangements, with p below 1%
    after Bonferroni's correction over all tests.
    """
    preferences = list(_place_preferences(table))
    n_tests = len(preferences)
    findings = []
    for preference in preferences:
        is_frequent = preference.there >= SHARE * preference.arrangements
        if is_frequent and preference.p * n_tests < LEVEL:
            findings.append(finding("positional shortcut", preference.describe(n_tests)))
    return findings, [asdict(preference) for preference in preferences]


def _place_preferences(table: LabelTable) -> Iterator[PlacePreference]:
    """Where the labels of each split have each value."""
    # A dictionary, which keeps each label of a split once, in order.
    labels_of: dict[str, dict[Label, None]] = {split: {} for split in table.splits}
    for row in table.rows:
        if row.split is not None:
            labels_of[row.split][row.label] = None
    for split, labels in labels_of.items():
        for (places, kind, value), (first, second) in sorted(_count_places(labels).items()):
            which = int(second > first)
            yield PlacePreference(
                split=split,
                kind=kind,
                value=value,
                place=places[which],
                other=places[1 - which],
                there=max(first, second),
                arrangements=first + second,
                p=float(binomtest(first, first + second).pvalue),
            )


_Places = tuple[str, str]
"""The names of two places that are compared."""


def _count_places(labels: Iterable[Label]) -> dict[tuple[_Places, str, str], list[int]]:
    """By two places, kind and value: how many labels have the value at the first place alone, and
    how many at the second alone."""
    counts: dict[tuple[_Places, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for label in labels:
        for places, traits in _compared_places(label):
            for which in (0, 1):
                for kind, value in set(traits[which]) - set(traits[1 - which]):
                    counts[places, kind, value][which] += 1
    return counts


def _compared_places(label: Label) -> Iterator[tuple[_Places, tuple[tuple[Pair, ...], ...]]]:
    """Pairs of places in a label, by mention, relation or position, with the (kind, value) pairs at
    both places."""
    if len(label.objects) != 2:
        return
    first, second = map(_traits, label.objects)
    yield ("first", "second"), (first, second)

    arrangement = label.arrangement
    if arrangement.relation is not None:
        places = (f"subject of {arrangement.relation}", f"object of {arrangement.relation}")
        subject, object_ = map(_traits, arrangement.objects)
        yield places, (subject, object_)

    positions = [dict(labelled.values).get(POSITION) for labelled in label.objects]
    if None not in positions and positions[0] != positions[1]:
        (one, one_traits), (other, other_traits) = sorted(
            zip(map(str, positions), (first, second), strict=True)
        )
        yield (one, other), (one_traits, other_traits)


def _traits(labelled: LabelledObject) -> tuple[Pair, ...]:
    return ("object", labelled.category), *labelled.attributes


def count_splits(table: LabelTable) -> dict[str, int]:
    """The number of rows of each split."""
    counts = Counter(row.split for row in table.rows)
    return {split: counts[split] for split in table.splits}
