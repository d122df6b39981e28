"""The datasets without fault that faults are planted into: one for each design of a holdout."""

from pathlib import Path
from typing import Any

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import TextRequest
from generator.describe.scenes import dosed_holdouts
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.designs import family
from tests.generator.unrendered import write_planned

SMALL = {"train": 12, "val": 3, "seen": 5, "partial": 5, "unseen": 5}
SMALL_ENOUGH = {"train": 200, "val": 3, "seen": 5, "partial": 5, "unseen": 5}
ASYMMETRIC_SCENES = {"asymmetric_seen": 12, "asymmetric_unseen": 12}
JOBS: dict[str, dict[str, Any]] = {
    "files": {"holdout": "2x3", "objects": (2, 4), "pairs": True},
    "tars": {"holdout": "2x2"},
    "relations": {"holdout": ["relation:pair=2x2"], "scenes": "60"},
    "atoms": {"holdout": ["2x2", "atoms=1x1"], "design": "systematicity", "scenes": "60"},
    "published": {
        "holdout": ["pearson2025"],
        "design": "gzsl",
        "family": "pearson2025",
        "scenes": "900",
    },
    "three objects": {"holdout": ["objects=3"], "design": "gzsl", "scenes": "900"},
    "undivided": {"holdout": "none", "scenes": "12"},
    "rotation": {
        "holdout": "turns=3",
        "scenes": {"train": 270, "val": 3, "partial": 9, "unseen": 18},
    },
    "asymmetric": {
        "holdout": ["3x3", "asymmetric"],
        "scenes": {**SMALL_ENOUGH, **ASYMMETRIC_SCENES},
    },
}
FIRST, ALL, TARS = ("files", "color-shape-2x3-b0"), ("files", "all"), ("tars", "tars")
RELATIONS = "relations", "relation-pair-2x2-b0"
ATOMS = "atoms", "systematicity-color-shape-2x2+atoms-1x1-b0"
TWO, RELATED = ("published", "pearson2025-two-object"), ("published", "pearson2025-relational")
THREE = "three objects", "gzsl-three-object-b0"
UNDIVIDED, UNEVEN = ("undivided", "none"), ("asymmetric", "color-shape-3x3+asymmetric-b0")
TURN, DOSED = ("rotation", "turn0"), ("rotation", "turn0-dose")
"""The dataset of a benchmark, a key of JOBS, and its name there."""


def make_dataset(root: Path, name: str) -> None:
    """Write the dataset `name` of JOBS, without images of a renderer, with its benchmarks."""
    job = dict(JOBS[name])
    path = root.with_suffix(".toml")
    size = 6 if name == "rotation" else 5  # each of three groups needs two names
    path.write_text(family(size, size), encoding="utf-8")
    prepared = prepare(
        WorldOptions(
            family=job.pop("family", str(path)),
            holdout=job.pop("holdout"),
            scenes=job.pop("scenes", SMALL),
            resolution="64x48",
            **job,
        )
    )
    write_planned(root, prepared, 20_000 if name == "tars" else None)
    world = Dataset.open(root).world
    if name == "tars":
        describe_world(
            root, world, holdout=prepared.holdout, name=TARS[1], request=TextRequest(("binary",))
        )
    else:
        write_benchmarks(root, world, exposed_negatives=False)
    if name == "rotation":
        dosed = dosed_holdouts(
            world, prepared.vocabulary, holdouts=prepared.holdouts, dose_option="0,1"
        )
        describe_world(
            root, world, holdout=dosed[0], name=DOSED[1], request=TextRequest(("binary",))
        )
    if name == "files":
        describe_world(
            root, world, holdout=prepared.holdout, name=ALL[1], request=TextRequest(strict=False)
        )
