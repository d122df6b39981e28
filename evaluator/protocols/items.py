"""The items (questions) of a protocol with the scores of their candidates, as arrays."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.protocols.measuring import MeasuringRules
from generator.base.clusters import Clusters
from generator.dataset.reader import Benchmark

TRUNCATED = "the tokenizer's truncation makes a true text identical to a false one"
NOT_A_NUMBER = "the model's score is not a number"
INCOMPLETE = "it lacks a true or a false text"
MISSING = "the run has no score of one of its texts"
FULL, MIXED, EXCLUDED, UNPARSED = "full", "mixed", "excluded", "unparsed"
PARTITIONS = ("seen", MIXED, "unseen")
"""The splits of partitioned items (evaluator.runs.parts). FULL holds these and EXCLUDED, but not
UNPARSED."""
ASYMMETRIC = ("asymmetric_seen", "asymmetric_unseen")
"""Splits in which only the foil names something held out (`asymmetric_seen`), or only the true text
does (`asymmetric_unseen`)."""
SPLITS = (FULL, "seen", "partial", MIXED, "unseen", *ASYMMETRIC)
"""The splits that are reported, in order, of all designs and of tables of others."""
SPLIT_ORDER = ("val", *SPLITS)
"""The order in which splits are listed."""
_LEFT_OUT = ("val", EXCLUDED, UNPARSED)
"""Splits that are measured but left out of figures and papers' tables."""
COMPARED = ("c", "n", "p", "0", "1")
"""Slots whose candidates are compared with one another; candidates of any other slot are compared
only within it."""
COUNTS = ("n_objects", "n_attributes", "n_relations")
"""Labels of items: the numbers of atoms of a caption."""
TOP = 3
"""Number of best texts of an item that are recorded."""


@dataclass(frozen=True)
class Items:
    """n items of one protocol with at most m candidates each.

    Strings are object arrays, "" where there is none. Candidates are padded: an item with fewer
    than m has neither true nor false ones behind its last.
    """

    # What the items are.
    item_id: np.ndarray
    """(n,)"""
    scene_id: np.ndarray
    """(n,), of a pair of images the first."""
    cluster: np.ndarray
    """(n,): the group of scenes that intervals are computed over."""
    kind: np.ndarray
    """(n,): the kind of question within the protocol."""
    skill: np.ndarray
    """(n,): the skill that it tests."""
    split: np.ndarray
    """(n,)"""
    level: np.ndarray
    """(n,), of the caption c: how much it names."""
    counts: np.ndarray
    """int64 (n, 3): objects, attributes and relations of the caption c; −1 where unknown."""

    # Their candidates.
    scores: np.ndarray
    """float32 (n, m); nan where padded or unscored."""
    truth: np.ndarray
    """bool (n, m): whether a candidate is true of the image."""
    false: np.ndarray
    """bool (n, m): whether it is false of it."""
    slot: np.ndarray
    """(n, m): the role of a candidate in its item."""
    candidate_kind: np.ndarray
    """(n, m): the kind of falsehood, if an item has several."""
    text_id: np.ndarray
    """(n, m)"""

    # What is not counted, or counts as wrong.
    unscored: np.ndarray
    """(n,): why an item has no score; "" for a scored one."""
    unread: np.ndarray | None = None
    """(n,): why an item is wrong without a label of the model; "" if it has labels. None for models
    that score pairs."""
    bindings: np.ndarray | None = None
    """(n,): the bindings of the scene, joined by ";"; None if unknown."""
    in_second_image: np.ndarray | None = None
    """bool (n, m): whether a candidate is of another image than `scene_id`; None if all items have
    one image."""

    # How they are measured.
    rules: MeasuringRules = field(default_factory=MeasuringRules)
    """Tolerance, level of intervals and the like."""
    graded: bool = True
    """Whether scores have degrees. Otherwise they only mark the candidates that win."""
    samples: int = 1
    """Number of consecutive rows of each item."""
    vocabulary: tuple[int, int] | None = None
    """The world's number of values and of objects; None for those of the items."""

    @classmethod
    def interleaved(cls, samples: "Sequence[Items]") -> "Items":
        """Join several samples of the same items.

        Args:
            samples: The items with the scores of each sample.

        Returns:
            Items of which the samples are consecutive rows.
        """
        first = samples[0]
        if len(samples) == 1:
            return first
        columns = {}
        for name in cls._column_names(first):
            stacked = np.stack([getattr(sample, name) for sample in samples], axis=1)
            columns[name] = stacked.reshape(-1, *stacked.shape[2:])
        return replace(first, **columns, samples=len(samples))

    @classmethod
    def _column_names(cls, items: "Items") -> list[str]:
        """The fields that have a row for each item."""
        names = [field.name for field in fields(cls)]
        return [name for name in names if isinstance(getattr(items, name), np.ndarray)]

    def __len__(self) -> int:
        return len(self.item_id)

    def take(self, mask: np.ndarray) -> "Items":
        """Select items.

        Args:
            mask: bool (n,); or row numbers, int64.

        Returns:
            The items where the mask is true.
        """
        columns = {name: getattr(self, name)[mask] for name in self._column_names(self)}
        return replace(self, **columns)

    def requiring(self, complete: np.ndarray) -> "Items":
        """Make incomplete items unscored.

        Args:
            complete: bool (n,): which items are complete.

        Returns:
            The items. Those that were unscored before keep their reason.
        """
        # An item that is unscored already keeps its reason.
        keeps_reason = complete | ~self.scored
        unscored = np.where(keeps_reason, self.unscored, INCOMPLETE)
        return replace(self, unscored=unscored)

    def has_slots(self, *slots: str) -> np.ndarray:
        """Find items with candidates in some slots.

        Args:
            slots: Names of slots.

        Returns:
            bool (n,): whether an item has candidates in all of them.
        """
        has_slot = [(self.slot == slot).any(axis=1) for slot in slots]
        return np.all(has_slot, axis=0)

    def of_slots(self, *slots: str) -> "Items":
        """Leave out the candidates of other slots.

        Args:
            slots: Names of slots.

        Returns:
            The items. Other candidates count as neither true nor false.
        """
        inside = np.isin(self.slot, slots)
        return replace(self, truth=self.truth & inside, false=self.false & inside)

    def best_candidates(self) -> dict[str, np.ndarray]:
        """Find the best true and the best false candidate of the first image.

        Slot c is compared with n; for a pair of images, slot 0 with 1.

        Returns:
            Arrays (n,): the scores `true` and `false`, nan if scores are not graded; and the text
            ids `true_text` and `false_text`.
        """
        rows = np.arange(len(self))
        in_first_image = np.ones(self.truth.shape, dtype=bool)
        if self.in_second_image is not None:
            in_first_image = ~self.in_second_image
        columns: dict[str, np.ndarray] = {}
        for name, mask in (
            ("true", self.truth & in_first_image & np.isin(self.slot, ("c", "0"))),
            ("false", self.false & in_first_image & np.isin(self.slot, ("n", "1"))),
        ):
            best = np.where(mask, self.scores, -np.inf).argmax(axis=1)
            best_scores = self.scores[rows, best]
            if not self.graded:
                best_scores = np.full(len(self), np.nan)
            columns |= {name: best_scores, f"{name}_text": self.text_id[rows, best]}
        return columns

    @property
    def clusters(self) -> Clusters:
        """The clusters, scenes and bindings of the items."""
        return Clusters.from_names(
            self.cluster, self.bindings, self.scene_id, vocabulary=self.vocabulary
        )

    @property
    def read(self) -> np.ndarray:
        """Whether each item's outcome follows from labels that the model gave, bool (n,)."""
        if self.unread is None:
            return self.scored
        return self.scored & (self.unread == "")

    @property
    def scored(self) -> np.ndarray:
        """Whether each item is scored, bool (n,)."""
        return self.unscored == ""


def sorted_rows(benchmark: Benchmark, protocol: str) -> np.ndarray:
    """Find the rows of a protocol's items.

    Returns:
        int64 (n,): rows of the table of items, by split (in the order of SPLIT_ORDER, others last)
        and item_id.
    """
    is_of_protocol = pc.fill_null(pc.equal(benchmark.items["protocol"], protocol), False)
    chosen = np.flatnonzero(is_of_protocol.to_numpy())
    items = benchmark.items.select(["split", "item_id"]).take(pa.array(chosen))
    split_codes, split_names = pd.factorize(strings(items["split"]))
    # rank[code] is the place of the split among the names, in the order of reports.
    ranks = [split_rank(str(name)) for name in split_names]
    codes_in_order = sorted(range(len(ranks)), key=ranks.__getitem__)
    rank = np.argsort(codes_in_order)
    keys = pa.table(
        {"rank": rank[split_codes], "item_id": items["item_id"], "row": np.arange(len(chosen))}
    )
    order = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    return chosen[order.to_numpy()]


def split_rank(split: str) -> tuple[int, str]:
    """Sort key of a split: its place in SPLIT_ORDER; other splits last, by name and number.

    >>> sorted(["dose16", "unseen", "dose4", "seen"], key=split_rank)
    ['seen', 'unseen', 'dose4', 'dose16']
    """
    place = SPLIT_ORDER.index(split) if split in SPLIT_ORDER else len(SPLIT_ORDER)
    padded = re.sub(r"\d+", lambda number: number[0].zfill(6), split)
    return (place, padded)


def reported_splits(splits: Iterable[str]) -> list[str]:
    """The splits to report, in order and without duplicates.

    >>> reported_splits(["val", "unseen", "seen", "ood_test"])
    ['seen', 'unseen', 'ood_test']
    """
    return sorted({split for split in splits if split not in _LEFT_OUT}, key=split_rank)


def item_columns(table: pa.Table) -> dict[str, Any]:
    """Read the fields of Items that are columns of the table of items.

    Args:
        table: n rows of the table of items (generator.dataset.records.ITEMS).

    Returns:
        Arrays (n,) by the name of the field.
    """
    columns = {
        "item_id": "item_id",
        "cluster": "cluster_id",
        "kind": "kind",
        "skill": "skill",
        "split": "split",
    }
    return {name: strings(table[column]) for name, column in columns.items()}


def strings(column: pa.ChunkedArray) -> np.ndarray:
    """Convert a column of strings. Equal strings are one object, which takes less memory and
    compares faster.

    Args:
        column: n strings or nulls.

    Returns:
        An object array (n,), "" for null.
    """
    encoded = pc.fill_null(column.combine_chunks(), "").dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)
    return names[encoded.indices.to_numpy(zero_copy_only=False)]


def positions(values: pa.ChunkedArray, among: pa.ChunkedArray) -> np.ndarray:
    """Look up values in a column.

    Args:
        values: n values.
        among: Distinct values.

    Returns:
        int64 (n,): the row of each value in `among`; −1 if it is missing.

    Example:
        >>> positions(pa.chunked_array([["b", "x"]]), pa.chunked_array([["a", "b"]])).tolist()
        [1, -1]
    """
    rows = pc.index_in(values, value_set=among.combine_chunks())
    return pc.fill_null(rows, -1).to_numpy().astype(np.int64)
