"""Negatives that are true of their own row: the label in other words, or a part of it."""

from collections.abc import Iterator

import numpy as np

from generator.judge.files import Finding, finding
from generator.judge.foreign.relations import CONVERSE
from generator.judge.foreign.task import Task, first_rows
from generator.judge.meaning import Said, Thing


def true_negatives(task: Task) -> Iterator[Finding]:
    """Negatives that follow from the label of their row: in another order, by converse, or as a part of it."""
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


def follows(said: Said, shown: Said) -> bool:
    """Whether a label is true of whatever shows an arrangement: its things are among it, in the relations that it says.

    Both are in the form of `arrangement`.
    """
    links = set(shown.links)

    def place(at: int, chosen: tuple[int, ...]) -> bool:
        if at == len(said.things):
            return all(_holds(chosen[s], name, chosen[o], holds, links) for s, name, o, holds in said.links)
        fitting = (n for n, thing in enumerate(shown.things) if n not in chosen and _fits(said.things[at], thing))
        return any(place(at + 1, (*chosen, n)) for n in fitting)

    return place(0, ())


def _fits(said: Thing, shown: Thing) -> bool:
    return said.category == shown.category and set(said.attributes) <= set(shown.attributes)


def _holds(subject: int, name: str, thing: int, holds: bool, links: set[tuple[int, str, int, bool]]) -> bool:
    return (subject, name, thing, holds) in links or (
        CONVERSE.get(name) == name and (thing, name, subject, holds) in links
    )
