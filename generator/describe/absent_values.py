"""Attribute values that no object of a scene has, for foils that are false of the whole scene."""

from collections import Counter

from generator.describe.described_scene import DescribedScene
from generator.language.substitutes import Atom


class AbsentValues:
    """Of each attribute kind the values that no object of a scene has.

    Such a value may only replace one that a single object has. Otherwise captions would repeat values and foils would
    not, and the text alone would tell them apart.
    """

    def __init__(self, scene: DescribedScene, attributes: dict[str, list[str]]):
        """`attributes`: the values of each attribute kind of the vocabulary."""
        self._values = scene.facts.values
        self._shown = {kind: Counter(values[kind] for values in self._values) for kind in attributes}
        self._absent = {
            kind: frozenset(value for value in values if value not in self._shown[kind])
            for kind, values in attributes.items()
        }

    def sayable(self, thing: int) -> list[str]:
        """The attribute kinds of an object of the scene whose value can be replaced by an absent one."""
        return [
            kind for kind, shown in self._shown.items() if self._absent[kind] and shown[self._values[thing][kind]] == 1
        ]

    def among(self, values: list[str], atom: Atom) -> list[str]:
        """The values that may replace an atom: of an attribute those that are absent, of any other atom all."""
        return [value for value in values if value in self._absent[atom.kind]] if atom.type == "attribute" else values
