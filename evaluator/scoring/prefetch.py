"""Load the images of coming batches in threads while the model computes."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Rows = TypeVar("Rows")
_AHEAD = 2
"""Batches that are loaded ahead."""


def prefetch(
    batches: Sequence[Rows], images: Callable[[Rows], list[str]], load: Callable[[str], Any], threads: int
) -> Iterator[tuple[Rows, dict[str, Any]]]:
    """Yield each batch with its images, loaded: {image: what `load` returned}.

    `images` names the images of a batch. With 0 threads images are loaded when their batch is due.
    """
    if threads == 0:
        for rows in batches:
            yield rows, {image: load(image) for image in images(rows)}
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Rows, dict[str, Future[Any]]]] = deque()
        try:
            for rows in batches:
                waiting.append((rows, {image: pool.submit(load, image) for image in images(rows)}))
                if len(waiting) > _AHEAD:
                    yield _loaded(*waiting.popleft())
            while waiting:
                yield _loaded(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _loaded(rows: Rows, futures: dict[str, Future[Any]]) -> tuple[Rows, dict[str, Any]]:
    return rows, {image: future.result() for image, future in futures.items()}
