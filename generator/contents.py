"""Which values meet which objects in the scenes of a split, drawn so that all is balanced."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import cycle, product

from generator.dataset.errors import UserError
from generator.splits import Arrangement, Binding, SplitPlan, arrangements, cluster_of
from generator.streams import Stream

_TRIES = 2_000


class Contents:
    """Draws arrangements for the splits of a plan.

    Two objects differ in value and in category, and within a split every group of scenes is as frequent as every
    other. With other numbers of objects values and categories may repeat; there are too many groups to balance, so
    the bindings are balanced instead.
    """

    def __init__(self, splits: SplitPlan):
        block, vocabulary = splits.holdout, splits.vocabulary
        values = [value for value in vocabulary.values(block.kind) if value not in block.values]
        objects = [thing for thing in vocabulary.objects if thing not in block.objects]
        self._splits = splits
        self._bindings = {
            "held out": list(product(block.values, block.objects)),
            "value of the block": list(product(block.values, objects)),
            "object of the block": list(product(values, block.objects)),
            "neither": list(product(values, objects)),
        }
        self._bindings["seen"] = [b for name, all_of in self._bindings.items() if name != "held out" for b in all_of]

    def draw(self, split: str, numbers: Sequence[int], stream: Stream) -> Iterator[Arrangement]:
        """An arrangement for each of the `numbers` of objects, left object first. Raises UserError when there is none."""
        pairs = self._draw_pairs(split, stream) if 2 in numbers else iter(())
        decks = {name: _Deck(bindings, stream) for name, bindings in self._bindings.items()}
        for n in numbers:
            arrangement = next(pairs, None) if n == 2 else self._draw_many(split, n, decks, stream)
            if arrangement is None:
                raise UserError(
                    f"This block leaves no scene of {n} object{'s' * (n > 1)} for the split {split}: try another --block-seed, "
                    f"hold out less, or add values or objects."
                )
            yield arrangement

    @cached_property
    def _pairs(self) -> dict[str | None, dict[str, list[Arrangement]]]:
        """The arrangements of two objects by split and group."""
        found: dict[str | None, dict[str, list[Arrangement]]] = {}
        for arrangement in arrangements(self._splits.vocabulary, self._splits.holdout.kind):
            groups = found.setdefault(self._splits.place(arrangement).split, {})
            groups.setdefault(cluster_of(arrangement), []).append(arrangement)
        return found

    def _draw_pairs(self, split: str, stream: Stream) -> Iterator[Arrangement]:
        """Round and round the groups of a split, each time the next arrangement of a group."""
        groups = self._pairs.get(split, {})
        rounds = [cycle(stream.shuffled(groups[name])) for name in stream.shuffled(list(groups))]
        return (next(group) for group in cycle(rounds))

    def _draw_many(self, split: str, n: int, decks: dict[str, "_Deck"], stream: Stream) -> Arrangement | None:
        for _ in range(_TRIES):
            names = self._choose_decks(split, n, stream)
            arrangement = tuple(decks[name].deal() for name in names)
            if self._splits.place(arrangement).split == split:
                return arrangement
            for name, binding in zip(names, arrangement, strict=True):
                decks[name].put_back(binding)
        return None

    def _choose_decks(self, split: str, n: int, stream: Stream) -> list[str]:
        """Decks from which n objects can be dealt so that the scene may belong to the split.

        In an evaluation split either all values are from the block, or none, or all objects are, or none. Which of
        them is drawn so that all bindings without a part in the block's other side become equally frequent.
        """
        if split == "unseen":
            return ["held out"] * n
        if split == "train":
            return ["seen"] * n
        sides = [len(self._bindings[name]) for name in ("value of the block", "object of the block")]
        side = "value of the block" if stream.below(sum(sides)) < sides[0] else "object of the block"
        if split == "partial":
            k = 1 + stream.below(n - 1)
            return stream.shuffled(["held out"] * k + [side] * (n - k))
        return [side if stream.below(len(self._bindings["seen"])) < sum(sides) else "neither" for _ in range(n)]


class _Deck:
    """Deals bindings in random order, each as often as every other but for the few that are still in the pile."""

    def __init__(self, bindings: Sequence[Binding], stream: Stream):
        self._bindings, self._stream = bindings, stream
        self._pile: list[Binding] = []

    def deal(self) -> Binding:
        if not self._pile:
            self._pile = list(self._bindings)
        i = self._stream.below(len(self._pile))
        self._pile[i], self._pile[-1] = self._pile[-1], self._pile[i]
        return self._pile.pop()

    def put_back(self, binding: Binding) -> None:
        """Take a binding back; a small pile is filled up, or the same few bindings would be dealt again."""
        self._pile.append(binding)
        if len(self._pile) < len(self._bindings):
            self._pile += self._bindings
