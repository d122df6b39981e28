"""Reads the samples of a benchmark, pairs of a true and a false caption, without its images."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluator.benchmarks.registry import LAYOUTS, TABLE, Source, read_texts
from evaluator.benchmarks.tables import read_table, require, texts, truths
from evaluator.protocols.items import COMPARED
from evaluator.provenance.captions import DEFAULT, FREE, STRICT, Binding, Reading
from evaluator.runs.parts import captions_digest
from generator.base.errors import UserError
from generator.dataset.reader import Dataset

NOT_STRICT = 'a caption is not "the a1 o1 and the a2 o2"'
DIFFERING = "differing"
"""As FREE, but both captions must have bindings, and not the same bindings."""
NOTHING = "neither caption has a binding"
ONE_SIDED = "one caption has no binding"
ALIKE = "both captions have the same bindings"


@dataclass(frozen=True)
class Sample:
    """A true and a false caption with the bindings of each. excluded: why the sample is in no
    bucket, else "".

    question: the id of the captions' question; "": `item`. captions: the digest of all captions of
        the question.
    cluster: equal for samples that are not independent, such as samples of one image; "": its own
        cluster. texts: the
    true and the false caption. slot: of the true caption. again: a duplicate, counted in another
    question.
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


def read_samples(
    source: Source, form: str | None = None, reading: Reading = DEFAULT
) -> tuple[list[Sample], str, dict[str, Any]]:
    """A sample for each pair of a true and a false caption of a question, the form of reading, and
    the entry READING (evaluator.benchmarks.reading).

    form: STRICT, FREE or DIFFERING; by default STRICT for ARO, whose attribute captions have that
        form, else FREE. FREE
    excludes samples without any binding, as BindSplit does for BiVLC and VisMin (section 5.4).
    Raises UserError for a
    benchmark without such pairs, unreadable files, and unknown filters.
    """
    captions, as_read = _captions(source)
    form = form or (STRICT if source.name == "aro" else FREE)
    captions = captions[captions["slot"].isin(("", *COMPARED))]
    pairs = captions[captions["truth"]].merge(
        captions[~captions["truth"]], on="item", suffixes=("", "_false")
    )
    if pairs.empty:
        raise UserError(
            f"{source} has no question with a true and a false caption; give the files that its "
            f"authors publish."
        )
    digests = captions.groupby("item")["text"].agg(captions_digest)
    of_item = pairs.groupby("item")
    pairs["number"], pairs["several"] = of_item.cumcount(), of_item["slot"].transform("size") > 1
    samples = []
    pair: Any
    for pair in pairs.sort_values("again", kind="stable").itertuples():
        positive, negative = (
            reading.of_caption(text, STRICT if form == STRICT else FREE)
            for text in (pair.text, pair.text_false)
        )
        samples.append(
            Sample(
                f"{pair.item}/{pair.number}" if pair.several else pair.item,
                positive,
                negative,
                _excluded(positive, negative, form),
                pair.item,
                digests[pair.item],
                pair.cluster,
                (pair.text, pair.text_false),
                pair.slot,
                pair.again,
            )
        )
    return samples, form, as_read


def _excluded(positive: Sequence[Binding], negative: Sequence[Binding], form: str) -> str:
    if form == STRICT:
        return "" if positive and negative else NOT_STRICT
    if not (positive or negative):
        return NOTHING
    if form == DIFFERING:
        return (
            ONE_SIDED
            if not (positive and negative)
            else ALIKE
            if set(positive) == set(negative)
            else ""
        )
    return ""


def _captions(source: Source) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A row for each caption: `item`, `cluster`, `slot`, `text`, `truth` and `again`; and the entry
    READING (evaluator.benchmarks.reading)."""
    if source.name is not None and not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors "
            f"publish."
        )
    if source.name in LAYOUTS:
        questions, as_read = read_texts(source.name, source.path, source.filters)
        rows = [
            (question.item, question.group, slot, text, true, question.again)
            for question in questions  # with two images, caption 0 is the true caption
            for slot, text, true in zip(
                question.slot_of, question.texts, question.truths[0], strict=True
            )
        ]
        return pd.DataFrame(
            rows, columns=["item", "cluster", "slot", "text", "truth", "again"]
        ), as_read
    if source.filters:
        raise UserError(
            f"'{source}' has no filters ({', '.join(source.filters)}); leave --filter out."
        )
    if source.name not in (None, TABLE):
        raise UserError(
            f"'{source}' cannot be audited: write its captions as a table (docs/external.md) and "
            f"give table:FILE."
        )
    found = _of_dataset(source.path) if source.name is None else _of_table(source.path)
    return found.assign(again=False), {}


def _of_dataset(path: Path) -> pd.DataFrame:
    """The captions of the binary questions of a dataset of `gen render`."""
    benchmark = Dataset.open(path).benchmark()
    items, candidates, texts = (
        table.to_pandas()
        for table in (benchmark.items_of("binary"), benchmark.candidates, benchmark.texts)
    )
    found = candidates.merge(items[["item_id", "cluster_id"]], on="item_id").merge(
        texts, on="text_id"
    )
    return found.rename(columns={"item_id": "item", "cluster_id": "cluster"})


def _of_table(path: Path) -> pd.DataFrame:
    """The captions of a table with the columns item, text and truth or slot; also cluster or image,
    if samples are not independent."""
    table = read_table(path)
    require(table, ["item", "text"], path)
    given = "truth" in table.column_names
    true = truths(table, "truth", path) if given else np.isin(texts(table, "slot"), ("c", "p", "0"))
    found = pd.DataFrame({name: texts(table, name) for name in ("item", "slot", "text")})
    found["cluster"] = texts(table, "cluster" if "cluster" in table.column_names else "image")
    return found.assign(truth=true.astype(bool)).drop_duplicates(["item", "text"])
