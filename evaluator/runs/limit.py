"""A benchmark with few questions, for a quick look (`score run --limit`), or with those of some splits."""

import copy
import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.protocols.registry import protocol_names
from generator.base.errors import UserError, did_you_mean
from generator.dataset.reader import Benchmark


def limited(benchmark: Benchmark, limit: int | None) -> Benchmark:
    """The benchmark with at most `limit` items of each protocol, drawn by a hash of their names; the texts of pools
    stay.

    None: the benchmark itself. Raises UserError for less than 1.
    """
    if limit is None:
        return benchmark
    if limit < 1:
        raise UserError(f"Expected a limit of at least 1 item, got {limit}; leave it out to measure all items.")
    columns = (benchmark.items[name].to_pylist() for name in ("protocol", "item_id"))
    rows = sorted(
        (protocol, hashlib.sha256(item.encode()).digest(), row)
        for row, (protocol, item) in enumerate(zip(*columns, strict=True))
    )
    taken: Counter[str] = Counter()
    kept = []
    for protocol, _, row in rows:
        taken[protocol] += 1
        if taken[protocol] <= limit or protocol not in protocol_names():
            kept.append(row)
    return _with_items(benchmark, benchmark.items.take(pa.array(sorted(kept), pa.int64())))


def in_splits(benchmark: Benchmark, splits: Sequence[str]) -> Benchmark:
    """The benchmark with the items of these splits alone; the texts of pools stay. None: the benchmark itself.

    Raises UserError for a split without items.
    """
    if not splits:
        return benchmark
    known = [str(each) for each in pc.unique(benchmark.items["split"]).to_pylist()]
    for split in splits:
        if split not in known:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the split '{split}'; {did_you_mean(split, known)}"
            )
    return _with_items(benchmark, benchmark.items.filter(pc.is_in(benchmark.items["split"], pa.array(splits))))


def _with_items(benchmark: Benchmark, items: pa.Table) -> Benchmark:
    part = copy.copy(benchmark)
    vars(part)["items"] = items
    return part


def what_is_left(whole: Benchmark, few: Benchmark, protocols: list[str], limit: int) -> dict[str, Any]:
    """What results say of a limit: `items` of each protocol, how many `of` there are, and the splits that are `empty`
    now."""
    of, empty = {}, {}
    for protocol in protocols:
        before, after = (Counter(each.items_of(protocol)["split"].to_pylist()) for each in (whole, few))
        of[protocol] = before.total()
        if gone := sorted(set(before) - set(after)):
            empty[protocol] = gone
    return {"items": limit, "of": of, "empty": empty}


def limit_said(limit: dict[str, Any]) -> list[str]:
    """A sentence for each protocol of which a limit left a split without items."""
    return [
        f"The limit of {limit['items']:,} items left '{protocol}' none of {', '.join(splits)}: take a larger one to "
        f"measure that."
        for protocol, splits in limit["empty"].items()
    ]
