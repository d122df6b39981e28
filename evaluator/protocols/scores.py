"""The scores that protocols measure: of the candidates of each item, and of pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
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
    sorted_items,
    strings,
)
from evaluator.protocols.pools import Fold, Pool
from evaluator.statistics.intervals import LEVEL
from generator.dataset.reader import Benchmark

_READ = ["item_id", "scene_id", "text_id", "slot", "truth", "kind"]


@dataclass(frozen=True)
class Scores:
    """The scores of one channel of a run.

    indistinct: text_id → the earlier text_id that the model reads it as. table: schema.SCORES of the channel. pools:
    of the items that have one. folds: of raw retrieval, by protocol, where the run scored them. matrix: reads the
    scores of a pool or fold, by parts; nan where a sampled pool has none. tolerance: how close scores tie. shown: the
    bindings of each scene, joined by ";". confidence: the level of intervals, 0..1. between_images: the scores of
    another channel, where images are compared by that. partitioned: the splits are partitions by familiarity.
    averages_categories: the authors of the benchmark average over categories.
    """

    benchmark: Benchmark
    indistinct: Mapping[str, str]
    table: pa.Table
    pools: Sequence[Pool]
    folds: Mapping[str, Sequence[Fold]]
    matrix: Callable[[Pool], PoolScores]
    tolerance: float = TOLERANCE
    shown: Mapping[str, str] = field(default_factory=dict)
    confidence: float = LEVEL
    between_images: "Scores | None" = None
    partitioned: bool = False
    averages_categories: bool = False

    def items(self, protocol: str) -> Items:
        """The items of a protocol with the scores of their candidates, by split (in the order of SPLIT_ORDER, others
        last) and item_id.

        An item is unscored when one of its scores is missing or not a number, when it lacks a true or a false text, or
        when the model reads a true text as a false one that it is compared with.
        """
        benchmark = self.benchmark
        table = sorted_items(benchmark, protocol)
        n = table.num_rows
        item = positions(benchmark.candidates["item_id"], table["item_id"])
        order = np.flatnonzero(item >= 0)
        order = order[np.argsort(item[order], kind="stable")]
        item, rows = item[order], benchmark.candidates.select(_READ).take(pa.array(order))
        column = np.arange(len(item)) - np.searchsorted(item, item)
        width = int(column.max(initial=0)) + 1

        def padded(values: np.ndarray, fill: object) -> np.ndarray:
            full = np.full((n, width), fill, dtype=values.dtype)
            full[item, column] = values
            return full

        scene, slot, kind, text = (strings(rows[name]) for name in ("scene_id", "slot", "kind", "text_id"))
        truth = rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
        score, reason = _candidate_scores(rows, self.table)
        caption = np.full(n, -1)
        for chosen in (np.arange(len(item)), np.flatnonzero(np.isin(slot, ("c", "0")) & truth)):
            caption[item[chosen][::-1]] = chosen[::-1]  # the first true one in slot c or 0, else the first of all
        there = caption >= 0
        captions = rows["text_id"].take(pa.array(caption, mask=~there))
        place = positions(captions, benchmark.texts["text_id"])
        described = benchmark.texts.select(["level", *COUNTS]).take(pa.array(place, mask=place < 0))
        scene_id = np.full(n, "", dtype=object)
        scene_id[there] = scene[caption[there]]
        return self.for_intervals(
            Items(
                **item_columns(table),
                scene_id=scene_id,
                level=strings(described["level"]),
                counts=np.stack([pc.fill_null(described[name], -1).to_numpy() for name in COUNTS], axis=1).astype(int),
                scores=padded(score, np.nan),
                truth=padded(truth, False),
                false=padded(~truth, False),
                slot=padded(slot, ""),
                candidate_kind=padded(kind, ""),
                text_id=padded(text, ""),
                unscored=_reasons(n, item, slot, truth, self._input(rows), reason),
                tolerance=self.tolerance,
            )
        )

    def for_intervals(self, items: Items) -> Items:
        """The items with what rows need: the bindings of their scenes, the level, and whether splits are partitions."""
        names = np.array([self.shown.get(scene, "") for scene in items.scene_id], dtype=object)
        return replace(items, bindings=names, confidence=self.confidence, partitioned=self.partitioned)

    def _input(self, rows: pa.Table) -> np.ndarray:
        """A code (rows,) of what the model reads of each candidate, equal for an image and texts that it cannot tell
        apart."""
        texts, scenes = (rows[name].combine_chunks().dictionary_encode() for name in ("text_id", "scene_id"))
        codes: dict[str, int] = {}
        names = texts.dictionary.to_pylist()
        read = np.array([codes.setdefault(self.indistinct.get(name, name), len(codes)) for name in names], dtype=int)
        pairs = scenes.indices.to_numpy() * np.int64(len(names)) + read[texts.indices.to_numpy()]
        return np.unique(pairs, return_inverse=True)[1]


def _candidate_scores(rows: pa.Table, scores: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Score (float32, nan where there is none) and reason ("" for a score) of each candidate."""
    images, texts = (pa.chunked_array([pc.unique(scores[name])]) for name in ("image_id", "text_id"))

    def pairs(image: pa.ChunkedArray, text: pa.ChunkedArray) -> pa.ChunkedArray:
        i, t = positions(image, images), positions(text, texts)
        return pa.chunked_array([np.where((i < 0) | (t < 0), -1, i * max(1, len(texts)) + t)])

    place = positions(pairs(rows["scene_id"], rows["text_id"]), pairs(scores["image_id"], scores["text_id"]))
    found = place >= 0
    values, reasons = np.full(len(place), np.nan, np.float32), np.full(len(place), MISSING, dtype=object)
    values[found] = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)[place[found]]
    reasons[found] = strings(scores["unscored"])[place[found]]
    return values, reasons


def _reasons(
    n: int, item: np.ndarray, slot: np.ndarray, truth: np.ndarray, model_input: np.ndarray, reason: np.ndarray
) -> np.ndarray:
    """Why each item is unscored, "" where it is scored: the strongest reason of its candidates.

    item, slot, truth, model_input, reason: (rows,) of the candidates; model_input is a code for the image and the text
    as the model reads it. Candidates of slots c, n and p, 0 and 1 are compared with one another, those of every other
    slot among themselves.
    """
    names, compared = np.unique(np.where(np.isin(slot, COMPARED), "", slot).astype(str), return_inverse=True)
    group = item * max(1, len(names)) + compared
    reasons = np.full(n, "", dtype=object)
    unscored = np.flatnonzero(reason != "")[::-1]
    reasons[item[unscored]] = reason[unscored]
    key = group * (int(model_input.max(initial=0)) + 1) + model_input
    reasons[item[truth & np.isin(key, key[~truth])]] = TRUNCATED
    complete = np.isin(group, group[truth]) & np.isin(group, group[~truth])
    reasons[item[~complete]] = INCOMPLETE
    reasons[np.bincount(item, minlength=n) == 0] = INCOMPLETE
    return reasons
