"""Writing the texts and items of worlds of two and of many objects, and proving them."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from bench.figures import Figure, repeated, seconds
from generator.dataset.reader import Dataset
from generator.dataset.writer import BenchmarkWriter
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.describe.scenes import DescribedScene
from generator.judge.verify import verify_dataset
from generator.language.grammar import Grammar
from generator.language.truth import Facts
from generator.plan.prepare import Prepared
from tests.generator.unrendered import BENCHMARK, write_texts, write_world

SCENES = {"train": 2900, "val": 100, "seen": 400, "partial": 400, "unseen": 200}
MANY = {"train": 100, "val": 100, "seen": 1000, "partial": 600, "unseen": 200}
ASKED = "asked"


def figures() -> list[Figure]:
    """Texts and items a second."""
    with tempfile.TemporaryDirectory() as folder:
        root, many = Path(folder) / "world", Path(folder) / "many"
        prepared = write_world(root, SCENES)
        rows = write_texts(root, prepared)
        crowd = write_world(many, MANY, "clevr-many", (3, 10))
        return [
            repeated(
                "gen split, 4,000 scenes",
                "texts+items/s",
                lambda: rows / seconds(lambda: write_texts(root, prepared)),
            ),
            repeated(
                "gen verify, 4,000 scenes",
                "texts+items/s",
                lambda: rows / seconds(lambda: verify_dataset(root, BENCHMARK)),
            ),
            *_asked(many, crowd),
        ]


def _asked(root: Path, prepared: Prepared) -> list[Figure]:
    """`gen describe` with every protocol over scenes of 3 to 10 objects, and where its time
    goes."""
    rates, shares = [], []
    # Rate and shares of the same runs, since clocks slow a run down.
    for _ in range(3):
        spent: dict[str, float] = {}
        with _clocks(spent):
            whole = seconds(
                lambda: describe_world(
                    root,
                    Dataset.open(root).world,
                    holdout=prepared.holdout,
                    name=ASKED,
                    request=TextRequest(),
                    replace=True,
                )
            )
        # Each candidate is a text that was decided on its scene.
        n = pq.read_metadata(root / "benchmarks" / ASKED / "candidates.parquet").num_rows
        rates.append(n / whole)
        shares.append({name: 100 * part / whole for name, part in spent.items()})
    figures_of_texts = [
        Figure("gen describe, 2,000 scenes of 3-10 objects", "decided texts/s", tuple(rates))
    ]
    figures_of_texts += [
        Figure(f"of which {name}", "%", tuple(share[name] for share in shares))
        for name in shares[0]
    ]
    rate = repeated(
        "gen verify of these",
        "decided texts/s",
        lambda: n / seconds(lambda: verify_dataset(root, ASKED)),
    )
    return [*figures_of_texts, rate]


@contextmanager
def _clocks(spent: dict[str, float]) -> Iterator[None]:
    """Add up the time within the parts of describing."""
    parts: dict[str, tuple[Any, str]] = {
        "graphs": (Facts, "__init__"),
        "truth": (DescribedScene, "decide"),
        "words": (Grammar, "realise"),
        "files": (BenchmarkWriter, "add"),
    }
    with ExitStack() as stack:
        for name, (owner, method) in parts.items():
            spent[name] = 0.0
            stack.enter_context(
                patch.object(owner, method, _timed(getattr(owner, method), name, spent))
            )
        yield


def _timed(function: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        start = perf_counter()
        try:
            # Also where it raises: refused foils take time as well.
            return function(*arguments, **named)
        finally:
            spent[name] += perf_counter() - start

    return timed
