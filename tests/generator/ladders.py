"""Worlds of ladders made without rendering."""

from pathlib import Path
from typing import Any

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import LADDER_TEXTS
from generator.plan.ladder import LadderRequest
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, prepare_ladder
from tests.generator.unrendered import write_planned


def ladder_world(factor: str, *, steps: int = 4, scenes: int = 6, **options: Any) -> Prepared:
    """A prepared world of ladders."""
    request = LadderRequest(factor, steps)
    family = options.pop("family", "clevr-many" if request.n_distractors else "clevr")
    return prepare_ladder(
        WorldOptions(family=family, scenes=str(scenes), resolution="64x48", **options), request
    )


def write_ladder(root: Path, factor: str, *, steps: int = 4, scenes: int = 6) -> Dataset:
    """A dataset of ladders with plain images of one colour."""
    prepared = ladder_world(factor, steps=steps, scenes=scenes)
    write_planned(root, prepared)
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=f"ladder-{factor}",
        request=LADDER_TEXTS,
    )
    return Dataset.open(root)
