"""Makes captions and foils for protocols, and counts what was refused or dropped."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from generator.base.streams import Stream
from generator.describe.absent_values import AbsentValues
from generator.describe.complexity_quota import ComplexityQuota
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Item
from generator.holdout.holdout import Holdout
from generator.language.complexity import Cell
from generator.language.familiarity import count_held_out, equally_familiar, names_triple
from generator.language.foils import Foil, Foils
from generator.language.form import Form
from generator.language.grammar import NATURAL, TEMPLATES, Grammar, reads_well
from generator.language.substitutes import Substitutes
from generator.language.walk import Subgraph, Walker
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")


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
