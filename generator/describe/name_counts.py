"""Counts how evenly values and objects occur in each split: what a manifest declares as `balance`."""

from collections.abc import Mapping, Sequence

from generator.scene.scene import SceneObject

Table = dict[tuple[str, object], dict[str, int]]
"""How often each name occurs, by (what is counted, where): a place from the left, a value under test, or None."""


class NameCounts:
    """Counts the names in scenes, by split. `kind` is the attribute kind under test, `category` the category word."""

    def __init__(self, kind: str, category: str):
        self._kind, self._category = kind, category
        self._tables: dict[str, Table] = {}

    def add(self, split: str, objects: Sequence[SceneObject]) -> None:
        """Count the objects of a scene, left one first."""
        table = self._tables.setdefault(split, {})
        for place, thing in enumerate(objects):
            tested = thing.attributes[self._kind]
            for name, word in ((self._kind, tested), (self._category, thing.category)):
                _count(table, name, None, word)
                _count(table, f"{name} by place", place, word)
            for name, word in thing.attributes.items():
                if name != self._kind:
                    _count(table, f"{name} x {self._kind}", tested, word)

    def to_dict(self) -> dict[str, dict[str, dict[str, int]]]:
        """The balance by split and by what is counted.

        `names` is the number of different names in the split; `spread` is how much more often the most frequent name
        occurs than the least frequent one, at the worst place or value.
        """
        return {split: _spreads(table) for split, table in self._tables.items()}


def _count(table: Table, name: str, where: object, word: str) -> None:
    counts = table.setdefault((name, where), {})
    counts[word] = counts.get(word, 0) + 1


def _spreads(table: Table) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for what in dict.fromkeys(name for name, _ in table):
        rows = [counts for (name, _), counts in table.items() if name == what]
        names = list(dict.fromkeys(word for counts in rows for word in counts))
        found[what] = {"names": len(names), "spread": max(_range(counts, names) for counts in rows)}
    return found


def _range(counts: Mapping[str, int], names: Sequence[str]) -> int:
    numbers = [counts.get(name, 0) for name in names]
    return max(numbers) - min(numbers)
