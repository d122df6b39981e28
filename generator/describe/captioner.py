"""Tools that all protocols share: the language of a benchmark, items, and a draft that makes items
of a scene."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple, TypeVar

from generator.base.streams import Stream
from generator.describe.scenes import DescribedScene, TrainingContent
from generator.holdout.holdout import Binding, Holdout
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
from generator.language.grammar import Grammar
from generator.language.phrases import Wording
from generator.language.templates import NEGATED, reads_well
from generator.language.walk import Sayable, Subgraph, Walker
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")


class Text(NamedTuple):
    """A text before it is put into words."""

    form: Form
    """Its meaning."""
    template: str
    """The name of its template."""
    wording: Wording = ()
    """Synonyms that replace the usual words."""


class Candidate(NamedTuple):
    """A text as a candidate of an item."""

    text: Text
    """The text and its form."""
    slot: str
    """Its role in the protocol: c for a caption, n for a foil (docs/dataset.md lists all)."""
    truth: bool
    """Whether it is true of the scene."""
    kind: str | None = None
    """The kind of negative of a false candidate, or the kind of positive; None for a caption."""
    changed: tuple[str, ...] = ()
    """The changes that made a false candidate (`Foil.changed`)."""
    of: Text | None = None
    """The text that was changed; None for a caption."""
    of_twin: bool = False
    """Whether it is judged against the image of the scene's twin."""
    of_scene: DescribedScene | None = None
    """The scene whose image it is judged against, if it is neither the item's nor the twin."""


class Item(NamedTuple):
    """One question to a model about a scene, or one training example."""

    protocol: str
    """The name of its protocol."""
    kind: str
    """One of the protocol's kinds."""
    skill: str | None
    """What it tests: "object", "attribute", "relation" and the like; None for mixed captions."""
    candidates: tuple[Candidate, ...]
    """Its texts."""
    pool: str | None = None
    """The retrieval pool from which false texts are taken; None if the item holds all its texts."""


@dataclass
class Captioner:
    """The language of one benchmark: its grammar, walks, substitutes and foils. Protocols share
    it."""

    vocabulary: Vocabulary
    """The vocabulary of the world."""
    holdout: Holdout
    """What training never shows."""
    equal_familiarity: bool = True
    """Whether a foil must be as familiar as its caption."""
    template: str | None = None
    """The template of all captions; None draws one per item."""
    training: bool = False
    """Whether foils belong to training texts. Such a foil must name nothing that is held out, and
    no two equal objects, because captions count equal objects."""
    exposed: bool = False
    """With `training`: foils may name held-out combinations, but no value or object that training
    lacks."""
    trained: TrainingContent | None = None
    """What training shows; None for class lists, which state it themselves."""
    known_words: bool = False
    """Whether a foil names only values and categories of training or of its caption."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of items that could not be made, by protocol and kind."""
    refused: Counter[str] = field(default_factory=Counter)
    """Number of foils that were refused, by reason: "true", "undecided", "never true", "other
    familiarity" or "unknown word"."""

    def __post_init__(self) -> None:
        self.grammar = Grammar(self.vocabulary)
        self.walker = Walker(self.vocabulary)
        # Without equal familiarity, any name may replace another.
        alike_in = self.holdout if self.equal_familiarity else None
        self.substitutes = Substitutes(self.vocabulary, alike_in)
        self.foils = Foils(self.vocabulary, self.substitutes)

    def accepts(self, foil: Form, caption: Form, scene: DescribedScene) -> bool:
        """Check that a foil is false of the scene, possible in another scene, and as familiar as
        its caption. Counts a refusal by its reason in `refused`.

        Args:
            foil: The foil.
            caption: The caption that it was made from.
            scene: The scene that the caption describes.

        Returns:
            Whether the foil may be used.
        """
        reason = self._reason_to_refuse(foil, caption, scene)
        if reason is None:
            return True
        self.refused[reason] += 1
        return False

    def _reason_to_refuse(self, foil: Form, caption: Form, scene: DescribedScene) -> str | None:
        truth = scene.decide(foil)
        if truth is None:
            return "undecided"
        if truth:
            return "true"
        if not self.foils.is_possible(foil):
            return "never true"
        if not self._is_familiar(foil, caption, scene):
            return "other familiarity"
        if self.known_words and self.trained:
            known = self.trained.names | self._names(caption)
            if not self._names(foil) <= known:
                return "unknown word"
        return None

    def _is_familiar(self, foil: Form, caption: Form, scene: DescribedScene) -> bool:
        """Whether the familiarity of a foil is as it has to be."""
        if self.training:
            all_different = len({*foil.objects}) == len(foil.objects)
            return all_different and self.may_be_shown(foil, self.exposed)
        if scene.split in ASYMMETRIC:
            # Of caption and foil, exactly one names something held out.
            names_held_out = count_held_out(foil, self.holdout) > 0
            return names_held_out != (count_held_out(caption, self.holdout) > 0)
        return not self.equal_familiarity or equally_familiar(foil, caption, self.holdout)

    def _names(self, form: Form) -> set[tuple[str, str]]:
        """The values and categories that a form names, each with its kind."""
        names: set[tuple[str, str]] = set()
        for mention in form.objects:
            names.update(mention.attributes)
            # A model has to know the word that is denied.
            names.update(mention.without)
            if mention.category is not None:
                names.add((self.vocabulary.category, mention.category))
        return names

    def trains_all(self, arrangement: Arrangement) -> bool:
        """Whether training shows every binding of an arrangement that is not held out."""
        if self.trained is None:
            return True
        return all(
            self.holdout.holds_out(*binding) or binding in self.trained.bindings
            for binding in arrangement
        )

    def may_be_shown(self, form: Form, exposed: bool = False) -> bool:
        """Check whether training texts may have a form.

        Args:
            form: The form.
            exposed: Whether it may name held-out bindings (`--exposed-negatives`).

        Returns:
            Whether it names nothing held out; with `exposed`, whether it names no unseen atom.
        """
        if names_absent(form, self.holdout):
            return False
        return exposed or count_held_out(form, self.holdout) == 0

    def relations_fit_split(self, form: Form, scene: DescribedScene) -> bool:
        """Check whether the relations that a caption names are as familiar as its scene's split.

        Args:
            form: The form of the caption.
            scene: The scene, which knows its split.

        Returns:
            Whether they are.
        """
        if scene.tested_relations is None:
            return True
        return relations_fit_split(form, scene.split, self.holdout)

    def draw_template(
        self, forms: Sequence[Form], stream: Stream, among: Sequence[str] | None = None
    ) -> str | None:
        """Draw a template that can say all forms of an item.

        Args:
            forms: the forms.
            stream: the random numbers.
            among: names of templates to draw from; by default `grammar.natural`.

        Returns:
            The requested template if it fits, else a random one that reads well; None if there is
            none.
        """
        if self.template:
            fits = all(self.grammar.fits(self.template, form) for form in forms)
            return self.template if fits else None
        for name in stream.shuffled(among or self.grammar.natural):
            fits = all(self.grammar.fits(name, form) for form in forms)
            if fits and all(reads_well(form, name) for form in forms):
                return name
        return None


class Draft:
    """The work of one protocol on one scene: draws captions, selects foils, and makes items of
    both."""

    def __init__(self, captioner: Captioner, scene: DescribedScene, stream: Stream, protocol: str):
        """Begin a draft.

        Args:
            captioner: the language of the benchmark.
            scene: the scene.
            stream: the random numbers of the scene in this protocol.
            protocol: the name of the protocol.
        """
        self.captioner = captioner
        self.scene = scene
        self.stream = stream
        self.protocol = protocol
        self.vocabulary = captioner.vocabulary
        self.holdout = captioner.holdout
        self.tested = captioner.holdout.kind
        """The attribute kind whose values are held out, such as "color"."""
        self.substitutes = captioner.substitutes
        self.foils = captioner.foils
        self.facts = scene.facts

    def pick(self, options: Sequence[T]) -> T | None:
        """A random option; None if there are none."""
        if not options:
            return None
        return options[self.stream.below(len(options))]

    def name_objects(self, objects: Sequence[int], kinds: Sequence[str]) -> Form:
        """Make the form that names objects of the scene.

        Args:
            objects: Numbers of the objects, in the order of the text.
            kinds: The attribute kinds to name.

        Returns:
            The form.
        """
        mentions = []
        for i in objects:
            values = self.facts.values[i]
            attributes = sorted((kind, values[kind]) for kind in kinds)
            mentions.append(Mention(self.facts.categories[i], tuple(attributes)))
        return Form(tuple(mentions))

    def name_related_pair(self, i: int, relation: str, j: int) -> Form:
        """Make the form that names two objects of the scene and a relation.

        Args:
            i: Number of the object that stands in the relation.
            relation: Its name.
            j: Number of the object to which it stands so.

        Returns:
            The form.
        """
        objects = self.name_objects((i, j), ())
        return objects._replace(relations=(Link(0, relation, 1),))

    def draw_tested_pair(self) -> Form | None:
        """Draw two unique objects that differ in the tested kind and fit the split, in random
        order, with their tested values; None if there is no such pair."""
        pairs = []
        for i, j in combinations(self.scene.unique_objects, 2):
            if self._is_tested(i, j):
                pairs.append((i, j))
        pair = self.pick(pairs)
        if pair is None:
            return None
        # In random order, or the first mention would always be the object on the left.
        order = pair if self.stream.below(2) else pair[::-1]
        return self.name_objects(order, (self.tested,))

    def _is_tested(self, i: int, j: int) -> bool:
        """Whether exchanging the tested values of two objects tests the split of the scene."""
        values = self.facts.values
        if values[i][self.tested] == values[j][self.tested]:
            return False
        if not self.scene.objects_fit_split((i, j)):
            return False
        return self.scene.split not in ASYMMETRIC or self._is_asymmetric(i, j)

    def _is_asymmetric(self, i: int, j: int) -> bool:
        """Whether the exchange of two values changes how much is held out."""
        first, second = self._binding(i), self._binding(j)
        return asymmetric(first, second, self.holdout)

    def _binding(self, i: int) -> Binding:
        """The tested value and the category of an object."""
        return self.facts.values[i][self.tested], self.facts.categories[i]

    def draw_related_pair(self, directed: bool = False) -> Form | None:
        """Draw two unique objects and a relation in which the first stands to the second.

        The opposite relation is possible between them too, or the text alone would reveal the
        truth. If the scene has `tested_relations`, the relation is one of them; else, if relations
        are held out, training shows it between such objects.

        Args:
            directed: exclude relations that keep their meaning if their ends are exchanged, such as
                `near` and `far`.

        Returns:
            The form; None if the option that is drawn has no such relation.
        """
        # Every pair with every axis, in either direction.
        axes = self.substitutes.axes
        usable_axes = list(axes.general)
        if directed:
            usable_axes = [axis for axis in axes.general if not axes.is_symmetric(axis)]
        options: list[tuple[int, int, int]] = []
        for i, j in permutations(self.scene.unique_objects, 2):
            if self.scene.objects_fit_split((i, j)):
                options += [(i, axis, j) for axis in usable_axes]

        # Those that fit the split.
        tested = self.scene.tested_relations
        if tested is not None:
            options = [option for option in options if self._relation(*option) in tested]
        elif self.holdout.triples and self.captioner.trained:
            options = [option for option in options if self._is_trained(*option)]

        option = self.pick(options)
        relation = self._relation(*option) if option else None
        if relation is None:
            return None
        form = self.name_related_pair(*relation)
        flipped = self.foils.flip_relation(form, 0).form
        return form if self.foils.is_possible(flipped) else None

    def _relation(self, i: int, axis: int, j: int) -> tuple[int, str, int] | None:
        """The relation of an axis in which object i stands to object j; None if it is undecided."""
        related = self.substitutes.axes.between(self.facts, axis, i, j)
        if related is None:
            return None
        # Not always of the same axis: stacked objects have their stacking relation instead.
        _, relation = related
        return i, relation, j

    def _is_trained(self, i: int, axis: int, j: int) -> bool:
        """Whether training shows two objects of these categories in this relation."""
        fact = self._relation(i, axis, j)
        trained = self.captioner.trained
        if fact is None or trained is None:
            return False
        _, relation, _ = fact
        categories = self.facts.categories
        return (categories[i], relation, categories[j]) in trained.triples

    def walk(
        self,
        cell: Cell,
        sayable: Sayable | None = None,
        *,
        apart: bool = False,
        within: Subgraph | None = None,
    ) -> Form | None:
        """Draw a true caption of a cell's complexity that fits the split (`Walker.walk`).

        Args:
            cell: The numbers of objects, attributes and relations.
            sayable: As in `Walker.walk`; None for no condition.
            apart: As in `Walker.walk`.
            within: As in `Walker.walk`; None for the whole scene.

        Returns:
            The form; None if no caption is found.
        """
        subgraph = self.captioner.walker.walk(
            self.facts,
            cell,
            self.scene.unique_objects,
            self.stream,
            sayable=sayable,
            apart=apart,
            within=within,
        )
        if subgraph is None or not self.scene.objects_fit_split(subgraph.objects):
            return None
        return subgraph.form

    def subgraph(self) -> Subgraph:
        """The subgraph that captions of the scene share; drawn on first use."""
        if self.scene.subgraph is None:
            self.scene.subgraph = self.captioner.walker.subgraph(
                self.facts, self.scene.unique_objects, self.stream
            )
        return self.scene.subgraph

    @cached_property
    def _n_objects_with(self) -> dict[str, Counter[str]]:
        """How many objects have each value, by attribute kind."""
        n_objects_with = {}
        for kind in self.vocabulary.attributes:
            n_objects_with[kind] = Counter(values[kind] for values in self.facts.values)
        return n_objects_with

    def absent(self, kind: str) -> list[str]:
        """The values of an attribute kind that no object of the scene has."""
        present = self._n_objects_with[kind]
        return [value for value in self.vocabulary.values(kind) if value not in present]

    def replaceable(self, obj: int, shared: bool = False) -> list[str]:
        """List the attribute kinds of an object whose value can be replaced by one that no object
        of the scene has.

        Unless `shared`, no other object may have the object's value: captions would repeat values
        and foils would not, so the text alone would tell them apart.

        Args:
            obj: Number of the object.
            shared: Whether another object may have its value.

        Returns:
            The kinds.
        """
        values = self.facts.values[obj]
        kinds = []
        for kind, n_objects in self._n_objects_with.items():
            is_single = n_objects[values[kind]] == 1
            if (shared or is_single) and self.absent(kind):
                kinds.append(kind)
        return kinds

    def draw_false_value(self, form: Form, atom: Atom) -> str | None:
        """Draw a value whose denial is true of the scene.

        Args:
            form: A form that asserts the atom.
            atom: The atom.

        Returns:
            The opposite relation, another value, or a category that is not in the scene; None if
            there is none.
        """
        if atom.type == "relation":
            name = form.relations[atom.place].relation
            return self.vocabulary.relations[name].opposite
        alternatives = self.substitutes.alternatives(form, atom, self.facts)
        return self.pick(alternatives)

    def accepts(self, foil: Form, caption: Form) -> bool:
        """Whether a foil may be used with a caption of the scene; see `Captioner.accepts`."""
        return self.captioner.accepts(foil, caption, self.scene)

    def select_foils(self, foils: Iterable[Foil], caption: Form, n: int = 1) -> list[Foil]:
        """Select foils that may be used with a caption.

        Args:
            foils: candidates, tried in this order; no more are made than have to be tried.
            caption: the caption.
            n: number of foils.

        Returns:
            The first `n` different foils; an empty list if there are fewer.
        """
        selected: list[Foil] = []
        for foil in foils:
            if not self.accepts(foil.form, caption):
                continue
            if all(foil.form != other.form for other in selected):
                selected.append(foil)
                if len(selected) == n:
                    return selected
        return []

    def atom_foils(self, form: Form) -> Iterator[Foil]:
        """Every HN-ATOM foil of a form, in random order."""
        changes = []
        for atom in self.substitutes.atoms(form):
            for value in self.substitutes.alternatives(form, atom, self.facts):
                changes.append((atom, value))
        for atom, value in self.stream.shuffled(changes):
            yield self.foils.replace_atom(form, atom, value)

    def make_item(
        self,
        kind: str,
        skill: str | None,
        *,
        form: Form,
        foils: Sequence[Foil],
        among: Sequence[str] | None = None,
        also: Sequence[Form] = (),
    ) -> Item | None:
        """Make the item of a caption (slot c) and its foils (slot n) in one template.

        Args:
            kind: the item's kind.
            skill: what it tests.
            form: the meaning of the caption.
            foils: its foils.
            among: names of templates to draw from; by default `grammar.natural`.
            also: other forms that the template has to be able to say.

        Returns:
            The item; None if there are no foils or no such template. Denials of a whole caption
            have a separate template.
        """
        if not foils:
            return None
        forms = [form, *(foil.form for foil in foils), *also]
        # One template for all texts of an item, or it would tell the caption from its foils.
        undenied = [other for other in forms if not other.negated]
        template = self.captioner.draw_template(undenied, self.stream, among)
        if template is None:
            return None
        return self.make_item_in_template(kind, skill, form=form, foils=foils, template=template)

    def make_item_in_template(
        self, kind: str, skill: str | None, *, form: Form, foils: Sequence[Foil], template: str
    ) -> Item:
        """Make the item of a caption (slot c) and its foils (slot n) in a template.

        Args:
            kind: The kind of the item.
            skill: What it tests; None for mixed captions.
            form: The caption.
            foils: Its foils.
            template: Of all texts except those that are denied as a whole, which have their own.

        Returns:
            The item.
        """
        caption = Text(form, NEGATED if form.negated else template)
        candidates = [Candidate(caption, "c", True)]
        for foil in foils:
            text = Text(foil.form, NEGATED if foil.form.negated else template)
            candidate = Candidate(text, "n", False, foil.kind, foil.changed, caption)
            candidates.append(candidate)
        return Item(self.protocol, kind, skill, tuple(candidates))
