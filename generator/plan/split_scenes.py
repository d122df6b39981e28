"""Scenes for splits: bindings that are equally frequent, and layouts that suit the split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.base.streams import Stream
from generator.holdout.class_lists import OBJECTS, ClassRule, list_of
from generator.holdout.holdout import Binding, Triple
from generator.holdout.membership import Arrangement, Rule
from generator.plan.arrangements import Arrangements, no_scene
from generator.scene.layouts import Layout, draw_layout, facts

_LAYOUTS = 400


@dataclass(frozen=True)
class Content:
    """The bindings of a scene, left object first, their layout, and the split that the scene is made for.

    `named`: for a label (design gzsl) the objects in the order in which the label names them.
    """

    arrangement: Arrangement
    layout: Layout
    split: str
    named: tuple[int, ...] = ()


def split_scenes(rule: Rule, split: str, numbers: Sequence[int], stream: Stream) -> Iterator[Content]:
    """A scene of a split for each of the `numbers` of objects. Raises UserError when there is none."""
    for arrangement in Arrangements(rule).draw(split, numbers, stream):
        things = [thing for _, thing in arrangement]
        for _ in range(_LAYOUTS):
            layout = draw_layout(things, stream, rule.vocabulary)
            if not rule.holdout.triples or rule.place(arrangement, facts(layout, rule.vocabulary)).split == split:
                yield Content(arrangement, layout, split)
                break
        else:
            raise no_scene(split, len(arrangement))


class ClassScenes:
    """Draws scenes for class lists: every label of a split as often as every other, up to one."""

    def __init__(self, rule: ClassRule):
        self._rule = rule
        self._vocabulary = rule.vocabulary

    def draw(self, split: str, n: int, stream: Stream) -> Iterator[Content]:
        """`n` scenes of a split. The object that a label names first is at each place from left to right as often."""
        if self._rule.holdout.task == "relational":
            related = stream.shuffled(self._rule.related_labels(list_of(split)))
            yield from (self._related(related[i % len(related)], split, stream) for i in range(n))
            return
        labels = stream.shuffled(self._rule.labels(list_of(split)))
        if not labels:
            raise no_scene(split, OBJECTS[str(self._rule.holdout.task)])
        for i in range(n):
            rounds, which = divmod(i, len(labels))
            yield self._bound(labels[which], split, which + rounds, stream)

    def _bound(self, label: tuple[Binding, ...], split: str, turn: int, stream: Stream) -> Content:
        order = tuple((place + turn) % len(label) for place in range(len(label)))
        arrangement = tuple(label[order.index(place)] for place in range(len(label)))
        return Content(
            arrangement, draw_layout([thing for _, thing in arrangement], stream, self._vocabulary), split, order
        )

    def _related(self, label: Triple, split: str, stream: Stream) -> Content:
        subject, relation, thing = label
        values = stream.shuffled(self._vocabulary.values(self._rule.holdout.kind))[:2]
        for ends, order in (((subject, thing), (0, 1)), ((thing, subject), (1, 0))):
            for _ in range(100):
                layout = draw_layout(ends, stream, self._vocabulary)
                if (order[0], relation, order[1]) in facts(layout, self._vocabulary):
                    return Content(tuple(zip(values, ends, strict=True)), layout, split, order)
        raise no_scene(split, 2)
