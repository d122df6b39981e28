"""The items (questions) of a protocol with the scores of their candidates, as arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.comparison import TOLERANCE
from evaluator.statistics.intervals import LEVEL
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
_LEFT_OUT = ("val", EXCLUDED, UNPARSED)
"""Splits that are measured but left out of figures and papers' tables."""
COMPARED = ("c", "n", "p", "0", "1")
"""Slots whose candidates are compared with one another; candidates of any other slot are compared
only within it."""
COUNTS = ("n_objects", "n_attributes", "n_relations")
TOP = 3
"""Number of best texts of an item that are recorded."""


@dataclass(frozen=True)
class Items:
    """n items of one protocol with at most m candidates each. Strings are object arrays, "" where
    there is none.

    counts: objects, attributes and relations of the caption c, −1 where unknown. scores: float32,
        nan where padded or
    unscored. truth, false: bool, both False where padded. unscored: the reason, "" for a scored
    item. tolerance: how
    close scores tie (comparison.tied). confidence: the level of intervals, 0..1. intervals: whether
    to compute them; a
    ceiling needs only means. partitioned: the splits are partitions by familiarity. graded: scores
    have degrees; else
    they only mark the candidates that win. samples: number of consecutive rows of each item.
    """

    item_id: np.ndarray  # (n,)
    scene_id: np.ndarray  # (n,) of a pair of images: image 0
    cluster: np.ndarray  # (n,)
    kind: np.ndarray  # (n,)
    skill: np.ndarray  # (n,)
    split: np.ndarray  # (n,)
    level: np.ndarray  # (n,) of the caption c
    counts: np.ndarray  # (n, 3)
    scores: np.ndarray  # (n, m)
    truth: np.ndarray  # (n, m)
    false: np.ndarray  # (n, m)
    slot: np.ndarray  # (n, m)
    candidate_kind: np.ndarray  # (n, m)
    text_id: np.ndarray  # (n, m)
    unscored: np.ndarray  # (n,)
    unread: np.ndarray | None = (
        None  # (n,) why an item is wrong without a label of the model, "" if it has labels
    )
    bindings: np.ndarray | None = None  # (n,) of the scene, joined by ";"; None if unknown
    tolerance: float = TOLERANCE
    confidence: float = LEVEL
    intervals: bool = True
    partitioned: bool = False
    graded: bool = True
    samples: int = 1
    vocabulary: tuple[int, int] | None = (
        None  # the world's number of values and of objects; None: those of the items
    )

    @classmethod
    def interleaved(cls, samples: "Sequence[Items]") -> "Items":
        """Several samples of the same items as one object; the samples of an item are consecutive
        rows."""
        first = samples[0]
        if len(samples) == 1:
            return first
        columns = {
            field.name: np.stack([getattr(each, field.name) for each in samples], axis=1).reshape(
                -1, *column.shape[1:]
            )
            for field in fields(cls)
            if isinstance(column := getattr(first, field.name), np.ndarray)
        }
        return replace(first, **columns, samples=len(samples))

    def __len__(self) -> int:
        return len(self.item_id)

    def take(self, mask: np.ndarray) -> "Items":
        """The items where the mask (n,) is true."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self,
            **{name: each[mask] for name, each in columns.items() if isinstance(each, np.ndarray)},
        )

    def requiring(self, complete: np.ndarray) -> "Items":
        """The items, with incomplete items unscored. complete: bool (n,)."""
        return replace(self, unscored=np.where(complete | ~self.scored, self.unscored, INCOMPLETE))

    def has_slots(self, *slots: str) -> np.ndarray:
        """Whether each item has candidates in all these slots, bool (n,)."""
        return np.all([(self.slot == slot).any(axis=1) for slot in slots], axis=0)

    def of_slots(self, *slots: str) -> "Items":
        """The items with only the candidates of these slots; other candidates count as neither true
        nor false."""
        inside = np.isin(self.slot, slots)
        return replace(self, truth=self.truth & inside, false=self.false & inside)

    def best_candidates(self) -> dict[str, np.ndarray]:
        """The best true and the best false candidate of the first image: arrays (n,) true,
        true_text, false, false_text.

        true and false are scores, nan if scores are not graded; true_text and false_text are text
        ids. Compares slot c with n; for a pair of images, slot 0 with 1.
        """
        rows = np.arange(len(self))
        columns: dict[str, np.ndarray] = {}
        for name, mask in (
            ("true", self.truth & np.isin(self.slot, ("c", "0"))),
            ("false", self.false & np.isin(self.slot, ("n", "1"))),
        ):
            best = np.where(mask, self.scores, -np.inf).argmax(axis=1)
            best_scores = self.scores[rows, best] if self.graded else np.full(len(self), np.nan)
            columns |= {name: best_scores, f"{name}_text": self.text_id[rows, best]}
        return columns

    @property
    def clusters(self) -> Clusters:
        """The clusters, scenes and bindings of the items."""
        return Clusters.of(self.cluster, self.bindings, self.scene_id, vocabulary=self.vocabulary)

    @property
    def read(self) -> np.ndarray:
        """Whether each item's outcome follows from labels that the model gave, bool (n,)."""
        return (
            self.unscored == ""
            if self.unread is None
            else (self.unscored == "") & (self.unread == "")
        )

    @property
    def scored(self) -> np.ndarray:
        """Whether each item is scored, bool (n,)."""
        return self.unscored == ""


def sorted_rows(benchmark: Benchmark, protocol: str) -> np.ndarray:
    """The rows of a protocol's items, by split (in the order of SPLIT_ORDER, others last) and
    item_id."""
    chosen = np.flatnonzero(
        pc.fill_null(pc.equal(benchmark.items["protocol"], protocol), False).to_numpy()
    )
    found = benchmark.items.select(["split", "item_id"]).take(pa.array(chosen))
    code, names = pd.factorize(strings(found["split"]))
    rank = np.argsort(sorted(range(len(names)), key=lambda i: split_rank(str(names[i]))))
    keys = pa.table(
        {"rank": rank[code], "item_id": found["item_id"], "row": np.arange(len(chosen))}
    )
    return chosen[
        pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]).to_numpy()
    ]


def split_rank(split: str) -> tuple[int, str]:
    """Sort key of a split: its place in SPLIT_ORDER; other splits last, by name."""
    return (SPLIT_ORDER.index(split) if split in SPLIT_ORDER else len(SPLIT_ORDER), split)


def reported_splits(splits: Iterable[str]) -> list[str]:
    """The splits to report, in order and without duplicates.

    >>> reported_splits(["val", "unseen", "seen", "ood_test"])
    ['seen', 'unseen', 'ood_test']
    """
    return sorted({split for split in splits if split not in _LEFT_OUT}, key=split_rank)


def item_columns(table: pa.Table) -> dict[str, Any]:
    """The fields of Items that are columns of the table of items."""
    columns = {
        "item_id": "item_id",
        "cluster": "cluster_id",
        "kind": "kind",
        "skill": "skill",
        "split": "split",
    }
    return {name: strings(table[column]) for name, column in columns.items()}


def strings(column: pa.ChunkedArray) -> np.ndarray:
    """A column of strings as an object array, "" for null; equal strings are one object."""
    encoded = pc.fill_null(column.combine_chunks(), "").dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)
    return names[encoded.indices.to_numpy(zero_copy_only=False)]


def positions(values: pa.ChunkedArray, among: pa.ChunkedArray) -> np.ndarray:
    """The row of each value in the column `among`, int64, −1 if it is missing."""
    return (
        pc.fill_null(pc.index_in(values, value_set=among.combine_chunks()), -1)
        .to_numpy()
        .astype(np.int64)
    )
