"""Which samples of a benchmark a corpus has shown: labels of bindings, buckets of samples, partitions (BindSplit, appendix B.6, B.7)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.audits.familiarity.bindings import Binding

PERFECT, CLOSE, NONE = "perfect", "close", "none"
LABELS = (PERFECT, CLOSE, NONE)
SEEN, MIXED, UNSEEN = "seen", "mixed", "unseen"
BUCKETS = {
    frozenset({PERFECT}): "definitely_seen",
    frozenset({PERFECT, CLOSE}): "amb_perfect_close",
    frozenset({PERFECT, CLOSE, NONE}): "amb_mixed",
    frozenset({PERFECT, NONE}): "amb_perfect_none",
    frozenset({CLOSE}): "amb_close_only",
    frozenset({CLOSE, NONE}): "amb_close_none",
    frozenset({NONE}): "definitely_unseen",
}
"""The seven buckets by the labels that a sample's bindings have (table 19)."""
CLOSE_ONLY = "amb_close_only"
"""Labelled mixed, and kept out of evaluation."""


@dataclass(frozen=True)
class Sample:
    """A true and a false caption with the bindings of each. excluded: why the sample is in no bucket; "" where it is in one.

    question: whose captions these are, by default `item`. captions: the digest of all captions of the question. cluster: equal for
    samples that are not independent, such as those of one image, "" for a sample of its own. texts: the two captions. slot: that of the
    true one. again: whether another question asks the same once more, so that the sample counts there.
    """

    item: str
    positive: Sequence[Binding]
    negative: Sequence[Binding]
    excluded: str = ""
    question: str = ""
    captions: str = ""
    cluster: str = ""
    texts: tuple[str, str] = ("", "")
    slot: str = ""
    again: bool = False


@dataclass(frozen=True)
class Overlap:
    """The labels of a sample's bindings."""

    sample: Sample
    positive: Sequence[str]
    negative: Sequence[str]

    @property
    def labels(self) -> Counter[str]:
        """How many bindings have each label."""
        return Counter((*self.positive, *self.negative))

    @property
    def bucket(self) -> str:
        """One of BUCKETS."""
        return BUCKETS[frozenset(self.labels)]

    @property
    def partition(self) -> str:
        """SEEN, MIXED or UNSEEN."""
        return {"definitely_seen": SEEN, "definitely_unseen": UNSEEN}.get(self.bucket, MIXED)


def label(binding: Binding, counts: Mapping[Binding, tuple[int, int]]) -> str:
    """PERFECT where a phrase is this binding alone, CLOSE where one has it among other attributes, else NONE."""
    perfect, close = counts.get(binding, (0, 0))
    return PERFECT if perfect else CLOSE if close else NONE


def overlap(sample: Sample, counts: Mapping[Binding, tuple[int, int]]) -> Overlap:
    """The labels of a sample that is not excluded."""
    return Overlap(sample, *([label(each, counts) for each in side] for side in (sample.positive, sample.negative)))


def rates(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Shares of samples all of whose bindings are seen, and of those none of whose are (table 20): `strict` counts perfect
    matches alone, `loose` close ones too. NaN without samples."""
    n = len(overlaps) or float("nan")
    found = {}
    for name, counted in (("strict", {PERFECT}), ("loose", {PERFECT, CLOSE})):
        seen = [[each in counted for each in (*o.positive, *o.negative)] for o in overlaps]
        found[name] = {"seen": sum(map(all, seen)) / n, "unseen": sum(not any(each) for each in seen) / n}
    return found


def shares(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Shares of the bindings of positives and of negatives with each label (figure 3). NaN without bindings."""
    found = {}
    for side in ("positive", "negative"):
        labels = Counter(each for o in overlaps for each in getattr(o, side))
        n = sum(labels.values()) or float("nan")
        found[side] = {name: labels[name] / n for name in LABELS}
    return found
