"""A benchmark with few questions, for a quick look: `score run --limit`."""

import copy
import hashlib
from collections import Counter
from typing import Any

import pyarrow as pa

from evaluator.protocols.registry import protocol_names
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark


def limited(benchmark: Benchmark, limit: int | None) -> Benchmark:
    """The benchmark with at most `limit` items of each protocol, drawn by a hash of their names; the texts of pools stay.

    None: the benchmark itself. Raises UserError for less than 1.
    """
    if limit is None:
        return benchmark
    if limit < 1:
        raise UserError(f"Expected a limit of at least 1 item, got {limit}; leave it out to measure all items.")
    columns = (benchmark.items[name].to_pylist() for name in ("protocol", "item_id"))
    rows = sorted(
        (protocol, hashlib.sha256(item.encode()).digest(), row) for row, (protocol, item) in enumerate(zip(*columns, strict=True))
    )  # fmt: skip
    taken: Counter[str] = Counter()
    kept = []
    for protocol, _, row in rows:
        taken[protocol] += 1
        if taken[protocol] <= limit or protocol not in protocol_names():
            kept.append(row)
    few = copy.copy(benchmark)
    vars(few)["items"] = benchmark.items.take(pa.array(sorted(kept), pa.int64()))
    return few


def what_is_left(whole: Benchmark, few: Benchmark, protocols: list[str], limit: int) -> dict[str, Any]:
    """What results say of a limit: `items` of each protocol, how many `of` there are, and the splits that are `empty` now."""
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
        f"The limit of {limit['items']:,} items left '{protocol}' none of {', '.join(splits)}: take a larger one to measure that."
        for protocol, splits in limit["empty"].items()
    ]
