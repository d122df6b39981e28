"""The design coverage: each object is seen with k of the n values (Uselis et al.;
docs/protocols.md, section 1)."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.designs.base import Design
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.syntax import check_kind
from generator.vocabulary.schema import Vocabulary

_OPTION = re.compile(
    r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?k=?(?P<least>\d+)(?:\.\.(?P<most>\d+))?"
)


class Coverage(Design):
    """Holds out all but k values of each object; one holdout for each k."""

    name = "coverage"
    counts: ClassVar[Mapping[str, int]] = {
        "train": 1000,
        "val": 50,
        "seen": 150,
        "partial": 150,
        "unseen": 150,
    }

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """The whole curve for two objects, k = 1 to n − 2: their unseen scenes need two unseen
        values per object."""
        return (f"k1..{len(vocabulary.values(vocabulary.tested)) - 2}",)

    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """One holdout per k.

        Each object is seen with k neighbours on a ring of all values in random order. The objects
        start at even distances around the ring, so the numbers of objects that values are seen with
        differ by at most 1. Bindings that are seen at k are also seen at k + 1.
        """
        option = " ".join(holdout_options)
        match = _OPTION.fullmatch(option)
        if match is None:
            raise UserError(
                f"Expected --holdout of the design coverage to be like k4 or k1..7, got '{option}'."
            )
        kind = check_kind(option, match["kind"], category=match["category"], vocabulary=vocabulary)
        values, objects = vocabulary.values(kind), list(vocabulary.objects)
        least, most = int(match["least"]), int(match["most"] or match["least"])
        if not 1 <= least <= most < len(values):
            raise UserError(
                f"--holdout {option}: {kind} has {len(values)} values, and at least one must stay "
                f"unseen with each object; k runs from 1 to {len(values) - 1}."
            )
        stream = Stream("coverage", block_seed, kind)
        # Values are a ring, and the objects start at even distances on it: so each value has
        # equally many objects, up to one.
        ring, shuffled_objects = stream.shuffled(values), stream.shuffled(objects)
        start_of = {
            category: i * len(values) // len(shuffled_objects)
            for i, category in enumerate(shuffled_objects)
        }
        holdouts = []
        for k in range(least, most + 1):
            bindings: list[Binding] = []
            for value in values:
                for category in objects:
                    # Each object sees the k values from its start on, so what is seen at k is seen
                    # at k + 1.
                    steps_from_start = (ring.index(value) - start_of[category]) % len(values)
                    if steps_from_start >= k:
                        bindings.append((value, category))
            holdouts.append(
                Holdout(
                    kind,
                    vocabulary.category,
                    values=tuple(values),
                    objects=tuple(objects),
                    block_seed=block_seed,
                    bindings=tuple(bindings),
                    design=self.name,
                    asked=(f"{kind}:{vocabulary.category}=k{k}",),
                )
            )
        return holdouts

    def may_lack(self, holdout: Holdout) -> tuple[str, ...]:
        """Small k may leave no cluster without held-out bindings (val, seen), large k none with
        only some (partial)."""
        return ("val", "seen", "partial")

    def summary(self, holdout: Holdout) -> str:
        """A one-line summary of what is held out."""
        k = holdout.asked[0].rpartition("k")[2]
        return (
            f"all but {k} of {len(holdout.values)} values of {holdout.kind} with each "
            f"{holdout.category}"
        )


DESIGN = Coverage()
