"""The benchmarks that are made with their world: one for each holdout of its request."""

from pathlib import Path

from generator.base.progress import SILENT, Progress
from generator.dataset.reader import World
from generator.describe.benchmark import Summary, describe
from generator.describe.request import first_request
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.plan.store import StoredPlan


def write_benchmarks(
    root: Path, world: World, exposed_negatives: bool, progress: Progress = SILENT
) -> dict[str, Summary]:
    """Write the benchmark of each holdout of the world's plan, and return what each holds, by name.

    A benchmark uses the scenes that were planned for its holdout, in the splits that they were planned for; over the grid
    every benchmark uses all scenes, in the splits that its design's rule gives them. A benchmark that is there already is left
    as it is, with its certificate. Raises UserError where it was made otherwise, such as with other `exposed_negatives`.
    """
    assigned = StoredPlan(root).assigned()
    done = {}
    for part, saved in enumerate(world.manifest["request"]["holdouts"]):
        holdout = Holdout.from_dict(saved)
        name = design_of(holdout).benchmark_name(holdout)
        request = first_request(holdout, exposed_negatives)
        done[name] = describe(root, world, holdout, name, request, assigned.get(part), True, progress)
    return done
