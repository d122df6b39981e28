"""Converts a file with a row for each candidate into the tables of a benchmark and an array of
scores."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from evaluator.benchmarks.tables import numbers, require, scores, texts, truths
from evaluator.protocols import find_protocol
from evaluator.protocols.items import COUNTS
from generator.base.errors import UserError
from generator.dataset.records import CANDIDATES, ITEMS, TEXTS

COLUMNS = (
    "item",
    "protocol",
    "split",
    "kind",
    "skill",
    "cluster",
    "image",
    "slot",
    "truth",
    "candidate_kind",
    "text",
    "level",
    *COUNTS,
    "score",
)
"""The columns that are read; docs/models.md explains them."""
_OF_ITEMS = ("kind", "skill", "split", "cluster", "protocol")
NO_SPLIT = "all"
_SLOT = re.compile(r"c|n|p|context|zsl|[01]|d\d+")
_TRUE, _FALSE = ("c", "p"), ("n",)
_PAIRS = "pairs"


@dataclass(frozen=True)
class Tables:
    """The tables of a benchmark (generator.dataset.records.BENCHMARK_TABLES). scores: float64
    (candidates,), nan for a candidate without a score."""

    items: pa.Table
    candidates: pa.Table
    texts: pa.Table
    scores: np.ndarray


def benchmark_tables(table: pa.Table, path: Path, probabilities: bool) -> Tables:
    """Items, candidates, texts and scores of a table with the columns COLUMNS. Each row becomes a
    candidate and a text.

    Scores are nan if the table has none, because its questions are not asked yet. Raises UserError
    for other missing columns, invalid values, and rows that contradict each other.
    """
    require(table, ["item", "protocol"], path)
    if not {"slot", "truth"} & set(table.column_names):
        require(table, ["slot"], path)
    rows = pd.DataFrame(
        {name: texts(table, name) for name in COLUMNS if name not in (*COUNTS, "truth", "score")}
    )
    rows["truth"] = truths(table, "truth", path)
    _check(rows["item"] != "", path, "has no item; give each question an id")
    for name in _OF_ITEMS:
        rows[name] = _of_items(rows, name, path)
    _check(rows["protocol"] != "", path, "has no protocol")
    for protocol in sorted(set(rows["protocol"])):
        find_protocol(protocol)  # raises UserError for an unknown one
    _complete(rows, path)
    _check_pairs(rows, path)
    rows = rows.rename(columns={"image": "scene_id", "item": "item_id", "cluster": "cluster_id"})
    rows["text_id"] = [f"{row:08d}" for row in range(len(rows))]
    for name in COUNTS:
        rows[name] = pd.array(numbers(table, name, path)).astype("Int64")
    first = rows.drop_duplicates("item_id").set_index("item_id").sort_index()
    captions = (
        rows[rows["truth"] & rows["slot"].isin(("c", "0"))]
        .drop_duplicates("item_id")
        .set_index("item_id")
    )
    items = first.assign(
        scene_id=captions["scene_id"].reindex(first.index).fillna(first["scene_id"])
    ).reset_index()
    items["cluster_id"] = items["cluster_id"].where(items["cluster_id"] != "", items["scene_id"])
    items["split"] = items["split"].replace("", NO_SPLIT)
    candidates = rows.drop(columns="kind").rename(columns={"candidate_kind": "kind"})
    return Tables(
        _table(items, ITEMS),
        _table(candidates, CANDIDATES),
        _table(rows, TEXTS),
        scores(table, path, probabilities),
    )


def _check(right: pd.Series, path: Path, said: str) -> None:
    """Raises UserError for the first row where `right` is False."""
    if not right.all():
        raise UserError(f"Row {right.argmin() + 1} of {path} {said}.")


def _of_items(rows: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """The label of each row's item, "" if no row of the item has a label. Raises UserError if its
    rows differ."""
    known = rows[name].where(rows[name] != "")
    labels = known.groupby(rows["item"]).transform("first")
    differs = (known.notna() & (known != labels)).to_numpy()
    if differs.any():
        row = int(differs.argmax())
        raise UserError(
            f"Item '{rows['item'].iat[row]}' of {path} has the {name} '{labels.iat[row]}' in one "
            f"row and '{known.iat[row]}' in another; give each question a unique id."
        )
    return labels.fillna("")


def _complete(rows: pd.DataFrame, path: Path) -> None:
    """Fill in missing slots, truths and images of candidates from their other columns. An image
    without an id gets the id of its item; in `pairs`, with the image's number. Raises UserError if
    a slot or truth cannot be derived."""
    pairs = rows["protocol"] == _PAIRS
    slots = rows["slot"].map(lambda slot: not slot or _SLOT.fullmatch(slot) is not None)
    if not slots.all():
        raise UserError(
            f"Expected a slot c, n, p, context, zsl, 0, 1, d1, d2 … in row {slots.argmin() + 1} of "
            f"{path}, got '{rows['slot'][slots.argmin()]}'."
        )
    for slot, told in (("c", True), ("n", False)):
        rows.loc[~pairs & (rows["slot"] == "") & (rows["truth"] == told), "slot"] = slot
    _check(~pairs | (rows["slot"] != ""), path, "needs 0 or 1, the number of the caption")
    _check(rows["slot"] != "", path, "needs a slot or a truth")
    untold = rows["truth"].isna()
    numbered = pairs & rows["image"].isin(("0", "1")) & rows["slot"].isin(("0", "1"))
    rows.loc[untold & ~pairs & rows["slot"].isin(_TRUE), "truth"] = True
    rows.loc[untold & ~pairs & rows["slot"].isin(_FALSE), "truth"] = False
    rows.loc[untold & numbered, "truth"] = rows["image"] == rows["slot"]
    untold = rows["truth"].isna()
    if untold.any():
        row = int(untold.argmax())
        more = " or the number of its image, 0 or 1" if pairs.iat[row] else ""
        raise UserError(
            f"Row {row + 1} of {path} needs a truth{more}: slot '{rows['slot'].iat[row]}' can be "
            f"true or false."
        )
    rows["truth"] = rows["truth"].astype(bool)
    number = rows["slot"].where(rows["truth"], rows["slot"].map({"0": "1", "1": "0"}))
    unnamed = pairs & rows["image"].isin(("", "0", "1"))
    rows.loc[unnamed, "image"] = rows["item"] + "/" + number
    rows["image"] = rows["image"].where(rows["image"] != "", rows["item"])


def _check_pairs(rows: pd.DataFrame, path: Path) -> None:
    """Raises UserError if a caption of a pair of images has two scores with the same image."""
    pairs = rows[rows["protocol"] == _PAIRS]
    again = pairs[pairs.duplicated(["item", "slot", "truth"])]
    for row in again.head(1).to_dict("records"):
        whose = "its own" if row["truth"] else "the other"
        raise UserError(
            f"Item '{row['item']}' of {path} has several scores of caption {row['slot']} with "
            f"{whose} image; give each item a unique id."
        )


def _table(rows: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Convert rows to a table of a schema. Missing columns are null; so are empty strings, except
    in `text`."""

    def column(field: pa.Field) -> pa.Array:
        if field.name not in rows:
            return pa.nulls(len(rows), field.type)
        values = rows[field.name]
        return pa.array(values if field.name == "text" else values.replace("", None), field.type)

    return pa.table([column(field) for field in schema], schema=schema)


_PLACES = [f"c{caption}_i{image}" for caption in "01" for image in "01"]
_LABEL = r"^(?P<item>.+)_c(?P<slot>[01])_i(?P<image>[01])$"


def one_row_a_candidate(table: pa.Table, path: Path) -> pa.Table:
    """Convert one of two layouts to the columns of docs/models.md; other tables are returned
    unchanged.

    Columns c0_i0, c0_i1, c1_i0, c1_i1: the scores of caption k with image i, a row for each item
    (column `item` or
    `id`). Columns `label`, such as 17_c0_i1 (item 17, caption 0, image 1), and `score`, as
    Winoground's authors publish
    them. Renames a column `id` to `item`. Raises UserError for a label of another form.
    """
    if "id" in table.column_names and "item" not in table.column_names:
        table = table.rename_columns(
            ["item" if name == "id" else name for name in table.column_names]
        )
    names = set(table.column_names)
    if names.issuperset((*_PLACES, "item")):
        rows = table.to_pandas().drop(columns=["protocol", "slot", "image"], errors="ignore")
        others = [name for name in rows if name not in _PLACES]
        rows = rows.melt(others, _PLACES, "label", "score")
        rows["label"] = rows.pop("item").astype(str) + "_" + rows["label"]
    elif {"label", "score"} <= names and "item" not in names:
        rows = table.to_pandas()
    else:
        return table
    found = rows["label"].astype(str).str.extract(_LABEL)
    wrong = found["item"].isna()
    if wrong.any():
        raise UserError(
            f"Expected labels such as 17_c0_i1 (item, caption, image) in the column 'label' of "
            f"{path}, got '{rows['label'][wrong.argmax()]}'."
        )
    return pa.Table.from_pandas(
        rows.drop(columns="label").assign(**found, protocol=_PAIRS), preserve_index=False
    )
