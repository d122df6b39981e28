"""Draw the items that a model is asked again."""

import copy
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.submissions.checks import CheckedRun
from evaluator.submissions.described import describable_scenes, is_description
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark
from generator.dataset.records import RAW


def draw_items(runs: Sequence[CheckedRun], number: int, seed: int) -> list[list[str]]:
    """Draw items of runs, equally many of each run.

    An equal number of each run bounds the mean share of altered items over the runs, which the
    means of a board are about.

    Args:
        runs: The runs of a submission.
        number: Items of all runs together; at least one of each run.
        seed: Seed of the draw, which the sender must not know before the submission.

    Returns:
        For each run the item_ids, sorted.

    Raises:
        UserError: There are fewer items to draw than runs.
    """
    if number < len(runs):
        raise UserError(
            f"Expected at least an item of each of the {len(runs):,} runs, got {number:,}; give a "
            f"larger -k."
        )
    random = np.random.default_rng(seed)
    share, rest = divmod(number, len(runs))
    shares = np.full(len(runs), share)
    # Which runs get one more is drawn too, so that a sender cannot know which run is asked less.
    shuffled_runs = random.permutation(len(runs))
    shares[shuffled_runs[:rest]] += 1
    drawn_items = []
    for run, share_of_run in zip(runs, shares, strict=True):
        names = askable_items(run)
        # A short run, such as one with a limit, may have fewer items than its share.
        count = min(int(share_of_run), len(names))
        places = random.choice(len(names), count, replace=False)
        drawn_items.append(sorted(names[place] for place in places))
    return drawn_items


def askable_items(run: CheckedRun) -> list[str]:
    """The items of a run that can be asked one by one: all but those of raw retrieval, which ranks
    the captions of many images together.

    Args:
        run: The run.

    Returns:
        Their item_ids, sorted; of descriptions the scene_ids.
    """
    if is_description(run.run.record):
        return describable_scenes(run.run)
    items = run.run.benchmark.items
    protocols = pa.array(run.run.record["protocols"], pa.string())
    is_asked = pc.is_in(items["protocol"], value_set=protocols)
    is_raw = pc.fill_null(pc.equal(items["kind"], RAW), False)
    if run.run.record.get("words") is not None:
        # A question in words cannot include a pool.
        is_asked = pc.and_(is_asked, pc.is_null(items["pool_id"]))
    chosen = items.filter(pc.and_(is_asked, pc.invert(is_raw)))
    return sorted(chosen["item_id"].to_pylist())


def only_items(benchmark: Benchmark, names: Sequence[str]) -> Benchmark:
    """Leave all but some items out of a benchmark.

    Args:
        benchmark: The benchmark.
        names: The item_ids of the items to keep.

    Returns:
        A copy with these items. All other tables are shared.
    """
    part = copy.copy(benchmark)
    is_kept = pc.is_in(benchmark.items["item_id"], value_set=pa.array(names, pa.string()))
    # `items` is read once and cached in the object; the cache of the copy is replaced.
    vars(part)["items"] = benchmark.items.filter(is_kept)
    return part
