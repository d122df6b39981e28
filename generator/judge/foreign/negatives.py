"""Checks for negatives that are true of their own row: the label in other words, or a part of it."""

from collections.abc import Iterator

import numpy as np

from generator.judge.findings import Finding, finding
from generator.judge.foreign.relations import CONVERSE
from generator.judge.foreign.task import Task, first_rows
from generator.judge.meaning import Meaning, Thing


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
