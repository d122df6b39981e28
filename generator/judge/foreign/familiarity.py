"""Familiarity: which bindings training shows, and whether labels and negatives are equally familiar."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from generator.judge.findings import Finding, finding
from generator.judge.foreign.labels import arrangement, attributes
from generator.judge.foreign.tables import Task, first_rows
from generator.judge.meaning import Meaning, Thing

Binding = tuple[str, str, str]
"""(kind, value, category)"""

_COUNTS = ("seen", "partial", "unseen")


@lru_cache(1 << 16)
def _bindings(thing: Thing) -> tuple[Binding, ...]:
    return tuple((kind, value, str(thing.category)) for kind, value in attributes(thing))


def all_bindings(meaning: list[Meaning]) -> list[list[Binding]]:
    """The bindings of each label, in order of mention."""
    return [[pair for thing in each.things for pair in _bindings(thing)] for each in meaning]


def _triples(meaning: Meaning) -> list[tuple[Any, ...]]:
    """The (subject, relation, object) triples of a label, by category; a relation and its converse give the same."""
    if not meaning.links:
        return []
    shown = arrangement(meaning._replace(things=tuple(thing._replace(attributes=()) for thing in meaning.things)))
    return [(shown.things[s].category, name, shown.things[o].category) for s, name, o, _ in shown.links]


class Familiarity:
    """For each label, the number of `bindings` and of `triples` that no training label shows (int64 per label).

    `known`: whether any split trains. `of`: the bindings of each label. `shown`: the bindings that training shows.
    """

    def __init__(self, task: Task):
        self.task = task
        trained = [label for label in np.unique(task.label[task.trains]).tolist() if label >= 0]
        self.known = bool(trained)
        self.of = all_bindings(task.meanings)
        self._known_states: dict[str, np.ndarray] = {}
        self.shown = {pair for label in trained for pair in self.of[label]}
        triples = [_triples(meaning) for meaning in task.meanings]
        linked = {triple for label in trained for triple in triples[label]}
        self.bindings = np.array([sum(pair not in self.shown for pair in pairs) for pairs in self.of], np.int64)
        self.triples = np.array([sum(triple not in linked for triple in found) for found in triples], np.int64)

    def asymmetric(self) -> Iterator[Finding]:
        """Evaluation rows whose label and negative name unequally many facts that training never shows."""
        task = self.task
        if not self.known:
            return
        for column in task.negatives.T:
            judged = np.flatnonzero(task.evaluates & (task.label >= 0) & (column >= 0))
            first, _ = first_rows(task.label[judged], column[judged], task.split[judged])
            for row in judged[first].tolist():
                label, negative = task.label[row], column[row]
                for name, counts in (("bindings", self.bindings), ("relations", self.triples)):
                    if counts[label] != counts[negative]:
                        yield finding(
                            "asymmetric familiarity",
                            f"{task.quoted(label, row)} has {counts[label]} {name} that training never shows, "
                            "its negative "
                            f'"{task.words[negative]}" {counts[negative]}',
                        )

    def table(self, kind: str) -> list[dict[str, Any]]:
        """Numbers of rows by how many of their bindings of a kind training never shows: one entry per split, no split,
        all.

        `seen`: none; `partial`: some; `unseen`: all. `seen_unequal` and so on count those of them whose swap (the
        values of their two objects exchanged) has another number. Rows without such a binding are not counted.
        """
        task = self.task
        states = self._states(kind)[task.label]
        names = [*task.splits, "no split", "all"]
        rows = []
        for n, name in enumerate(names):
            where = (
                task.split == n
                if n < len(task.splits)
                else task.split == -1
                if name == "no split"
                else task.split >= -1
            )
            found = states[where & (states[:, 0] >= 0)]
            if len(found):
                row: dict[str, Any] = {"split": name, "trains": name in task.training}
                for which, count in enumerate(_COUNTS):
                    row[count] = int((found[:, 0] == which).sum())
                    row[f"{count}_unequal"] = int(((found[:, 0] == which) & (found[:, 1] == 1)).sum())
                rows.append(row)
        return rows

    def _states(self, kind: str) -> np.ndarray:
        """int64 [labels + 1, 2]: `_state` of each label; the last row is for rows without a label."""
        if kind not in self._known_states:
            states = [self._state(label, kind) for label in range(len(self.task.meanings))]
            self._known_states[kind] = np.array([*states, (-1, -1)], np.int64).reshape(-1, 2)
        return self._known_states[kind]

    def _state(self, label: int, kind: str) -> tuple[int, int]:
        """0 seen, 1 partial, 2 unseen, -1 no binding; and 1 if the swap is unequal, 0 if equal, -1 without a swap."""
        own = [pair for pair in self.of[label] if pair[0] == kind]
        if not own:
            return -1, -1
        missing = sum(pair not in self.shown for pair in own)
        level = 0 if missing == 0 else 2 if missing == len(own) else 1
        each = [sum(pair[0] == kind for pair in _bindings(thing)) for thing in self.task.meanings[label].things]
        if each != [1, 1] or own[0][1] == own[1][1]:
            return level, -1
        (_, first, one), (_, second, other) = own
        swapped = ((kind, second, one) not in self.shown) + ((kind, first, other) not in self.shown)
        return level, int(swapped != missing)

    def unequal_swaps(self, kind: str) -> list[tuple[str, int, str]]:
        """For each evaluation split with unequal swaps: its name, the number of such rows, and the first of them."""
        task = self.task
        state = self._states(kind)[:, 1]
        found = []
        for n, name in enumerate(task.splits):
            rows = np.flatnonzero(task.evaluates & (task.split == n) & (state[task.label] == 1))
            if len(rows):
                found.append((name, len(rows), task.quoted(task.label[rows[0]], int(rows[0]))))
        return found
