"""A world of all eight relations without rendering, for tests of texts and of the judge."""

from pathlib import Path

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, prepare
from generator.vocabulary.schema import read_vocabulary
from tests.generator.unrendered import write_planned

VOCABULARY = read_vocabulary("clevr-relations")
BENCHMARK = "b"
_COUNTS = {"train": 60, "val": 5, "seen": 60, "partial": 60, "unseen": 40}


def prepared(times: int = 1) -> Prepared:
    """A job of a few hundred scenes of two to four objects, or `times` as many."""
    counts = {split: times * n for split, n in _COUNTS.items()}
    return prepare(
        WorldOptions(
            family="clevr-relations",
            holdout="3x3",
            scenes=counts,
            resolution="64x48",
            objects=(2, 4),
        )
    )


def make_relations_world(root: Path) -> Path:
    """Write the world and a benchmark with every protocol into `root`."""
    job = prepared()
    write_planned(root, job)
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=job.holdout,
        name=BENCHMARK,
        request=TextRequest(strict=False),
    )
    return root
