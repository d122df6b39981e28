"""Checks texts.parquet: ids, forms and counts against the words."""

import hashlib
import json
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from generator.judge.benchmark import Benchmark, values
from generator.judge.findings import Finding, finding
from generator.judge.meaning import Meaning
from generator.judge.text_reader import UnreadableError, read_text

_COUNTED = ("level", "n_objects", "n_attributes", "n_relations")


def text_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Texts with a wrong id, unreadable texts, forms and counts that differ from the words, and texts that occur twice."""
    table = benchmark.tables["texts"]
    digests = array("Q")
    columns = [values(table[name]) for name in ("text_id", "text", "form", *_COUNTED)]
    for meaning, (text_id, text, form, *counts) in zip(benchmark.meanings, zip(*columns, strict=True), strict=True):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        digests.append(int(digest, 16))
        if digest != text_id:
            yield finding("wrong text id", f"text {text_id} '{text}' has another content hash")
        if meaning is None:
            try:
                read_text(text, benchmark.lexicon)
            except UnreadableError as error:
                yield finding("unreadable text", f"text {text_id}: {error}")
        else:
            for fault in _form_faults(meaning, form, counts):
                yield finding("wrong form", f"text {text_id} '{text}': {fault}")
    _, first, number = np.unique(np.asarray(digests), return_index=True, return_counts=True)
    for row in first[number > 1].tolist():
        yield finding("repeated text", f"more than one text is '{benchmark.text(row)}'")


def _form_faults(meaning: Meaning, form: str | None, counts: list[Any]) -> Iterator[str]:
    found = [meaning.level, meaning.n_objects, meaning.n_attributes, len(meaning.links)]
    if counts != found:
        listed = ", ".join(f"{name} {count}" for name, count in zip(_COUNTED, counts, strict=True))
        yield f"it is listed with {listed}; its words give {', '.join(map(str, found))}"
    if form is None:
        return
    said = meaning.to_json()
    try:
        same = form == said or json.loads(form) == json.loads(said)
    except ValueError:
        same = False
    if not same:
        yield f"its form is {form}, its words say {said}"
