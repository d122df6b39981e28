"""Count a corpus on a Ray cluster. Texts go to the nodes and counts come back, so that nodes need no shared disk."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import ray

from evaluator.audits.familiarity.corpora import Part
from evaluator.audits.familiarity.part_counts import Counted, count_texts
from evaluator.audits.familiarity.reading import Reading
from generator.base.errors import UserError
from generator.base.extras import connecting


def count_on_ray(
    parts: Iterable[Part], reading: Reading, workers: int | None, address: str | None
) -> Iterator[tuple[Part, pa.Table, Counted]]:
    """The counts of each part, as they are done, by tasks of one core each; as many as `workers` run, and as many wait. None: as many as
    the cluster has cores.

    Ray repeats the tasks of a lost node. Raises UserError if there is no cluster at `address`, or its nodes cannot count.
    """
    own = not ray.is_initialized()
    if own:
        with connecting(address):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    count = ray.remote(num_cpus=1)(count_texts)
    running: dict[Any, Part] = {}
    ahead = 2 * (workers or int(ray.cluster_resources().get("CPU", 1)))
    try:
        for part in parts:
            running[count.remote(part, reading)] = part
            if len(running) > ahead:
                yield _finished(running)
        while running:
            yield _finished(running)
    finally:
        for task in running:
            ray.cancel(task)
        if own:
            ray.shutdown()


def _finished(running: dict[Any, Part]) -> tuple[Part, pa.Table, Counted]:
    """A part that is done, taken from those that run."""
    (task, *_), _ = ray.wait(list(running))
    part = running.pop(task)
    try:
        return (part, *ray.get(task))
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise UserError(
            f"A Ray worker cannot count: {reason}; is Jackalope of this version installed on every node, with "
            "'jackalope[familiarity,ray]'?"
        ) from None
