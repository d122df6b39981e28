"""A scene with all that protocols ask of it: its facts, its split, and what of it is held out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from generator.language.form import Form
from generator.language.truth import Facts, Truth, decide
from generator.language.walk import Subgraph


@dataclass
class DescribedScene:
    """A scene of a benchmark. Objects are numbered from 0, left one first."""

    scene_id: str
    facts: Facts
    split: str
    held_out: tuple[bool, ...]
    """For each object, whether its binding is held out."""
    salience: tuple[float, ...] = ()
    """For each object, how much it stands out; empty if no protocol needs it."""
    twin: "DescribedScene | None" = None
    """The scene of which this one is the twin."""
    held_out_relations: frozenset[tuple[int, str, int]] | None = None
    """The held-out relations that the scene shows, as (object, relation, object). None if the holdout has no relations
    or the scene shows none of them."""
    label_order: tuple[int, ...] = ()
    """The objects in the order of the label that the scene was made for (design gzsl)."""
    subgraph: Subgraph | None = None
    """What all captions of the scene are parts of, for protocols that ask for that (COMPASS, section 3.1)."""
    truths: dict[Form, Truth] = field(default_factory=dict)
    """Forms that have been decided; many items share their captions."""

    @cached_property
    def unique_objects(self) -> tuple[int, ...]:
        """The objects that are the only ones of their category, which captions can name without ambiguity."""
        numbers = Counter(self.facts.categories)
        return tuple(i for i, category in enumerate(self.facts.categories) if numbers[category] == 1)

    def decide(self, form: Form) -> Truth:
        """Whether a form is true of the scene: True, False, or None for undecided."""
        if form not in self.truths:
            self.truths[form] = decide(form, self.facts)
        return self.truths[form]

    def objects_fit_split(self, objects: Sequence[int]) -> bool:
        """Whether a caption about these objects is as familiar as the scene's split.

        Only `partial` constrains them: some of the objects must be held out and some not.
        """
        if self.split != "partial" or not any(self.held_out):
            return True
        return 0 < sum(self.held_out[i] for i in objects) < len(objects)

    def relation_fits_split(self, i: int, relation: str, j: int) -> bool:
        """Whether a caption that names this relation of the scene is as familiar as the scene's split."""
        return self.held_out_relations is None or (i, relation, j) in self.held_out_relations
