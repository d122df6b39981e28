"""The audit of a benchmark against a corpus: buckets, rates, asymmetry, caveats, and their files (BindSplit,
appendix B)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.familiarity.counting import Counted
from evaluator.audits.familiarity.pair_counts import Shown
from evaluator.audits.familiarity.reading import Synonyms
from evaluator.audits.familiarity.samples import (
    BUCKETS,
    CLOSE_ONLY,
    MIXED,
    PERFECT,
    SEEN,
    UNSEEN,
    Overlap,
    Sample,
    overlap,
    rates,
    shares,
)
from evaluator.statistics.clusters import Clusters
from evaluator.statistics.crossed import CrossedMeans
from evaluator.statistics.intervals import LEVEL
from generator.base.files import write_text

_SPLITS = {
    **{bucket: (bucket,) for bucket in BUCKETS.values()},
    "ambiguous": tuple(bucket for bucket in BUCKETS.values() if bucket.startswith("amb_")),
    "any_overlap": ("definitely_seen", *(bucket for bucket in BUCKETS.values() if bucket.startswith("amb_"))),
}
"""The nine lists of samples that BindSplit publishes, by their buckets (appendix B.9)."""
_OVERLAP = ("row", "item", "positive", "negative", "bucket", "partition", "question", "captions")
_EXCLUDED = ("row", "item", "reason", "question", "captions")


@dataclass(frozen=True)
class Audit:
    """Samples in their order, the overlap of each that is not excluded, and what was counted of the corpus."""

    samples: Sequence[Sample]
    overlaps: Sequence[Overlap]
    counted: Counted
    pairs: int
    function_words: int

    def summary(self) -> dict[str, Any]:
        """The figures as JSON: shares in 0..1, None where there is nothing to divide.

        Of `bindings_mixed` are the mixed samples alone (figure 3, right); of `asymmetry_of` those of one true caption,
        where questions have several. `duplicates` repeat the image and both captions of another (appendix B.8).
        """
        samples = [each for each in self.samples if not each.again]
        overlaps = [each for each in self.overlaps if not each.sample.again]
        buckets = Counter(each.bucket for each in overlaps)
        partitions = Counter(each.partition for each in overlaps if each.bucket != CLOSE_ONLY)
        slots = sorted({each.sample.slot for each in overlaps})
        found = {
            "samples": len(samples),
            "excluded": dict(Counter(each.excluded for each in samples if each.excluded)),
            "buckets": {name: buckets[name] for name in BUCKETS.values()},
            "partitions": {name: partitions[name] for name in (SEEN, MIXED, UNSEEN)},
            "rates": rates(overlaps),
            "bindings": shares(overlaps),
            "bindings_mixed": shares([each for each in overlaps if each.partition == MIXED]),
            "asymmetry": _asymmetry(overlaps),
            "asymmetry_of": {
                slot: _asymmetry([each for each in overlaps if each.sample.slot == slot])
                for slot in slots
                if len(slots) > 1
            },
            "corpus": {
                "captions": self.counted.captions,
                "phrases": self.counted.phrases,
                "bare": self.counted.bare,
                "bindings": self.pairs,
                "function_words": self.function_words,
            },
            "duplicates": len(overlaps)
            - len({(each.sample.cluster or i, each.sample.texts) for i, each in enumerate(overlaps)}),
        }
        cleaned: dict[str, Any] = _without_nan(found)
        return cleaned

    def write(self, out: Path) -> None:
        """Write per_sample_overlap.tsv, excluded.tsv and the nine lists of row numbers in splits/."""
        (out / "splits").mkdir(parents=True, exist_ok=True)
        row_of = {id(sample): row for row, sample in enumerate(self.samples)}
        rows = []
        for each in self.overlaps:
            sides = (
                "; ".join(
                    f"{attribute} {noun}: {label}" for (attribute, noun), label in zip(bindings, labels, strict=True)
                )
                for bindings, labels in ((each.sample.positive, each.positive), (each.sample.negative, each.negative))
            )
            question = each.sample.question or each.sample.item
            rows.append(
                (
                    row_of[id(each.sample)],
                    each.sample.item,
                    *sides,
                    each.bucket,
                    each.partition,
                    question,
                    each.sample.captions,
                )
            )
        _write_tsv(out / "per_sample_overlap.tsv", _OVERLAP, rows)
        left_out = [
            (i, s.item, s.excluded, s.question or s.item, s.captions) for i, s in enumerate(self.samples) if s.excluded
        ]
        _write_tsv(out / "excluded.tsv", _EXCLUDED, left_out)
        for name, buckets in _SPLITS.items():
            members = [
                row_of[id(each.sample)] for each in self.overlaps if each.bucket in buckets and not each.sample.again
            ]
            write_text(out / "splits" / f"{name}.txt", "".join(f"{row}\n" for row in members))


def audit(
    samples: Sequence[Sample],
    shown: Shown,
    counted: Counted,
    synonyms: Synonyms | None = None,
) -> Audit:
    """Label the bindings of samples by what a corpus shows of them and of their synonyms."""
    asked = (each for sample in samples for each in (*sample.positive, *sample.negative))
    found = shown.counts if synonyms is None else synonyms.counts(asked, shown.counts)
    overlaps = [overlap(sample, found) for sample in samples if not sample.excluded]
    return Audit(samples, overlaps, counted, shown.bindings, shown.function_words)


def _write_tsv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table without quotes: a cell's tabs and line ends become spaces."""
    lines = ("\t".join(re.sub(r"[\t\r\n]", " ", str(cell)) for cell in cells) for cells in (columns, *rows))
    write_text(path, "".join(f"{line}\n" for line in lines))


def _asymmetry(overlaps: Sequence[Overlap]) -> dict[str, float]:
    """How much more of a positive's bindings are perfect than of its negative's: the mean over samples, and its 95%
    interval by clusters of samples, NaN for a single one."""
    each = np.array([_perfect(o.positive) - _perfect(o.negative) for o in overlaps])
    clusters = Clusters.of([o.sample.cluster or f"sample {i}" for i, o in enumerate(overlaps)])
    low, high = CrossedMeans(clusters).interval(each, LEVEL) if len(each) else (np.nan, np.nan)
    return {"value": float(each.mean()) if len(each) else np.nan, "low": low, "high": high}


def _perfect(labels: Sequence[str]) -> float:
    return sum(label == PERFECT for label in labels) / len(labels)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value
