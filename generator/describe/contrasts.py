"""What training texts are contrasted with: negatives, denials, and positives of the same meaning.

"Not" is as frequent in true texts as in false ones: a caption without a denial has a negative with one, and a caption
with a denial has a negative that takes it back, of one atom or of the whole. Each of the four is as frequent.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Draft, Text
from generator.language.complexity import LeastUsed
from generator.language.foils import WHOLE, Atom, Foil, denial_of
from generator.language.form import Form
from generator.language.wording import Dialect, conversely, rephrased
from generator.vocabulary.schema import Vocabulary

NEGATIVES = ("swap", "replace", "flip", "neg")
"""The kinds of negatives. `neg` belongs to captions that may deny something."""
POSITIVES = ("swap", "replace", "converse")
"""The kinds of positives."""


def swaps(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-SWAP: values or categories of two objects exchanged, or an attribute moved."""
    for i, j in draft.stream.shuffled([*combinations(draft.foils.exchangeable(form), 2)]):
        yield from draft.stream.shuffled([*draft.foils.pair_swaps(form, i, j)])


def replacements(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-ATOM: one atom replaced; a relation by others than its opposite, which is a flip.

    A category that several objects have stays: its substitute is not in the scene, so negatives would repeat fewer
    categories.
    """
    for atom in draft.stream.shuffled(draft.substitutes.atoms(form)):
        own = draft.substitutes.value(form, atom)
        if atom.type == "object" and draft.facts.categories.count(own) > 1:
            continue
        for value in draft.stream.shuffled(draft.substitutes.of(form, atom, draft.facts)):
            if atom.type != "relation" or value != draft.vocabulary.relations[own].opposite:
                yield draft.foils.replace_atom(form, atom, value, "replace")


def flips(draft: Draft, form: Form) -> Iterator[Foil]:
    """A relation becomes its opposite."""
    for k in draft.stream.shuffled([k for k, link in enumerate(form.relations) if link.holds]):
        yield draft.foils.flip_relation(form, k)


MAKE: dict[str, Callable[[Draft, Form], Iterator[Foil]]] = {"swap": swaps, "replace": replacements, "flip": flips}
"""The candidates for a negative of each kind, in random order."""


class Caption(NamedTuple):
    """A caption, and the negative that differs from it by a denial; None where it has none."""

    form: Form
    neg: Foil | None = None


def asserted(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies an atom."""
    for atom in draft.stream.shuffled(_deniable(draft, form)):
        change = denial_of(atom, draft.substitutes.value(form, atom), False)
        yield Caption(form, Foil(draft.foils.deny(form, atom), (change,), "neg"))


def denied(draft: Draft, form: Form) -> Iterator[Caption]:
    """A false atom denied; the negative asserts it."""
    for atom, value, false in _falsified(draft, form, _deniable(draft, form)):
        yield Caption(draft.foils.deny(false, atom), Foil(false, (denial_of(atom, value, True),), "neg"))


def asserted_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies all of it."""
    yield Caption(form, Foil(form._replace(negated=True), (WHOLE,), "neg"))


def denied_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form with a false atom, denied as a whole; the negative asserts it."""
    for _, _, false in _falsified(draft, form, draft.substitutes.atoms(form)):
        yield Caption(false._replace(negated=True), Foil(false, (WHOLE,), "neg"))


def _deniable(draft: Draft, form: Form) -> list[Atom]:
    """The atoms that can be denied; an object only at the end, where "and no cube" has one reading."""
    last = len(form.objects) - 1
    return [atom for atom in draft.foils.deniable(form) if atom.type != "object" or atom.place == last]


def _falsified(draft: Draft, form: Form, atoms: list[Atom]) -> Iterator[tuple[Atom, str, Form]]:
    """Atoms in random order, each with a false value and the form that has it."""
    for atom in draft.stream.shuffled(atoms):
        if value := draft.false_value(form, atom):
            yield atom, value, draft.foils.replace_atom(form, atom, value).form


def positive(
    kind: str, caption: Text, vocabulary: Vocabulary, dialect: Dialect | None, used: LeastUsed, stream: Stream
) -> Text | None:
    """The caption said otherwise in its template: two phrases exchanged (`swap`), a word replaced by a synonym
    (`replace`), or a relation said from its other end (`converse`); None where that cannot be.

    `dialect` is that of the caption; `used` counts synonyms.
    """
    form = caption.form
    if kind == "replace":
        wording = rephrased(form, caption.wording, vocabulary, used, stream)
        return None if wording is None else caption._replace(wording=wording)
    if kind == "swap":
        there = [i for i, mention in enumerate(form.objects) if mention.count]  # "and no cube" stays at the end
        pairs = [*combinations(there, 2)]
        if form.relations or not pairs:
            return None
        other = form.reordered(*pairs[stream.below(len(pairs))])
    else:
        if not form.relations:
            return None
        other = conversely(form, stream.below(len(form.relations)), vocabulary)
    return Text(other, caption.template, dialect.wording(other) if dialect else ())
