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
_LABELS_OF_ITEMS = ("kind", "skill", "split", "cluster", "protocol")
NO_SPLIT = "all"
_SLOT = re.compile(r"c|n|p|context|zsl|[01]|d\d+")
"""The slots that a candidate may have (docs/dataset.md)."""
_TRUE_SLOTS, _FALSE_SLOTS = ("c", "p"), ("n",)
_PAIRS = "pairs"


@dataclass(frozen=True)
class Tables:
    """The tables of a benchmark (generator.dataset.records.BENCHMARK_TABLES)."""

    items: pa.Table
    """A row for each question."""
    candidates: pa.Table
    """A row for each candidate, a pair of an image and a text."""
    texts: pa.Table
    """The text of each candidate."""
    scores: np.ndarray
    """Score of each candidate, float64 (candidates,); nan for a candidate without a score."""

    def by_name(self) -> dict[str, pa.Table]:
        """The tables by their names in a benchmark."""
        return {"items": self.items, "candidates": self.candidates, "texts": self.texts}


def benchmark_tables(table: pa.Table, path: Path, probabilities: bool) -> Tables:
    """Convert rows of candidates to items, candidates, texts and scores. Each row becomes a
    candidate and a text.

    Args:
        table: A table with the columns COLUMNS. It needs `item`, `protocol`, and `slot` or `truth`;
            without `score`, scores are nan, since its questions are not asked yet.
        path: The file of the table, for messages.
        probabilities: Whether scores are probabilities, to be compared as log-odds.

    Raises:
        UserError: A column is missing, a value is invalid, or rows contradict each other.

    >>> rows = {"item": ["1", "1"], "protocol": ["binary"] * 2, "truth": [True, False]}
    >>> benchmark_tables(pa.table(rows), Path("x"), False).candidates["slot"].to_pylist()
    ['c', 'n']
    """
    rows = _read_rows(table, path)
    # A text for each row, by its number: equal texts of two rows may have scores of their own.
    rows["text_id"] = [f"{row:08d}" for row in range(len(rows))]
    for name in COUNTS:
        rows[name] = pd.array(numbers(table, name, path)).astype("Int64")
    # In a benchmark, `kind` is a column of items and another of candidates.
    candidates = rows.drop(columns="kind").rename(columns={"candidate_kind": "kind"})
    return Tables(
        items=_table(_items(rows), ITEMS),
        candidates=_table(candidates, CANDIDATES),
        texts=_table(rows, TEXTS),
        scores=scores(table, path, probabilities),
    )


def _read_rows(table: pa.Table, path: Path) -> pd.DataFrame:
    """The rows of a table under a benchmark's names of columns, with slots, truths, images and
    labels filled in and checked."""
    require(table, ["item", "protocol"], path)
    if not {"slot", "truth"} & set(table.column_names):
        require(table, ["slot"], path)
    text_columns = [name for name in COLUMNS if name not in (*COUNTS, "truth", "score")]
    rows = pd.DataFrame({name: texts(table, name) for name in text_columns})
    rows["truth"] = truths(table, "truth", path)
    _check(rows["item"] != "", path, "has no item; give each question an id")
    for name in _LABELS_OF_ITEMS:
        rows[name] = _label_of_items(rows, name, path)
    _check(rows["protocol"] != "", path, "has no protocol")
    for protocol in sorted(set(rows["protocol"])):
        find_protocol(protocol)  # raises UserError for an unknown one
    _fill_slots_and_truths(rows, path)
    _fill_images(rows)
    _check_pairs(rows, path)
    return rows.rename(columns={"image": "scene_id", "item": "item_id", "cluster": "cluster_id"})


def _items(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each item, sorted by its id: the labels of its first candidate, and the image of
    its caption."""
    first = rows.drop_duplicates("item_id").set_index("item_id").sort_index()
    # Slot 0 is the caption of the first image of a pair.
    is_caption = rows["truth"] & rows["slot"].isin(("c", "0"))
    captions = rows[is_caption].drop_duplicates("item_id")
    images = captions.set_index("item_id")["scene_id"].reindex(first.index)
    items = first.assign(scene_id=images.fillna(first["scene_id"])).reset_index()
    # Items without a cluster are one with the other items of their image.
    items["cluster_id"] = items["cluster_id"].where(items["cluster_id"] != "", items["scene_id"])
    items["split"] = items["split"].replace("", NO_SPLIT)
    return items


def _check(is_valid: pd.Series, path: Path, fault: str) -> None:
    """Raise UserError for the first row that is not valid."""
    if not is_valid.all():
        raise UserError(f"Row {is_valid.argmin() + 1} of {path} {fault}.")


def _label_of_items(rows: pd.DataFrame, name: str, path: Path) -> pd.Series:
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


def _fill_slots_and_truths(rows: pd.DataFrame, path: Path) -> None:
    """Fill in missing slots and truths from each other. Raises UserError if that is not
    possible."""
    is_pair = rows["protocol"] == _PAIRS
    is_known_slot = rows["slot"].map(lambda slot: not slot or _SLOT.fullmatch(slot) is not None)
    if not is_known_slot.all():
        row = int(is_known_slot.argmin())
        raise UserError(
            f"Expected a slot c, n, p, context, zsl, 0, 1, d1, d2 … in row {row + 1} of "
            f"{path}, got '{rows['slot'][row]}'."
        )

    # A text without a slot is a caption if it is true, and a negative if it is false.
    for slot, truth in (("c", True), ("n", False)):
        is_missing = ~is_pair & (rows["slot"] == "")
        rows.loc[is_missing & (rows["truth"] == truth), "slot"] = slot
    _check(~is_pair | (rows["slot"] != ""), path, "needs 0 or 1, the number of the caption")
    _check(rows["slot"] != "", path, "needs a slot or a truth")

    # The slots c, p and n have one truth. In a pair, caption k is true of image k alone.
    has_no_truth = rows["truth"].isna()
    follows_slot = has_no_truth & ~is_pair
    rows.loc[follows_slot & rows["slot"].isin(_TRUE_SLOTS), "truth"] = True
    rows.loc[follows_slot & rows["slot"].isin(_FALSE_SLOTS), "truth"] = False
    has_image_number = rows["image"].isin(("0", "1"))
    has_caption_number = rows["slot"].isin(("0", "1"))
    is_numbered = is_pair & has_image_number & has_caption_number
    rows.loc[has_no_truth & is_numbered, "truth"] = rows["image"] == rows["slot"]
    has_no_truth = rows["truth"].isna()
    if has_no_truth.any():
        row = int(has_no_truth.argmax())
        or_number = " or the number of its image, 0 or 1" if is_pair.iat[row] else ""
        raise UserError(
            f"Row {row + 1} of {path} needs a truth{or_number}: slot '{rows['slot'].iat[row]}' can "
            f"be true or false."
        )
    rows["truth"] = rows["truth"].astype(bool)


def _fill_images(rows: pd.DataFrame) -> None:
    """Give an image without an id the id of its item; in a pair, with the image's number."""
    is_pair = rows["protocol"] == _PAIRS
    # A caption that is false of an image is true of the other one.
    other_slot = rows["slot"].map({"0": "1", "1": "0"})
    image_number = rows["slot"].where(rows["truth"], other_slot)
    is_unnamed = is_pair & rows["image"].isin(("", "0", "1"))
    rows.loc[is_unnamed, "image"] = rows["item"] + "/" + image_number
    rows["image"] = rows["image"].where(rows["image"] != "", rows["item"])


def _check_pairs(rows: pd.DataFrame, path: Path) -> None:
    """Raise UserError if a caption of a pair of images has two scores with the same image."""
    pairs = rows[rows["protocol"] == _PAIRS]
    duplicates = pairs[pairs.duplicated(["item", "slot", "truth"])]
    for row in duplicates.head(1).to_dict("records"):
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
        if field.name != "text":
            values = values.replace("", None)
        return pa.array(values, field.type)

    return pa.table([column(field) for field in schema], schema=schema)


_SCORE_COLUMNS = [f"c{caption}_i{image}" for caption in "01" for image in "01"]
"""The columns of a table with the four scores of a pair in one row."""
_LABEL = r"^(?P<item>.+)_c(?P<slot>[01])_i(?P<image>[01])$"


def one_row_a_candidate(table: pa.Table, path: Path) -> pa.Table:
    """Convert two layouts of scores of pairs to the columns of docs/models.md.

    - Columns c0_i0, c0_i1, c1_i0, c1_i1: the scores of caption k with image i, a row for each item
      (column `item` or `id`).
    - Columns `label`, such as 17_c0_i1 (item 17, caption 0, image 1), and `score`, as Winoground's
      authors publish them.

    Args:
        table: The table; one of another layout is returned unchanged.
        path: Its file, for messages.

    Returns:
        A row for each candidate. A column `id` is renamed to `item`.

    Raises:
        UserError: A label has another form.
    """
    if "id" in table.column_names and "item" not in table.column_names:
        names = ["item" if name == "id" else name for name in table.column_names]
        table = table.rename_columns(names)
    columns = set(table.column_names)
    if columns.issuperset((*_SCORE_COLUMNS, "item")):
        rows = table.to_pandas().drop(columns=["protocol", "slot", "image"], errors="ignore")
        other_columns = [name for name in rows if name not in _SCORE_COLUMNS]
        rows = rows.melt(other_columns, _SCORE_COLUMNS, "label", "score")
        rows["label"] = rows.pop("item").astype(str) + "_" + rows["label"]
    elif {"label", "score"} <= columns and "item" not in columns:
        rows = table.to_pandas()
    else:
        return table
    parts = rows["label"].astype(str).str.extract(_LABEL)
    is_wrong = parts["item"].isna()
    if is_wrong.any():
        raise UserError(
            f"Expected labels such as 17_c0_i1 (item, caption, image) in the column 'label' of "
            f"{path}, got '{rows['label'][is_wrong.argmax()]}'."
        )
    converted = rows.drop(columns="label").assign(**parts, protocol=_PAIRS)
    return pa.Table.from_pandas(converted, preserve_index=False)
