"""Captions by level, each with the hardest of all its negatives (COMPASS, tables 4 and 5)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.audits.sample import Question, candidates_of, evaluation_items, rows_of, stream, words_of
from generator.dataset.reader import Benchmark

_LEVELS = pa.schema([("text_id", pa.string()), ("level", pa.string())])
_FEWEST = 2  # an item with one negative has no hardest one

Group = tuple[str, str, str, str]
"""Protocol, kind, skill ("" for none) and level of the caption."""


@dataclass(frozen=True)
class LevelSample:
    """The questions drawn of one group, each with all negatives of its item, and the number of items to draw from."""

    group: Group
    available: int
    questions: list[Question]


def draw_levels(benchmark: Benchmark, protocols: Sequence[str], items: int, seed: int) -> list[LevelSample]:
    """At most `items` evaluation items of every group whose captions have several negatives; groups in alphabetical
    order."""
    table = evaluation_items(benchmark, protocols)
    candidates = candidates_of(benchmark)
    where = pc.index_in(candidates["item_id"], value_set=table["item_id"]).to_numpy()  # nan: not an evaluation item
    chosen: dict[Group, np.ndarray] = {}
    available: dict[Group, int] = {}
    for group, found in sorted(_groups(benchmark, table, candidates, where).items()):
        available[group] = len(found)
        rows = np.array(found)
        if len(rows) > items:
            rows = np.sort(stream(seed, "levels", *group).choice(rows, items, replace=False))
        chosen[group] = rows
    if not chosen:
        return []
    rows_by_item = rows_of(candidates, where, np.unique(np.concatenate(list(chosen.values()))))
    words = words_of(benchmark, {row.text for found in rows_by_item.values() for row in found})
    names, clusters = table["item_id"].to_pylist(), table["cluster_id"].to_pylist()
    samples = []
    for group, rows in chosen.items():
        questions = []
        for item in rows.tolist():
            caption = next(row for row in rows_by_item[item] if row.truth and row.slot == "c")
            negatives = [words[row.text][0] for row in rows_by_item[item] if not row.truth and row.slot == "n"]
            text, atoms = words[caption.text]
            questions.append(Question(names[item], clusters[item] or names[item], text, tuple(negatives), atoms, 0))
        samples.append(LevelSample(group, available[group], questions))
    return samples


def _groups(benchmark: Benchmark, table: pa.Table, candidates: pa.Table, where: np.ndarray) -> dict[Group, list[int]]:
    """The rows of `table` of each group: items with a caption in slot c and several negatives in slot n."""
    slot, truth = candidates["slot"].cast(pa.string()), candidates["truth"]
    negative = ~np.isnan(where) & pc.and_(pc.equal(slot, "n"), pc.invert(truth)).to_numpy()
    several = np.bincount(where[negative].astype(np.int64), minlength=len(table)) >= _FEWEST
    caption = np.flatnonzero(~np.isnan(where) & pc.and_(pc.equal(slot, "c"), truth).to_numpy())
    texts = benchmark.table("texts", _LEVELS)
    place = pc.index_in(candidates["text_id"].take(pa.array(caption)), value_set=texts["text_id"].combine_chunks())
    level_of = dict(zip(where[caption].astype(int).tolist(), texts["level"].take(place).to_pylist(), strict=True))
    columns = [table[name].cast(pa.string()).to_pylist() for name in ("protocol", "kind", "skill")]
    groups: dict[Group, list[int]] = defaultdict(list)
    for item, labels in enumerate(zip(*columns, strict=True)):
        if several[item] and level_of.get(item) is not None:
            protocol, kind, skill = (label or "" for label in labels)
            groups[protocol, kind, skill, level_of[item]].append(item)
    return groups
