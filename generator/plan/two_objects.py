"""Which values meet which objects in the scenes of a split, and in what layout, drawn so that all is balanced."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from generator.dataset.streams import Stream
from generator.holdout.membership import Arrangement, Fact, Rule, arrangements, cluster_of, held_out_facts
from generator.plan.balance.search import Family, choose_alike, choose_by_groups
from generator.plan.many_objects import Many, impossible
from generator.scene.layouts import Layout, draw_layout, facts

_LAYOUTS = 400
_MOST_GROUPS = 300  # of more no choice of scenes makes all equally frequent beside values and objects
_TRIALS = 40


@dataclass(frozen=True)
class Content:
    """What a scene shows: its bindings, left object first, and their layout; the split that it is made for; and for a label
    (design gzsl) the objects in the order in which the label names them."""

    arrangement: Arrangement
    layout: Layout
    split: str
    named: tuple[int, ...] = ()


class Contents:
    """Draws scenes for the splits of a holdout.

    Two objects differ in value and in category; with other numbers of objects values and categories may repeat. Within a
    split every value and every object is as frequent as every other, in all and at each place from left to right, up to
    one; where the split itself favours some (partial, unseen), as every other that is held out with the same.
    """

    def __init__(self, rule: Rule):
        self._rule, self._vocabulary, self._holdout = rule, rule.vocabulary, rule.holdout
        self._values = self._vocabulary.values(self._holdout.kind)
        self._objects = list(self._vocabulary.objects)
        self._many = Many(rule, self._conflicts)

    def draw(self, split: str, numbers: Sequence[int], stream: Stream) -> Iterator[Content]:
        """Contents for each of the `numbers` of objects. Raises UserError when there is none."""
        pairs = iter(self._draw_pairs(split, sum(n == 2 for n in numbers), stream))
        others = iter(self._many.draw(split, [n for n in numbers if n != 2], stream))
        for n in numbers:
            yield self._laid_out(next(pairs) if n == 2 else next(others), split, stream)

    def _draw_pairs(self, split: str, n: int, stream: Stream) -> list[Arrangement]:
        if n == 0:
            return []
        found = self._pairs.get(split)
        if not found:
            raise impossible(split, 2)
        # the split itself favours some of what is held out: even among what is held out with the same
        coarse = split not in ("train", "val", "seen") or not self._holdout.is_block
        tried: list[tuple[int, list[int]]] = []
        for grouped in (True, False):
            families = self._families(found, coarse, grouped)
            groups = families[-2]
            if grouped and groups.size > _MOST_GROUPS:
                continue
            for picks, excess in (
                choose_by_groups(families, groups.cells[:, 0], n, stream),
                choose_alike(families, n, stream),
            ):
                if not excess:
                    return [found[pick] for pick in picks]
                tried.append((excess, picks))
        picks = min(tried)[1]
        return [found[pick] for pick in picks]

    @cached_property
    def _pairs(self) -> dict[str, list[Arrangement]]:
        """The arrangements of two objects by split; where layouts decide, by every split that some layout gives."""
        found: dict[str, list[Arrangement]] = {}
        layouts = self._two_layouts
        for arrangement in arrangements(self._vocabulary, self._holdout.kind):
            options = layouts[arrangement[0][1], arrangement[1][1]] if layouts else [()]
            splits = dict.fromkeys(self._rule.place(arrangement, shown).split for shown in options)
            for split in splits:
                if split is not None:
                    found.setdefault(split, []).append(arrangement)
        return found

    @cached_property
    def _two_layouts(self) -> dict[tuple[str, str], list[tuple[Fact, ...]]]:
        """What held-out relations two objects can show, by their categories, left one first; empty where none are held out."""
        if not self._holdout.triples:
            return {}
        stream = Stream("layouts", self._holdout.block_seed)
        return {(a, b): self._shown_by(a, b, stream) for a, b in product(self._objects, repeat=2)}

    def _shown_by(self, first: str, second: str, stream: Stream) -> list[tuple[Fact, ...]]:
        found: dict[tuple[Fact, ...], None] = {}
        if not any({first, second} == {subject, thing} for subject, _, thing in self._holdout.triples):
            return [()]
        for _ in range(_TRIALS):
            shown = facts(draw_layout((first, second), stream, self._vocabulary), self._vocabulary)
            held = held_out_facts((("", first), ("", second)), shown, self._holdout)
            found[tuple(held)] = None
        return list(found)

    @cached_property
    def _conflicts(self) -> frozenset[tuple[str, str]]:
        """Pairs of categories that show a held-out triple in every layout, left one first."""
        return frozenset(pair for pair, layouts in self._two_layouts.items() if all(layouts))

    def _families(self, found: Sequence[Arrangement], coarse: bool, grouped: bool) -> list[Family]:
        """What shall be even among pairs: values and objects, in all and by place; then groups, then arrangements.

        `coarse`: only among values, or objects, that are held out with the same; `grouped`: groups up to one as well.
        """
        values = np.array([[self._values.index(value) for value, _ in arrangement] for arrangement in found])
        objects = np.array([[self._objects.index(thing) for _, thing in arrangement] for arrangement in found])
        like_value = _numbered([self._holdout.value_like(value) if coarse else () for value in self._values])
        like_object = _numbered([self._holdout.object_like(thing) if coarse else () for thing in self._objects])
        made = [
            _family(cells[:, places], classes, 4)
            for cells, classes in ((values, like_value), (objects, like_object))
            for places in ([0], [1], [0, 1])
        ]
        groups = _numbered([cluster_of(arrangement) for arrangement in found])
        for cells, weight in ((groups, 3), (np.arange(len(found)), 1)):
            made.append(
                _family(
                    cells[:, None], np.zeros(int(cells.max()) + 1, np.int64), weight, strict=weight == 3 and grouped
                )
            )
        return made

    def _laid_out(self, arrangement: Arrangement, split: str, stream: Stream) -> Content:
        categories = [thing for _, thing in arrangement]
        for _ in range(_LAYOUTS):
            layout = draw_layout(categories, stream, self._vocabulary)
            if not self._holdout.triples:
                return Content(arrangement, layout, split)
            if self._rule.place(arrangement, facts(layout, self._vocabulary)).split == split:
                return Content(arrangement, layout, split)
        raise impossible(split, len(arrangement))


def _numbered(names: Sequence[object]) -> np.ndarray:
    """Equal things by equal numbers, in the order in which they first come."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def _family(cells: np.ndarray, classes: np.ndarray, weight: int, strict: bool = True) -> Family:
    """The family of cells that some candidate fills; others would look empty for ever."""
    used, renumbered = np.unique(cells, return_inverse=True)
    return Family(renumbered.reshape(cells.shape), _numbered(classes[used].tolist()), weight, strict)
