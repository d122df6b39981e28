"""Tools that all protocols share: the language of a benchmark, items, and a draft that makes items
of a scene."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple, TypeVar

from generator.base.streams import Stream
from generator.describe.scenes import DescribedScene, Trained
from generator.holdout.holdout import Holdout
from generator.holdout.membership import ASYMMETRIC, Arrangement, asymmetric
from generator.language.complexity import Cell
from generator.language.foils import Atom, Foil, Foils, Substitutes
from generator.language.form import (
    Form,
    Link,
    Mention,
    count_held_out,
    equally_familiar,
    names_absent,
    relations_fit_split,
)
from generator.language.grammar import NEGATED, Grammar, Wording, reads_well
from generator.language.walk import Sayable, Subgraph, Walker
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")


class Text(NamedTuple):
    """A form with its template, and synonyms that replace the usual words."""

    form: Form
    template: str
    wording: Wording = ()


class Candidate(NamedTuple):
    """A text as a candidate of an item.

    `slot` is its role in the protocol: c for a caption, n for a foil (docs/dataset.md lists all). A
    false candidate has
    a `kind` of negative, its changes (`changed`) and the text that was changed (`of`). With
    `of_twin` the candidate is
    judged against the image of the scene's twin.
    """

    text: Text
    slot: str
    truth: bool
    kind: str | None = None
    changed: tuple[str, ...] = ()
    of: Text | None = None
    of_twin: bool = False


class Item(NamedTuple):
    """One question to a model about a scene, or one training example."""

    protocol: str
    kind: str
    skill: str | None
    candidates: tuple[Candidate, ...]
    pool: str | None = None


@dataclass
class Captioner:
    """The language of one benchmark: its grammar, walks, substitutes and foils. Protocols share it.

    With `equal_familiarity` a foil must be as familiar as its caption. With `training` a foil must
    name nothing that is
    held out (with `exposed`, no value or object that training lacks) and no two equal objects,
    because captions count
    equal objects. `template` is used for all captions; None draws one per item. `trained` is what
    training shows; None
    for class lists, which state it themselves. With `known_words` a foil names only values and
    categories of training
    or of its caption. `dropped` counts items that could not be made, by protocol and kind.
    `refused` counts foils by
    reason: "true", "undecided", "never true", "other familiarity" or "unknown word".
    """

    vocabulary: Vocabulary
    holdout: Holdout
    equal_familiarity: bool = True
    template: str | None = None
    training: bool = False
    exposed: bool = False
    trained: Trained | None = None
    known_words: bool = False
    dropped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.grammar = Grammar(self.vocabulary)
        self.walker = Walker(self.vocabulary)
        self.substitutes = Substitutes(
            self.vocabulary, self.holdout if self.equal_familiarity else None
        )
        self.foils = Foils(self.vocabulary, self.substitutes)

    def accepts(self, foil: Form, caption: Form, scene: DescribedScene) -> bool:
        """Whether a foil is false of the scene, possible in another scene, and as familiar as its
        caption.

        Counts a refusal by its reason in `refused`.
        """
        truth = scene.decide(foil)
        if truth is not False:
            reason = "true" if truth else "undecided"
        elif not self.foils.possible(foil):
            reason = "never true"
        elif not self._familiar(foil, caption, scene):
            reason = "other familiarity"
        elif (
            self.known_words
            and self.trained
            and not self._names(foil) <= self.trained.names | self._names(caption)
        ):
            reason = "unknown word"
        else:
            return True
        self.refused[reason] += 1
        return False

    def _familiar(self, foil: Form, caption: Form, scene: DescribedScene) -> bool:
        if self.training:
            return len({*foil.objects}) == len(foil.objects) and self.may_be_shown(
                foil, self.exposed
            )
        if scene.split in ASYMMETRIC:
            return (count_held_out(foil, self.holdout) == 0) != (
                count_held_out(caption, self.holdout) == 0
            )
        return not self.equal_familiarity or equally_familiar(foil, caption, self.holdout)

    def _names(self, form: Form) -> set[tuple[str, str]]:
        """The values and categories that a form names, by their kind."""
        found = {
            pair for mention in form.objects for pair in (*mention.attributes, *mention.without)
        }
        return found | {
            (self.vocabulary.category, each.category)
            for each in form.objects
            if each.category is not None
        }

    def trains_all(self, arrangement: Arrangement) -> bool:
        """Whether training shows every binding of an arrangement that is not held out."""
        trained = self.trained
        return trained is None or all(
            self.holdout.holds_out(*each) or each in trained.bindings for each in arrangement
        )

    def may_be_shown(self, form: Form, exposed: bool = False) -> bool:
        """Whether training texts may have this form: it must name nothing held out; with `exposed`,
        only no unseen atom."""
        return not names_absent(form, self.holdout) and (
            exposed or count_held_out(form, self.holdout) == 0
        )

    def relations_fit_split(self, form: Form, scene: DescribedScene) -> bool:
        """Whether the relations that a caption names are as familiar as its scene's split."""
        return scene.held_out_relations is None or relations_fit_split(
            form, scene.split, self.holdout
        )

    def draw_template(
        self, forms: Sequence[Form], stream: Stream, among: Sequence[str] | None = None
    ) -> str | None:
        """A template that says all forms: the requested one, else a random one that reads well, by
        default of `grammar.natural`; None if there is none."""
        names = [self.template] if self.template else stream.shuffled(among or self.grammar.natural)
        fitting = (name for name in names if all(self.grammar.fits(name, form) for form in forms))
        return next(
            (
                name
                for name in fitting
                if self.template or all(reads_well(form, name) for form in forms)
            ),
            None,
        )


class Draft:
    """The work of one protocol on one scene: draws captions, selects foils, and makes items of
    both."""

    def __init__(self, captioner: Captioner, scene: DescribedScene, stream: Stream, protocol: str):
        self.captioner, self.scene, self.stream, self.protocol = captioner, scene, stream, protocol
        self.vocabulary, self.holdout, self.tested = (
            captioner.vocabulary,
            captioner.holdout,
            captioner.holdout.kind,
        )
        self.substitutes, self.foils, self.facts = (
            captioner.substitutes,
            captioner.foils,
            scene.facts,
        )

    def pick(self, options: Sequence[T]) -> T | None:
        """A random option; None if there are none."""
        return options[self.stream.below(len(options))] if options else None

    def name_objects(self, objects: Sequence[int], kinds: Sequence[str]) -> Form:
        """The form that names objects of the scene, in this order, with their values of some
        attribute kinds."""
        facts = self.facts
        return Form(
            tuple(
                Mention(
                    facts.categories[i],
                    tuple(sorted((kind, facts.values[i][kind]) for kind in kinds)),
                )
                for i in objects
            )
        )

    def related(self, i: int, relation: str, j: int) -> Form:
        """The form that names two objects of the scene and a relation."""
        return self.name_objects((i, j), ())._replace(relations=(Link(0, relation, 1),))

    def tested_pair(self) -> Form | None:
        """Two random unique objects that differ in the tested kind and fit the split, in random
        order, with their tested values; None if there is no such pair."""
        values = self.facts.values
        pairs = [
            (i, j)
            for i, j in combinations(self.scene.unique_objects, 2)
            if values[i][self.tested] != values[j][self.tested]
            and self.scene.objects_fit_split((i, j))
            and (self.scene.split not in ASYMMETRIC or self._asymmetric(i, j))
        ]
        pair = self.pick(pairs)
        return pair and self.name_objects(
            pair if self.stream.below(2) else pair[::-1], (self.tested,)
        )

    def _asymmetric(self, *objects: int) -> bool:
        one, other = (
            (self.facts.values[i][self.tested], self.facts.categories[i]) for i in objects
        )
        return asymmetric(one, other, self.holdout)

    def related_pair(self, directed: bool = False) -> Form | None:
        """Two random unique objects and a relation in which the first stands to the second.

        The opposite relation is possible between them too. `directed` excludes relations that keep
        their meaning if their ends are exchanged, such as `near` and `far`. None if no such pair is
        found.
        """
        axes, scene = self.substitutes.axes, self.scene
        usable = [axis for axis in axes.general if not (directed and axes.is_symmetric(axis))]
        options = [
            (i, axis, j)
            for i, j in permutations(scene.unique_objects, 2)
            if scene.objects_fit_split((i, j))
            for axis in usable
        ]
        if scene.held_out_relations is not None:
            options = [
                each for each in options if self._relation(*each) in scene.held_out_relations
            ]
        elif self.holdout.triples and self.captioner.trained:
            options = [each for each in options if self._trained(*each)]
        option = self.pick(options)
        found = option and self._relation(*option)
        if not found:
            return None
        form = self.related(*found)
        return form if self.foils.possible(self.foils.flip_relation(form, 0).form) else None

    def _relation(self, i: int, axis: int, j: int) -> tuple[int, str, int] | None:
        found = self.substitutes.axes.between(self.facts, axis, i, j)
        return found and (i, found[1], j)

    def _trained(self, i: int, axis: int, j: int) -> bool:
        """Whether training shows two objects of these categories in this relation."""
        found, trained, categories = (
            self._relation(i, axis, j),
            self.captioner.trained,
            self.facts.categories,
        )
        return bool(
            found and trained and (categories[i], found[1], categories[j]) in trained.triples
        )

    def walk(
        self,
        cell: Cell,
        sayable: Sayable | None = None,
        apart: bool = False,
        within: Subgraph | None = None,
    ) -> Form | None:
        """A true caption of a cell's complexity that fits the split (`Walker.walk`); None if none
        is found."""
        scene = self.scene
        found = self.captioner.walker.walk(
            scene.facts, cell, scene.unique_objects, self.stream, sayable, apart, within
        )
        return found.form if found and scene.objects_fit_split(found.objects) else None

    def subgraph(self) -> Subgraph:
        """The subgraph that captions of the scene share; drawn on first use."""
        if self.scene.subgraph is None:
            self.scene.subgraph = self.captioner.walker.subgraph(
                self.facts, self.scene.unique_objects, self.stream
            )
        return self.scene.subgraph

    @cached_property
    def _shown(self) -> dict[str, Counter[str]]:
        """How many objects have each value, by attribute kind."""
        return {
            kind: Counter(values[kind] for values in self.facts.values)
            for kind in self.vocabulary.attributes
        }

    def absent(self, kind: str) -> list[str]:
        """The values of an attribute kind that no object of the scene has."""
        return [value for value in self.vocabulary.values(kind) if value not in self._shown[kind]]

    def replaceable(self, thing: int, shared: bool = False) -> list[str]:
        """The attribute kinds of an object whose value can be replaced by one that no object of the
        scene has.

        Unless `shared`, no other object may have the object's value: captions would repeat values
        and foils would not, so the text alone would tell them apart.
        """
        values = self.facts.values[thing]
        return [
            kind
            for kind, shown in self._shown.items()
            if (shared or shown[values[kind]] == 1) and self.absent(kind)
        ]

    def false_value(self, form: Form, atom: Atom) -> str | None:
        """A value whose denial is true: the opposite relation, another value, a category that is
        not in the scene."""
        if atom.type == "relation":
            return self.vocabulary.relations[form.relations[atom.place].relation].opposite
        return self.pick(self.substitutes.of(form, atom, self.facts))

    def accepts(self, foil: Form, caption: Form) -> bool:
        """Whether a foil may be used with a caption of the scene; see `Captioner.accepts`."""
        return self.captioner.accepts(foil, caption, self.scene)

    def accepted(self, foils: Iterable[Foil], caption: Form, n: int = 1) -> list[Foil]:
        """The first `n` different foils that may be used with the caption; an empty list if there
        are fewer."""
        found: list[Foil] = []
        for foil in foils:
            if self.accepts(foil.form, caption) and all(foil.form != other.form for other in found):
                found.append(foil)
                if len(found) == n:
                    return found
        return []

    def atom_foils(self, form: Form) -> Iterator[Foil]:
        """Every HN-ATOM foil of a form, in random order."""
        atoms = self.substitutes.atoms(form)
        options = [
            (atom, value) for atom in atoms for value in self.substitutes.of(form, atom, self.facts)
        ]
        return (
            self.foils.replace_atom(form, atom, value)
            for atom, value in self.stream.shuffled(options)
        )

    def item(
        self,
        kind: str,
        skill: str | None,
        form: Form,
        foils: Sequence[Foil],
        among: Sequence[str] | None = None,
        also: Sequence[Form] = (),
    ) -> Item | None:
        """The item of a caption (slot c) and its foils (slot n) in one template, which can also say
        the forms `also`.

        None if there are no foils or no such template. Denials of a whole caption have a separate
        template.
        """
        forms = [form, *(foil.form for foil in foils), *also]
        told = [each for each in forms if not each.negated]
        template = self.captioner.draw_template(told, self.stream, among) if foils else None
        return self.said(kind, skill, form, foils, template) if template else None

    def said(
        self, kind: str, skill: str | None, form: Form, foils: Sequence[Foil], template: str
    ) -> Item:
        """The item of a caption and its foils in a template."""
        caption, *false = (
            Text(each, NEGATED if each.negated else template)
            for each in (form, *(foil.form for foil in foils))
        )
        candidates = [Candidate(caption, "c", True)]
        candidates += [
            Candidate(text, "n", False, foil.kind, foil.changed, caption)
            for text, foil in zip(false, foils, strict=True)
        ]
        return Item(self.protocol, kind, skill, tuple(candidates))
