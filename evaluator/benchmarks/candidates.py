"""Candidates of a file, one a row, as the tables of a benchmark and their scores."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.benchmarks.tables import numbers, require, scores, texts, truths
from evaluator.protocols.items import COUNTS
from evaluator.protocols.registry import find_protocol
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
"""The columns that are read; docs/models.md says what each means."""
NO_SPLIT = "all"
_SLOT = re.compile(r"c|n|p|context|zsl|[01]|d\d+")
_TRUE, _FALSE = ("c", "p"), ("n",)
_PAIRS = "pairs"


@dataclass(frozen=True)
class Tables:
    """The tables of a benchmark (schema.BENCHMARK_TABLES), and of each candidate the score, float64, nan where it
    has none."""

    items: pa.Table
    candidates: pa.Table
    texts: pa.Table
    scores: np.ndarray

    @property
    def protocols(self) -> list[str]:
        """The protocols of the items, in the order of the file."""
        return list(dict.fromkeys(self.items["protocol"].to_pylist()))


def benchmark_tables(table: pa.Table, path: Path, probabilities: bool) -> Tables:
    """Items, candidates and texts of a table with the columns COLUMNS. Each row becomes a candidate with a text of its
    own.

    A table without scores, of questions that are not asked yet, has nan for each. Raises UserError for another column
    that is missing, a value that cannot be, or rows that contradict one another.
    """
    require(table, ["item", "protocol"], path)
    if not {"slot", "truth"} & set(table.column_names):
        require(table, ["slot"], path)
    names = texts(table, "item")
    if "" in names:
        raise UserError(f"Row {_first(names == '')} of {path} has no item; give each question an id.")
    _, first, item = np.unique(names.astype(str), return_index=True, return_inverse=True)
    protocol = _of_items(table, "protocol", item, first, path)
    for name in sorted(set(protocol)):
        find_protocol(name)  # raises UserError for an unknown one
    slot, truth = _slots(table, protocol[item], path)
    image = _images(table, names, protocol[item], slot, truth)
    _check_pairs(names, item, protocol[item], slot, truth, path)
    of_items = {name: _of_items(table, name, item, first, path) for name in ("kind", "skill", "split", "cluster")}
    caption = first.copy()
    own = np.flatnonzero(truth & np.isin(slot, ("c", "0")))[::-1]
    caption[item[own]] = own
    split, cluster = of_items["split"], of_items["cluster"]
    rows = len(names)
    text_ids = [f"{row:08d}" for row in range(rows)]
    counts = {name: _counts(table, name, path) for name in COUNTS}
    items = {
        "item_id": names[first],
        "protocol": protocol,
        "kind": of_items["kind"],
        "skill": of_items["skill"],
        "split": np.where(split == "", NO_SPLIT, split),
        "cluster_id": np.where(cluster == "", image[caption], cluster),
    }
    candidates = {
        "item_id": names,
        "scene_id": image,
        "text_id": text_ids,
        "slot": slot,
        "truth": truth,
        "kind": texts(table, "candidate_kind"),
    }
    described = {"text_id": text_ids, "text": texts(table, "text"), "level": texts(table, "level"), **counts}
    return Tables(
        _table(items, ITEMS),
        _table(candidates, CANDIDATES),
        _table(described, TEXTS),
        scores(table, path, probabilities) if "score" in table.column_names else np.full(rows, np.nan),
    )


def _of_items(table: pa.Table, name: str, item: np.ndarray, first: np.ndarray, path: Path) -> np.ndarray:
    """The label of each item, "" where no row has one. Raises UserError where its rows differ, or it has no
    protocol."""
    values = texts(table, name)
    labels = np.full(len(first), "", dtype=object)
    known = np.flatnonzero(values != "")[::-1]
    labels[item[known]] = values[known]
    differs = (values != "") & (values != labels[item])
    if differs.any():
        row = int(np.flatnonzero(differs)[0])
        raise UserError(
            f"Item '{texts(table, 'item')[row]}' of {path} has the {name} '{labels[item[row]]}' in one row and "
            f"'{values[row]}' in another; give each question an id of its own."
        )
    if name == "protocol" and "" in labels:
        raise UserError(f"Row {_first(labels[item] == '')} of {path} has no protocol.")
    return labels


def _slots(table: pa.Table, protocol: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The slot and the truth of each candidate. What a row lacks follows from the other. Raises UserError where it
    does not."""
    slot, told = texts(table, "slot"), truths(table, "truth", path)
    pairs = protocol == _PAIRS
    wrong = [i for i, name in enumerate(slot) if name and not _SLOT.fullmatch(name)]
    if wrong:
        raise UserError(
            f"Expected a slot c, n, p, context, zsl, 0, 1, d1, d2 … in row {wrong[0] + 1} of {path}, got "
            f"'{slot[wrong[0]]}'."
        )
    unnamed = slot == ""
    slot = np.where(unnamed & (told == True) & ~pairs, "c", slot)  # noqa: E712
    slot = np.where(unnamed & (told == False) & ~pairs, "n", slot)  # noqa: E712
    if "" in slot:
        need = "0 or 1, the number of the caption" if pairs[slot == ""][0] else "a slot or a truth"
        raise UserError(f"Row {_first(slot == '')} of {path} needs {need}.")
    untold = told == None  # noqa: E711
    image = texts(table, "image")
    numbered = pairs & np.isin(image, ("0", "1")) & np.isin(slot, ("0", "1"))
    told = np.where(untold & ~pairs & np.isin(slot, _TRUE), True, told)
    told = np.where(untold & ~pairs & np.isin(slot, _FALSE), False, told)
    told = np.where(untold & numbered, image == slot, told)
    if (told == None).any():  # noqa: E711
        row = _first(told == None)  # noqa: E711
        more = " or the number of its image, 0 or 1" if pairs[row - 1] else ""
        raise UserError(f"Row {row} of {path} needs a truth{more}: slot '{slot[row - 1]}' can be true or false.")
    return slot, told.astype(bool)


def _images(
    table: pa.Table, names: np.ndarray, protocol: np.ndarray, slot: np.ndarray, truth: np.ndarray
) -> np.ndarray:
    """The id of each candidate's image: its own; of a pair of images without ids the item and a number; else the
    item."""
    image = texts(table, "image")
    numbered = (protocol == _PAIRS) & np.isin(image, ("", "0", "1"))
    other = np.where(slot == "0", "1", "0")
    image[numbered] = names[numbered] + "/" + np.where(truth, slot, other)[numbered]
    return np.where(image == "", names, image)


def _check_pairs(
    names: np.ndarray, item: np.ndarray, protocol: np.ndarray, slot: np.ndarray, truth: np.ndarray, path: Path
) -> None:
    """Raises UserError where a caption of a pair of images has two scores with the same image."""
    rows = np.flatnonzero(protocol == _PAIRS)
    keys = 4 * item[rows] + 2 * (slot[rows] == "1") + truth[rows]
    _, place, times = np.unique(keys, return_index=True, return_counts=True)
    if (times > 1).any():
        row = rows[place[times > 1][0]]
        whose = "its own" if truth[row] else "the other"
        raise UserError(
            f"Item '{names[row]}' of {path} has several scores of caption {slot[row]} with {whose} image; give each "
            f"item an id "
            f"of its own."
        )


def _counts(table: pa.Table, name: str, path: Path) -> np.ndarray:
    """A column of whole numbers as an object array, None where it is empty or missing."""
    if name not in table.column_names:
        return np.full(table.num_rows, None, dtype=object)
    return np.array([None if np.isnan(value) else int(value) for value in numbers(table, name, path)], dtype=object)


def _table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """A table of a schema; columns that are not given, and empty strings but for texts, are null."""
    n = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        values = columns.get(field.name, [None] * n)
        if pa.types.is_string(field.type) and field.name != "text":
            values = [None if value in ("", None) else str(value) for value in values]
        arrays.append(pa.array(values, field.type))
    return pa.table(arrays, schema=schema)


def _first(mask: np.ndarray) -> int:
    """The number of the first row of a mask, from 1."""
    return int(np.flatnonzero(mask)[0]) + 1


_PLACES = tuple((caption, image) for caption in "01" for image in "01")
_LABEL = re.compile(r"(.+)_c([01])_i([01])")


def one_row_a_candidate(table: pa.Table, path: Path) -> pa.Table:
    """A table of the columns of docs/models.md, from one of these layouts; other tables as they are.

    Four columns c0_i0, c0_i1, c1_i0, c1_i1: the scores of caption k with image i, a row an item (column `item` or
    `id`). A column `label` such as 17_c0_i1 and one `score`: item 17, caption 0 with image 1, as Winoground's authors
    publish them. Raises UserError for a label of another form.
    """
    names = table.column_names
    if "id" in names and "item" not in names:
        table = table.rename_columns(["item" if name == "id" else name for name in names])
    wide = [f"c{caption}_i{image}" for caption, image in _PLACES]
    if set(wide) <= set(names):
        return _from_columns(table, wide)
    if "label" in names and "score" in names and "item" not in table.column_names:
        return _from_labels(table, path)
    return table


def _from_columns(table: pa.Table, wide: list[str]) -> pa.Table:
    common = table.drop_columns(wide)
    parts = []
    for name, (caption, image) in zip(wide, _PLACES, strict=True):
        columns = {name: common[name] for name in common.column_names if name not in ("protocol", "slot", "image")}
        parts.append(
            _of_pairs(columns, [caption] * len(table), [image] * len(table)).append_column("score", table[name])
        )
    return pa.concat_tables(parts, promote_options="permissive")


def _from_labels(table: pa.Table, path: Path) -> pa.Table:
    labels = table["label"].to_pylist()
    found = [_LABEL.fullmatch(str(label)) for label in labels]
    if None in found:
        raise UserError(
            f"Expected labels such as 17_c0_i1 (item, caption, image) in the column 'label' of {path}, got "
            f"'{labels[found.index(None)]}'."
        )
    items, captions, images = zip(*(match.groups() for match in found if match), strict=True)
    columns = {name: table[name] for name in table.column_names if name not in ("label", "protocol", "slot", "image")}
    return _of_pairs({"item": pa.array(items), **columns}, list(captions), list(images))


def _of_pairs(columns: dict[str, pa.Array], captions: list[str], images: list[str]) -> pa.Table:
    """A table of the protocol `pairs`."""
    protocol = ["pairs"] * len(captions)
    return pa.table({**columns, "protocol": protocol, "slot": captions, "image": images})
