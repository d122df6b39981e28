"""Changes training scenes until they show every binding that training may show.

A benchmark calls a binding seen if training shows it. Names that are equally frequent do not
ensure that: with few scenes, or many bindings, some pairs of a value and an object never meet. So
training scenes exchange objects until each binding is in one of them.
"""

from collections import Counter
from collections.abc import Set
from itertools import product
from typing import NamedTuple

from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement
from generator.plan.candidates import Candidates
from generator.plan.name_counts import OBJECT, VALUE, NameCounts, with_name

_MOST_EXCHANGES = 600
"""Exchanges of two scenes that are tried, to show one more binding."""


class TooFewScenesError(Exception):
    """Training scenes are too few to show the bindings that evaluation scenes need."""


class _ShownObject(NamedTuple):
    """An object of a training scene."""

    row: int
    """The number of its scene."""
    place: int
    """Its place in the scene, from the left."""
    binding: Binding
    """What it shows."""


def show_all_bindings(
    scenes: list[Arrangement],
    counts: NameCounts,
    *,
    candidates: Candidates,
    needed: Set[Binding],
    stream: Stream,
) -> None:
    """Change training scenes until they show all bindings that training may show, needed ones
    first.

    For each missing binding:
    1. Two scenes exchange an object: one that has the value gets the object. This keeps the counts
       of values and objects, and also those at each place if both have it at one place.
    2. If no exchange works and the binding is needed, it replaces another binding.

    Args:
        scenes: the training scenes, changed in place.
        counts: the counts of names, which include the scenes.
        candidates: of the rule.
        needed: the bindings that training must show.
        stream: decides which scenes change.

    Raises:
        TooFewScenesError: a needed binding is in no scene at the end.
    """
    shown_bindings = _ShownBindings(scenes, counts, candidates=candidates, needed=needed)
    missing = set(candidates.bindings["train"]) - set(shown_bindings.times_shown)
    # Needed bindings come first: those after them may find no object that can go.
    for binding in sorted(missing, key=lambda binding: (binding not in needed, binding)):
        shown_bindings.add(binding, stream)
    if any(shown_bindings.times_shown[binding] == 0 for binding in needed):
        raise TooFewScenesError


class _ShownBindings:
    """Training scenes, and how often they show each binding."""

    def __init__(
        self,
        scenes: list[Arrangement],
        counts: NameCounts,
        *,
        candidates: Candidates,
        needed: Set[Binding],
    ):
        self._scenes = scenes
        self._counts = counts
        self._candidates = candidates
        self._needed = needed
        self.times_shown = Counter(binding for arrangement in scenes for binding in arrangement)

    def add(self, binding: Binding, stream: Stream) -> None:
        """Change one or two scenes so that a binding is shown, while all others stay shown, or all
        others that are needed; leave the scenes as they are if that is impossible."""
        dispensable = self._dispensable_objects(binding)
        changes = self._find_exchange(binding, dispensable, stream)
        if not changes and binding in self._needed:
            changes = self._find_replacement(binding, dispensable, stream)
        for row, new in changes.items():
            self._replace(row, new)

    def _dispensable_objects(self, binding: Binding) -> list[_ShownObject]:
        """The objects that may go for a binding: those whose own binding is shown elsewhere too,
        and, for a needed binding, also those whose binding is not needed."""
        dispensable = []
        for row, arrangement in enumerate(self._scenes):
            for place, present in enumerate(arrangement):
                gives_way = binding in self._needed and present not in self._needed
                if self.times_shown[present] > 1 or gives_way:
                    dispensable.append(_ShownObject(row, place, present))
        return dispensable

    def _find_exchange(
        self, binding: Binding, dispensable: list[_ShownObject], stream: Stream
    ) -> dict[int, Arrangement]:
        """Two scenes after an exchange of objects that shows a binding, by row; empty if none of
        those tried stays in training."""
        value, category = binding
        with_value = [obj for obj in dispensable if obj.binding[VALUE] == value]
        with_object = [obj for obj in dispensable if obj.binding[OBJECT] == category]
        # Exchanges at one place come first, since they keep the counts at each place.
        exchanges = sorted(
            product(stream.shuffled(with_value), stream.shuffled(with_object)),
            key=lambda exchange: exchange[0].place != exchange[1].place,
        )
        for receiver, giver in exchanges[:_MOST_EXCHANGES]:
            if receiver.row == giver.row:
                continue
            old_category = receiver.binding[OBJECT]
            new_receiver = with_name(self._scenes[receiver.row], receiver.place, OBJECT, category)
            new_giver = with_name(self._scenes[giver.row], giver.place, OBJECT, old_category)
            if self._is_training_scene(new_receiver) and self._is_training_scene(new_giver):
                return {receiver.row: new_receiver, giver.row: new_giver}
        return {}

    def _find_replacement(
        self, binding: Binding, dispensable: list[_ShownObject], stream: Stream
    ) -> dict[int, Arrangement]:
        """A scene in which a binding takes the place of another, by row; empty if there is none."""
        for row, place, _ in stream.shuffled(dispensable):
            scene = self._scenes[row]
            new = (*scene[:place], binding, *scene[place + 1 :])
            if self._is_training_scene(new):
                return {row: new}
        return {}

    def _replace(self, row: int, new: Arrangement) -> None:
        old = self._scenes[row]
        self.times_shown.subtract(old)
        self.times_shown.update(new)
        self._counts.add(self._counts.cells_of(old), -1)
        self._counts.add(self._counts.cells_of(new))
        self._scenes[row] = new

    def _is_training_scene(self, arrangement: Arrangement) -> bool:
        """Whether an arrangement belongs to `train`. Two objects have to differ in both roles."""
        if len(arrangement) == 2:
            (value, category), (other_value, other_category) = arrangement
            if value == other_value or category == other_category:
                return False
        return self._candidates.belongs(arrangement, "train")
