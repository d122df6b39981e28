"""The samples of a benchmark, from its texts alone: no image is read."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from evaluator.elsewhere.table import read_table, require, texts, truths
from evaluator.external.layouts import LAYOUTS, read_texts
from evaluator.external.questions import Question
from evaluator.external.registry import TABLE
from evaluator.external.source import Source
from evaluator.familiarity.bindings import FREE, STRICT, Binding
from evaluator.familiarity.overlap import Sample
from evaluator.familiarity.reading import DEFAULT, Reading
from evaluator.partitions import captions_digest
from evaluator.protocols.items import COMPARED
from generator.dataset.errors import UserError
from generator.dataset.reader import Dataset

NOT_STRICT = 'a caption is not "the a1 o1 and the a2 o2"'
NOTHING = "a caption has no binding"
ALIKE = "both captions have the same bindings"


def read_samples(
    source: Source, form: str | None = None, reading: Reading = DEFAULT
) -> tuple[list[Sample], str, dict[str, Any]]:
    """A sample for each pair of a true and a false caption of a question, the form of reading, and how the benchmark was read
    (evaluator.as_read).

    form: STRICT or FREE; by default STRICT for ARO's attributes, whose captions have that form, else FREE. Raises UserError for a
    benchmark that has no such pair, or whose files cannot be read.
    """
    questions, as_read = _questions(source)
    pairs = [(item, true, false) for item, trues, falses in questions for true in trues for false in falses]
    if not pairs:
        raise UserError(
            f"{source} has no question with a true and a false caption; give the files that its authors publish."
        )
    form = form or (STRICT if source.name == "aro" else FREE)
    read = reading.of_strict if form == STRICT else reading.of_caption
    many = Counter(item for item, *_ in pairs)
    numbers: Counter[str] = Counter()
    digests = {item: captions_digest([*trues, *falses]) for item, trues, falses in questions}
    samples = []
    for item, true, false in pairs:
        name = item if many[item] == 1 else f"{item}/{numbers[item]}"
        numbers[item] += 1
        samples.append(replace(_sample(name, read(true), read(false), form), question=item, captions=digests[item]))
    return samples, form, as_read


def _sample(item: str, positive: Sequence[Binding], negative: Sequence[Binding], form: str) -> Sample:
    if form == STRICT:
        return Sample(item, positive, negative, "" if positive and negative else NOT_STRICT)
    excluded = NOTHING if not (positive and negative) else ALIKE if set(positive) == set(negative) else ""
    return Sample(item, positive, negative, excluded)


def _questions(source: Source) -> tuple[list[tuple[str, list[str], list[str]]], dict[str, Any]]:
    """The id of each question, its true and its false captions, and how they were read (evaluator.as_read)."""
    if source.name is None:
        return _dataset(source.path), {}
    if not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors publish."
        )
    if source.name in LAYOUTS:
        questions, reading = read_texts(source.name, source.path, source.filters)
        return [_sides(question) for question in questions], reading
    if source.name == TABLE:
        return _table(source.path), {}
    raise UserError(
        f"'{source}' cannot be audited: write its captions as a table (docs/external.md) and give table:FILE."
    )


def _dataset(path: Path) -> list[tuple[str, list[str], list[str]]]:
    """The binary questions of a dataset of `gen render`."""
    benchmark = Dataset.open(path).benchmark()
    items = benchmark.items_of("binary")["item_id"].combine_chunks()
    rows = benchmark.candidates.filter(pc.is_in(benchmark.candidates["item_id"], items))
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    columns = (rows[name].to_pylist() for name in ("item_id", "text_id", "truth"))
    for item, text, right in zip(*columns, strict=True):
        sides[item][0 if right else 1].append(benchmark.text_of[text])
    return [(item, *each) for item, each in sides.items()]


def _sides(question: Question) -> tuple[str, list[str], list[str]]:
    """The true and the false captions of a question. Of two images caption 0 is the true one. Captions in other slots, such as the
    decomposed ones, say parts of these once more."""
    told = [
        (text, true)
        for text, true, slot in zip(question.texts, question.truth[0], question.slot_of, strict=True)
        if slot in COMPARED
    ]
    return question.item, [text for text, true in told if true], [text for text, true in told if not true]


def _table(path: Path) -> list[tuple[str, list[str], list[str]]]:
    """The questions of a table with the columns item, text and truth or slot."""
    table = read_table(path)
    require(table, ["item", "text"], path)
    given = "truth" in table.column_names
    true = truths(table, "truth", path) if given else np.isin(texts(table, "slot"), ("c", "p", "0"))
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for item, slot, text, right in zip(
        texts(table, "item"), texts(table, "slot"), texts(table, "text"), true, strict=True
    ):
        side = sides[item][0 if right else 1]
        if slot in ("", *COMPARED) and text not in side:
            side.append(text)
    return [(item, *each) for item, each in sides.items()]
