"""Captions with denials, and their `neg` negatives.

"Not" is as frequent in true texts as in false ones: a caption without a denial has a negative with one, and a caption
with a denial has a negative that takes it back, of one atom or of the whole. Each of the four is as frequent.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from generator.base.streams import Stream
from generator.describe.described_scene import DescribedScene
from generator.language.foils import Foil, Foils
from generator.language.form import Form
from generator.language.substitutes import Atom, Substitutes
from generator.vocabulary.schema import Vocabulary

_WHOLE = "caption:denied"


class Caption(NamedTuple):
    """A caption, and the negative that differs from it by a denial; None where it has none."""

    form: Form
    neg: Foil | None = None


class Denials:
    """Denies atoms of true forms, or all of a false one."""

    def __init__(self, vocabulary: Vocabulary, substitutes: Substitutes, foils: Foils):
        self._vocabulary, self._substitutes, self._foils = vocabulary, substitutes, foils

    def asserted(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form itself; the negative denies an atom."""
        for atom in stream.shuffled(self._deniable(form)):
            change = _change(atom, self._substitutes.value(form, atom), denied=False)
            yield Caption(form, Foil(self._foils.deny(form, atom), (change,), "neg"))

    def denied(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """A false atom denied; the negative asserts it."""
        for atom, value in self._false(self._deniable(form), form, scene, stream):
            base = self._foils.replace_atom(form, atom, value).form
            yield Caption(self._foils.deny(base, atom), Foil(base, (_change(atom, value, denied=True),), "neg"))

    def asserted_whole(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form itself; the negative denies all of it."""
        yield Caption(form, Foil(replace(form, negated=True), (_WHOLE,), "neg"))

    def denied_whole(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form with a false atom, denied as a whole; the negative asserts it."""
        for atom, value in self._false(self._substitutes.atoms(form), form, scene, stream):
            base = self._foils.replace_atom(form, atom, value).form
            yield Caption(replace(base, negated=True), Foil(base, (_WHOLE,), "neg"))

    def _deniable(self, form: Form) -> list[Atom]:
        """The atoms that can be denied; an object only at the end, where "and no cube" has one reading."""
        last = len(form.objects) - 1
        return [atom for atom in self._foils.deniable(form) if atom.type != "object" or atom.place == last]

    def _false(
        self, atoms: list[Atom], form: Form, scene: DescribedScene, stream: Stream
    ) -> Iterator[tuple[Atom, str]]:
        """Atoms in random order, each with a random value that is not its own."""
        for atom in stream.shuffled(atoms):
            if atom.type == "relation":
                yield atom, self._vocabulary.relations[form.relations[atom.place].relation].opposite
            elif values := self._substitutes.of(form, atom, scene.facts):
                yield atom, values[stream.below(len(values))]


def _change(atom: Atom, value: str, denied: bool) -> str:
    before, after = (f"not {value}", value) if denied else (value, f"not {value}")
    return f"{atom.place}:{atom.kind}:{before}>{after}"
