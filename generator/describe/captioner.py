"""Makes captions and foils for protocols, and counts what was refused or dropped."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from generator.base.streams import Stream
from generator.describe.items import Item
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.language.complexity import Cell, ComplexityQuota
from generator.language.familiarity import count_held_out, equally_familiar, names_triple
from generator.language.foils import Atom, Foil, Foils, Substitutes
from generator.language.form import Form, Link, Mention
from generator.language.grammar import NATURAL, TEMPLATES, Grammar, reads_well
from generator.language.walk import Subgraph, Walker
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")


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


@dataclass
class Captioner:
    """The language of one benchmark: its grammar, walks, substitutes and foils. Protocols share it.

    With `equal_familiarity` a foil must be as familiar as its caption. `template` is the one that all captions use, or
    None to draw one. `dropped` counts, by protocol and kind, items that could not be made. `refused` counts foils by
    reason: "true", "undecided", "never true" or "other familiarity".
    """

    vocabulary: Vocabulary
    holdout: Holdout
    equal_familiarity: bool = True
    template: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.grammar = Grammar(self.vocabulary)
        self.walker = Walker(self.vocabulary)
        self.substitutes = Substitutes(self.vocabulary, self.holdout if self.equal_familiarity else None)
        self.foils = Foils(self.vocabulary, self.substitutes)

    def count_held_out(self, form: Form) -> int:
        """Number of held-out bindings and relation triples that a form names."""
        return count_held_out(form, self.holdout)

    def relations_fit_split(self, form: Form, scene: DescribedScene) -> bool:
        """Whether the relations that a caption names are as familiar as its scene's split.

        In `unseen` all of them must be held out. In `partial` the caption must name something that is held out.
        """
        if scene.held_out_relations is None or not form.relations:
            return True
        held_out = [names_triple(form, link, self.holdout) for link in form.relations]
        return all(held_out) if scene.split == "unseen" else any(held_out) or self.count_held_out(form) > 0

    def accepts(self, foil: Form, caption: Form, scene: DescribedScene) -> bool:
        """Whether a foil is false of the scene, possible in another, and as familiar as its caption.

        A refusal is counted by its reason in `refused`.
        """
        truth = scene.decide(foil)
        if truth is not False:
            self.refused["true" if truth else "undecided"] += 1
            return False
        if not self.foils.possible(foil):
            self.refused["never true"] += 1
            return False
        if self.equal_familiarity and not equally_familiar(foil, caption, self.holdout):
            self.refused["other familiarity"] += 1
            return False
        return True

    def subgraph(self, scene: DescribedScene, stream: Stream) -> Subgraph:
        """The subgraph that captions of a scene share; drawn when it is first asked for."""
        if scene.subgraph is None:
            scene.subgraph = self.walker.subgraph(scene.facts, scene.unique_objects, stream)
        return scene.subgraph

    def absent_values(self, scene: DescribedScene) -> AbsentValues:
        """The attribute values that no object of a scene has."""
        return AbsentValues(scene, {kind: self.vocabulary.values(kind) for kind in self.vocabulary.attributes})

    def item_or_drop(self, what: str, item: Item | None) -> Iterator[Item]:
        """Yield the item; if it is None, count `what` as dropped."""
        if item is None:
            self.dropped[what] += 1
        else:
            yield item

    def draw_template(self, forms: Sequence[Form], stream: Stream, among: Sequence[str] = NATURAL) -> str | None:
        """A template that can say all forms: the requested one, else a random one; None if there is none."""
        names = [self.template] if self.template else stream.shuffled(among)
        fitting = (name for name in names if all(TEMPLATES[name].fits(form) for form in forms))
        return next((name for name in fitting if self.template or all(reads_well(form, name) for form in forms)), None)

    def fill_cell(
        self,
        scene: DescribedScene,
        quota: ComplexityQuota,
        stream: Stream,
        make: Callable[[DescribedScene, Cell, Stream], list[T]],
        tries: int = 12,
    ) -> list[T]:
        """What `make` makes for the least filled cell that the scene can fill; nothing after `tries` cells."""
        offers = quota.take(tries, len(scene.unique_objects))
        for n, (_, i) in enumerate(offers):
            items = make(scene, quota.cells[i], stream)
            if items:
                quota.put_back(offers, n, i)
                return items
        quota.put_back(offers, len(offers), None)
        return []

    def atom_foils(self, scene: DescribedScene, form: Form, n: int, stream: Stream) -> list[Foil] | None:
        """`n` different HN-ATOM foils of a form, atoms and values drawn at random; None if there are fewer."""
        options = [
            (atom, value)
            for atom in self.substitutes.atoms(form)
            for value in self.substitutes.of(form, atom, scene.facts)
        ]
        found = []
        for atom, value in stream.shuffled(options):
            foil = self.foils.replace_atom(form, atom, value)
            if self.accepts(foil.form, form, scene):
                found.append(foil)
                if len(found) == n:
                    return found
        return None


def name_objects(scene: DescribedScene, objects: Sequence[int], kinds: Sequence[str]) -> Form:
    """The form that names objects of a scene, in this order, with their values of some attribute kinds."""
    facts = scene.facts
    return Form(
        tuple(
            Mention(facts.categories[i], tuple(sorted((kind, facts.values[i][kind]) for kind in kinds)))
            for i in objects
        )
    )


def draw_tested_pair(scene: DescribedScene, tested: str, stream: Stream) -> tuple[int, int] | None:
    """A random pair of unique objects that differ in the tested kind and fit the split, left one first; None if there
    is no such pair."""
    unique, values = scene.unique_objects, scene.facts.values
    pairs = [
        (i, j)
        for n, i in enumerate(unique)
        for j in unique[n + 1 :]
        if values[i][tested] != values[j][tested] and scene.objects_fit_split((i, j))
    ]
    return pairs[stream.below(len(pairs))] if pairs else None


def draw_related_pair(
    captioner: Captioner, scene: DescribedScene, stream: Stream, directed: bool = False
) -> Form | None:
    """A caption of two random unique objects and a relation in which the first stands to the second.

    The opposite relation is possible too. With `directed` the relation changes its meaning when its ends are exchanged,
    which `near` and `far` do not. None if the scene has no such pair.
    """
    axes, relations = captioner.substitutes.axes, captioner.vocabulary.relations
    usable = [
        axis
        for axis in axes.general
        if not directed or all(relations[name].converse != name for name in axes.relations[axis])
    ]
    options = [
        (i, axis, j)
        for i in scene.unique_objects
        for j in scene.unique_objects
        if i != j and scene.objects_fit_split((i, j))
        for axis in usable
        if scene.held_out_relations is None or _fits_split(captioner, scene, axis, i, j)
    ]
    if not options:
        return None
    i, axis, j = options[stream.below(len(options))]
    found = axes.between(scene.facts, axis, i, j)
    if found is None:
        return None
    form = replace(name_objects(scene, (i, j), ()), relations=(Link(0, found[1], 1),))
    return form if captioner.foils.possible(captioner.foils.flip_relation(form, 0).form) else None


def _fits_split(captioner: Captioner, scene: DescribedScene, axis: int, i: int, j: int) -> bool:
    found = captioner.substitutes.axes.between(scene.facts, axis, i, j)
    return found is not None and scene.relation_fits_split(i, found[1], j)
