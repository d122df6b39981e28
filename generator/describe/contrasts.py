"""Negatives of training captions: texts that are false of the image and name nothing that is held out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.items import Text
from generator.describe.scenes import DescribedScene
from generator.language.complexity import LeastUsed
from generator.language.familiarity import count_held_out, names_absent
from generator.language.foils import Foil, Foils, Substitutes
from generator.language.form import Form, Link
from generator.language.wording import Dialect, rephrased
from generator.vocabulary.schema import Vocabulary

NEGATIVES = ("swap", "replace", "flip", "neg")
"""The kinds of negatives. `neg` belongs to captions that may deny something (denials.py)."""


class Negatives:
    """Makes negatives of captions.

    With `exposed` they may name held-out combinations, but never a value or object that training lacks.
    """

    def __init__(self, captioner: Captioner, kinds: Sequence[str], exposed: bool):
        self._kinds, self._exposed, self._holdout = kinds, exposed, captioner.holdout
        self._opposites = {name: relation.opposite for name, relation in captioner.vocabulary.relations.items()}
        self.substitutes = Substitutes(captioner.vocabulary, captioner.holdout)
        self.foils = Foils(captioner.vocabulary, self.substitutes)
        self._make: dict[str, Callable[[Form, DescribedScene, Stream], Iterator[Foil]]] = {
            "swap": self._swaps,
            "replace": self._replacements,
            "flip": self._flips,
        }

    def of(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Foil]:
        """A negative of each kind that the caption can have, all but `neg`; none of a caption that is denied as a whole."""
        for kind in self._kinds:
            if kind in self._make and not form.negated:
                found = next(
                    (foil for foil in self._make[kind](form, scene, stream) if self.accepts(foil, scene)), None
                )
                if found is not None:
                    yield found

    def accepts(self, foil: Foil, scene: DescribedScene) -> bool:
        """Whether a foil is false of the scene, possible in another, and may be shown in training.

        It does not mention two equal objects: captions count those.
        """
        form = foil.form
        return (
            scene.decide(form) is False
            and self.foils.possible(form)
            and self.may_be_shown(form)
            and len(set(form.objects)) == len(form.objects)
        )

    def may_be_shown(self, form: Form, truth: bool = False) -> bool:
        """Whether training may name what a form names."""
        if names_absent(form, self._holdout):
            return False
        return (self._exposed and not truth) or count_held_out(form, self._holdout) == 0

    def _swaps(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Foil]:
        """HN-SWAP: values or categories of two objects exchanged, or an attribute moved."""
        for i, j in stream.shuffled(list(combinations(self.foils.exchangeable(form), 2))):
            yield from stream.shuffled(list(self.foils.pair_swaps(form, i, j)))

    def _replacements(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Foil]:
        """HN-ATOM: one atom replaced; a relation by others than its opposite, which is a flip.

        A category that several objects have stays: its substitute is not in the scene, so negatives would repeat fewer categories.
        """
        for atom in stream.shuffled(self.substitutes.atoms(form)):
            own = self.substitutes.value(form, atom)
            if atom.type == "object" and scene.facts.categories.count(own) > 1:
                continue
            for value in stream.shuffled(self.substitutes.of(form, atom, scene.facts)):
                if atom.type != "relation" or value != self._opposites[own]:
                    yield self.foils.replace_atom(form, atom, value, "replace")

    def _flips(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Foil]:
        """A relation becomes its opposite."""
        for k in stream.shuffled([k for k, link in enumerate(form.relations) if link.holds]):
            yield self.foils.flip_relation(form, k)


POSITIVES = ("swap", "replace", "converse")
"""The kinds of positives."""


class Positives:
    """Says captions otherwise: two phrases exchanged, a word replaced by a synonym, a relation said from its other end."""

    def __init__(self, vocabulary: Vocabulary, kinds: Sequence[str], used: LeastUsed):
        self._vocabulary, self._kinds, self._used = vocabulary, kinds, used

    def of(self, caption: Text, dialect: Dialect | None, stream: Stream) -> Iterator[tuple[str, Text]]:
        """A positive of each kind that the caption can have, in the caption's template; `dialect` is that of the caption."""
        form, template = caption.form, caption.template

        def in_dialect(other: Form) -> Text:
            return Text(other, template, dialect.wording(other) if dialect else ())

        for kind in self._kinds:
            if kind == "replace":
                wording = rephrased(form, caption.wording, self._vocabulary, self._used, stream)
                if wording is not None:
                    yield kind, Text(form, template, wording)
            elif kind == "swap" and not form.relations:
                there = [i for i, mention in enumerate(form.objects) if mention.count]  # "and no cube" stays at the end
                if pairs := list(combinations(there, 2)):
                    yield kind, in_dialect(_reordered(form, *pairs[stream.below(len(pairs))]))
            elif kind == "converse" and form.relations:
                yield kind, in_dialect(self._converse(form, stream.below(len(form.relations))))

    def _converse(self, form: Form, k: int) -> Form:
        """Relation k said from its other end; its two objects change places in the order of mention."""
        link = form.relations[k]
        form = _reordered(form, link.subject, link.object)
        told = Link(link.subject, self._vocabulary.relations[link.relation].converse, link.object, link.holds)
        return replace(form, relations=(*form.relations[:k], told, *form.relations[k + 1 :]))


def _reordered(form: Form, i: int, j: int) -> Form:
    """The same form with two objects mentioned in each other's place."""
    place = {i: j, j: i}
    objects = tuple(form.objects[place.get(n, n)] for n in range(len(form.objects)))
    links = (
        replace(link, subject=place.get(link.subject, link.subject), object=place.get(link.object, link.object))
        for link in form.relations
    )
    return replace(form, objects=objects, relations=tuple(links))
