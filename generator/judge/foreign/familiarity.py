"""Which bindings training shows, and whether a label and its negative are equally familiar."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from generator.judge.files import Finding, finding
from generator.judge.foreign.labels import arrangement, attributes
from generator.judge.foreign.task import Task, first_rows
from generator.judge.meaning import Said, Thing

Binding = tuple[str, str, str]
"""Kind, value, category."""

_COUNTS = ("seen", "partial", "unseen")


@lru_cache(1 << 16)
def _bindings(thing: Thing) -> tuple[Binding, ...]:
    return tuple((kind, value, str(thing.category)) for kind, value in attributes(thing))


def all_bindings(said: list[Said]) -> list[list[Binding]]:
    """The bindings of each label, in the order of mention."""
    return [[pair for thing in each.things for pair in _bindings(thing)] for each in said]


def _triples(said: Said) -> list[tuple[Any, ...]]:
    """The (subject, relation, object) of a label, by category, the converse of a relation being the same."""
    if not said.links:
        return []
    shown = arrangement(said._replace(things=tuple(thing._replace(attributes=()) for thing in said.things)))
    return [(shown.things[s].category, name, shown.things[o].category) for s, name, o, _ in shown.links]


class Familiarity:
    """The facts of labels that no training label shows, counted by label: `bindings` and `triples`."""

    def __init__(self, task: Task):
        self.task = task
        trained = [label for label in np.unique(task.label[task.trains]).tolist() if label >= 0]
        self.known = bool(trained)
        self.of = all_bindings(task.said)
        self._known_states: dict[str, np.ndarray] = {}
        self.shown = {pair for label in trained for pair in self.of[label]}
        triples = [_triples(said) for said in task.said]
        linked = {triple for label in trained for triple in triples[label]}
        self.bindings = np.array([sum(pair not in self.shown for pair in pairs) for pairs in self.of], np.int64)
        self.triples = np.array([sum(triple not in linked for triple in found) for found in triples], np.int64)

    def asymmetric(self) -> Iterator[Finding]:
        """Evaluation rows whose label and negative have unequally many facts that training never shows."""
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
                            f"{task.quoted(label, row)} has {counts[label]} {name} that training never shows, its negative "
                            f'"{task.words[negative]}" {counts[negative]}',
                        )

    def table(self, kind: str) -> list[dict[str, Any]]:
        """Rows by split, those of no split and all, by how many of their bindings of a kind training never shows.

        `seen` none, `partial` some, `unseen` all; of each, `unequal` are those whose swap (the values of two things
        exchanged) has another number of them. Rows without such a binding are left out.
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
        """(labels + 1, 2): `_state` of each label, and of none at the end."""
        if kind not in self._known_states:
            states = [self._state(label, kind) for label in range(len(self.task.said))]
            self._known_states[kind] = np.array([*states, (-1, -1)], np.int64).reshape(-1, 2)
        return self._known_states[kind]

    def _state(self, label: int, kind: str) -> tuple[int, int]:
        """0 seen, 1 partial, 2 unseen, -1 without binding; 1 where the swap is unequal, 0 equal, -1 where there is none."""
        own = [pair for pair in self.of[label] if pair[0] == kind]
        if not own:
            return -1, -1
        missing = sum(pair not in self.shown for pair in own)
        level = 0 if missing == 0 else 2 if missing == len(own) else 1
        each = [sum(pair[0] == kind for pair in _bindings(thing)) for thing in self.task.said[label].things]
        if each != [1, 1] or own[0][1] == own[1][1]:
            return level, -1
        (_, first, one), (_, second, other) = own
        swapped = ((kind, second, one) not in self.shown) + ((kind, first, other) not in self.shown)
        return level, int(swapped != missing)

    def unequal_swaps(self, kind: str) -> list[tuple[str, int, str]]:
        """Of each evaluation split with such: its number of rows whose swap is unequal, and the first of them."""
        task = self.task
        state = self._states(kind)[:, 1]
        found = []
        for n, name in enumerate(task.splits):
            rows = np.flatnonzero(task.evaluates & (task.split == n) & (state[task.label] == 1))
            if len(rows):
                found.append((name, len(rows), task.quoted(task.label[rows[0]], int(rows[0]))))
        return found
