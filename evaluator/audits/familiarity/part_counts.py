"""The counts of a part of a corpus: what every farm computes, wherever it runs."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from evaluator.audits.familiarity.bindings import normalised, unique
from evaluator.audits.familiarity.corpora import Part
from evaluator.audits.familiarity.entries import CAPTIONS, EMPTY
from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS
from evaluator.audits.familiarity.reading import Reading


@dataclass(frozen=True)
class Counted:
    """What was counted: captions, their phrases and those made elsewhere, how many of these are bare nouns, and tables of counts. left_out:
    entries that are none of these, by reason."""

    captions: int = 0
    phrases: int = 0
    bare: int = 0
    tables: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(
            self.captions + other.captions,
            self.phrases + other.phrases,
            self.bare + other.bare,
            self.tables + other.tables,
            dict(Counter(self.left_out) + Counter(other.left_out)),
        )


def count_texts(part: Part, reading: Reading) -> tuple[pa.Table, Counted]:
    """How often the texts of a part show each binding (PAIR_COUNTS, a row for each binding), and what was counted."""
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    left_out = Counter(part.left_out)
    n = bare = 0
    for phrase in _phrases(part, reading):
        bindings = reading.of_phrase(phrase)
        if not bindings and not normalised(phrase):
            left_out[EMPTY] += 1
            continue
        n += 1
        bare += not bindings
        (perfect if len(bindings) == 1 else close).update(unique(bindings))
    keys = list(perfect | close)
    columns = ([a for a, _ in keys], [o for _, o in keys], [perfect[key] for key in keys], [close[key] for key in keys])
    captions = len(part.texts) if part.kind == CAPTIONS else 0
    return pa.table(columns, schema=PAIR_COUNTS), Counted(captions, n, bare, left_out=dict(left_out))


def _phrases(part: Part, reading: Reading) -> Iterator[str]:
    if part.kind != CAPTIONS:
        yield from part.texts
        return
    for caption in part.texts:
        yield from reading.phrases(caption)
