"""The scores of a run as protocols read them: of the candidates of each item, and of pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

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
from evaluator.protocols.measuring import MeasuringRules
from evaluator.protocols.pools import Fold, Pool
from generator.base.clusters import SEPARATOR, vocabulary_size
from generator.dataset.questions import FIRST_IMAGE
from generator.dataset.reader import Benchmark

_CANDIDATE_COLUMNS = ["scene_id", "text_id", "slot", "truth", "kind"]
"""The columns of the table of candidates that are read."""
_CAPTION_SLOTS = ("c", "0")
"""Slots of the caption of an item, of whose true text the level and counts are recorded."""


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
    in_question: np.ndarray
    """Which candidates the model was asked about, bool (rows,). Other candidates are left out of
    their items."""
    in_asked_item: np.ndarray
    """Which candidates belong to an item with a question, bool (rows,). Other items are left
    out."""

    @classmethod
    def empty(cls, samples: int, rows: int) -> "ItemScores":
        """Scores of candidates that the model was not asked about.

        Args:
            samples: The number of samples.
            rows: The number of candidates.

        Returns:
            Scores that are all nan, in arrays that may be filled.
        """
        shape = (samples, rows)
        return cls(
            values=np.full(shape, np.nan, np.float32),
            reasons=np.full(shape, "", dtype=object),
            unread=np.full(shape, "", dtype=object),
            in_question=np.zeros(rows, dtype=bool),
            in_asked_item=np.zeros(rows, dtype=bool),
        )


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one channel of a run, and how they are measured."""

    # What was asked.
    benchmark: Benchmark
    """The questions."""
    protocols: Sequence[str]
    """The protocols of the run."""
    pools: Sequence[Pool]
    """The pools of its items."""
    folds: Mapping[str, Sequence[Fold]]
    """By protocol, the folds of raw retrieval that the run scored."""

    # What the model answered.
    table: pa.Table
    """The rows of the channel (generator.dataset.records.SCORES)."""
    matrix: Callable[[Pool], PoolScores]
    """Reads the scores of a pool or fold in parts; nan for texts outside the sample of a pool."""
    indistinct: Mapping[str, str]
    """By text_id, an earlier text_id with the same model input."""
    in_items: ItemScores | None = None
    """Scores that depend on items, in place of `table`; None for models that score pairs."""
    sample: int = 0
    """Index of the sample of `in_items` to read."""
    between_images: "Scores | None" = None
    """The scores of another channel or of other questions, if images are compared by these."""
    matchings: "Scores | None" = None
    """The answers in words to questions about two images and two captions; None if there are
    none."""

    # What is known of the scenes.
    bindings: Mapping[str, str] = field(default_factory=dict)
    """By scene, its bindings, joined by ";"."""
    twins: Mapping[str, str] = field(default_factory=dict)
    """The twin of each scene that has one, in both directions; empty if the world is not known."""

    # How they are measured.
    rules: MeasuringRules = field(default_factory=MeasuringRules)
    """Tolerance, level of intervals and the like."""
    averages_categories: bool = False
    """Whether the authors of the benchmark average over categories."""

    def items(self, protocol: str) -> Items:
        """The items of a protocol with the scores of their candidates.

        An item is unscored when one of its scores is missing or not a number, when it lacks a true
        or a false text, or when the model cannot tell a true text from a false text that it is
        compared with.

        Args:
            protocol: Name of the protocol.

        Returns:
            The items, sorted by split (in the order of SPLIT_ORDER, others last) and item_id. The
            samples of an item are consecutive rows.
        """
        return Items.interleaved([sample._items(protocol) for sample in self._samples])

    @cached_property
    def _samples(self) -> "list[Scores]":
        """The scores of each sample."""
        if self.in_items is None:
            return [self]
        return [replace(self, sample=i) for i in range(len(self.in_items.values))]

    def _items(self, protocol: str) -> Items:
        """The items of a protocol in one sample."""
        benchmark = self.benchmark
        item_rows = sorted_rows(benchmark, protocol)
        item_rows = item_rows[self._has_question[item_rows]]
        table = benchmark.items.take(pa.array(item_rows))
        n = len(item_rows)
        item, candidates = self._candidates_of(item_rows)

        # Candidate k of an item goes to column k of its row.
        column = np.arange(len(item)) - np.searchsorted(item, item)
        width = int(column.max(initial=0)) + 1

        def padded(values: np.ndarray, fill: object) -> np.ndarray:
            full = np.full((n, width), fill, dtype=values.dtype)
            full[item, column] = values
            return full

        scene = strings(candidates["scene_id"])
        slot = strings(candidates["slot"])
        kind = strings(candidates["kind"])
        text = strings(candidates["text_id"])
        truth = candidates["truth"].to_numpy(zero_copy_only=False).astype(bool)
        unscored = _reasons(
            n,
            item,
            slot=slot,
            truth=truth,
            model_input=candidates["input"].to_numpy(),
            reason=strings(candidates["reason"]),
        )
        unread = None
        if self.in_items is not None:
            unread = _first_of_items(n, item, strings(candidates["unread"]))
        caption = _caption_rows(n, item, slot=slot, truth=truth)
        level, counts = self._describe_captions(candidates, caption)
        scene_id = np.full(n, "", dtype=object)
        scene_id[caption >= 0] = scene[caption[caption >= 0]]
        items = Items(
            **item_columns(table),
            scene_id=scene_id,
            level=level,
            counts=counts,
            scores=padded(candidates["score"].to_numpy(), np.nan),
            truth=padded(truth, False),
            false=padded(~truth, False),
            slot=padded(slot, ""),
            candidate_kind=padded(kind, ""),
            text_id=padded(text, ""),
            unscored=unscored,
            unread=unread,
            in_second_image=padded(scene != scene_id[item], False),
            rules=self.rules,
            graded=self.in_items is None,
        )
        items = self.for_intervals(items)
        return replace(items, bindings=self._bindings_of_all_images(items, item, scene))

    def _candidates_of(self, item_rows: np.ndarray) -> tuple[np.ndarray, pa.Table]:
        """The candidates of n items, which have the row numbers `item_rows`, in the order of these:
        the number 0..n of each candidate's item, int64 (rows,), and their table."""
        number_of_row = np.full(self.benchmark.items.num_rows, -1)
        number_of_row[item_rows] = np.arange(len(item_rows))
        item = number_of_row[self._candidates["item"].to_numpy()]
        order = np.flatnonzero(item >= 0)
        order = order[np.argsort(item[order], kind="stable")]
        candidates = self._candidates
        # A copy may take hundreds of megabytes.
        if not np.array_equal(order, np.arange(candidates.num_rows)):
            candidates = candidates.take(pa.array(order))
        return item[order], candidates

    def _describe_captions(
        self, candidates: pa.Table, caption: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The level (n,) of the caption of each item, and its counts (n, 3); "" and -1 where it has
        none. caption: the row in `candidates` of each item's caption, int64 (n,); -1 for none."""
        text_rows = np.full(len(caption), -1)
        if candidates.num_rows:
            text_rows = np.where(caption >= 0, candidates["text"].to_numpy()[caption], -1)
        texts = self.benchmark.texts.select(["level", *COUNTS])
        captions = texts.take(pa.array(text_rows, mask=text_rows < 0))
        counts = [pc.fill_null(captions[name], -1).to_numpy() for name in COUNTS]
        return strings(captions["level"]), np.stack(counts, axis=1).astype(int)

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
        rows = item[in_other_image].tolist()
        others = scene[in_other_image].tolist()
        for row, other in dict.fromkeys(zip(rows, others, strict=True)):
            bindings[row] = joined_bindings(bindings[row], self.bindings.get(other, ""))
        return bindings

    def for_intervals(self, items: Items) -> Items:
        """Add what intervals need to items.

        Args:
            items: Items of the run.

        Returns:
            The items with bindings, vocabulary and rules.
        """
        bindings = [self.bindings.get(scene, "") for scene in items.scene_id]
        return replace(
            items,
            bindings=np.array(bindings, dtype=object),
            vocabulary=self.vocabulary,
            rules=self.rules,
        )

    @cached_property
    def _has_question(self) -> np.ndarray:
        """Which items of the benchmark have a question, bool (items,); all for scores that are not
        of items."""
        items = self.benchmark.items["item_id"]
        if self.in_items is None:
            return np.ones(len(items), dtype=bool)
        row_of_candidate = positions(self.benchmark.candidates["item_id"], items)
        is_of_question = self.in_items.in_asked_item & (row_of_candidate >= 0)
        has_question = np.zeros(len(items), dtype=bool)
        has_question[row_of_candidate[is_of_question]] = True
        return has_question

    @cached_property
    def vocabulary(self) -> tuple[int, int]:
        """The number of values and of objects that the world's scenes show."""
        return vocabulary_size(self.bindings.values())

    @cached_property
    def _candidates(self) -> pa.Table:
        """The candidates of all protocols' items, each with the rows of its item and text, a code
        of the model's input, its score, and the reason if it has none."""
        items, candidates = self.benchmark.items, self.benchmark.candidates
        protocols = pa.array(list(self.protocols), pa.string())
        is_in_protocols = pc.is_in(items["protocol"], protocols).to_numpy()
        item = positions(candidates["item_id"], items["item_id"])
        inside = (item >= 0) & is_in_protocols[item]
        if self.in_items is not None:
            inside &= self.in_items.in_question
        # The first image of a question about views is shown, but is not an answer.
        is_option = pc.fill_null(pc.not_equal(candidates["slot"], FIRST_IMAGE), True)
        inside &= is_option.to_numpy()
        candidates = candidates.select(_CANDIDATE_COLUMNS)
        if not inside.all():  # a copy may take hundreds of megabytes
            candidates = candidates.filter(pa.array(inside))

        columns: dict[str, Any] = {}
        if self.in_items is None:
            score, reason = _candidate_scores(candidates, self.table)
        else:
            score = self.in_items.values[self.sample][inside]
            reason = self.in_items.reasons[self.sample][inside]
            unread = self.in_items.unread[self.sample][inside]
            columns["unread"] = pa.array(unread, pa.string())
        columns |= {
            "item": item[inside],
            "text": positions(candidates["text_id"], self.benchmark.texts["text_id"]),
            "input": _inputs(candidates, self.indistinct),
            "score": score,
            "reason": pa.array(reason, pa.string()),
        }
        for name, column in columns.items():
            candidates = candidates.append_column(name, pa.array(column))
        return candidates


def joined_bindings(first: str, second: str) -> str:
    """The bindings of two scenes together.

    Args:
        first: The bindings of a scene, joined by ";".
        second: Those of another.

    Returns:
        All of them, joined by ";"; "" if those of a scene are not known.

    Example:
        >>> joined_bindings("red:cube;blue:ball", "blue:cube;red:ball")
        'red:cube;blue:ball;blue:cube;red:ball'
    """
    return f"{first}{SEPARATOR}{second}" if first and second else ""


def _first_of_items(n: int, item: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The first value (n,) of each item that is not ""; "" if there is none.

    item, values: (rows,) of the candidates.
    """
    first = np.full(n, "", dtype=object)
    # In reverse order, the first one is written last, and stays.
    rows = np.flatnonzero(values != "")[::-1]
    first[item[rows]] = values[rows]
    return first


def _caption_rows(n: int, item: np.ndarray, *, slot: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The row of each item's caption among the candidates, int64 (n,): the first true candidate in
    slot c or 0, else the first candidate; −1 for an item without candidates."""
    caption = np.full(n, -1)
    all_rows = np.arange(len(item))
    true_rows = np.flatnonzero(np.isin(slot, _CAPTION_SLOTS) & truth)
    for rows in (all_rows, true_rows):
        caption[item[rows][::-1]] = rows[::-1]  # the first row is written last, and stays
    return caption


def _inputs(candidates: pa.Table, indistinct: Mapping[str, str]) -> np.ndarray:
    """A code (rows,) of each candidate's model input; equal for the same image with texts that the
    model cannot tell apart."""
    texts = candidates["text_id"].combine_chunks().dictionary_encode()
    scenes = candidates["scene_id"].combine_chunks().dictionary_encode()
    text_code = np.arange(len(texts.dictionary))

    # Texts with the same input get one code: that of the first of them. `indistinct` names it for
    # the others, but not for the first itself.
    first_of = {first: first for first in indistinct.values()}
    first_of.update(indistinct)
    alike = pa.chunked_array([list(first_of)], pa.string())
    row = positions(alike, pa.chunked_array([texts.dictionary]))
    first_texts = np.array(list(first_of.values()), dtype=object)
    shared_code = len(text_code) + pd.factorize(first_texts)[0]
    is_candidate = row >= 0
    text_code[row[is_candidate]] = shared_code[is_candidate]

    # One number for each pair of an image and an input.
    n_codes = np.int64(2 * len(text_code) + 1)  # text codes are smaller
    candidate_code = text_code[texts.indices.to_numpy()]
    pair_code = scenes.indices.to_numpy() * n_codes + candidate_code
    codes: np.ndarray = pd.factorize(pair_code)[0]
    return codes


def _candidate_scores(candidates: pa.Table, scores: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The score (float32, nan if there is none) and the reason ("" for a score) of each
    candidate."""
    images = pa.chunked_array([pc.unique(scores["image_id"])])
    texts = pa.chunked_array([pc.unique(scores["text_id"])])

    def pair_codes(image: pa.ChunkedArray, text: pa.ChunkedArray) -> pa.ChunkedArray:
        image_rows = positions(image, images)
        text_rows = positions(text, texts)
        codes = image_rows * max(1, len(texts)) + text_rows
        is_unknown = (image_rows < 0) | (text_rows < 0)
        return pa.chunked_array([np.where(is_unknown, -1, codes)])

    row = positions(
        pair_codes(candidates["scene_id"], candidates["text_id"]),
        pair_codes(scores["image_id"], scores["text_id"]),
    )
    is_scored = row >= 0
    values = np.full(len(row), np.nan, np.float32)
    reasons = np.full(len(row), MISSING, dtype=object)
    column = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)
    values[is_scored] = column[row[is_scored]]
    reasons[is_scored] = strings(scores["unscored"])[row[is_scored]]
    return values, reasons


def _reasons(
    n: int,
    item: np.ndarray,
    *,
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
    # A group are the candidates of an item that are compared with one another.
    slot_code, slot_names = pd.factorize(slot)
    is_compared = np.isin(slot_names.astype(str), COMPARED)
    slot_group = np.where(is_compared, 0, np.arange(len(slot_names)) + 1)[slot_code]
    group = item * (len(slot_names) + 1) + slot_group

    # Later reasons replace earlier ones: they are about the question, not only about its scores.
    reasons = _first_of_items(n, item, reason)
    # A false text of the group with the input of a true one makes its item ambiguous.
    n_inputs = int(model_input.max(initial=0)) + 1
    group_input = group * n_inputs + model_input
    true_rows = np.flatnonzero(truth)
    is_ambiguous = pd.Series(group_input[true_rows]).isin(group_input[~truth])
    reasons[item[true_rows[is_ambiguous]]] = TRUNCATED
    # Each group needs a true and a false text.
    is_complete = np.isin(group, group[truth]) & np.isin(group, group[~truth])
    reasons[item[~is_complete]] = INCOMPLETE
    has_candidates = np.bincount(item, minlength=n) > 0
    reasons[~has_candidates] = INCOMPLETE
    return reasons
