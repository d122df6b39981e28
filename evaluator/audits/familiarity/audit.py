"""The audit of a benchmark against a corpus: labels, buckets, rates, asymmetry, and their files
(BindSplit, appendix B)."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.familiarity.corpora import CAPTIONS, Part, parts
from evaluator.audits.familiarity.corpus_files import Corpus
from evaluator.audits.familiarity.counting import Counted, Shown, count_texts, is_table
from evaluator.audits.familiarity.samples import Sample
from evaluator.provenance.captions import Binding, Reading, Synonyms, normalised
from evaluator.statistics.intervals import LEVEL
from generator.base.clusters import Clusters
from generator.base.crossed import OF_SHARES, CrossedMeans
from generator.base.files import read_json, write_json, write_text
from generator.base.progress import SILENT, Progress

PERFECT, CLOSE, NONE = "perfect", "close", "none"
SEEN, MIXED, UNSEEN = "seen", "mixed", "unseen"
CLOSE_ONLY = "amb_close_only"
"""A bucket of the partition mixed that is left out of evaluation."""
BUCKETS = {
    frozenset({PERFECT}): "definitely_seen",
    frozenset({PERFECT, CLOSE}): "amb_perfect_close",
    frozenset({PERFECT, CLOSE, NONE}): "amb_mixed",
    frozenset({PERFECT, NONE}): "amb_perfect_none",
    frozenset({CLOSE}): CLOSE_ONLY,
    frozenset({CLOSE, NONE}): "amb_close_none",
    frozenset({NONE}): "definitely_unseen",
}
"""Set of labels of a sample's bindings → one of seven buckets (table 19)."""
_MOMENTS = 1e-9
"""The factor of the prior guesses of `CrossedMeans` at which they count nothing."""
_AMBIGUOUS = tuple(bucket for bucket in BUCKETS.values() if bucket.startswith("amb_"))
_SPLITS = {
    **{bucket: (bucket,) for bucket in BUCKETS.values()},
    "ambiguous": _AMBIGUOUS,
    "any_overlap": ("definitely_seen", *_AMBIGUOUS),
}
"""The nine lists of samples that BindSplit publishes, by their buckets (appendix B.9)."""
MANY = 0.5
"""A corpus with at least this share of a benchmark's true captions is their source: it shows the
true captions and none of the false captions."""


def label(binding: Binding, counts: Mapping[Binding, tuple[int, int]]) -> str:
    """PERFECT if a phrase has only this binding, CLOSE if a phrase has it among others, else
    NONE."""
    perfect, close = counts.get(binding, (0, 0))
    return PERFECT if perfect else CLOSE if close else NONE


@dataclass(frozen=True)
class Overlap:
    """The labels of a sample's bindings."""

    sample: Sample
    positive: Sequence[str]
    negative: Sequence[str]

    @property
    def bucket(self) -> str:
        """One of BUCKETS."""
        return BUCKETS[frozenset((*self.positive, *self.negative))]

    @property
    def partition(self) -> str:
        """SEEN, MIXED or UNSEEN."""
        return {"definitely_seen": SEEN, "definitely_unseen": UNSEEN}.get(self.bucket, MIXED)

    @property
    def asymmetry(self) -> float:
        """Share of perfect bindings in the positive minus the negative's, −1..1; NaN if either has
        no bindings."""
        if not (self.positive and self.negative):
            return float("nan")
        positive, negative = (
            side.count(PERFECT) / len(side) for side in (self.positive, self.negative)
        )
        return positive - negative


def rates(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Shares of samples with all bindings seen, and with no binding seen (table 20). Seen are
    perfect matches in `strict`, perfect and close matches in `loose`. NaN without samples."""
    n = len(overlaps) or float("nan")
    found = {}
    for name, counted in (("strict", {PERFECT}), ("loose", {PERFECT, CLOSE})):
        seen = [[each in counted for each in (*o.positive, *o.negative)] for o in overlaps]
        found[name] = {
            "seen": sum(map(all, seen)) / n,
            "unseen": sum(not any(each) for each in seen) / n,
        }
    return found


def shares(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Shares of the bindings of positives and of negatives with each label (figure 3). NaN without
    bindings."""
    found = {}
    for side in ("positive", "negative"):
        labels = Counter(each for o in overlaps for each in getattr(o, side))
        n = sum(labels.values()) or float("nan")
        found[side] = {name: labels[name] / n for name in (PERFECT, CLOSE, NONE)}
    return found


@dataclass(frozen=True)
class Audit:
    """samples: in order. overlaps: of samples that are not excluded. counted: numbers of texts in
    the corpus. shown: the corpus's counts of bindings."""

    samples: Sequence[Sample]
    overlaps: Sequence[Overlap]
    counted: Counted
    shown: Shown

    def summary(self) -> dict[str, Any]:
        """The results as JSON: shares in 0..1, None instead of NaN.

        `bindings_mixed`: of mixed samples only (figure 3, right). `asymmetry_of`: by slot of the
        true caption, if there
        are several. `duplicates`: samples that repeat the image and both captions of another
        (appendix B.8).
        """
        samples = [each for each in self.samples if not each.is_duplicate]
        overlaps = [each for each in self.overlaps if not each.sample.is_duplicate]
        buckets = Counter(each.bucket for each in overlaps)
        partitions = Counter(each.partition for each in overlaps if each.bucket != CLOSE_ONLY)
        of_slot = {
            slot: [each for each in overlaps if each.sample.slot == slot]
            for slot in sorted({each.sample.slot for each in overlaps})
        }
        apart = {(each.sample.cluster or i, each.sample.texts) for i, each in enumerate(overlaps)}
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
                slot: _asymmetry(some) for slot, some in of_slot.items() if len(of_slot) > 1
            },
            "corpus": {
                "captions": self.counted.captions,
                "phrases": self.counted.phrases,
                "bare": self.counted.bare,
                "bindings": self.shown.bindings,
                "function_words": self.shown.function_words,
            },
            "duplicates": len(overlaps) - len(apart),
        }
        cleaned: dict[str, Any] = _without_nan(found)
        return cleaned

    def write(self, out: Path) -> None:
        """Write per_sample_overlap.tsv, excluded.tsv and the nine lists of row numbers in
        splits/."""
        (out / "splits").mkdir(parents=True, exist_ok=True)
        overlap_of = {id(each.sample): each for each in self.overlaps}
        inside, left_out = [], []
        members: dict[str, list[int]] = {name: [] for name in _SPLITS}
        for row, sample in enumerate(self.samples):
            question = (sample.question or sample.item, sample.captions)
            if sample.excluded:
                left_out.append((row, sample.item, sample.excluded, *question))
                continue
            each = overlap_of[id(sample)]
            sides = (_said(sample.positive, each.positive), _said(sample.negative, each.negative))
            inside.append((row, sample.item, *sides, each.bucket, each.partition, *question))
            for name, buckets in _SPLITS.items():
                if each.bucket in buckets and not sample.is_duplicate:
                    members[name].append(row)
        columns = (
            "row",
            "item",
            "positive",
            "negative",
            "bucket",
            "partition",
            "question",
            "captions",
        )
        _write_tsv(out / "per_sample_overlap.tsv", columns, inside)
        _write_tsv(
            out / "excluded.tsv", ("row", "item", "reason", "question", "captions"), left_out
        )
        for name, rows in members.items():
            write_text(out / "splits" / f"{name}.txt", "".join(f"{row}\n" for row in rows))


def audit(
    samples: Sequence[Sample], shown: Shown, counted: Counted, synonyms: Synonyms | None = None
) -> Audit:
    """Label the bindings of samples by a corpus's counts of the bindings and their synonyms."""
    asked = (each for sample in samples for each in (*sample.positive, *sample.negative))
    counts = shown.counts if synonyms is None else synonyms.counts(asked, shown.counts)
    overlaps = [
        Overlap(
            sample,
            *(
                [label(each, counts) for each in side]
                for side in (sample.positive, sample.negative)
            ),
        )
        for sample in samples
        if not sample.excluded
    ]
    return Audit(samples, overlaps, counted, shown)


def _said(bindings: Sequence[Binding], labels: Sequence[str]) -> str:
    return "; ".join(
        f"{' '.join(binding)}: {label}" for binding, label in zip(bindings, labels, strict=True)
    )


def _write_tsv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table without quotes: a cell's tabs and line ends become spaces."""
    lines = (
        "\t".join(re.sub(r"[\t\r\n]", " ", str(cell)) for cell in cells)
        for cells in (columns, *rows)
    )
    write_text(path, "".join(f"{line}\n" for line in lines))


def _asymmetry(overlaps: Sequence[Overlap]) -> dict[str, float]:
    """The mean asymmetry of samples with bindings in both captions, and its 95% interval by
    clusters of samples; the interval is NaN for a single cluster."""
    both = [o for o in overlaps if o.positive and o.negative]
    each = np.array([o.asymmetry for o in both])
    clusters = Clusters.of([o.sample.cluster or f"sample {i}" for i, o in enumerate(both)])
    low, high = np.nan, np.nan
    if len(each):
        # The prior guesses are about effects on a model's answers; captions have no such effects.
        low, high = (
            CrossedMeans(clusters, prior=OF_SHARES.weakened(_MOMENTS))
            .estimate(each)
            .vocabulary.interval(LEVEL)
        )
    return {"value": float(each.mean()) if len(each) else np.nan, "low": low, "high": high}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def true_captions(samples: Sequence[Sample]) -> set[str]:
    """The distinct true captions of samples, normalised."""
    return {normalised(sample.texts[0]) for sample in samples}


def own_texts(
    corpus: Corpus, captions: set[str], counts: Path, progress: Progress = SILENT
) -> list[str]:
    """The captions of a corpus that are in `captions`, duplicates included; skips tables and
    phrases.

    counts: the corpus's folder of counts (`count_corpus`), which caches them.
    """
    digest = hashlib.sha256("\n".join(sorted(captions)).encode()).hexdigest()[:16]
    kept = counts / f"own-{digest}.json"
    if not kept.exists():
        with progress.track("own captions", None) as advance:
            found = []
            for part in (
                part for file in corpus.files if not is_table(file) for part in parts(file)
            ):
                found += [
                    text
                    for text in part.texts
                    if part.kind == CAPTIONS and normalised(text) in captions
                ]
                advance(len(part.texts))
        write_json(kept, {"texts": found})
    texts: list[str] = read_json(kept)["texts"]
    return texts


def without(shown: Shown, texts: list[str], reading: Reading) -> Shown:
    """Subtract the counts of the captions `texts` from the counts of a corpus."""
    table, _ = count_texts(Part(Path(), 0, CAPTIONS, texts), reading)
    counts = dict(shown.counts)
    for attr, obj, *taken in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if (attr, obj) in counts:
            perfect, close = counts[attr, obj]
            counts[attr, obj] = (perfect - taken[0], close - taken[1])
    return replace(shown, counts=counts)
