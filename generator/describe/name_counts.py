"""How evenly values and objects are spread over the scenes of each split: what a manifest declares as `balance`."""

from collections.abc import Mapping, Sequence

from generator.scene.scene import SceneObject

Table = dict[tuple[str, object], dict[str, int]]
"""How often each name occurs, by what is counted and where (a place from the left, a value under test, or anywhere)."""


class Spread:
    """Counts names while scenes are described. `kind` is the attribute kind under test, `category` the word for objects."""

    def __init__(self, kind: str, category: str):
        self._kind, self._category = kind, category
        self._tables: dict[str, Table] = {}

    def add(self, split: str, objects: Sequence[SceneObject]) -> None:
        """Count the objects of a scene, given from left to right."""
        table = self._tables.setdefault(split, {})
        for place, thing in enumerate(objects):
            tested = thing.attributes[self._kind]
            for name, told in ((self._kind, tested), (self._category, thing.category)):
                _count(table, name, None, told)
                _count(table, f"{name} by place", place, told)
            for name, told in thing.attributes.items():
                if name != self._kind:
                    _count(table, f"{name} x {self._kind}", tested, told)

    def to_dict(self) -> dict[str, dict[str, dict[str, int]]]:
        """By split and by what is counted: how many names occur in the split (`names`), and by how much the most frequent of
        them exceeds the least frequent (`spread`), at the worst place or value."""
        return {split: _spreads(table) for split, table in self._tables.items()}


def _count(table: Table, name: str, where: object, told: str) -> None:
    counts = table.setdefault((name, where), {})
    counts[told] = counts.get(told, 0) + 1


def _spreads(table: Table) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for what in dict.fromkeys(name for name, _ in table):
        rows = [counts for (name, _), counts in table.items() if name == what]
        names = list(dict.fromkeys(told for counts in rows for told in counts))
        found[what] = {"names": len(names), "spread": max(_range(counts, names) for counts in rows)}
    return found


def _range(counts: Mapping[str, int], names: Sequence[str]) -> int:
    numbers = [counts.get(name, 0) for name in names]
    return max(numbers) - min(numbers)
