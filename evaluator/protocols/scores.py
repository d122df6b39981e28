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
    sorted_rows,
    strings,
)
from evaluator.protocols.pools import Fold, Pool
from evaluator.statistics.intervals import LEVEL
from generator.dataset.reader import Benchmark

_CAPTION = ("c", "0")
_WIDEST = 2**63
_READ = ["scene_id", "text_id", "slot", "truth", "kind"]


class _Coded:
    """A column of strings as codes, int32 (n,), and names: a third of the memory of `strings`. Null is ""."""

    def __init__(self, column: pa.ChunkedArray):
        encoded = column.combine_chunks().dictionary_encode()
        names = [*encoded.dictionary.to_pylist(), ""]
        self.names = np.array(names, dtype=object)
        self.codes = pc.fill_null(encoded.indices, len(names) - 1).to_numpy().astype(np.int32)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """The strings of some rows, an object array."""
        found: np.ndarray = self.names[self.codes[rows]]
        return found


class Candidates:
    """The candidates of the items of some protocols, with their scores."""

    def __init__(
        self,
        benchmark: Benchmark,
        protocols: Sequence[str],
        scores: pa.Table,
        indistinct: Mapping[str, str],
        tolerance: float = TOLERANCE,
    ):
        """scores: schema.SCORES of one channel. indistinct: text_id → the earlier text_id that the model reads it as.
        tolerance: how close scores tie."""
        self._benchmark, self._tolerance = benchmark, tolerance
        chosen = pc.is_in(benchmark.items["protocol"], pa.array(list(protocols), pa.string()))
        rows = benchmark.candidates
        item = positions(rows["item_id"], benchmark.items["item_id"])
        inside = (item >= 0) & chosen.to_numpy(zero_copy_only=False)[item]
        rows = rows.select(_READ)
        if not inside.all():  # a copy of millions is not made for nothing
            rows, item = rows.filter(pa.array(inside)), item[inside]
        self._item = item.astype(np.int32)
        self._truth = rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
        self._scene, self._slot, self._kind, self._text = (
            _Coded(rows[name]) for name in ("scene_id", "slot", "kind", "text_id")
        )
        self._text_row = positions(rows["text_id"], benchmark.texts["text_id"]).astype(np.int32)
        # slots whose candidates are compared with one another have one number
        self._compared = np.where(np.isin(self._slot.names, COMPARED), 0, np.arange(1, 1 + len(self._slot.names)))
        read = _reading(rows["text_id"], indistinct)
        self._input = self._scene.codes.astype(np.int64) * (int(read.max(initial=0)) + 1) + read
        self._score, self._reason = _candidate_scores(rows, scores)

    def items(self, protocol: str) -> Items:
        """The items of a protocol by split (in the order of SPLIT_ORDER, others last) and item_id.

        An item is unscored when one of its scores is missing or not a number, when it lacks a true or a false text, or
        when the model reads a true text as a false one that it is compared with.
        """
        chosen = sorted_rows(self._benchmark, protocol)
        table = self._benchmark.items.take(pa.array(chosen))
        n = len(chosen)
        row_of = np.full(self._benchmark.items.num_rows, -1, np.int32)  # in `table`; −1 for items of other protocols
        row_of[chosen] = np.arange(n)
        row = np.flatnonzero(row_of[self._item] >= 0).astype(np.int32)
        if (np.diff(row_of[self._item[row]]) < 0).any():
            row = row[np.argsort(row_of[self._item[row]], kind="stable")]
        item = row_of[self._item[row]]
        sizes = np.bincount(item, minlength=n)
        column = np.arange(len(item), dtype=np.int32) - np.repeat((np.cumsum(sizes) - sizes).astype(np.int32), sizes)

        def padded(values: np.ndarray, fill: object) -> np.ndarray:
            full = np.full((n, sizes.max(initial=1)), fill, dtype=values.dtype)
            full[item, column] = values
            return full

        slot, truth = self._slot[row], self._truth[row]
        caption = _captions(item, slot, truth, n)
        described = np.where(caption < 0, -1, self._text_row[row[caption]])
        texts = self._benchmark.texts
        return Items(
            **item_columns(table),
            scene_id=np.where(caption < 0, "", self._scene[row[caption]]) if len(row) else np.full(n, "", dtype=object),
            level=strings(texts["level"].take(_nullable(described))),
            counts=_counts(texts, _nullable(described)),
            scores=padded(self._score[row], np.nan),
            truth=padded(truth, False),
            false=padded(~truth, False),
            slot=padded(slot, ""),
            candidate_kind=padded(self._kind[row], ""),
            text_id=padded(self._text[row], ""),
            unscored=_reasons(
                n, item, self._compared[self._slot.codes[row]], truth, self._input[row], self._reason[row]
            ),
            tolerance=self._tolerance,
        )


@dataclass(frozen=True)
class Scores:
    """The scores of one channel of a run.

    indistinct: text_id → the earlier text_id that the model reads it as. candidates: of the items without a pool.
    pools: of the items that have one. folds: of raw retrieval, by protocol, where the run scored them. matrix: reads
    the scores of a pool or fold, by parts; nan where a sampled pool has none. tolerance: how close scores tie. shown:
    the bindings of each scene, joined by ";". confidence: the level of intervals, 0..1. between_images: the scores of
    another channel, where images are compared by that. partitioned: the splits are partitions by familiarity.
    averages_categories: the authors of the benchmark average over categories.
    """

    benchmark: Benchmark
    indistinct: Mapping[str, str]
    candidates: Candidates
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
        """The items of a protocol with the scores of their candidates."""
        return self.for_intervals(self.candidates.items(protocol))

    def for_intervals(self, items: Items) -> Items:
        """The items with what rows need: the bindings of their scenes, the level, and whether splits are partitions."""
        names = np.array([self.shown.get(scene, "") for scene in items.scene_id], dtype=object)
        return replace(items, bindings=names, confidence=self.confidence, partitioned=self.partitioned)


def _candidate_scores(rows: pa.Table, scores: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Score (float32, nan where there is none) and reason ("" for a score) of each candidate."""
    images, texts = pc.unique(scores["image_id"]), pc.unique(scores["text_id"])

    def keys(image: pa.ChunkedArray, text: pa.ChunkedArray) -> np.ndarray:
        i, t = positions(image, pa.chunked_array([images])), positions(text, pa.chunked_array([texts]))
        return np.where((i < 0) | (t < 0), -1, i * max(1, len(texts)) + t)

    known = keys(scores["image_id"], scores["text_id"])
    order = np.argsort(known).astype(np.int32)
    known = known[order]
    wanted = keys(rows["scene_id"], rows["text_id"])
    place = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1)).astype(np.int32)
    found = known[place] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)
    del known, wanted
    row = order[place] if len(order) else place
    del order, place
    values, reasons = np.full(len(row), np.nan, np.float32), np.full(len(row), MISSING, dtype=object)
    values[found] = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)[row[found]]
    reasons[found] = strings(scores["unscored"])[row[found]]
    return values, reasons


def _captions(item: np.ndarray, slot: np.ndarray, truth: np.ndarray, n: int) -> np.ndarray:
    """The row of each item's first true candidate in slot c or 0, else of its first; −1 where it has none."""
    caption = np.full(n, -1)
    for chosen in (np.arange(len(item)), np.flatnonzero(np.isin(slot, _CAPTION) & truth)):
        caption[item[chosen][::-1]] = chosen[::-1]
    return caption


def _nullable(index: np.ndarray) -> pa.Array:
    """Row numbers for `take`, null where they are −1."""
    return pa.array(index, pa.int64(), mask=index < 0)


def _counts(texts: pa.Table, row: pa.Array) -> np.ndarray:
    columns = [pc.fill_null(texts[name].take(row), -1).to_numpy() for name in COUNTS]
    return np.stack(columns, axis=1).astype(np.int64)


def _reading(text: pa.ChunkedArray, indistinct: Mapping[str, str]) -> np.ndarray:
    """A code (rows,) for what the model reads, equal for texts that it cannot tell apart."""
    encoded = text.combine_chunks().dictionary_encode()
    number = np.arange(len(encoded.dictionary))
    if indistinct:
        firsts = {first: len(number) + i for i, first in enumerate(dict.fromkeys(indistinct.values()))}
        known = pa.chunked_array([encoded.dictionary])
        for names in (dict(zip(firsts, firsts, strict=True)), indistinct):
            place = positions(pa.chunked_array([list(names)], pa.string()), known)
            codes = np.array([firsts[first] for first in names.values()])
            number[place[place >= 0]] = codes[place >= 0]
    return number[encoded.indices.to_numpy()]


def _reasons(
    n: int, item: np.ndarray, compared: np.ndarray, truth: np.ndarray, model_input: np.ndarray, reason: np.ndarray
) -> np.ndarray:
    """Why each item is unscored, "" where it is scored: the strongest reason of its candidates.

    item, compared, truth, model_input, reason: (rows,) of the candidates; model_input is a code for the image and the
    text as the model reads it. Candidates of one number `compared` are compared with one another: slots c, n and p, 0
    and 1, and every other slot with itself.
    """
    group = item.astype(np.int64) * (int(compared.max(initial=0)) + 1) + compared
    reasons = np.full(n, "", dtype=object)
    unscored = np.flatnonzero(reason != "")[::-1]
    reasons[item[unscored]] = reason[unscored]
    span = int(model_input.max(initial=0)) + 1
    if (int(group.max(initial=0)) + 1) * span >= _WIDEST:
        _, model_input = np.unique(model_input, return_inverse=True)
        span = int(model_input.max(initial=0)) + 1
    key = group * span + model_input
    indistinct = np.flatnonzero(truth)
    indistinct = indistinct[np.isin(key[indistinct], key[~truth])]
    del key
    reasons[item[indistinct]] = TRUNCATED
    complete = np.isin(group, group[truth]) & np.isin(group, group[~truth])
    reasons[item[~complete]] = INCOMPLETE
    reasons[np.bincount(item, minlength=n) == 0] = INCOMPLETE
    return reasons
