"""Scenes for the splits of a holdout: bindings with equally frequent values and objects, and layouts that suit the split."""

from collections.abc import Iterator, Sequence

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement, Rule
from generator.plan.content import Content, no_scene
from generator.plan.many_objects import ManyObjectScenes
from generator.plan.two_objects import TwoObjectScenes
from generator.scene.layouts import draw_layout, facts

_LAYOUTS = 400


class SplitScenes:
    """Draws scenes for the splits of a holdout.

    Two objects differ in value and in category; with other numbers of objects values and categories may repeat. Within a
    split every value and every object is as frequent as every other, in all and at each place from left to right, up to
    one. Where the split itself favours some (partial, unseen), this holds among those that are held out with the same.
    """

    def __init__(self, rule: Rule):
        self._rule = rule
        self._pairs = TwoObjectScenes(rule)
        self._others = ManyObjectScenes(rule, self._pairs.conflicts)

    def draw(self, split: str, numbers: Sequence[int], stream: Stream) -> Iterator[Content]:
        """A scene for each of the `numbers` of objects. Raises UserError when there is none."""
        pairs = iter(self._pairs.draw(split, sum(n == 2 for n in numbers), stream))
        others = self._others.draw(split, [n for n in numbers if n != 2], stream)
        for n in numbers:
            yield self._laid_out(next(pairs) if n == 2 else next(others), split, stream)

    def _laid_out(self, arrangement: Arrangement, split: str, stream: Stream) -> Content:
        categories = [thing for _, thing in arrangement]
        for _ in range(_LAYOUTS):
            layout = draw_layout(categories, stream, self._rule.vocabulary)
            if not self._rule.holdout.triples:
                return Content(arrangement, layout, split)
            if self._rule.place(arrangement, facts(layout, self._rule.vocabulary)).split == split:
                return Content(arrangement, layout, split)
        raise no_scene(split, len(arrangement))
