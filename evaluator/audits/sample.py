"""The sample of a benchmark that is audited: questions of each kind, drawn by seed."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError, did_you_mean
from generator.dataset.reader import Benchmark

_NAMES = pa.dictionary(pa.int32(), pa.string())
_ITEMS = pa.schema(
    [
        ("item_id", pa.string()),
        ("cluster_id", pa.string()),
        *((n, _NAMES) for n in ("protocol", "kind", "skill", "split")),
    ]
)
_CANDIDATES = pa.schema(
    [
        ("item_id", pa.string()),
        ("text_id", pa.string()),
        ("truth", pa.bool_()),
        ("kind", _NAMES),
        ("slot", _NAMES),
        ("scene_id", pa.string()),
        ("of", pa.string()),
    ]
)
_TEXTS = pa.schema(
    [(n, pa.string()) for n in ("text_id", "text")]
    + [(f"n_{n}", pa.int32()) for n in ("objects", "attributes", "relations")]
)


TRAIN = "train"
"""The protocol of training texts, and the split of the scenes that they describe."""


class Kind(NamedTuple):
    """A kind of question: items of one protocol, kind and skill, negatives of one kind, true texts of one role."""

    protocol: str
    kind: str
    skill: str | None
    negatives: str | None
    """The kind of the negatives, where it differs from that of the item."""
    role: str
    """Slot of the true text without its number: c a caption, d a decomposed one, p a hard positive; of a training
    positive with its kind, such as p-converse."""

    def __str__(self) -> str:
        more = [self.negatives, self.skill, None if self.role == "c" else self.role]
        return "/".join([self.protocol, self.kind, *(part for part in more if part)])


@dataclass(frozen=True)
class Question:
    """A true text and its negatives; `drawn` is the index of the negative drawn for the blind test."""

    item_id: str
    cluster: str
    caption: str
    negatives: tuple[str, ...]
    atoms: int | None
    """Objects, attributes and relations of the caption; None where the benchmark does not count them."""
    drawn: int

    @property
    def negative(self) -> str:
        """The false text drawn for the blind test."""
        return self.negatives[self.drawn]

    @property
    def texts(self) -> tuple[str, ...]:
        """The true text, then the false ones."""
        return (self.caption, *self.negatives)


@dataclass(frozen=True)
class Sample:
    """The questions drawn of one kind, at most one of each item, and the number of items to draw from."""

    kind: Kind
    available: int
    questions: list[Question]


class _Candidate(NamedTuple):
    text: str
    truth: bool
    kind: str | None
    slot: str
    scene: str
    of: str | None


def draw_samples(benchmark: Benchmark, protocols: Sequence[str], items: int, seed: int) -> list[Sample]:
    """Draw at most `items` items of every kind, training items only where `protocols` names them; kinds in alphabetical
    order.

    Only the drawn items' candidates and texts are read in full. Raises UserError when the benchmark lacks a protocol,
    or when no evaluation item has a false text.
    """
    table = evaluation_items(benchmark, protocols)
    codes = item_codes(table)
    candidates = candidates_of(benchmark)
    where = pc.index_in(candidates["item_id"], value_set=table["item_id"]).to_numpy()  # nan: not an evaluation item
    chosen, available = _choose(table, candidates, where, codes, items, seed)
    if not chosen:
        raise UserError(
            f"The benchmark {benchmark.name} has no evaluation item with a false text to audit{_asked(protocols)}."
        )
    rows = rows_of(candidates, where, np.unique(np.concatenate(list(chosen.values()))))
    words = words_of(benchmark, {row.text for found in rows.values() for row in found})
    return sorted(
        _samples(chosen, available, table, rows, words, seed), key=lambda sample: tuple(map(str, sample.kind))
    )


def every_question(benchmark: Benchmark, protocols: Sequence[str]) -> Iterator[Question]:
    """Each caption, composed or decomposed, with its negatives of each kind; hard positives have none of their own."""
    table = evaluation_items(benchmark, protocols)
    candidates = candidates_of(benchmark)
    where = pc.index_in(candidates["item_id"], value_set=table["item_id"]).to_numpy()
    rows = rows_of(candidates, where, np.arange(len(table)))
    words = words_of(benchmark, {row.text for found in rows.values() for row in found})
    names = table["item_id"].to_pylist()
    for item, found in rows.items():
        captions = [row for row in found if not (row.truth and row.slot == "p")]
        for kind in dict.fromkeys(row.kind for row in captions if not row.truth):
            for caption, against in chain.from_iterable(_questions(captions, kind).values()):
                text, atoms = words[caption]
                yield Question(names[item], names[item], text, tuple(words[n][0] for n in against), atoms, 0)


def stream(seed: int, *names: str | None) -> np.random.Generator:
    """A random generator for some names, so that the draws of one kind never depend on another kind."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32)])


def candidates_of(benchmark: Benchmark) -> pa.Table:
    """The columns of candidates.parquet that an audit reads."""
    return benchmark.table("candidates", _CANDIDATES)


def evaluation_items(benchmark: Benchmark, protocols: Sequence[str]) -> pa.Table:
    """The items of the protocols named, or of all but `train`. Raises UserError for one that is missing.

    Items of other protocols over scenes of the split `train`, as imported benchmarks have, are left out.
    """
    items = benchmark.table("items", _ITEMS)
    train, shown = (
        pc.fill_null(pc.equal(items[name].cast(pa.string()), TRAIN), False) for name in ("protocol", "split")
    )
    items = items.filter(pc.or_(train, pc.invert(shown)))
    known = sorted(filter(None, pc.unique(items["protocol"].cast(pa.string())).to_pylist()))
    for protocol in protocols:
        if protocol not in known:
            near = did_you_mean(protocol, known) if known else "it has no evaluation items."
            raise UserError(f"The benchmark {benchmark.name} has no items of the protocol '{protocol}'; {near}")
    wanted = protocols or [name for name in known if name != TRAIN]
    items = items.filter(pc.is_in(items["protocol"].cast(pa.string()), value_set=pa.array(wanted, pa.string())))
    return items.combine_chunks()


def _asked(protocols: Sequence[str]) -> str:
    return f" in {', '.join(protocols)}" if protocols else ""


def _names(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str | None]]:
    """A code for each value, and the distinct values by code; null is one of them."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def item_codes(table: pa.Table) -> tuple[np.ndarray, list[tuple[str | None, ...]]]:
    """A code for each item's protocol, kind and skill, and these three by code."""
    parts = [_names(table[name]) for name in ("protocol", "kind", "skill")]
    sizes = tuple(max(1, len(names)) for _, names in parts)
    flat = np.ravel_multi_index([places for places, _ in parts], sizes) if len(table) else np.zeros(0, np.int64)
    distinct, codes = np.unique(flat, return_inverse=True)
    meanings = [
        tuple(names[i] for i, (_, names) in zip(places, parts, strict=True))
        for places in zip(*np.unravel_index(distinct, sizes), strict=True)
    ]
    return codes, meanings


_Chosen = dict[tuple[Any, ...], np.ndarray]


def _choose(
    table: pa.Table,
    candidates: pa.Table,
    where: np.ndarray,
    codes: tuple[np.ndarray, list[tuple[str | None, ...]]],
    items: int,
    seed: int,
) -> tuple[_Chosen, dict[tuple[Any, ...], int]]:
    """The rows of `table` drawn for each (protocol, kind, skill, kind of negatives), and how many there were to draw
    from."""
    false = np.flatnonzero(~np.isnan(where) & ~candidates["truth"].to_numpy())
    item = where[false].astype(np.int64)
    places, kinds = _names(candidates["kind"].take(pa.array(false)))
    keys = np.unique((codes[0][item] * max(1, len(kinds)) + places) * len(table) + item)
    groups, members = np.divmod(keys, max(1, len(table)))
    chosen, available = {}, {}
    for group in np.unique(groups):
        code, place = divmod(int(group), len(kinds))
        meaning = (*codes[1][code], kinds[place])
        found = members[groups == group]
        available[meaning] = len(found)
        if len(found) > items:
            found = np.sort(stream(seed, "items", *meaning).choice(found, items, replace=False))
        chosen[meaning] = found
    return chosen, available


def rows_of(candidates: pa.Table, where: np.ndarray, items: np.ndarray) -> dict[int, list[_Candidate]]:
    """The candidates of the given items."""
    wanted = np.flatnonzero(np.isin(where, items))
    part = candidates.take(pa.array(wanted))
    columns = [part[name].to_pylist() for name in ("text_id", "truth", "kind", "slot", "scene_id", "of")]
    rows: dict[int, list[_Candidate]] = defaultdict(list)
    for item, *values in zip(where[wanted].astype(int).tolist(), *columns, strict=True):
        rows[item].append(_Candidate(*values))
    return rows


def words_of(benchmark: Benchmark, ids: set[str]) -> dict[str, tuple[str, int | None]]:
    """Words and number of atoms of the given texts."""
    table = benchmark.table("texts", _TEXTS)
    table = table.filter(pc.is_in(table["text_id"], value_set=pa.array(sorted(ids), pa.string())))
    columns = [table[name].to_pylist() for name in _TEXTS.names]
    return {
        text_id: (text, None if None in counts else sum(counts))
        for text_id, text, *counts in zip(*columns, strict=True)
    }


def _samples(
    chosen: _Chosen,
    available: dict[tuple[Any, ...], int],
    table: pa.Table,
    rows: dict[int, list[_Candidate]],
    words: dict[str, tuple[str, int | None]],
    seed: int,
) -> Iterator[Sample]:
    for (protocol, kind, skill, negatives), items in chosen.items():
        own = None if negatives == kind else negatives
        part = table.select(["item_id", "cluster_id"]).take(pa.array(items))
        rng = stream(seed, "questions", protocol, kind, skill, negatives)
        questions = defaultdict(list)
        for item, item_id, cluster in zip(
            items.tolist(), *(part[n].to_pylist() for n in part.column_names), strict=True
        ):
            for role, found in _questions(rows[item], negatives).items():
                caption, against = found[rng.integers(len(found))]
                text, atoms = words[caption]
                drawn = int(rng.integers(len(against)))
                name = cluster if cluster is not None else item_id
                question = Question(item_id, name, text, tuple(words[n][0] for n in against), atoms, drawn)
                questions[role].append(question)
        for role, drawn_questions in questions.items():
            yield Sample(
                Kind(protocol, kind, skill, own, role), available[protocol, kind, skill, negatives], drawn_questions
            )


def _questions(rows: list[_Candidate], negatives: str | None) -> dict[str, list[tuple[str, list[str]]]]:
    """The true texts of an item with their negatives of that kind, by role of the true text.

    Texts are compared within an image. A slot with true and false texts (d1, d2, …) is compared with itself; elsewhere
    a true text is compared with the negatives made from it, or with all where none was (a hard positive).
    """
    found: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for scene in dict.fromkeys(row.scene for row in rows):
        here = [row for row in rows if row.scene == scene]
        mixed = {row.slot for row in here if row.truth} & {row.slot for row in here if not row.truth}
        for true in (row for row in here if row.truth):
            own = true.slot if true.slot in mixed else None
            false = [r for r in here if not r.truth and (r.slot == own if own else r.slot not in mixed)]
            made = [r for r in false if r.of == true.text] or false
            against = [r.text for r in made if r.kind == negatives]
            if against:
                slot = (true.slot or "").rstrip("0123456789") or "c"
                found[f"{slot}-{true.kind}" if true.kind else slot].append((true.text, against))
    return found
