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

from evaluator.audits.familiarity.corpora import CAPTIONS, TextPart, parts
from evaluator.audits.familiarity.corpus_files import Corpus
from evaluator.audits.familiarity.counting import CorpusCounts, TextCounts, count_texts, is_table
from evaluator.audits.familiarity.samples import Sample
from evaluator.provenance.captions import Binding, Reading, Synonyms, normalised
from evaluator.statistics.intervals import LEVEL
from generator.base.clusters import Clusters
from generator.base.crossed import OF_SHARES, CrossedMeans
from generator.base.files import read_json, write_json, write_text
from generator.base.progress import SILENT, Progress

PERFECT, CLOSE, NONE = "perfect", "close", "none"
"""Labels of a binding: a phrase of the corpus has it alone, among others, or no phrase has it."""
SEEN, MIXED, UNSEEN = "seen", "mixed", "unseen"
"""Partitions of the samples."""
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
_PARTITION_OF_BUCKET = {"definitely_seen": SEEN, "definitely_unseen": UNSEEN}
"""{bucket: partition}; all other buckets are MIXED."""
_NO_PRIOR = 1e-9
"""The factor of the prior guesses of `CrossedMeans` at which they count nothing."""
_AMBIGUOUS = tuple(bucket for bucket in BUCKETS.values() if bucket.startswith("amb_"))
"""The buckets of samples whose bindings have labels of several kinds, or are close alone."""
_SPLITS = {
    **{bucket: (bucket,) for bucket in BUCKETS.values()},
    "ambiguous": _AMBIGUOUS,
    "any_overlap": ("definitely_seen", *_AMBIGUOUS),
}
"""The nine lists of samples that BindSplit publishes, by their buckets (appendix B.9)."""
_SAMPLE_COLUMNS = (
    "row",
    "item",
    "positive",
    "negative",
    "bucket",
    "partition",
    "question",
    "captions",
)
_EXCLUDED_COLUMNS = ("row", "item", "reason", "question", "captions")
"""The columns of per_sample_overlap.tsv and of excluded.tsv."""
MANY = 0.5
"""A corpus with at least this share of a benchmark's true captions is their source: it shows the
true captions and none of the false captions."""


def label(binding: Binding, counts: Mapping[Binding, tuple[int, int]]) -> str:
    """Label a binding by a corpus.

    Args:
        binding: The binding.
        counts: {binding: (perfect, close)} of the corpus.

    Returns:
        PERFECT if a phrase has only this binding, CLOSE if a phrase has it among others, else NONE.

    Example:
        >>> label(("red", "cube"), {("red", "cube"): (0, 2)})
        'close'
    """
    perfect, close = counts.get(binding, (0, 0))
    if perfect:
        return PERFECT
    return CLOSE if close else NONE


@dataclass(frozen=True)
class Overlap:
    """The labels of a sample's bindings."""

    sample: Sample
    """The sample, which is not excluded."""
    positive: Sequence[str]
    """The label of each binding of the true caption."""
    negative: Sequence[str]
    """The label of each binding of the false caption."""

    @property
    def bucket(self) -> str:
        """One of BUCKETS."""
        return BUCKETS[frozenset((*self.positive, *self.negative))]

    @property
    def partition(self) -> str:
        """SEEN, MIXED or UNSEEN."""
        return _PARTITION_OF_BUCKET.get(self.bucket, MIXED)

    @property
    def asymmetry(self) -> float:
        """Share of perfect bindings in the positive minus the negative's, −1..1; NaN if either has
        no bindings."""
        if not (self.positive and self.negative):
            return float("nan")
        positive = self.positive.count(PERFECT) / len(self.positive)
        negative = self.negative.count(PERFECT) / len(self.negative)
        return positive - negative


def rates(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Compute the shares of samples with all bindings seen, and with no binding seen (table 20).

    Args:
        overlaps: The samples.

    Returns:
        {strictness: {"seen": share, "unseen": share}}. Seen are perfect matches in `strict`,
        perfect and close matches in `loose`. NaN without samples.
    """
    # NaN in place of 0, so that shares without samples are unknown and not an error.
    samples = len(overlaps) or float("nan")
    rates_of = {}
    for name, seen_labels in (("strict", {PERFECT}), ("loose", {PERFECT, CLOSE})):
        all_seen = 0
        none_seen = 0
        for overlap in overlaps:
            matches = (*overlap.positive, *overlap.negative)
            is_seen = [match in seen_labels for match in matches]
            all_seen += all(is_seen)
            none_seen += not any(is_seen)
        rates_of[name] = {"seen": all_seen / samples, "unseen": none_seen / samples}
    return rates_of


def shares(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """Compute the shares of bindings with each label (figure 3).

    Args:
        overlaps: The samples.

    Returns:
        {side: {label: share}} for the bindings of positives and of negatives. NaN without bindings.
    """
    shares_of = {}
    for side in ("positive", "negative"):
        labels: Counter[str] = Counter()
        for overlap in overlaps:
            labels.update(getattr(overlap, side))
        bindings = sum(labels.values()) or float("nan")
        shares_of[side] = {name: labels[name] / bindings for name in (PERFECT, CLOSE, NONE)}
    return shares_of


@dataclass(frozen=True)
class FamiliarityAudit:
    """The audit of a benchmark against a corpus."""

    samples: Sequence[Sample]
    """All samples, in order."""
    overlaps: Sequence[Overlap]
    """The labels of samples that are not excluded."""
    text_counts: TextCounts
    """How many texts the corpus has."""
    corpus_counts: CorpusCounts
    """The corpus's counts of bindings."""

    def summary(self) -> dict[str, Any]:
        """Make the results as JSON.

        Returns:
            Shares in 0..1, None instead of NaN. `bindings_mixed`: of mixed samples only (figure 3,
            right). `asymmetry_of`: by slot of the true caption, if there are several. `duplicates`:
            samples that repeat the image and both captions of another (appendix B.8).
        """
        # Questions that unite the captions of others would count these twice.
        samples = [sample for sample in self.samples if not sample.is_duplicate]
        excluded = Counter(sample.excluded for sample in samples if sample.excluded)
        overlaps = [overlap for overlap in self.overlaps if not overlap.sample.is_duplicate]

        # Buckets count all samples, partitions only those that are evaluated.
        buckets = Counter(overlap.bucket for overlap in overlaps)
        evaluated = [overlap for overlap in overlaps if overlap.bucket != CLOSE_ONLY]
        partitions = Counter(overlap.partition for overlap in evaluated)
        mixed = [overlap for overlap in overlaps if overlap.partition == MIXED]

        distinct = set()
        for place, overlap in enumerate(overlaps):
            # Samples without a cluster have images of their own.
            distinct.add((overlap.sample.cluster or place, overlap.sample.texts))
        summary = {
            "samples": len(samples),
            "excluded": dict(excluded),
            "buckets": {name: buckets[name] for name in BUCKETS.values()},
            "partitions": {name: partitions[name] for name in (SEEN, MIXED, UNSEEN)},
            "rates": rates(overlaps),
            "bindings": shares(overlaps),
            "bindings_mixed": shares(mixed),
            "asymmetry": _asymmetry(overlaps),
            "asymmetry_of": _asymmetry_by_slot(overlaps),
            "corpus": {
                "captions": self.text_counts.captions,
                "phrases": self.text_counts.phrases,
                "bare": self.text_counts.bare,
                "bindings": self.corpus_counts.bindings,
                "function_words": self.corpus_counts.function_words,
            },
            "duplicates": len(overlaps) - len(distinct),
        }
        cleaned: dict[str, Any] = _without_nan(summary)
        return cleaned

    def write(self, out: Path) -> None:
        """Write per_sample_overlap.tsv, excluded.tsv and the nine lists of row numbers in splits/.

        Args:
            out: The folder; created if it does not exist.
        """
        (out / "splits").mkdir(parents=True, exist_ok=True)
        # By identity: samples of one content are equal.
        overlap_of = {id(overlap.sample): overlap for overlap in self.overlaps}
        labelled, excluded = [], []
        rows_of: dict[str, list[int]] = {name: [] for name in _SPLITS}
        for row, sample in enumerate(self.samples):
            question = (sample.question or sample.item, sample.captions)
            if sample.excluded:
                excluded.append((row, sample.item, sample.excluded, *question))
                continue
            overlap = overlap_of[id(sample)]
            positive = _label_text(sample.positive, overlap.positive)
            negative = _label_text(sample.negative, overlap.negative)
            group = (overlap.bucket, overlap.partition)
            labelled.append((row, sample.item, positive, negative, *group, *question))
            for name, buckets in _SPLITS.items():
                if overlap.bucket in buckets and not sample.is_duplicate:
                    rows_of[name].append(row)
        _write_tsv(out / "per_sample_overlap.tsv", _SAMPLE_COLUMNS, labelled)
        _write_tsv(out / "excluded.tsv", _EXCLUDED_COLUMNS, excluded)
        for name, rows in rows_of.items():
            write_text(out / "splits" / f"{name}.txt", "".join(f"{row}\n" for row in rows))


def audit(
    samples: Sequence[Sample],
    corpus_counts: CorpusCounts,
    text_counts: TextCounts,
    synonyms: Synonyms | None = None,
) -> FamiliarityAudit:
    """Label the bindings of samples by a corpus.

    Args:
        samples: The samples.
        corpus_counts: The corpus's counts of their bindings and of the bindings' synonyms.
        text_counts: How many texts the corpus has.
        synonyms: Words that count as one; None: each word counts alone.

    Returns:
        The audit.
    """
    counts = corpus_counts.counts
    if synonyms is not None:
        bindings = []
        for sample in samples:
            bindings += [*sample.positive, *sample.negative]
        counts = synonyms.counts(bindings, counts)
    overlaps = []
    for sample in samples:
        if not sample.excluded:
            positive = [label(binding, counts) for binding in sample.positive]
            negative = [label(binding, counts) for binding in sample.negative]
            overlaps.append(Overlap(sample, positive, negative))
    return FamiliarityAudit(samples, overlaps, text_counts, corpus_counts)


def _label_text(bindings: Sequence[Binding], labels: Sequence[str]) -> str:
    """Bindings with their labels, as a cell of a table."""
    pairs = zip(bindings, labels, strict=True)
    return "; ".join(f"{' '.join(binding)}: {name}" for binding, name in pairs)


def _write_tsv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table without quotes: a cell's tabs and line ends become spaces."""
    lines = []
    for cells in (columns, *rows):
        texts = [re.sub(r"[\t\r\n]", " ", str(cell)) for cell in cells]
        lines.append("\t".join(texts) + "\n")
    write_text(path, "".join(lines))


def _asymmetry(overlaps: Sequence[Overlap]) -> dict[str, float]:
    """The mean asymmetry of samples with bindings in both captions, and its 95% interval by
    clusters of samples; the interval is NaN for a single cluster."""
    both = [overlap for overlap in overlaps if overlap.positive and overlap.negative]
    if not both:
        return {"value": np.nan, "low": np.nan, "high": np.nan}
    asymmetries = np.array([overlap.asymmetry for overlap in both])
    names = []
    for place, overlap in enumerate(both):
        names.append(overlap.sample.cluster or f"sample {place}")
    # The prior guesses are about effects on a model's answers; captions have no such effects.
    means = CrossedMeans(Clusters.from_names(names), prior=OF_SHARES.weakened(_NO_PRIOR))
    low, high = means.estimate(asymmetries).vocabulary.interval(LEVEL)
    return {"value": float(asymmetries.mean()), "low": low, "high": high}


def _asymmetry_by_slot(overlaps: Sequence[Overlap]) -> dict[str, dict[str, float]]:
    """{slot of the true caption: the asymmetry of its samples}; {} for a single slot."""
    slots = sorted({overlap.sample.slot for overlap in overlaps})
    if len(slots) < 2:
        return {}
    asymmetries = {}
    for slot in slots:
        of_slot = [overlap for overlap in overlaps if overlap.sample.slot == slot]
        asymmetries[slot] = _asymmetry(of_slot)
    return asymmetries


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(member) for name, member in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def true_captions(samples: Sequence[Sample]) -> set[str]:
    """Collect the true captions of samples.

    Args:
        samples: The samples.

    Returns:
        The distinct captions, normalised.
    """
    return {normalised(sample.texts[0]) for sample in samples}


def own_texts(
    corpus: Corpus, captions: set[str], counts: Path, progress: Progress = SILENT
) -> list[str]:
    """Find the captions of a corpus that are a benchmark's own. Tables and phrases are skipped.

    Args:
        corpus: The corpus.
        captions: The benchmark's captions, normalised.
        counts: The corpus's folder of counts (`count_corpus`), which caches the result.
        progress: Told of the texts that are read.

    Returns:
        The captions as the corpus has them, duplicates included.
    """
    # The cache is one of these captions, whatever their order.
    lines = "\n".join(sorted(captions))
    digest = hashlib.sha256(lines.encode()).hexdigest()[:16]
    cache = counts / f"own-{digest}.json"
    if not cache.exists():
        own = []
        with progress.track("own captions", None) as advance:
            for file in corpus.files:
                if is_table(file):
                    continue
                for part in parts(file):
                    if part.kind == CAPTIONS:
                        own += [text for text in part.texts if normalised(text) in captions]
                    advance(len(part.texts))
        write_json(cache, {"texts": own})
    texts: list[str] = read_json(cache)["texts"]
    return texts


def without(corpus_counts: CorpusCounts, texts: list[str], reading: Reading) -> CorpusCounts:
    """Subtract captions from the counts of a corpus.

    Args:
        corpus_counts: The counts.
        texts: Captions of the corpus.
        reading: How the corpus was read.

    Returns:
        The counts of the corpus without these captions.
    """
    table, _ = count_texts(TextPart(Path(), 0, CAPTIONS, texts), reading)
    counts = dict(corpus_counts.counts)
    columns = [column.to_pylist() for column in table.columns]
    for attribute, object_, own_perfect, own_close in zip(*columns, strict=True):
        binding = (attribute, object_)
        # Only bindings of the benchmark were counted in the corpus.
        if binding in counts:
            perfect, close = counts[binding]
            counts[binding] = (perfect - own_perfect, close - own_close)
    return replace(corpus_counts, counts=counts)
