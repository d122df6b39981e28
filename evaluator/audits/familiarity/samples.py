"""Reads the samples of a benchmark, pairs of a true and a false caption, without its images."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluator.benchmarks.registry import LAYOUTS, TABLE, BenchmarkSource, read_texts
from evaluator.benchmarks.tables import read_table, require, texts, truths
from evaluator.protocols.items import COMPARED
from evaluator.provenance.captions import DEFAULT, FREE, STRICT, Binding, Reading
from evaluator.runs.parts import captions_digest
from generator.base.errors import UserError
from generator.dataset.reader import Dataset

NOT_STRICT = 'a caption is not "the a1 o1 and the a2 o2"'
DIFFERING = "differing"
"""As FREE, but both captions must have bindings, and not the same bindings."""
NO_BINDINGS = "neither caption has a binding"
ONE_SIDED = "one caption has no binding"
ALIKE = "both captions have the same bindings"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A true and a false caption with the bindings of each."""

    item: str
    """Id of the sample: that of its question, numbered if the question has several."""
    positive: Sequence[Binding]
    """The bindings of the true caption."""
    negative: Sequence[Binding]
    """The bindings of the false caption."""
    excluded: str = ""
    """Why the sample is in no bucket; "" if it is in one."""
    question: str = ""
    """Id of the captions' question; "": `item`."""
    captions: str = ""
    """Digest of all captions of the question."""
    cluster: str = ""
    """Equal for samples that are not independent, such as samples of one image; "": its own
    cluster."""
    texts: tuple[str, str] = ("", "")
    """The true and the false caption."""
    slot: str = ""
    """The slot of the true caption."""
    is_duplicate: bool = False
    """Whether the same captions are counted in another question."""


def read_samples(
    source: BenchmarkSource, form: str | None = None, reading: Reading = DEFAULT
) -> tuple[list[Sample], str, dict[str, Any]]:
    """Read a sample for each pair of a true and a false caption of a question.

    Args:
        source: A dataset or a published benchmark.
        form: STRICT, FREE or DIFFERING; by default STRICT for ARO, whose attribute captions have
            that form, else FREE. FREE excludes samples without any binding, as BindSplit does for
            BiVLC and VisMin (section 5.4).
        reading: How captions are read.

    Returns:
        The samples, duplicates last; the form; and the entry READING
        (evaluator.benchmarks.reading).

    Raises:
        UserError: The benchmark has no such pairs, a file is unreadable, or a filter is unknown.
    """
    captions, as_read = _captions(source)
    form = form or (STRICT if source.name == "aro" else FREE)
    # Decomposed captions (COMPASS) are not samples: each names one primitive alone.
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
    pairs_of_item = pairs.groupby("item")
    pairs["number"] = pairs_of_item.cumcount()
    # The number stands behind the id only where it is needed, so that a question with one pair
    # keeps its name.
    pairs["has_siblings"] = pairs_of_item["slot"].transform("size") > 1
    caption_form = STRICT if form == STRICT else FREE
    samples = []
    pair: Any
    # Duplicates last: they get a partition, but the figures count the samples before them.
    for pair in pairs.sort_values("is_duplicate", kind="stable").itertuples():
        positive = reading.of_caption(pair.text, caption_form)
        negative = reading.of_caption(pair.text_false, caption_form)
        sample = Sample(
            item=f"{pair.item}/{pair.number}" if pair.has_siblings else pair.item,
            positive=positive,
            negative=negative,
            excluded=_exclusion_reason(positive, negative, form),
            question=pair.item,
            captions=digests[pair.item],
            cluster=pair.cluster,
            texts=(pair.text, pair.text_false),
            slot=pair.slot,
            is_duplicate=pair.is_duplicate,
        )
        samples.append(sample)
    return samples, form, as_read


def _exclusion_reason(positive: Sequence[Binding], negative: Sequence[Binding], form: str) -> str:
    """Why a sample with these bindings is in no bucket; "" if it is in one."""
    has_both = bool(positive and negative)
    if form == STRICT:
        return "" if has_both else NOT_STRICT
    if not (positive or negative):
        return NO_BINDINGS
    if form == DIFFERING:
        if not has_both:
            return ONE_SIDED
        if set(positive) == set(negative):
            return ALIKE
    return ""


def _captions(source: BenchmarkSource) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A row for each caption: `item`, `cluster`, `slot`, `text`, `truth` and `is_duplicate`; and
    the entry READING (evaluator.benchmarks.reading)."""
    if source.name is not None and not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors "
            f"publish."
        )
    if source.name in LAYOUTS:
        questions, as_read = read_texts(source.name, source.path, source.filters)
        rows = []
        for question in questions:
            # With two images, caption 0 is the true caption.
            truths = question.truths[0]
            for slot, text, is_true in zip(question.slots, question.texts, truths, strict=True):
                rows.append(
                    {
                        "item": question.item,
                        "cluster": question.cluster,
                        "slot": slot,
                        "text": text,
                        "truth": is_true,
                        "is_duplicate": question.omissions.is_duplicate,
                    }
                )
        columns = ["item", "cluster", "slot", "text", "truth", "is_duplicate"]
        return pd.DataFrame(rows, columns=columns), as_read
    if source.filters:
        raise UserError(
            f"'{source}' has no filters ({', '.join(source.filters)}); leave --filter out."
        )
    if source.name not in (None, TABLE):
        raise UserError(
            f"'{source}' cannot be audited: write its captions as a table (docs/external.md) and "
            f"give table:FILE."
        )
    captions = _read_dataset(source.path) if source.name is None else _read_table(source.path)
    return captions.assign(is_duplicate=False), {}


def _read_dataset(path: Path) -> pd.DataFrame:
    """The captions of the binary questions of a dataset of `gen render`."""
    benchmark = Dataset.open(path).benchmark()
    items = benchmark.items_of("binary").to_pandas()
    clusters = items[["item_id", "cluster_id"]]
    captions = benchmark.candidates.to_pandas().merge(clusters, on="item_id")
    captions = captions.merge(benchmark.texts.to_pandas(), on="text_id")
    return captions.rename(columns={"item_id": "item", "cluster_id": "cluster"})


def _read_table(path: Path) -> pd.DataFrame:
    """The captions of a table with the columns item, text and truth or slot; also cluster or image,
    if samples are not independent."""
    table = read_table(path)
    require(table, ["item", "text"], path)
    if "truth" in table.column_names:
        is_true = truths(table, "truth", path)
    else:
        is_true = np.isin(texts(table, "slot"), ("c", "p", "0"))
    captions = pd.DataFrame({name: texts(table, name) for name in ("item", "slot", "text")})
    captions["cluster"] = texts(table, "cluster" if "cluster" in table.column_names else "image")
    captions["truth"] = is_true.astype(bool)
    return captions.drop_duplicates(["item", "text"])
