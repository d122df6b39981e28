"""Makes bindings equally frequent in a split, by exchanging objects between scenes.

This is a local search. A move takes two scenes and exchanges the objects that stand at one place of
both. It keeps how often each value and each object occurs, overall and at each place. A move is
made if both scenes stay in the split and the sum of squared counts of bindings does not grow.
Moves that leave the sum as it is are made too, so that a surplus can wander until it meets a gap.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

from generator.base.streams import Stream
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement
from generator.plan.name_counts import OBJECT, with_name

_PARTNERS = 20
"""Partners that are tried for an object whose binding is too frequent."""
_PATIENCE = 2_000
"""Objects that are tried without a smaller sum of squares, after which bindings count as even as
they can be. With 20 sweeps in place of 2,000 objects, one of two plans of 768 scenes ended uneven:
the last sweeps try few objects."""


class EvenBindings:
    """Counts the bindings of a split, and evens them out."""

    def __init__(self, *, with_twins: bool):
        """Begin with no scene.

        Args:
            with_twins: Whether each scene of two objects has a twin in which these exchange
                values. Then the bindings of the twin are counted too.
        """
        self._with_twins = with_twins
        self._counts: Counter[Binding] = Counter()

    def even_out(
        self, scenes: list[Arrangement], fits: Callable[[Arrangement], bool], stream: Stream
    ) -> None:
        """Exchange objects between scenes until bindings are equally frequent, or until exchanges
        stop helping.

        Args:
            scenes: Arrangements of the split, changed in place. Scenes of earlier calls are
                counted, and stay.
            fits: Whether an arrangement belongs to the split.
            stream: Draws the scenes that exchange objects.
        """
        for scene in scenes:
            self._counts.update(self._bindings(scene))
        tries_left = _PATIENCE
        while tries_left > 0:
            spots = list(self._surplus_spots(scenes))
            if not spots:
                return
            growth = 0
            for row, place in stream.shuffled(spots):
                growth += self._exchange_object(scenes, row, place, fits=fits, stream=stream)
            has_improved = growth < 0
            tries_left = _PATIENCE if has_improved else tries_left - len(spots)

    def _bindings(self, scene: Arrangement) -> list[Binding]:
        """The bindings that a scene counts for."""
        if self._with_twins and len(scene) == 2:
            values, objects = zip(*scene, strict=True)
            return list(product(values, objects))
        return list(scene)

    def _surplus_spots(self, scenes: list[Arrangement]) -> Iterator[tuple[int, int]]:
        """Yield row and place of each object with a binding that is too frequent."""
        # Rounded up: where scenes cannot be divided evenly, counts differ by one.
        most = -(-self._counts.total() // len(self._counts))
        for row, scene in enumerate(scenes):
            bindings = self._bindings(scene)
            for place, (_, category) in enumerate(scene):
                # With twins, an object counts for two bindings.
                own_bindings = [binding for binding in bindings if binding[OBJECT] == category]
                if any(self._counts[binding] > most for binding in own_bindings):
                    yield row, place

    def _exchange_object(
        self,
        scenes: list[Arrangement],
        row: int,
        place: int,
        *,
        fits: Callable[[Arrangement], bool],
        stream: Stream,
    ) -> int:
        """Exchange an object with that of another scene, if this does no harm.

        Returns:
            How much half the sum of squared counts grows: 0 or less.
        """
        scene = scenes[row]
        category = scene[place][OBJECT]
        for _ in range(_PARTNERS):
            other = stream.below(len(scenes))
            other_scene = scenes[other]
            if other == row or len(other_scene) <= place:
                continue
            other_category = other_scene[place][OBJECT]
            if category == other_category:
                continue
            changed = with_name(scene, place, OBJECT, other_category)
            other_changed = with_name(other_scene, place, OBJECT, category)
            if not (fits(changed) and fits(other_changed)):
                continue
            growth = self._growth((scene, other_scene), (changed, other_changed))
            if growth <= 0:
                self._replace(scenes, row, changed)
                self._replace(scenes, other, other_changed)
                return growth
        return 0

    def _growth(self, old: tuple[Arrangement, ...], new: tuple[Arrangement, ...]) -> int:
        """How much half the sum of squared counts would grow."""
        change: Counter[Binding] = Counter()
        for scene in old:
            change.subtract(self._bindings(scene))
        for scene in new:
            change.update(self._bindings(scene))
        growth_of_squares = 0
        for binding, n in change.items():
            # (count + n)² − count²
            growth_of_squares += n * (2 * self._counts[binding] + n)
        # Changes add up to 0, so this is an even number.
        return growth_of_squares // 2

    def _replace(self, scenes: list[Arrangement], row: int, new: Arrangement) -> None:
        self._counts.subtract(self._bindings(scenes[row]))
        self._counts.update(self._bindings(new))
        scenes[row] = new
