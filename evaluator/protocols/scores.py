"""The scores of a run as protocols read them: of the candidates of each item, and of pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.comparison import TOLERANCE
from evaluator.metrics.ranking import PoolScores
from evaluator.protocols.items import (
    COMPARED,
    COUNTS,
    INCOMPLETE,
    MISSING,
    TRUNCATED,
    Items,
    item_columns,
    positions,
    sorted_rows,
    strings,
)
from evaluator.protocols.pools import Fold, Pool
from evaluator.statistics.intervals import LEVEL
from generator.base.clusters import SEPARATOR, vocabulary_size
from generator.dataset.reader import Benchmark

_READ = ["scene_id", "text_id", "slot", "truth", "kind"]


@dataclass(frozen=True)
class ItemScores:
    """Scores of candidates that depend on their item, such as choices. If there are several
    samples, the last one is the majority.

    Arrays have the shape (samples, rows of candidates).
    """

    values: np.ndarray
    """float32; nan if unscored."""
    reasons: np.ndarray
    """Why a candidate is unscored; "" if it is scored."""
    unread: np.ndarray
    """Why a candidate's answer counts as wrong without a label: it is unread, refused or cut off;
    else ""."""
    asked: np.ndarray
    """Which candidates the model was asked about, bool (rows,). Other candidates are left out of
    their items."""
    of_asked_items: np.ndarray
    """Which candidates belong to an item with a question, bool (rows,). Other items are left
    out."""

    @classmethod
    def empty(cls, samples: int, rows: int) -> "ItemScores":
        """Scores of candidates that the model was not asked about: all nan."""
        reasons, unread = (np.full((samples, rows), "", dtype=object) for _ in range(2))
        asked, of_asked_items = (np.zeros(rows, dtype=bool) for _ in range(2))
        return cls(
            np.full((samples, rows), np.nan, np.float32), reasons, unread, asked, of_asked_items
        )


@dataclass(frozen=True)
class Scores:
    """The scores of one channel of a run.

    indistinct: text_id → an earlier text_id with the same model input. table: rows of the channel
    (generator.dataset.records.SCORES). protocols: of the run. pools: of its items. folds: of raw
    retrieval, by
    protocol, if the run scored them. matrix: reads the scores of a pool or fold in parts; nan for
    texts outside the
    sample of a pool. tolerance: how close scores tie. shown: the bindings of each scene, joined by
    ";". confidence: the
    level of intervals, 0..1. intervals: whether to compute them. between_images: the scores of
    another channel, if
    images are compared by that channel. matchings: the answers in words to questions about two
    images and two
    captions, None if there are none. twins: the twin of each scene that has one, in both
    directions; empty if the world
    is not known. partitioned: the splits are partitions by familiarity. averages_categories: the
    authors of the
    benchmark average over categories. in_items: scores that depend on items, in place of `table`;
    `sample` is the index
    of the sample to read.
    """

    benchmark: Benchmark
    indistinct: Mapping[str, str]
    table: pa.Table
    protocols: Sequence[str]
    pools: Sequence[Pool]
    folds: Mapping[str, Sequence[Fold]]
    matrix: Callable[[Pool], PoolScores]
    tolerance: float = TOLERANCE
    shown: Mapping[str, str] = field(default_factory=dict)
    confidence: float = LEVEL
    intervals: bool = True
    between_images: "Scores | None" = None
    matchings: "Scores | None" = None
    twins: Mapping[str, str] = field(default_factory=dict)
    partitioned: bool = False
    averages_categories: bool = False
    in_items: ItemScores | None = None
    sample: int = 0

    def items(self, protocol: str) -> Items:
        """The items of a protocol with the scores of their candidates, sorted by split (in the
        order of SPLIT_ORDER, others last) and item_id. The samples of an item are consecutive rows.

        An item is unscored when one of its scores is missing or not a number, when it lacks a true
        or a false text, or when the model cannot tell a true text from a false text that it is
        compared with.
        """
        return Items.interleaved([each._items(protocol) for each in self._samples])

    @cached_property
    def _samples(self) -> "list[Scores]":
        if self.in_items is None:
            return [self]
        return [replace(self, sample=i) for i in range(len(self.in_items.values))]

    def _items(self, protocol: str) -> Items:
        benchmark = self.benchmark
        chosen = sorted_rows(benchmark, protocol)
        chosen = chosen[self._asked_items[chosen]]
        table, n = benchmark.items.take(pa.array(chosen)), len(chosen)
        row_of = np.full(benchmark.items.num_rows, -1)
        row_of[chosen] = np.arange(n)
        item = row_of[self._candidates["item"].to_numpy()]
        order = np.flatnonzero(item >= 0)
        order = order[np.argsort(item[order], kind="stable")]
        item, rows = item[order], self._candidates
        if not np.array_equal(order, np.arange(rows.num_rows)):
            rows = rows.take(pa.array(order))
        column = np.arange(len(item)) - np.searchsorted(item, item)
        width = int(column.max(initial=0)) + 1

        def padded(values: np.ndarray, fill: object) -> np.ndarray:
            full = np.full((n, width), fill, dtype=values.dtype)
            full[item, column] = values
            return full

        scene, slot, kind, text = (
            strings(rows[name]) for name in ("scene_id", "slot", "kind", "text_id")
        )
        truth = rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
        unscored = _reasons(n, item, slot, truth, rows["input"].to_numpy(), strings(rows["reason"]))
        unread = None
        if self.in_items is not None:
            unread = np.full(n, "", dtype=object)
            without_label = np.flatnonzero(strings(rows["unread"]) != "")[::-1]
            unread[item[without_label]] = strings(rows["unread"])[without_label]
        caption = np.full(n, -1)
        for chosen in (np.arange(len(item)), np.flatnonzero(np.isin(slot, ("c", "0")) & truth)):
            caption[item[chosen][::-1]] = chosen[
                ::-1
            ]  # first true candidate in slot c or 0, else first candidate
        there = caption >= 0
        place = np.where(there, rows["text"].to_numpy()[caption] if len(rows) else -1, -1)
        described = benchmark.texts.select(["level", *COUNTS]).take(pa.array(place, mask=place < 0))
        scene_id = np.full(n, "", dtype=object)
        scene_id[there] = scene[caption[there]]
        found = self.for_intervals(
            Items(
                **item_columns(table),
                scene_id=scene_id,
                level=strings(described["level"]),
                counts=np.stack(
                    [pc.fill_null(described[name], -1).to_numpy() for name in COUNTS], axis=1
                ).astype(int),
                scores=padded(rows["score"].to_numpy(), np.nan),
                truth=padded(truth, False),
                false=padded(~truth, False),
                slot=padded(slot, ""),
                candidate_kind=padded(kind, ""),
                text_id=padded(text, ""),
                unscored=unscored,
                unread=unread,
                tolerance=self.tolerance,
                graded=self.in_items is None,
            )
        )
        return replace(found, bindings=self._bindings_of_all_images(found, item, scene))

    def _bindings_of_all_images(
        self, items: Items, item: np.ndarray, scene: np.ndarray
    ) -> np.ndarray:
        """The bindings (n,) of the items. An item about several images has the bindings of all of
        them.

        Args:
            items: the items, with the bindings of the first image.
            item: (rows,) the row number in `items` of each candidate.
            scene: (rows,) the scene of each candidate.
        """
        assert items.bindings is not None
        bindings = items.bindings.copy()
        in_other_image = scene != items.scene_id[item]
        rows, others = item[in_other_image].tolist(), scene[in_other_image].tolist()
        for row, other in dict.fromkeys(zip(rows, others, strict=True)):
            bindings[row] = joined_bindings(bindings[row], self.shown.get(other, ""))
        return bindings

    def for_intervals(self, items: Items) -> Items:
        """The items with the fields for intervals: bindings, vocabulary, confidence level, whether
        to compute them, `partitioned`."""
        names = np.array([self.shown.get(scene, "") for scene in items.scene_id], dtype=object)
        return replace(
            items,
            bindings=names,
            vocabulary=self.vocabulary,
            confidence=self.confidence,
            intervals=self.intervals,
            partitioned=self.partitioned,
        )

    @cached_property
    def _asked_items(self) -> np.ndarray:
        """Which items of the benchmark have a question, bool (items,); all for scores that are not
        of items."""
        items = self.benchmark.items["item_id"]
        if self.in_items is None:
            return np.ones(len(items), dtype=bool)
        row_of_item = positions(self.benchmark.candidates["item_id"], items)
        found = np.zeros(len(items), dtype=bool)
        found[row_of_item[self.in_items.of_asked_items & (row_of_item >= 0)]] = True
        return found

    @cached_property
    def vocabulary(self) -> tuple[int, int]:
        """The number of values and of objects that the world's scenes show."""
        return vocabulary_size(self.shown.values())

    @cached_property
    def _candidates(self) -> pa.Table:
        """The candidates of all protocols' items, each with the rows of its item and text, a code
        of the model's input, its score, and the reason if it has none."""
        items, rows, texts = self.benchmark.items, self.benchmark.candidates, self.benchmark.texts
        asked = pc.is_in(items["protocol"], pa.array(list(self.protocols), pa.string())).to_numpy()
        item = positions(rows["item_id"], items["item_id"])
        inside = (item >= 0) & asked[item]
        if self.in_items is not None:
            inside &= self.in_items.asked
        rows = rows.select(_READ)
        if not inside.all():  # a copy may take hundreds of megabytes
            rows = rows.filter(pa.array(inside))
        if self.in_items is None:
            score, reason = _candidate_scores(rows, self.table)
        else:
            own = self.in_items
            score, reason = own.values[self.sample][inside], own.reasons[self.sample][inside]
            rows = rows.append_column(
                "unread", pa.array(own.unread[self.sample][inside], pa.string())
            )
        columns = {
            "item": item[inside],
            "text": positions(rows["text_id"], texts["text_id"]),
            "input": _inputs(rows, self.indistinct),
            "score": score,
            "reason": pa.array(reason, pa.string()),
        }
        for name, column in columns.items():
            rows = rows.append_column(name, pa.array(column))
        return rows


def joined_bindings(first: str, second: str) -> str:
    """The bindings of two scenes together; "" if one of them is not known.

    >>> joined_bindings("red:cube;blue:ball", "blue:cube;red:ball")
    'red:cube;blue:ball;blue:cube;red:ball'
    """
    return f"{first}{SEPARATOR}{second}" if first and second else ""


def _inputs(rows: pa.Table, indistinct: Mapping[str, str]) -> np.ndarray:
    """A code (rows,) of each candidate's model input; equal for the same image with texts that the
    model cannot tell apart."""
    texts, scenes = (
        rows[name].combine_chunks().dictionary_encode() for name in ("text_id", "scene_id")
    )
    code = np.arange(len(texts.dictionary))
    alike = {**{first: first for first in indistinct.values()}, **indistinct}
    place = positions(
        pa.chunked_array([list(alike)], pa.string()), pa.chunked_array([texts.dictionary])
    )
    first = len(code) + pd.factorize(np.array([*alike.values()], dtype=object))[0]
    code[place[place >= 0]] = first[place >= 0]
    pairs = scenes.indices.to_numpy() * np.int64(2 * len(code) + 1) + code[texts.indices.to_numpy()]
    found: np.ndarray = pd.factorize(pairs)[0]
    return found


def _candidate_scores(rows: pa.Table, scores: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The score (float32, nan if there is none) and the reason ("" for a score) of each
    candidate."""
    images, texts = (
        pa.chunked_array([pc.unique(scores[name])]) for name in ("image_id", "text_id")
    )

    def pairs(image: pa.ChunkedArray, text: pa.ChunkedArray) -> pa.ChunkedArray:
        i, t = positions(image, images), positions(text, texts)
        return pa.chunked_array([np.where((i < 0) | (t < 0), -1, i * max(1, len(texts)) + t)])

    place = positions(
        pairs(rows["scene_id"], rows["text_id"]), pairs(scores["image_id"], scores["text_id"])
    )
    found = place >= 0
    values, reasons = (
        np.full(len(place), np.nan, np.float32),
        np.full(len(place), MISSING, dtype=object),
    )
    values[found] = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)[place[found]]
    reasons[found] = strings(scores["unscored"])[place[found]]
    return values, reasons


def _reasons(
    n: int,
    item: np.ndarray,
    slot: np.ndarray,
    truth: np.ndarray,
    model_input: np.ndarray,
    reason: np.ndarray,
) -> np.ndarray:
    """Why each item is unscored, "" if it is scored: the strongest reason of its candidates.

    item, slot, truth, model_input, reason: (rows,) of the candidates; model_input: from `_inputs`.
    Candidates of slots c, n, p, 0 and 1 are compared with one another, candidates of any other slot
    only within it.
    """
    code, names = pd.factorize(slot)
    compared = np.where(np.isin(names.astype(str), COMPARED), -1, np.arange(len(names)))[code] + 1
    group = item * (len(names) + 1) + compared
    reasons = np.full(n, "", dtype=object)
    unscored = np.flatnonzero(reason != "")[::-1]
    reasons[item[unscored]] = reason[unscored]
    key = group * (int(model_input.max(initial=0)) + 1) + model_input
    true = np.flatnonzero(truth)
    reasons[item[true[pd.Series(key[true]).isin(key[~truth])]]] = TRUNCATED
    complete = np.isin(group, group[truth]) & np.isin(group, group[~truth])
    reasons[item[~complete]] = INCOMPLETE
    reasons[np.bincount(item, minlength=n) == 0] = INCOMPLETE
    return reasons
