"""The items of a protocol with the scores of their candidates, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.dataset.reader import Benchmark

TRUNCATED = "the tokenizer's truncation makes a true text identical to a false one"
NOT_A_NUMBER = "the model's score is not a number"
INCOMPLETE = "it lacks a true or a false text"
MISSING = "the run has no score of one of its texts"
SPLIT_ORDER = ("val", "seen", "partial", "unseen")
COUNTS = ("n_objects", "n_attributes", "n_relations")
_TOGETHER = ("c", "n", "p", "0", "1")
_CAPTION = ("c", "0")


@dataclass(frozen=True)
class Items:
    """n items of one protocol, with at most m candidates each. Strings are object arrays, "" for none.

    counts: objects, attributes and relations of the caption c, −1 for none. scores: float32, nan where padded or
    unscored. truth, false: bool, neither where padded. unscored: the reason, "" for a scored item.
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

    def __len__(self) -> int:
        return len(self.item_id)

    def take(self, mask: np.ndarray) -> "Items":
        """The items where the mask (n,) is true."""
        return Items(**{field.name: getattr(self, field.name)[mask] for field in fields(self)})

    def shown(self) -> dict[str, np.ndarray]:
        """The best true and the best false text of c against n (of a pair of images: of the first, 0 against 1), each with
        its score: what an example shows."""
        rows = np.arange(len(self))
        found: dict[str, np.ndarray] = {}
        for name, mask in (
            ("true", self.truth & np.isin(self.slot, _CAPTION)),
            ("false", self.false & np.isin(self.slot, ("n", "1"))),
        ):
            place = np.where(mask, self.scores, -np.inf).argmax(axis=1)
            found |= {name: self.scores[rows, place], f"{name}_text": self.text_id[rows, place]}
        return found

    @property
    def scored(self) -> np.ndarray:
        """Whether each item is scored, bool (n,)."""
        return self.unscored == ""


class Candidates:
    """The candidates of the items of some protocols, with the scores of a run (schema.SCORES).

    `indistinct` names for each text that the model reads as another one that other.
    """

    def __init__(self, benchmark: Benchmark, protocols: Sequence[str], scores: pa.Table, indistinct: dict[str, str]):
        self._benchmark = benchmark
        chosen = pc.is_in(benchmark.items["protocol"], pa.array(list(protocols), pa.string()))
        rows = benchmark.candidates
        item = positions(rows["item_id"], benchmark.items["item_id"])
        inside = (item >= 0) & chosen.to_numpy(zero_copy_only=False)[item]
        rows, self._item = rows.filter(pa.array(inside)), item[inside]
        self._truth = rows["truth"].to_numpy(zero_copy_only=False).astype(bool)
        self._scene, self._slot, self._kind, self._text = (
            strings(rows[name]) for name in ("scene_id", "slot", "kind", "text_id")
        )
        self._described = positions(rows["text_id"], benchmark.texts["text_id"])
        read = _read_as(rows["text_id"], indistinct)
        scene = np.unique(self._scene.astype(str), return_inverse=True)[1]
        self._seen = scene * (int(read.max(initial=0)) + 1) + read
        self._score, self._reason = _scores(rows, scores)

    def items(self, protocol: str) -> Items:
        """The items of a protocol by split (in the order val, seen, partial, unseen, others) and item_id.

        One is unscored when a score is missing or is no number, or when a true text reads as a false one that it is
        compared with.
        """
        chosen = sorted_items(self._benchmark, protocol)
        table = self._benchmark.items.take(pa.array(chosen))
        n = len(chosen)
        place_of = np.full(self._benchmark.items.num_rows, -1)
        place_of[chosen] = np.arange(n)
        row = np.flatnonzero(place_of[self._item] >= 0)
        row = row[np.argsort(place_of[self._item[row]], kind="stable")]
        item = place_of[self._item[row]]
        sizes = np.bincount(item, minlength=n)
        place = np.arange(len(item)) - np.repeat(np.cumsum(sizes) - sizes, sizes)

        def padded(values: np.ndarray, fill: object) -> np.ndarray:
            full = np.full((n, sizes.max(initial=1)), fill, dtype=values.dtype)
            full[item, place] = values
            return full

        slot, truth = self._slot[row], self._truth[row]
        caption = _captions(item, slot, truth, n)
        described = np.where(caption < 0, -1, self._described[row[caption]])
        texts = self._benchmark.texts
        return Items(
            **head(table),
            scene_id=np.where(caption < 0, "", self._scene[row[caption]]) if len(row) else np.full(n, "", dtype=object),
            level=strings(texts["level"].take(_row(described))),
            counts=_counts(texts, _row(described)),
            scores=padded(self._score[row], np.nan),
            truth=padded(truth, False),
            false=padded(~truth, False),
            slot=padded(slot, ""),
            candidate_kind=padded(self._kind[row], ""),
            text_id=padded(self._text[row], ""),
            unscored=_reasons(n, item, slot, truth, self._seen[row], self._reason[row]),
        )


def sorted_items(benchmark: Benchmark, protocol: str) -> np.ndarray:
    """The rows of a protocol's items, by split (in the order val, seen, partial, unseen, others) and item_id."""
    chosen = np.flatnonzero(strings(benchmark.items["protocol"]) == protocol)
    split, item_id = (strings(benchmark.items[name])[chosen] for name in ("split", "item_id"))
    order = sorted(range(len(chosen)), key=lambda i: (split_rank(str(split[i])), item_id[i]))
    return chosen[order]


def split_rank(split: str) -> tuple[int, str]:
    """What splits are sorted by."""
    return (SPLIT_ORDER.index(split) if split in SPLIT_ORDER else len(SPLIT_ORDER), split)


def head(table: pa.Table) -> dict[str, np.ndarray]:
    """The fields of Items that stand in the table of items."""
    names = {"item_id": "item_id", "cluster": "cluster_id", "kind": "kind", "skill": "skill", "split": "split"}
    return {name: strings(table[column]) for name, column in names.items()}


def strings(column: pa.ChunkedArray) -> np.ndarray:
    """A column of strings as an object array, "" for null; equal strings are one object."""
    encoded = pc.fill_null(column.combine_chunks(), "").dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)
    return names[encoded.indices.to_numpy(zero_copy_only=False)]


def positions(values: pa.ChunkedArray, among: pa.ChunkedArray) -> np.ndarray:
    """The row of each value in another column, int64, −1 where it is not there."""
    return pc.fill_null(pc.index_in(values, value_set=among.combine_chunks()), -1).to_numpy().astype(np.int64)


def _scores(rows: pa.Table, scores: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Score (float32, nan for none) and reason ("" for a score) of each candidate."""
    images, texts = pc.unique(scores["image_id"]), pc.unique(scores["text_id"])

    def keys(image: pa.ChunkedArray, text: pa.ChunkedArray) -> np.ndarray:
        i, t = positions(image, pa.chunked_array([images])), positions(text, pa.chunked_array([texts]))
        return np.where((i < 0) | (t < 0), -1, i * max(1, len(texts)) + t)

    known, asked = keys(scores["image_id"], scores["text_id"]), keys(rows["scene_id"], rows["text_id"])
    order = np.argsort(known)
    # one score more, for what is not there
    values = np.append(scores["score"].to_numpy(zero_copy_only=False).astype(np.float32), np.float32(np.nan))
    reasons = np.append(strings(scores["unscored"]), MISSING)
    place = np.searchsorted(known, asked, sorter=order)
    row = np.append(order, len(known))[place]
    row = np.where(np.append(known, -2)[row] == asked, row, len(known))
    return values[row], reasons[row]


def _captions(item: np.ndarray, slot: np.ndarray, truth: np.ndarray, n: int) -> np.ndarray:
    """The row of each item's first true candidate in slot c or 0, else of its first; −1 where it has none."""
    caption = np.full(n, -1)
    for chosen in (np.arange(len(item)), np.flatnonzero(np.isin(slot, _CAPTION) & truth)):
        caption[item[chosen][::-1]] = chosen[::-1]
    return caption


def _row(index: np.ndarray) -> pa.Array:
    return pa.array(index, pa.int64(), mask=index < 0)


def _counts(texts: pa.Table, row: pa.Array) -> np.ndarray:
    columns = [pc.fill_null(texts[name].take(row), -1).to_numpy() for name in COUNTS]
    return np.stack(columns, axis=1).astype(np.int64)


def _read_as(text: pa.ChunkedArray, indistinct: dict[str, str]) -> np.ndarray:
    """A number (rows,) for what the model reads: equal for texts that it cannot tell apart."""
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
    n: int, item: np.ndarray, slot: np.ndarray, truth: np.ndarray, seen: np.ndarray, reason: np.ndarray
) -> np.ndarray:
    """Why each item is unscored, "" where it is not: the strongest reason of its candidates.

    c, n and p are compared with one another, and so are 0 and 1, every other slot within itself. `seen` is a number for
    what the model gets: the image, and the text as it reads it.
    """
    slots, code = np.unique(np.where(np.isin(slot, _TOGETHER), "", slot).astype(str), return_inverse=True)
    group = item * max(1, len(slots)) + code
    reasons = np.full(n, "", dtype=object)
    missing = np.flatnonzero(reason != "")[::-1]
    reasons[item[missing]] = reason[missing]
    _, code = np.unique(seen, return_inverse=True)
    key = group * (int(code.max(initial=0)) + 1) + code
    blurred = truth & np.isin(key, key[~truth])
    reasons[item[blurred]] = TRUNCATED
    whole = np.isin(group, group[truth]) & np.isin(group, group[~truth])
    reasons[item[~whole]] = INCOMPLETE
    reasons[np.bincount(item, minlength=n) == 0] = INCOMPLETE
    return reasons
