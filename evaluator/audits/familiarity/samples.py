"""The samples of a benchmark, from its texts alone: no image is read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from evaluator.audits.familiarity.reading import DEFAULT, FREE, STRICT, Binding, Reading
from evaluator.benchmarks.question import Question
from evaluator.benchmarks.registry import LAYOUTS, TABLE, Source, read_texts
from evaluator.benchmarks.tables import read_table, require, texts, truths
from evaluator.protocols.items import COMPARED
from evaluator.runs.parts import captions_digest
from generator.base.errors import UserError
from generator.dataset.reader import Dataset

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
    """A true and a false caption with the bindings of each. excluded: why the sample is in no bucket; "" where it is in
    one.

    question: whose captions these are, by default `item`. captions: the digest of all captions of the question.
    cluster: equal for samples that are not independent, such as those of one image, "" for a sample of its own. texts:
    the two captions. slot: that of the true one. again: whether another question asks the same once more, so that the
    sample counts there.
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
    """Shares of samples all of whose bindings are seen, and of those none of whose are (table 20): `strict` counts
    perfect matches alone, `loose` close ones too. NaN without samples."""
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


NOT_STRICT = 'a caption is not "the a1 o1 and the a2 o2"'
NOTHING = "a caption has no binding"
ALIKE = "both captions have the same bindings"


@dataclass
class _Told:
    """The captions of a question: the slot and text of each true one, and the false ones. The other fields as of
    Sample."""

    item: str
    cluster: str = ""
    true: list[tuple[str, str]] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    again: bool = False


def read_samples(
    source: Source, form: str | None = None, reading: Reading = DEFAULT
) -> tuple[list[Sample], str, dict[str, Any]]:
    """A sample for each pair of a true and a false caption of a question, the form of reading, and how the benchmark
    was read (evaluator.benchmarks.reading).

    form: STRICT or FREE; by default STRICT for ARO's attributes, whose captions have that form, else FREE. Raises
    UserError for a benchmark that has no such pair, or whose files cannot be read, and for filters that it does not
    have.
    """
    questions, as_read = _questions(source)
    form = form or (STRICT if source.name == "aro" else FREE)
    read = reading.of_strict if form == STRICT else reading.of_caption
    samples = []
    for told in sorted(questions, key=lambda each: each.again):
        pairs = [(slot, true, false) for slot, true in told.true for false in told.false]
        digest = captions_digest([*(text for _, text in told.true), *told.false])
        for i, (slot, true, false) in enumerate(pairs):
            name = told.item if len(pairs) == 1 else f"{told.item}/{i}"
            positive, negative = read(true), read(false)
            sample = Sample(
                name,
                positive,
                negative,
                _excluded(positive, negative, form),
                told.item,
                digest,
                told.cluster,
                (true, false),
                slot,
                told.again,
            )
            samples.append(sample)
    if not samples:
        raise UserError(
            f"{source} has no question with a true and a false caption; give the files that its authors publish."
        )
    return samples, form, as_read


def _excluded(positive: Sequence[Binding], negative: Sequence[Binding], form: str) -> str:
    if form == STRICT:
        return "" if positive and negative else NOT_STRICT
    return NOTHING if not (positive and negative) else ALIKE if set(positive) == set(negative) else ""


def _questions(source: Source) -> tuple[list[_Told], dict[str, Any]]:
    """The questions of a benchmark, and how they were read (evaluator.benchmarks.reading)."""
    if source.name in LAYOUTS:
        _check_there(source)
        questions, reading = read_texts(source.name, source.path, source.filters)
        return [_of_question(question) for question in questions], reading
    if source.filters:
        raise UserError(f"'{source}' has no filters ({', '.join(source.filters)}); leave --filter out.")
    if source.name is None:
        return _dataset(source.path), {}
    _check_there(source)
    if source.name == TABLE:
        return _table(source.path), {}
    raise UserError(
        f"'{source}' cannot be audited: write its captions as a table (docs/external.md) and give table:FILE."
    )


def _check_there(source: Source) -> None:
    if not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors publish."
        )


def _dataset(path: Path) -> list[_Told]:
    """The binary questions of a dataset of `gen render`."""
    benchmark = Dataset.open(path).benchmark()
    asked = benchmark.items_of("binary")
    found = {
        item: _Told(item, cluster)
        for item, cluster in zip(asked["item_id"].to_pylist(), asked["cluster_id"].to_pylist(), strict=True)
    }
    rows = benchmark.candidates.filter(pc.is_in(benchmark.candidates["item_id"], asked["item_id"].combine_chunks()))
    columns = (rows[name].to_pylist() for name in ("item_id", "slot", "text_id", "truth"))
    for item, slot, text, right in zip(*columns, strict=True):
        _add(found[item], slot, benchmark.text_of[text], right)
    return list(found.values())


def _of_question(question: Question) -> _Told:
    """The captions of a question. Of two images caption 0 is the true one. Captions in other slots, such as the
    decomposed ones, say parts of these once more."""
    told = _Told(question.item, question.group, again=question.again)
    for text, true, slot in zip(question.texts, question.truth[0], question.slot_of, strict=True):
        if slot in COMPARED:
            _add(told, slot, text, true)
    return told


def _table(path: Path) -> list[_Told]:
    """The questions of a table with the columns item, text and truth or slot, and cluster or image where samples are
    not independent."""
    table = read_table(path)
    require(table, ["item", "text"], path)
    given = "truth" in table.column_names
    true = truths(table, "truth", path) if given else np.isin(texts(table, "slot"), ("c", "p", "0"))
    clusters = texts(table, "cluster" if "cluster" in table.column_names else "image")
    found: dict[str, _Told] = {}
    columns = (texts(table, name) for name in ("item", "slot", "text"))
    for item, slot, text, cluster, right in zip(*columns, clusters, true, strict=True):
        told = found.setdefault(item, _Told(item, cluster))
        if slot in ("", *COMPARED) and text not in (*(one for _, one in told.true), *told.false):
            _add(told, slot, text, right)
    return list(found.values())


def _add(told: _Told, slot: str, text: str, right: bool) -> None:
    if right:
        told.true.append((slot, text))
    else:
        told.false.append(text)
