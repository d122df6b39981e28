"""The counts of a part of a corpus: what every farm computes, wherever it runs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from evaluator.familiarity.bindings import normalised, unique
from evaluator.familiarity.corpora import CAPTIONS, Part
from evaluator.familiarity.reading import Reading

PAIR_COUNTS = pa.schema([
    ("attr", pa.string()), ("obj_lemma", pa.string()), ("perfect_count", pa.int64()), ("close_count", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """What was counted: captions, their phrases and those made elsewhere, and how many of these are bare nouns."""

    captions: int = 0
    phrases: int = 0
    bare: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.captions + other.captions, self.phrases + other.phrases, self.bare + other.bare)


def count_texts(part: Part, reading: Reading) -> tuple[pa.Table, Counted]:
    """How often the texts of a part show each binding (PAIR_COUNTS, a row for each binding), and what was counted."""
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    n = bare = 0
    for phrase in _phrases(part, reading):
        bindings = reading.of_phrase(phrase)
        if not bindings and not normalised(phrase):
            continue
        n += 1
        bare += not bindings
        (perfect if len(bindings) == 1 else close).update(unique(bindings))
    keys = list(perfect | close)
    columns = ([a for a, _ in keys], [o for _, o in keys], [perfect[key] for key in keys], [close[key] for key in keys])
    captions = len(part.texts) if part.kind == CAPTIONS else 0
    return pa.table(columns, schema=PAIR_COUNTS), Counted(captions, n, bare)


def _phrases(part: Part, reading: Reading) -> Iterator[str]:
    if part.kind != CAPTIONS:
        yield from part.texts
        return
    for caption in part.texts:
        yield from reading.phrases(caption)
