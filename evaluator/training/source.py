"""`Source`: what a training learns from, and what its record says of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.provenance.certificate import found_certificate
from evaluator.provenance.exposure import Exposure, read_exposure
from evaluator.training.data import TrainingData, read_training_data
from evaluator.training.recipe import CAPTION, Recipe, listed
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World


@dataclass(frozen=True)
class Source:
    """Data; `record`, their name, digests and certificate; and what they show, None where that is not known."""

    data: TrainingData
    record: dict[str, str]
    exposure: Callable[[TrainingData], Exposure | None]


def benchmark_source(world: World, benchmark: Benchmark, recipe: Recipe) -> Source:
    """The train split of a benchmark. Raises UserError where its certificate in the folder says `failed`."""
    record = describe(world, benchmark)
    data = read_training_data(
        world,
        benchmark,
        listed(recipe.texts or ""),
        listed(recipe.negatives),
        listed(recipe.positives),
        recipe.positive_loss == CAPTION,
    )
    return Source(data, record, lambda used: exposure_of(world, benchmark, used.scenes, used))


def exposure_of(world: World, benchmark: Benchmark, scenes: Sequence[str], data: TrainingData) -> Exposure | None:
    """What scenes of a benchmark show and the texts of data name."""
    return read_exposure(world, benchmark, scenes, [data.text_ids[row] for row in data.used()])


def describe(world: World, benchmark: Benchmark) -> dict[str, str]:
    """What a record says of a benchmark. Raises UserError where its certificate in the folder says `failed`."""
    certificate = found_certificate(benchmark, world)
    if certificate.startswith("failed"):
        raise UserError(
            f"{benchmark.folder} is not trained on: its certificate says that it failed; `gen verify {world.folder.parent}` names "
            "the rows. Make the benchmark again."
        )
    return {
        "name": benchmark.name, "benchmark": benchmark.digest, "world": world.digest, "certificate": certificate,
    }  # fmt: skip


def known(found: Exposure | None, base: Any) -> Exposure | None:
    """What a model was shown in all: by its training here, and by the one of the model `base` that it starts from, if any."""
    if found is None:
        return None
    before: Exposure | None = Exposure() if base is None else getattr(base, "exposure", None)
    return found | (before or Exposure(complete=False))
