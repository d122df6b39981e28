"""Checks for leaks between splits: shared arrangements, images and groups, and bindings exposed by training negatives."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.judge.findings import Finding, finding
from generator.judge.foreign.familiarity import all_bindings
from generator.judge.foreign.labels import attributes
from generator.judge.foreign.task import Task, first_rows, numbered
from generator.judge.meaning import Meaning


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
