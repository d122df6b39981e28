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

_SPEC = re.compile(
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
        self, asked: Sequence[str], vocabulary: Vocabulary, block_seed: int, opposites: bool
    ) -> list[Holdout]:
        """One holdout per k.

        Each object is seen with k neighbours on a ring of all values in random order. The objects
        start at even distances around the ring, so the numbers of objects that values are seen with
        differ by at most 1. Bindings that are seen at k are also seen at k + 1.
        """
        match = _SPEC.fullmatch(asked[0]) if len(asked) == 1 else None
        if not match:
            raise UserError(
                f"Expected --holdout of the design coverage to be like k4 or k1..7, got "
                f"'{' '.join(asked)}'."
            )
        kind = check_kind(asked[0], match["kind"], match["category"], vocabulary)
        values, objects = vocabulary.values(kind), list(vocabulary.objects)
        least, most = int(match["least"]), int(match["most"] or match["least"])
        if not 1 <= least <= most < len(values):
            raise UserError(
                f"--holdout {asked[0]}: {kind} has {len(values)} values, and at least one must "
                f"stay unseen with each object; k runs from 1 to {len(values) - 1}."
            )
        stream = Stream("coverage", block_seed, kind)
        ring, things = stream.shuffled(values), stream.shuffled(objects)
        start = {thing: i * len(values) // len(things) for i, thing in enumerate(things)}
        made = []
        for k in range(least, most + 1):
            bindings: list[Binding] = [
                (value, thing)
                for value in values
                for thing in objects
                if (ring.index(value) - start[thing]) % len(values) >= k
            ]
            spec = f"{kind}:{vocabulary.category}=k{k}"
            made.append(
                Holdout(
                    kind,
                    vocabulary.category,
                    tuple(values),
                    tuple(objects),
                    block_seed,
                    tuple(bindings),
                    design=self.name,
                    asked=(spec,),
                )
            )
        return made

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
