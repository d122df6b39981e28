"""Planning and verifying large datasets: time and memory at three sizes."""

import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq

from bench.figures import Figure, seconds
from generator.base.commands import say
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.unrendered import write_planned

SIZES = (10_000, 30_000, 100_000)
SHARES = {"train": 0.56, "val": 0.04, "seen": 0.16, "partial": 0.16, "unseen": 0.08}
ASKED = TextRequest(
    ("binary", "systematicity", "productivity", "integration", "skill", "hard_positives")
)
NAME = "proof"


def figures() -> list[Figure]:
    """Seconds and MB of planning and verifying, in a process that does nothing else, by number of
    scenes."""
    return [figure for n in SIZES for figure in _of_size(n)]


def _of_size(n: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        # Written in another process: the peak of a process never falls.
        _apart(_write, n, root)
        texts = pq.read_metadata(root / "benchmarks" / NAME / "texts.parquet").num_rows
        plan, verify, peak = _apart(_prove, n, root)
    size = f"{n:,} scenes, {texts:,} texts"
    say(f"{size}: plan {plan:.0f} s, verify {verify:.0f} s, {peak:.0f} MB")
    return [
        Figure(f"plan, {size}", "s", (plan,)),
        Figure(f"verify, {size}", "s", (verify,)),
        Figure(f"peak memory of both, {size}", "MB", (peak,)),
    ]


def _apart(function, *arguments):  # type: ignore[no-untyped-def]
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def _job(n: int) -> WorldOptions:
    return WorldOptions(
        family="clevr-many",
        holdout="3x3",
        scenes={split: int(n * share) for split, share in SHARES.items()},
        resolution="64x48",
        objects=(3, 4),
    )


def _write(n: int, root: Path) -> None:
    prepared = prepare(_job(n))
    write_planned(root, prepared)
    describe_world(
        root, Dataset.open(root).world, holdout=prepared.holdout, name=NAME, request=ASKED
    )


def _prove(n: int, root: Path) -> tuple[float, float, float]:
    plan = seconds(lambda: prepare(_job(n)).planned)
    verify = seconds(lambda: _clean(root))
    return plan, verify, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _clean(root: Path) -> None:
    certificate = verify_dataset(root, NAME)[NAME]
    assert certificate["status"] == "clean", certificate["sentence"]
