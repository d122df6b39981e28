"""Runs the stages of an experiment in order. What is done is not done again; what fails stops only what reads it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from evaluator.experiments.process import Failure, done, run_stage
from evaluator.experiments.stages import Stage


def run_stages(
    stages: Sequence[Stage], root: Path, tell: Callable[[Stage, int], object] = lambda stage, place: None
) -> dict[str, Failure]:
    """Run those of `stages` (in order) that have not ended; `tell` is called before each, with its place among all from 1.

    Returns why stages have not ended, by their names: their own failure, or that of a stage that they read.
    """
    failures: dict[str, Failure] = {}
    for place, stage in enumerate(stages, 1):
        if done(stage, root):
            continue
        cause = next((failures[read.name] for read in stage.reads if read.name in failures), None)
        if cause is None:
            tell(stage, place)
            cause = run_stage(stage, root)
        if cause:
            failures[stage.name] = cause
    return failures
